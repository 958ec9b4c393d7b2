"""Pages of allocations, beside counts made from the events in the plainest way."""

from __future__ import annotations

import shutil
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from risingbandits import RisingBanditsError
from risingbandits.allocation.allocator import Allocator
from risingbandits.allocation.budget import Budget
from risingbandits.allocation.events import Event
from risingbandits.allocation.settings import Settings
from risingbandits.allocation.status._status import allocation_table, arms_table
from risingbandits.allocation.stores.reader import open_reader
from risingbandits.cli import run
from risingbandits.reports import _allocation_log as following
from risingbandits.reports._allocation_log import AllocationLog, Follower
from risingbandits.reports.pages import page_of, write_html
from risingbandits.reports.pages.layout import Bar, Fact, Facts, Figure, plotly_script
from risingbandits.reports.pages.store_page import allocation_page
from sample_stores import make_store


def read(store: Path) -> tuple[AllocationLog, list[Event]]:
    with Follower(store) as follower, open_reader(store) as reader:
        follower.read_all()
        return follower.log, list(reader.events())


def drawn(log: AllocationLog, key: str) -> dict[str, dict[str, Any]]:
    """The traces of a figure by the arm they belong to, the first of each."""
    (figure,) = [b for b in allocation_page(log, "run.db").blocks() if isinstance(b, Figure) and b.key == key]
    found: dict[str, dict[str, Any]] = {}
    for trace in figure.data:
        found.setdefault(trace["legendgroup"], trace)
    return found


