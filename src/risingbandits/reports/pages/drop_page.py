"""A page for files of curves that are dropped on it: they are read and drawn in the browser, and sent nowhere.

It takes the vocabulary of the readers, such as the names of step columns, from them, so it shows what they find.
"""

from __future__ import annotations

from pathlib import Path

from risingbandits._core.files import write_whole
from risingbandits._version import __version__
from risingbandits.recorded.curves import HIGH, LOW
from risingbandits.recorded.tables import CLOCKS, NEVER, RUNS, STEPS
from risingbandits.reports.pages.escaping import escape, json_for_script
from risingbandits.reports.pages.layout import asset, script_hash


def drop_page() -> str:
    """The page as one HTML file of some 20 kB."""
    script = asset("drop.js")
    policy = (
        f"default-src 'none'; script-src {script_hash(script)}; style-src 'unsafe-inline'; img-src data:; "
        "connect-src 'none'; base-uri 'none'; form-action 'none'"
    )
    words = {
        "steps": STEPS,
        "runs": RUNS,
        "clocks": CLOCKS,
        "never": sorted(NEVER),
        "low": sorted(LOW),
        "high": sorted(HIGH),
    }
    return asset("drop.html").format(
        policy=escape(policy).replace("&#x27;", "'"),
        style=asset("page.css"),
        version=escape(__version__),
        words=json_for_script(words),
        script=script,
    )


def write_drop_page(path: Path) -> None:
    """Write the page, atomically."""
    write_whole(path, drop_page().encode())
