"""The arena's page in a browser: drawn without complaint at any width, also where labels are wicked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from chromium import Watched
from risingbandits.lab.benchmark.cells import Cell
from risingbandits.lab.benchmark.files import boards_of
from risingbandits.lab.benchmark.outcome import Outcome
from risingbandits.lab.benchmark.page import write_page
from risingbandits.lab.benchmark.rows import Played, Row
from sample_stores import WICKED

NewPage = Callable[..., Watched]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a page with real and simulated rows."""
    rows = [
        Row(name, name, kind, "cumulative", measure, ())
        for name, kind, measure in (
            ("a", "real", "share"),
            ("b", "real", "share"),
            ("<b>made</b>", "made", "share"),
            ("c", "synthetic", "percent"),
        )
    ]
    lost = {label: 0.2 * place for place, label in enumerate(WICKED, 1)}
    cells = {
        row: {
            label: Cell(tuple(Played(f"t{n}", row.name, "", n, 10, value + n / 50, 1.0, 9.0) for n in range(4)))
            for label, value in lost.items()
        }
        for row in rows
    }
    outcome = Outcome(rows, dict.fromkeys(WICKED, "Policy()"), cells)
    path: Path = tmp_path_factory.mktemp("arena") / "arena.html"
    write_page(outcome, boards_of(outcome), path, f"risingbandits lab benchmark '{WICKED[0]}'")
    return path.as_uri()


@pytest.mark.parametrize("width", [400, 1200])
@pytest.mark.parametrize("dark", [False, True])
def test_the_page_is_drawn(new_page: NewPage, page: str, width: int, dark: bool) -> None:
    watched = new_page(width=width, dark=dark)
    watched.page.goto(page)
    watched.page.wait_for_selector("body[data-drawn=true]", state="attached")
    dots = "#{} .plot .scatterlayer .trace .point"
    shown = min(7, len(WICKED))
    assert watched.page.locator(dots.format("cumulative-means")).count() == len(WICKED)
    assert watched.page.locator(dots.format("cumulative-real")).count() == 2 * shown
    assert watched.page.locator(dots.format("cumulative-synthetic")).count() == shown
    assert watched.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    watched.check()
    assert watched.requests == [page]