@pytest.mark.parametrize("unit", ["pulls", "cost"])
def test_budget_in_order(unit: str, tmp_path: Path) -> None:
    arms = ["a", "b", "c"]
    path = tmp_path / "run.db"
    rng = np.random.default_rng(0)
    budget: int | Budget = 150 if unit == "pulls" else Budget(cost=100.0)
    with Allocator(arms, budget, policy="commit-ucb", store=path) as allocator:
        for pull in allocator:
            allocator.tell(pull, float(rng.random()), cost=float(rng.integers(1, 4)) / 4)
    log, events = read(path)
    tells = [event for event in events if event.kind == "tell"]

    def amount(event: Event) -> float:
        return 1.0 if unit == "pulls" else float(event.cost or 0.0)

    blocks = drawn(log, "blocks")
    size = int(blocks["a"]["width"][0])
    for number in range(-(-len(tells) // size)):
        expected: Counter[str] = Counter()
        for event in tells[number * size : (number + 1) * size]:
            expected[event.arm] += amount(event)  # type: ignore[assignment]
        for arm in arms:
            assert blocks[arm]["y"][number] == pytest.approx(expected[arm])
    assert log.spent_by_arm().sum() == pytest.approx(log.ledger.spent)


def test_learning_curves_are_means_of_blocks(tmp_path: Path) -> None:
    log, events = read(make_store(tmp_path / "run.db", pulls=400, budget=400))
    for arm, trace in drawn(log, "curves").items():
        rewards = [event.reward or 0.0 for event in events if event.kind == "tell" and event.arm == arm]
        size = 1 if max(len(a.rewards) for a in log.arms) <= 100 else None
        if size is None:
            size = next(s for s in (2, 5, 10, 20) if max(len(a.rewards) for a in log.arms) <= 100 * s)
        blocks = [rewards[i : i + size] for i in range(0, len(rewards), size)]
        assert trace["y"] == pytest.approx([sum(block) / len(block) for block in blocks], abs=1e-4)
        assert trace["x"][0] == (len(blocks[0]) + 1) / 2


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_lines_lead_to_what_is_predicted_in_units_of_the_rewards(direction: str, tmp_path: Path) -> None:
    settings: Any = {"direction": direction, "reward_range": (-1.0, 3.0)}
    log, _ = read(make_store(tmp_path / "run.db", ["a", "b"], 80, 100, **settings))
    found = log.ledger.policy._foresee()
    sign, worst = (1.0, -1.0) if direction == "maximize" else (-1.0, 3.0)
    table = allocation_table(log.ledger)
    page = allocation_page(log, "run.db")
    (curves,) = [block for block in page.blocks() if block.key == "curves"]
    assert isinstance(curves, Figure)
    assert f"Dotted: to the predicted value at {table.end:,.0f} pulls" in curves.caption
    ends = [trace["y"] for trace in curves.data[2:]]
    for place, name in enumerate("ab"):
        row = table[name]
        assert row.predicted == pytest.approx(worst + sign * 4.0 * found.predicted[place])
        assert sorted((row.low, row.high)) == [row.low, row.high]
        assert row.low <= row.predicted <= row.high
        assert ends[2 * place] == pytest.approx([log.arms[place].rewards[-1], row.predicted], abs=1e-4)
        assert ends[2 * place + 1] == pytest.approx([row.low, row.high], abs=1e-4)


def test_the_last_decision_is_explained_as_it_was_before_it(tmp_path: Path) -> None:
    path = make_store(tmp_path / "run.db", ["a", "b"], 30, 40)
    log, events = read(path)
    last = max(event.id for event in events if event.kind == "ask")
    before = AllocationLog(log.settings)
    before.take(event for event in events if event.id < last)
    assert log.decision is not None
    assert log.decision.event.id == last
    assert log.decision.known == arms_table(before.ledger)
    (why,) = [row[-1] for row in log.decision.known.rows if row[0] == log.decision.event.arm]
    assert why.startswith("next")


def test_a_page_grows_with_its_events_as_if_read_at_once(tmp_path: Path) -> None:
    log, events = read(make_store(tmp_path / "run.db"))
    slowly = AllocationLog(log.settings)
    keys = [block.key for block in allocation_page(slowly, "run.db").blocks()]
    for number, event in enumerate(events):
        slowly.take([event])
        if number % 10 == 0:
            assert [block.key for block in allocation_page(slowly, "run.db").blocks()] == keys
    page = allocation_page(slowly, "run.db")
    assert page.html() == allocation_page(log, "run.db").html()


def test_a_store_before_its_first_pull(tmp_path: Path) -> None:
    Allocator(["a", "b"], budget=10, store=tmp_path / "run.db").close()
    page = page_of(tmp_path / "run.db").html()
    assert "Spent 0 of 10 pulls. No pull is done yet." in page
    assert "No pull has been given out yet." in page
    assert "No pull has failed or expired." in page
    figures = [block for block in page_of(tmp_path / "run.db").blocks() if isinstance(block, Figure)]
    assert [figure.key for figure in figures] == ["blocks", "curves"]
    for figure in figures:
        assert not figure.data
        assert not figure.legend
        assert "No reward has been told yet" in figure.caption_html()
        assert figure.html().count(" hidden>") == 3  # legend, axes and table


def first_screen(log: AllocationLog, live: bool = False) -> dict[str, Fact]:
    """The answers at the top of a page, by their words."""
    blocks = allocation_page(log, "run.db", live).blocks()
    return {fact.word: fact for block in blocks if isinstance(block, Facts) for fact in block.facts}


def test_the_first_screen_answers_how_it_is_going(tmp_path: Path) -> None:
    names = [f"arm {number}" for number in range(6)]
    store = make_store(tmp_path / "run.db", names, pulls=30, budget=90, policy="round-robin", tried=2)
    with Allocator.open(store) as allocator:
        assert allocator.ask() is not None
    log, events = read(store)
    found = first_screen(log)
    page = allocation_page(log, "run.db")
    (bar,) = [block for block in page.blocks() if isinstance(block, Bar)]
    assert bar.text == "33 % of the budget is spent: 30 of 90 pulls"
    assert bar.share == pytest.approx(30 / 90)
    row = allocation_table(log.ledger)[str(log.ledger.recommend())]
    assert found["leader"].value == row.arm
    assert found["leader"].detail == (
        f"estimate {row.estimate:.3g}, predicted {row.predicted:.3g}, p_best {row.p_best:.3g}"
    )
    assert found["left"].value == "60 pulls"
    last = Counter(event.arm for event in [event for event in events if event.kind == "tell"][-20:])
    assert found["being pulled"].value == events[-1].arm
    assert all(f"{count} \N{MULTIPLICATION SIGN} {arm}" in found["being pulled"].detail for arm, count in last.items())
    untried = [name for name in names if name not in {event.arm for event in events if event.kind == "tell"}]
    assert found["never tried"][1:3] == ("4 of 6 arms", f"{', '.join(untried[:3])} and 1 more")
    assert found["failed or expired"].value == "2"
    assert "broke down" in found["failed or expired"].detail
    assert found["failed or expired"].alarming
    assert page.sections[0].key == "summary"
    assert all(answer.html() in page.sections[0].html() for answer in found.values())


def test_the_first_screen_of_a_run_that_is_over(tmp_path: Path) -> None:
    log, _ = read(make_store(tmp_path / "run.db", ["a", "b"], 20, 20, policy="round-robin"))
    for live in (True, False):
        found = first_screen(log, live)
        assert found["time left" if live else "left"][1:3] == ("none", "the run is over")
        assert found["being pulled"].value == "none now"
        assert found["never tried"].value == "none"
        assert "expected" not in found["leader"].detail


def test_no_legend_of_arms_that_were_never_pulled(tmp_path: Path) -> None:
    names = [f"arm {number}" for number in range(40)]
    log, _ = read(make_store(tmp_path / "run.db", names, 30, 90, policy="round-robin", tried=2))
    pulled = [arm.name for arm in log.arms if arm.rewards]
    assert len(pulled) == 2
    for figure in (block for block in allocation_page(log, "run.db").blocks() if isinstance(block, Figure)):
        assert [entry["group"] for entry in figure.legend] == pulled
        # the first two arms that were pulled have the first two colours, whatever their numbers are
        assert {entry["look"]["place"] for entry in figure.legend} == {0, 1}


def test_everything_of_note_is_on_the_page_and_names_stay_names(tmp_path: Path) -> None:
    path = make_store(tmp_path / "run.db")
    page = write_html(path, tmp_path / "page.html").read_text().replace(plotly_script(), "")
    for text in ("Recommended:", "60 of 60", "&lt;script&gt;alert(1)&lt;/script&gt; broke down", "CommitUCB("):
        assert text in page
    assert page.count("<script") == 3
    assert "<img" not in page
    assert "<b>" not in page
    assert write_html(path, tmp_path / "again.html").read_bytes() == (tmp_path / "page.html").read_bytes()


def test_what_was_changed_is_on_the_page(tmp_path: Path) -> None:
    with Allocator(["a", "b"], 2, store=tmp_path / "run.db", policy="round-robin") as allocator:
        for pull in allocator:
            allocator.tell(pull, 0.5)
        before = page_of(tmp_path / "run.db").html()
        allocator.extend(budget=9, arms=["<c>"])
    page = page_of(tmp_path / "run.db").html()
    assert "Nothing was changed since the run began." in before
    assert "Nothing was changed since the run began." not in page
    assert "budget 2 -&gt; 9 pulls, 1 new arm: &lt;c&gt;" in page
    assert "2 of 9" in page


def test_many_arms_and_a_retired_one(tmp_path: Path) -> None:
    names = [f"arm {number}" for number in range(300)]
    with Allocator(names, budget=600, store=tmp_path / "run.db", policy="round-robin") as allocator:
        for number, pull in zip(range(550), allocator, strict=False):
            allocator.tell(pull, 0.5)
            if number == 400:
                allocator.retire("arm 7", "<too> slow")
    log, _ = read(tmp_path / "run.db")
    page = allocation_page(log, "run.db")
    assert len(drawn(log, "blocks")) == 13
    assert "200 of 300 arms are listed." in page.html()
    assert "288 others" in page.html()
    assert "300, 1 retired" in page.html()


def test_the_store_is_busy_for_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = make_store(tmp_path / "run.db")
    with Follower(path) as follower:
        follower.read_all()
        seen = follower.log.last_id
        shutil.copy(path, tmp_path / "other.db")

        def busy(store: object) -> None:
            raise RisingBanditsError("database is locked")

        with monkeypatch.context() as patched:
            patched.setattr(following, "open_reader", busy)
            patched.setattr(follower._reader, "last_id", lambda: busy(None))
            assert follower.poll() == 0
            assert follower.poll() == 0
            assert follower.trouble == "The store cannot be read now (database is locked); trying again."
        assert follower.log.last_id == seen
        assert follower.poll() == 0
        assert follower.trouble == ""


def test_another_store_in_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_store(tmp_path / "long.db")
    make_store(tmp_path / "short.db", ["x", "y"], pulls=3, budget=9)
    with Follower(tmp_path / "long.db") as follower:
        follower.read_all()
        follower.store = str(tmp_path / "short.db")
        follower.close()
        follower.poll()
        assert [arm.name for arm in follower.log.arms] == ["x", "y"]
        assert follower.log.ledger.told == 3


def test_how_far_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pulls of 90 seconds: a live page says how long it will take, one that is kept says only what is done."""
    settings = Settings.make(arms=["a"], budget=8)
    log, host = AllocationLog(settings), "box:77:1:1:1"
    for n in range(1, 4):
        ask = Event(2 * n - 1, 90.0 * n, "ask", "a", 2 * n - 1, n, worker=host)
        log.take([ask] if n == 3 else [ask, Event(2 * n, 90.0 * n + 90.0, "tell", "a", 2 * n - 1, n, 0.5, 1.0)])
    monkeypatch.setattr(time, "time", lambda: 270.0 + 30.0)
    live, kept = first_screen(log, live=True), first_screen(log)
    assert live["time left"][1:3] == ("about 8 min", "40 pulls an hour, 6 pulls left")
    assert kept["left"][1:3] == ("6 pulls", "about 9 min at the latest pace")
    assert "time left" not in kept
    log.take([Event(6, 300.0, "fail", "a", 5, 3, text="broke down", worker=host)])
    assert first_screen(log, live=True)["time left"][1:3] == ("nothing is running", "6 pulls left")
    page = allocation_page(log, "run.db").html()
    assert "process 77" in page
    assert host not in page
    log.take([Event(7, 301.0, "ask", "a", 7, 3), Event(8, 302.0, "fail", "a", 7, 3, worker="other:5:1:1:1")])
    page = allocation_page(log, "run.db").html()
    assert "box, process 77" in page
    assert "other, process 5" in page


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["status", "--live", "nothing.db"], "nothing.db does not exist"),
        (["status", "--live", "--json", "nothing.db"], "live cannot be combined with events or json"),
        (["report", "text.db"], "text.db"),
    ],
)
def test_refusals(
    arguments: list[str],
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.db").write_text("no store\n" * 200)
    assert run(arguments) == 2
    assert sentence in capsys.readouterr().err
    assert not (tmp_path / "report.html").exists()
    assert (tmp_path / "text.db").read_text() == "no store\n" * 200
