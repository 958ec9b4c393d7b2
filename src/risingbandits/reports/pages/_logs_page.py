"""The page of a replay: what policies would have done with recorded curves."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from risingbandits._core.files import write_whole
from risingbandits._core.tables import TextTable
from risingbandits._core.types import Floats, Ints
from risingbandits.logs.advice import Advice
from risingbandits.logs.replay import Course, Replay
from risingbandits.reports._figure_data import BLACK, MUTED, Line, coloured
from risingbandits.reports._tables import outcome_table, spending_table
from risingbandits.reports.pages import _plotly_figures as draw
from risingbandits.reports.pages.layout import Code, Fact, Facts, Figure, Page, Section, Table, Text

_MOST_ARMS = 12  # shown one by one; the others together, or grey
_PLACES = [coloured(number) for number in range(_MOST_ARMS)]
_MOST_GREY, _POINTS, _MOST_ROWS = 60, 120, 200
_HOW_TO_READ = (
    "A pull reveals the next value of an arm's curve, as training it further would have. The race is that of the arms "
    "in the order in which they are listed; the tables are about all orders. Regret per pull is how much more the best "
    "single arm has than the policy, the final value of an arm the mean of the last 5 % of its curve."
)


def write_replay_page(outcome: Replay, advice: Advice, path: Path, *, metric: str, command: str) -> None:
    """Write the page of a replay with its advice, whole or not at all; ``command`` is how to make it again."""
    label = advice.policy if advice.policy is not None else next(iter(outcome.reward))
    course = outcome.course(label)
    arms = _shown(outcome, course)
    table = spending_table(outcome)
    note = f"{_MOST_ROWS:,} of {len(table.rows):,} arms are listed." if len(table.rows) > _MOST_ROWS else ""
    spent = Table("spent", table._replace(rows=table.rows[:_MOST_ROWS]), note=note)
    sections = [
        Section("summary", "At a glance", [Facts("tiles", _tiles(outcome, advice, label), "tiles")]),
        Section("advice", "Advice", [Text(f"advice-{n}", said) for n, said in enumerate(advice.sentences, 1)]),
        Section("race", f"The race with {label}", [_fed(outcome, course, arms), _race(outcome, course, arms, metric)]),
        Section("curves", "What was recorded", [_recorded(outcome, arms, metric)]),
        Section("policies", "All policies", [Table("outcome", outcome_table(outcome)), spent]),
        Section(
            "about", "How to read it", [Text("how-to-read", _HOW_TO_READ), Code("command", "The command", command)]
        ),
    ]
    write_whole(path, Page(f"Replay: {metric}", advice.sentences[0], sections).html().encode())


def _tiles(outcome: Replay, advice: Advice, label: str) -> list[Fact]:
    cost, whole = advice.cost, advice.whole_cost
    tiles = [Fact("policy", label), Fact("recommended arm", advice.arm or "-")]
    if cost is not None:
        tiles.append(Fact("cost, as a share of training all", f"{100 * cost.pulls / whole.pulls:.0f} %"))
        saved = whole - cost
        tiles.append(Fact("pulls saved", f"{saved.pulls:,.0f}"))
        tiles += [Fact("hours saved", f"{saved.hours:,.3g}")] if saved.hours is not None else []
    if np.isfinite(advice.decided):
        tiles.append(Fact("pulls until the choice was clear", f"{advice.decided:,.0f}"))
    return [*tiles, Fact("arms", f"{len(outcome.arms):,}"), Fact("budget in pulls", f"{outcome.budget:,}")]


def _shown(outcome: Replay, course: Course) -> list[int]:
    """The arms that got most, and the best one, in the order of the arms."""
    pulls = np.bincount(course.pulled, minlength=len(outcome.arms)).astype(float)
    pulls[outcome.best_arm] = np.inf
    return sorted(np.argsort(-pulls, kind="stable")[:_MOST_ARMS].tolist())


def _name(outcome: Replay, arm: int) -> str:
    return outcome.arms[arm] + (" (best)" if arm == outcome.best_arm else "")


def _fed(outcome: Replay, course: Course, arms: Sequence[int]) -> Figure:
    """Stacked bars: of each block of pulls, what each arm got."""

    def layers(middles: Floats, blocks: Ints) -> list[Line]:
        sums = np.zeros((len(outcome.arms), len(middles)))
        np.add.at(sums, (course.pulled, blocks), 1.0)
        found = [
            Line(_name(outcome, arm), place, middles, sums[arm]) for place, arm in zip(_PLACES, arms, strict=False)
        ]
        if others := len(outcome.arms) - len(arms):
            found.append(Line(f"{others:,} others", MUTED, middles, np.delete(sums, list(arms), axis=0).sum(axis=0)))
        return found

    return draw.blocks_figure(
        "fed", "Which arm was pulled when", "how many went to which arm", len(course.pulled), layers, "pulls"
    )


def _race(outcome: Replay, course: Course, arms: Sequence[int], metric: str) -> Figure:
    """What each arm had shown by then and, in bold, the final worth of the arm that would be recommended then."""
    lines = []
    for place, arm in zip(_PLACES, arms, strict=False):
        at = np.flatnonzero(course.pulled == arm)
        if len(at):
            some = _thinned(len(at))
            seen = outcome.recorded(outcome.stage.curves[arm][some])
            lines.append(Line(_name(outcome, arm), place, _from_one(at[some]), seen))
    new = np.append(0, np.flatnonzero(np.diff(course.kept)) + 1)
    # A line with steps has a point before and at each change, and at its ends.
    steps = np.unique(np.concatenate([new, np.maximum(new - 1, 0), [len(course.kept) - 1]]))
    steps = steps if len(new) <= 5 * _POINTS else _thinned(len(course.kept))
    worth = outcome.final[course.kept[steps]]
    lead = Line("final value of the recommended arm", BLACK, _from_one(steps), worth, bold=True)
    rows = [
        (f"{at + 1:,}", outcome.arms[course.kept[at]], f"{outcome.final[course.kept[at]]:.4g}")
        for at in new[:_MOST_ROWS].tolist()
    ]
    header = ("from pull", "arm that would be recommended", "its final value")
    return draw.lines_figure(
        "leaders",
        "The race",
        f"The {metric} that each arm had shown when it was pulled. The bold line is what the arm that would be "
        "recommended at that moment is worth in the end: from where it stays high, the decision could have been made.",
        [*lines, lead],
        (draw.axis("pulls", hoverformat=",.0f", range=[0, len(course.pulled) * 1.02]), draw.axis("value")),
        TextTable(header, rows, frozenset({0, 2}), "Which arm was ahead"),
        draw=lambda data: draw.line(data, markers=not data.bold and len(data.x) <= 40),
        height=420,
        hovermode="closest",
    )


def _recorded(outcome: Replay, arms: Sequence[int], metric: str) -> Figure:
    """All curves to their ends, those of the race in colour."""
    order = np.argsort(-outcome.final if outcome.direction == "maximize" else outcome.final, kind="stable").tolist()
    places = dict(zip(arms, _PLACES, strict=False))
    others = [arm for arm in order if arm not in places]
    lines, rows = [], []
    for arm in [*others[:: max(1, -(-len(others) // _MOST_GREY))], *reversed(arms)]:
        curve = outcome.recorded(outcome.stage.curves[arm])
        some, shown = _thinned(len(curve)), _name(outcome, arm) if arm in places else f"{len(others):,} others"
        line = Line(shown, places.get(arm, MUTED), _from_one(some), curve[some], bold=arm == outcome.best_arm)
        lines.append(line)
    for arm in order[:_MOST_ROWS]:
        curve = outcome.recorded(outcome.stage.curves[arm])
        rows.append((_name(outcome, arm), f"{len(curve):,}", f"{curve[0]:.4g}", f"{curve[-1]:.4g}"))
    return draw.lines_figure(
        "recorded",
        "Learning curves to their ends",
        f"The {metric} of every arm over its own pulls, as it was recorded; the best one in the end is bold.",
        lines,
        (draw.axis("pulls of the arm", hoverformat=",.0f"), draw.axis("value")),
        TextTable(("arm", "values", "first", "last"), rows, frozenset({1, 2, 3}), "Arms, the best in the end first"),
        hovermode="closest",
    )


def _thinned(count: int) -> Ints:
    return np.unique(np.linspace(0, count - 1, min(count, _POINTS)).round().astype(np.int64))


def _from_one(places: Ints) -> Floats:
    """Numbers of pulls, from 1 on."""
    return places.astype(np.float64) + 1.0
