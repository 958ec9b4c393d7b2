"""The page of a replay: the advice, and the race as it would have gone: which arm was fed when, and which was ahead."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from risingbandits._core.files import write_whole
from risingbandits._core.tables import TextTable
from risingbandits._core.types import Floats, Ints
from risingbandits.logs.advice import Advice
from risingbandits.logs.replay import Course, Replay
from risingbandits.reports import replay_tables
from risingbandits.reports.figure_data import MUTED, Line
from risingbandits.reports.pages import plotly_figures as draw
from risingbandits.reports.pages.layout import Block, Code, Facts, Figure, Page, Section, Table, Text
from risingbandits.reports.pages.store_figures import block_size

_MOST_ARMS = 12  # shown one by one; the others together, or grey
_LEAD = 6  # the place of the arm that would be kept in the palette: black, or white where it is dark
_PLACES = [place for place in range(2 * _MOST_ARMS) if place % 7 != _LEAD]
_BLOCKS = 60
_POINTS = 120  # of a line
_MOST_GREY = 60
_MOST_ROWS = 200
_HOW_TO_READ = (
    "A pull reveals the next value of an arm's curve, as training it further would have. The race is that of the arms "
    "in the order in which they are listed; the tables are about all orders. Regret per pull is how much more the best "
    "single arm earns than the policy, the final value of an arm the mean of the last 5 % of its curve."
)


def write_page(outcome: Replay, advice: Advice, path: Path, *, metric: str = "value", command: str = "") -> None:
    """Write the page, atomically."""
    write_whole(path, replay_page(outcome, advice, metric=metric, command=command).html().encode())


def replay_page(outcome: Replay, advice: Advice, *, metric: str = "value", command: str = "") -> Page:
    """The page of a replay with its advice; ``command`` is how to make it again."""
    label = advice.policy if advice.policy is not None else next(iter(outcome.reward))
    course = outcome.course(label)
    arms = _shown(outcome, course)
    about: list[Block] = [Text("how-to-read", _HOW_TO_READ)]
    about += [Code("command", "The command", command)] if command else []
    sections = [
        Section("summary", "At a glance", [Facts("tiles", _tiles(outcome, advice, label), "tiles")]),
        Section("advice", "Advice", [Text(f"advice-{n}", said) for n, said in enumerate(advice.sentences, 1)]),
        Section("race", f"The race with {label}", [_fed(outcome, course, arms), _race(outcome, course, arms, metric)]),
        Section("curves", "What was recorded", [_recorded(outcome, arms, metric)]),
        Section("policies", "All policies", _tables(outcome)),
        Section("about", "How to read it", about),
    ]
    return Page(f"Replay: {metric}", advice.sentences[0], sections)


def _tiles(outcome: Replay, advice: Advice, label: str) -> list[tuple[str, str]]:
    cost, whole = advice.cost, advice.whole_cost
    tiles = [("policy", label), ("arm it keeps", advice.arm or "-")]
    if cost is not None:
        tiles.append(("cost, as a share of training all", f"{100 * cost.pulls / whole.pulls:.0f} %"))
        saved = whole - cost
        tiles.append(("pulls saved", f"{saved.pulls:,.0f}"))
        tiles += [("hours saved", f"{saved.hours:,.3g}")] if saved.hours is not None else []
    if np.isfinite(advice.decided):
        tiles.append(("pulls until the choice was clear", f"{advice.decided:,.0f}"))
    return [*tiles, ("arms", f"{len(outcome.arms):,}"), ("budget in pulls", f"{outcome.budget:,}")]


def _shown(outcome: Replay, course: Course) -> list[int]:
    """The arms that got most, and the best one, in the order of the arms."""
    pulls = np.bincount(course.pulled, minlength=len(outcome.arms)).astype(float)
    pulls[outcome.best_arm] = np.inf
    return sorted(np.argsort(-pulls, kind="stable")[:_MOST_ARMS].tolist())


def _name(outcome: Replay, arm: int) -> str:
    return outcome.arms[arm] + (" (best)" if arm == outcome.best_arm else "")


def _fed(outcome: Replay, course: Course, arms: Sequence[int]) -> Figure:
    """Stacked bars: of each block of pulls, what each arm got."""
    total = len(course.pulled)
    size = block_size(total, _BLOCKS)
    count = -(-total // size)
    sums = np.zeros((len(outcome.arms), count))
    np.add.at(sums, (course.pulled, np.arange(total) // size), 1.0)
    first = np.arange(count) * size + 1
    last = np.minimum(first + size - 1, total)
    layers = [Line(_name(outcome, arm), _PLACES[n], (first + last) / 2, sums[arm]) for n, arm in enumerate(arms)]
    if others := len(outcome.arms) - len(arms):
        rest = np.delete(sums, list(arms), axis=0).sum(axis=0)
        layers.append(Line(f"{others:,} others", MUTED, (first + last) / 2, rest))
    ranges = [f"{a:,}" if a == b else f"{a:,} to {b:,}" for a, b in zip(first, last, strict=True)]
    table = TextTable(
        ("pulls", *(layer.name for layer in layers)),
        [(ranges[i], *(f"{layer.y[i]:,.0f}" for layer in layers)) for i in range(count)],
        frozenset(range(1, len(layers) + 1)),
        "Pulls that each arm got",
    )
    each = "each pull" if size == 1 else f"each {size:,} pulls"
    return draw.lines_figure(
        "fed",
        "Which arm was pulled when",
        f"For {each}, in order: how many went to which arm.",
        layers,
        (
            draw.axis("pulls", hoverformat=",.0f", range=[0.5, total + 0.5]),
            draw.axis(f"pulls of {size:,}" if size > 1 else "pulls"),
        ),
        table,
        draw=lambda layer: draw.bars(layer, (last - first + 1).tolist()),
        height=340,
    )


def _race(outcome: Replay, course: Course, arms: Sequence[int], metric: str) -> Figure:
    """What each arm had shown by then and, in bold, the final worth of the arm that would be kept then."""
    lines = []
    for place, arm in zip(_PLACES, arms, strict=False):
        at = np.flatnonzero(course.pulled == arm)
        if not len(at):
            continue
        seen = _recorded_values(outcome, arm)[: len(at)]
        some = _thinned(len(at))
        lines.append(Line(_name(outcome, arm), place, _from_one(at[some]), seen[some]))
    kept = _changes(course.kept)
    worth = outcome.final[course.kept[kept]]
    lead = Line("final value of the arm kept then", _LEAD, _from_one(kept), worth, bold=True)
    rows = [
        (f"{at + 1:,}", outcome.arms[course.kept[at]], f"{outcome.final[course.kept[at]]:.4g}")
        for at in _new_leaders(course.kept)[:_MOST_ROWS].tolist()
    ]
    table = TextTable(
        ("from pull", "arm that would be kept", "its final value"), rows, frozenset({0, 2}), "Which arm was ahead"
    )
    return draw.lines_figure(
        "leaders",
        "The race",
        f"The {metric} that each arm had shown when it was pulled. The bold line is what the arm that would be kept "
        "at that moment is worth in the end: from where it stays high, the decision could have been made.",
        [*lines, lead],
        (draw.axis("pulls", hoverformat=",.0f", range=[0, len(course.pulled) * 1.02]), draw.axis("value")),
        table,
        draw=lambda data: draw.line(data, markers=not data.bold and len(data.x) <= 40),
        height=420,
        hovermode="closest",
    )


def _recorded(outcome: Replay, arms: Sequence[int], metric: str) -> Figure:
    """All curves to their ends, those of the race in colour."""
    others = [arm for arm in range(len(outcome.arms)) if arm not in arms]
    name = f"{len(others):,} others"
    lines = []
    for arm in [*others[:: max(1, -(-len(others) // _MOST_GREY))], *arms]:
        values = _recorded_values(outcome, arm)[: outcome.lengths[arm]]
        some = _thinned(len(values))
        grey = arm not in arms
        lines.append(
            Line(
                name if grey else _name(outcome, arm),
                MUTED if grey else _PLACES[arms.index(arm)],
                _from_one(some),
                values[some],
                bold=arm == outcome.best_arm,
            )
        )
    order = np.argsort(-outcome.final if outcome.direction == "maximize" else outcome.final, kind="stable")
    rows = [
        (outcome.arms[arm], f"{outcome.lengths[arm]:,}", f"{outcome.final[arm]:.4g}")
        for arm in order[:_MOST_ROWS].tolist()
    ]
    table = TextTable(("arm", "values", "final value"), rows, frozenset({1, 2}), "Arms, the best in the end first")
    return draw.lines_figure(
        "recorded",
        "Learning curves to their ends",
        f"The {metric} of every arm over its own pulls, as it was recorded; the best one in the end is bold.",
        lines,
        (draw.axis("pulls of the arm", hoverformat=",.0f"), draw.axis("value")),
        table,
        hovermode="closest",
    )


def _tables(outcome: Replay) -> list[Block]:
    spent = replay_tables.spending_table(outcome)
    cut = f"{_MOST_ROWS:,} of {len(spent.rows):,} arms are listed." if len(spent.rows) > _MOST_ROWS else ""
    first = replay_tables.outcome_table(outcome)
    return [Table("outcome", first), Table("spent", spent._replace(rows=spent.rows[:_MOST_ROWS]), note=cut)]


def _recorded_values(outcome: Replay, arm: int) -> Floats:
    """The curve of an arm as it was recorded."""
    return outcome.recorded(outcome.stage.curves[arm])


def _thinned(count: int) -> Ints:
    return np.unique(np.linspace(0, count - 1, min(count, _POINTS)).round().astype(np.int64))


def _new_leaders(kept: Ints) -> Ints:
    return np.append(0, np.flatnonzero(kept[1:] != kept[:-1]) + 1)


def _changes(kept: Ints) -> Ints:
    """The pulls at which a line with steps must have a point: before and at each change, and the ends."""
    new = _new_leaders(kept)
    if len(new) > 5 * _POINTS:
        return _thinned(len(kept))
    return np.unique(np.concatenate([new, np.maximum(new - 1, 0), [len(kept) - 1]]))


def _from_one(places: Ints) -> Floats:
    """Numbers of pulls, from 1 on."""
    return places.astype(np.float64) + 1.0
