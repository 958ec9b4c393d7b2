"""Write the generated parts of pages in docs, or with --check only say whether they are current."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

from risingbandits.lab.benchmark._tables import objective_tables
from risingbandits.policies import policy_names
from risingbandits.reports._tables import policies_table

sys.path.append(str(Path(__file__).parents[1] / "tools"))
from figures import read_list, when

_BEGIN, _END = "<!-- written by make docs -->\n", "<!-- end -->\n"
_RECORD = Path(__file__).parents[1] / "records" / "selection.json"


def with_current(text: str, part: str) -> str:
    """The page with the generated part between its two marks."""
    before, _, rest = text.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    return f"{before}{_BEGIN}\n{part}\n{_END}{after}"


def benchmark_tables() -> str:
    """The recorded results of the benchmark."""
    record = json.loads(_RECORD.read_text())
    found = [
        table
        for objective, own in record["objectives"].items()
        for table in objective_tables(objective, own, intervals=False)
    ]
    return "\n".join([f"`{record['command']}`:\n", *(f"**{table.title}**\n\n{table.markdown()}" for table in found)])


def figures_table() -> str:
    """The programs behind the figures, with the pages that quote them and the day of the last run."""
    rows = ["| command | pages | last run | takes |", "| --- | --- | --- | --- |"]
    for figures in read_list():
        commands = "<br>".join(f"`{each.strip()}`" for each in figures.command.replace("\n", " ").split("&&"))
        pages = ", ".join(
            f"[{page.removeprefix('docs/').removesuffix('.md')}]({page.removeprefix('docs/')})" if "/" in page else page
            for page in figures.pages
        )
        kept = figures.kept()
        last = when(kept).removeprefix("risingbandits ") if kept else ""
        rows.append(f"| {commands} | {pages} | {last} | {figures.takes} |")
    return "\n".join(rows) + "\n"


_PARTS: dict[str, Callable[[], str]] = {
    "policies.md": lambda: policies_table(policy_names()).markdown(),
    "benchmark.md": benchmark_tables,
    "measured.md": figures_table,
}


def main() -> int:
    """Return the exit code."""
    code = 0
    for name, part in _PARTS.items():
        page = Path(__file__).parent / name
        old = page.read_text()
        new = with_current(old, part())
        if "--check" in sys.argv[1:]:
            print(f"docs/{name} is current." if new == old else f"docs/{name} is old: run make docs.")
            code |= int(new != old)
        else:
            page.write_text(new)
    return code


if __name__ == "__main__":
    sys.exit(main())
