"""Pages about recorded curves in a browser: the race of a replay, the pictures of a check, and dropped files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from chromium import Watched
from risingbandits import load_curves, replay
from risingbandits.reports.pages import check_page, replay_page
from risingbandits.reports.pages.drop_page import write_drop_page
from risingbandits.theory.measured import check_curve
from risingbandits.theory.questions import check_curves, early_ranks, whole_curves
from sample_stores import WICKED

if TYPE_CHECKING:
    from playwright.sync_api import Page

NewPage = Callable[..., Watched]
NETS = {
    name: np.array([0.1 * (k + 1) * (1 - 0.8**n) for n in range(1, 31)])
    for k, name in enumerate([*WICKED, "a", "b", "c", "d"])
}


@pytest.fixture(scope="module")
def dropped(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("page") / "drop.html"
    write_drop_page(path)
    assert path.stat().st_size < 40_000
    return path.as_uri()


def opened(watched: Watched, address: str) -> Page:
    watched.page.goto(address)
    watched.page.wait_for_selector("body[data-drawn=true]", state="attached")
    return watched.page


@pytest.mark.parametrize("width", [400, 1200])
def test_the_race_is_drawn(new_page: NewPage, tmp_path: Path, width: int) -> None:
    outcome = replay(NETS, ["successive-halving", "round-robin"], orders=5)
    replay_page.write_page(outcome, outcome.advice, tmp_path / "race.html", metric=WICKED[0], command="risingbandits")
    watched = new_page(width=width)
    page = opened(watched, (tmp_path / "race.html").as_uri())
    fed = int((outcome.pulls["successive-halving"][0] > 0).sum())
    assert page.locator("#fed .plot .barlayer .trace").count() == len(NETS)
    filled = "[...document.querySelectorAll('#fed pattern')].map(one => Boolean(one.querySelector('rect[fill]')))"
    hatched = page.evaluate(filled)
    assert hatched
    assert all(hatched), "bars with a pattern have a colour below it"
    assert page.locator("#leaders .plot .scatterlayer .trace").count() == fed + 1  # and the arm that would be kept
    assert page.locator("#recorded .plot .scatterlayer .trace").count() == len(NETS)
    assert outcome.advice.sentences[0] == page.locator("#advice-1").text_content()
    assert page.locator("main img, main b, main script").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    watched.check()


def test_every_question_has_its_verdict_and_picture(new_page: NewPage, tmp_path: Path) -> None:
    reports = [check_curve(values, 0.0, name=name, simulations=99) for name, values in NETS.items()]
    verdicts = check_curves(NETS, reports)
    check_page.write_page(NETS, reports, verdicts, tmp_path / "check.html", metric=WICKED[0])
    watched = new_page(width=400)
    page = opened(watched, (tmp_path / "check.html").as_uri())
    for number, verdict in enumerate(verdicts, 1):
        said = page.locator(f"#question-{number} p").first.text_content() or ""
        assert said.lower().startswith(verdict.answer.lower())
    assert page.locator("#curves .plot .scatterlayer .trace").count() == len(NETS)
    for key in ("gains", "fluctuation"):
        assert page.locator(f"#{key} .plot .barlayer .trace").count() == 1
    for key in ("ranks", "noise"):
        assert page.locator(f"#{key} .plot .scatterlayer .trace").count() == 1
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    watched.check()


def give(watched: Watched, *paths: Path) -> None:
    """Choose files and wait until they are shown, or until it is said why not."""
    watched.page.locator("#files").set_input_files([str(path) for path in paths])
    watched.until("!document.getElementById('found').hidden || document.getElementById('trouble').textContent")


def long_file(path: Path) -> Path:
    rng = np.random.default_rng(0)
    lines = ['run_name,_step,_timestamp,"val, loss",val_acc']
    for run in range(8):
        for step in range(0, 40 if run else 35, 2):
            value = 1.0 / (1.0 + step * (run + 1) / 8) + 0.05 * rng.random()
            lines.append(f'"net {run}, wide",{step},{1000 + step},{value!r},{1 - value!r}')
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_dropped_file_is_read_as_the_package_reads_it(new_page: NewPage, dropped: str, tmp_path: Path) -> None:
    path = long_file(tmp_path / "my runs.csv")
    watched = new_page()
    page = watched.page
    page.goto(dropped)
    give(watched, path)
    assert page.locator("#metric option").all_text_contents() == ["val, loss", "val_acc"]
    curves = load_curves(path, "val, loss")
    assert curves.direction == "minimize"
    summary = page.locator("#summary").text_content() or ""
    assert summary.startswith("8 runs with 18 to 20 values of val, loss; minimize (by the word “loss”")
    _, table = whole_curves({name: -values for name, values in curves.values.items()})
    expected = ", ".join(f"{value:.2f}" for value in early_ranks(table))
    assert expected in (page.locator("#answers").text_content() or "")
    best = min(curves.values, key=lambda name: curves.values[name][-1])
    assert (page.locator("#names span").first.text_content() or "").startswith(f"● {best}: ")
    assert page.locator("svg.curves path").count() == 8
    told = "--metric 'val, loss' --direction minimize"
    assert f"risingbandits replay 'my runs.csv' {told}" in (page.locator("#commands").text_content() or "")
    page.select_option("#metric", "val_acc")
    assert "maximize" in (page.locator("#summary").text_content() or "")
    watched.check()
    assert watched.requests == [dropped]


def test_files_are_dropped_with_the_mouse_and_wicked_names_do_nothing(
    new_page: NewPage, dropped: str, tmp_path: Path
) -> None:
    watched = new_page()
    page = watched.page
    page.goto(dropped)
    header = ",".join('"' + name.replace('"', '""') + '"' for name in WICKED)
    rows = "\n".join(",".join(str(0.1 * n * (k + 1)) for k in range(len(WICKED))) for n in range(5))
    page.evaluate(
        """text => {
            const files = new DataTransfer();
            files.items.add(new File([text], "curves.csv"));
            document.getElementById("zone").dispatchEvent(new DragEvent("drop", { dataTransfer: files }));
        }""",
        f"{header}\n{rows}\n",
    )
    watched.until("document.body.dataset.shown")
    assert (page.locator("#summary").text_content() or "").startswith(f"{len(WICKED)} runs with 5 values of value")
    assert page.locator("main img, main b, main script").count() == 0
    watched.check()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("step,acc\nx,0.5\n", "file.csv, column step must have numbers, got x."),
        ("a,b\n0.5,x\n", "file.csv, row 2, column b must be a number, got x."),
        ("", "file.csv has no rows below a header."),
        ("step,word\n1,x\n", "file.csv has no numbers over steps."),
        ("\0\1", "file.csv is not a text file: risingbandits curves import reads event files and databases."),
    ],
)
def test_files_that_cannot_be_used_are_told_in_a_sentence(
    new_page: NewPage, dropped: str, tmp_path: Path, content: str, said: str
) -> None:
    (tmp_path / "file.csv").write_text(content)
    watched = new_page()
    watched.page.goto(dropped)
    give(watched, tmp_path / "file.csv")
    assert watched.page.locator("#trouble").text_content() == said
    assert watched.page.locator("#found").is_hidden()
    watched.check()
