"""The pages of recorded curves: what policies would have done with them, and whether they rise and flatten."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from risingbandits._core.files import write_whole
from risingbandits._core.tables import TextTable
from risingbandits._core.types import Floats, Ints
from risingbandits.logs.advice import Advice
from risingbandits.logs.replay import Course, Replay
from risingbandits.reports._figure_data import BLACK, MUTED, Line, coloured, lines_table
from risingbandits.reports._tables import check_table, outcome_table, spending_table, verdicts_table
from risingbandits.reports.pages import _plotly_figures as draw
from risingbandits.reports.pages.layout import Block, Code, Fact, Facts, Figure, Page, Section, Table, Text
from risingbandits.theory.estimators._measured import CurveReport
from risingbandits.theory.estimators._questions import Verdict, early_ranks, whole_curves

_MOST_ARMS = 12  # shown one by one; the others together, or grey
_PLACES = [coloured(number) for number in range(_MOST_ARMS)]
_MOST_COLOURED, _MOST_GREY, _POINTS, _MOST_ROWS = 7, 60, 120, 200
_TENTHS = np.arange(1, 11) / 10
_LEAST_ARMS, _LEAST_VALUES = 3, 10
_HOW_TO_READ = (
    "A pull reveals the next value of an arm's curve, as training it further would have. The race is that of the arms "
    "in the order in which they are listed; the tables are about all orders. Regret per pull is how much more the best "
    "single arm has than the policy, the final value of an arm the mean of the last 5 % of its curve."
)


# -- a replay ----------------------------------------------------------------------------------------------------------


def write_replay_page(outcome: Replay, advice: Advice, path: Path, *, metric: str = "value", command: str = "") -> None:
    """Write the page of a replay with its advice, whole or not at all; ``command`` is how to make it again."""
    label = advice.policy if advice.policy is not None else next(iter(outcome.reward))
    course = outcome.course(label)
    arms = _shown(outcome, course)
    sections = [
        Section("summary", "At a glance", [Facts("tiles", _tiles(outcome, advice, label), "tiles")]),
        Section("advice", "Advice", [Text(f"advice-{n}", said) for n, said in enumerate(advice.sentences, 1)]),
        Section("race", f"The race with {label}", [_fed(outcome, course, arms), _race(outcome, course, arms, metric)]),
        Section("curves", "What was recorded", [_recorded(outcome, arms, metric)]),
        Section(
            "policies",
            "All policies",
            [Table("outcome", outcome_table(outcome)), _cut("spent", spending_table(outcome), "arms")],
        ),
        Section("about", "How to read it", [Text("how-to-read", _HOW_TO_READ), *_command(command)]),
    ]
    write_whole(path, Page(f"Replay: {metric}", advice.sentences[0], sections).html().encode())


def _command(command: str) -> list[Block]:
    return [Code("command", "The command", command)] if command else []


def _cut(key: str, table: TextTable, what: str) -> Table:
    """A table of which a page shows no more than the first rows."""
    there = len(table.rows)
    note = f"{_MOST_ROWS:,} of {there:,} {what} are listed." if there > _MOST_ROWS else ""
    return Table(key, table._replace(rows=table.rows[:_MOST_ROWS]), note=note)


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
    order = np.argsort(-outcome.final if outcome.direction == "maximize" else outcome.final, kind="stable")
    curves = {_name(outcome, arm): outcome.recorded(outcome.stage.curves[arm]) for arm in order.tolist()}
    places = {_name(outcome, arm): place for place, arm in zip(_PLACES, arms, strict=False)}
    caption = f"The {metric} of every arm over its own pulls, as it was recorded; the best one in the end is bold."
    return _curves("recorded", caption, curves, places)


def _curves(key: str, caption: str, curves: Mapping[str, Floats], places: Mapping[str, int]) -> Figure:
    """Curves to their ends, the best first, which is bold; those with a place in the palette in colour."""
    others = [name for name in curves if name not in places]
    lines = []
    for name in [*others[:: max(1, -(-len(others) // _MOST_GREY))], *reversed(list(places))]:
        some, best = _thinned(len(curves[name])), name == next(iter(curves))
        shown = name if name in places else f"{len(others):,} others"
        lines.append(Line(shown, places.get(name, MUTED), _from_one(some), curves[name][some], bold=best))
    rows = [
        (name, f"{len(own):,}", f"{own[0]:.4g}", f"{own[-1]:.4g}") for name, own in list(curves.items())[:_MOST_ROWS]
    ]
    return draw.lines_figure(
        key,
        "Learning curves to their ends",
        caption,
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


# -- a check -----------------------------------------------------------------------------------------------------------


def write_check_page(
    curves: Mapping[str, Floats],
    reports: Sequence[CurveReport],
    verdicts: Sequence[Verdict],
    path: Path,
    *,
    metric: str = "value",
    falling: bool = False,
    command: str = "",
) -> None:
    """Write the page of a check, whole or not at all: each question with its verdict, three of them with a figure.

    Of ``curves`` more is better; ``falling`` ones were turned for that.
    """
    questions = Table("questions", verdicts_table(verdicts)._replace(title="All questions"))
    sections = [Section("verdicts", "Verdicts", [questions])]
    pictures = {"rising": _measured(curves, metric, -1.0 if falling else 1.0)}
    names, table = whole_curves(curves)
    if len(names) >= _LEAST_ARMS and table.shape[1] >= _LEAST_VALUES:
        pictures |= {"concave": _gains(table), "early ranks": _ranks(table)}
    for number, verdict in enumerate(verdicts, 1):
        said = f"{verdict.answer[:1].upper()}{verdict.answer[1:]}. What it means: {verdict.meaning}."
        blocks: list[Block] = [Text(f"verdict-{number}", said)]
        if verdict.question in pictures:
            blocks.append(pictures[verdict.question])
        sections.append(Section(f"question-{number}", verdict.question.capitalize(), blocks))
    shapes = check_table(reports)._replace(title="Each arm, each shape")
    sections.append(Section("arms", "Arm by arm", [_cut("shapes", shapes, "rows"), *_command(command)]))
    lead = "; ".join(f"{verdict.question}: {verdict.answer.split(':')[0].split(',')[0]}" for verdict in verdicts)
    page = Page(f"Check: {metric}", f"{len(curves):,} arms. {lead[:1].upper()}{lead[1:]}.", sections)
    write_whole(path, page.html().encode())


def _measured(curves: Mapping[str, Floats], metric: str, sign: float) -> Figure:
    """The curves as they were measured, those that are best in the end in colour."""
    order = sorted(curves, key=lambda name: -float(curves[name][-1]))
    places = {name: place for place, name in enumerate(order[:_MOST_COLOURED])}
    caption = f"The {metric} of each arm as it was measured; the {len(places)} best last values in colour."
    return _curves("curves", caption, {name: sign * curves[name] for name in order}, places)


def _gains(table: Floats) -> Figure:
    """How much of its total gain a curve makes in each tenth: concave curves have falling bars."""
    length = table.shape[1]
    block = max(1, length // 20)  # a value is the mean of a twentieth before it
    ends = [max(block, round(share * length)) for share in (0.0, *_TENTHS.tolist())]
    gains = np.diff(np.stack([table[:, end - block : end].mean(axis=1) for end in ends], axis=1), axis=1)
    whole = gains.sum(axis=1)
    gain = whole > 0
    shares = 100.0 * np.median(gains[gain] / whole[gain, None], axis=0) if gain.any() else np.zeros(len(_TENTHS))
    line = Line("median arm", 0, np.linspace(5.0, 95.0, 10), shares)
    return draw.lines_figure(
        "gains",
        "What each tenth of a curve brings",
        "What percentage of its total gain an arm makes in each tenth of its curve; the median of the arms. If curves "
        "are concave, each bar is lower than the one before.",
        [line],
        (draw.axis("percent of the curve", range=[0, 100]), draw.axis("percent of the gain", rangemode="tozero")),
        lines_table("Percent of the gain", "percent of the curve", [line], ".0f", ".3g"),
        draw=lambda data: draw.bars(data, [9.0] * 10),
        height=320,
    )


def _ranks(table: Floats) -> Figure:
    found = np.nan_to_num(early_ranks(table, _TENTHS.tolist()))
    line = Line("all arms", 0, 100.0 * _TENTHS, found)
    unit = draw.axis("rank correlation", range=[min(-0.05, found.min()), 1.05])
    return draw.lines_figure(
        "ranks",
        "How early ranks are known",
        "Rank correlation (Spearman) of the arms' values after a part of their curves with their final values: at 1, "
        "the order of the arms is already the final one; at 0, it says nothing about it.",
        [line],
        (draw.axis("percent of the curve", range=[0, 102]), unit),
        lines_table("Rank correlation with the end", "percent of the curve", [line], ".0f", ".2f"),
        draw=lambda data: draw.line(data, markers=True),
        height=320,
    )
