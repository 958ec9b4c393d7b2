"""The page of a study: regret over time, the ranking, pulls, the true curves, settings and the command."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from risingbandits._core.tables import TextTable
from risingbandits._core.types import Floats
from risingbandits._version import __version__
from risingbandits.reports.pages import plotly_figures as draw
from risingbandits.reports.pages.elements import Block, Code, Facts, Figure, Section, Table, Text
from risingbandits.reports.pages.escaping import label, number, numbers
from risingbandits.reports.pages.page import Page
from risingbandits.reports.pictures import MOST_CURVES, most_pulled, percent
from risingbandits.reports.study import StudyFile
from risingbandits.reports.tables import summary_table
from risingbandits.simulation.result import Result

__all__ = ["Played", "study_page"]

_ROWS_OF_REGRET = 10
_HOW_TO_READ = (
    "Policy regret is what the best constant arm would have earned beyond the policy, in units of reward: 0 is "
    "perfect. J* is all that this arm earns. Intervals and bands are 95 % confidence intervals of the mean (Student t)."
)


@dataclass(frozen=True)
class Played:
    """A study as it lies in a folder.

    Attributes
    ----------
    title : str
        What it is called on the page.
    result : Result
        Regret, pulls and recommendations.
    about : StudyFile or None
        Command, arms and curves, if the folder has them.
    """

    title: str
    result: Result
    about: StudyFile | None

    @property
    def arms(self) -> list[str]:
        """Names of the arms, their numbers where no names are known; the best one has a star."""
        count = next(iter(self.result.pulls.values())).shape[1]
        if self.about is None:
            return [str(arm + 1) for arm in range(count)]
        names = [str(arm + 1) if name == f"arm {arm + 1}" else name for arm, name in enumerate(self.about.arms)]
        return [name + "*" if arm == self.about.best else name for arm, name in enumerate(names)]


def study_page(studies: Sequence[Played], command: str | None, tables: Sequence[TextTable] = ()) -> Page:
    """The page of one or several studies; ``tables`` are further ones, which belong to all of them."""
    sections = [_section(study, f"study-{number}", len(studies) > 1) for number, study in enumerate(studies, 1)]
    further: list[Block] = [Table(f"table-{number}", table) for number, table in enumerate(tables, 1)]
    if further:
        sections.append(Section("tables", "Further tables", further))
    closing: list[Block] = [Text("how-to-read", [_HOW_TO_READ]), Facts("version", [("risingbandits", __version__)])]
    if command is not None:
        closing.append(Code("command", "The command that made this study", command))
    else:
        closing.append(Text("command", ["The folder does not say which command made this study."]))
    sections.append(Section("about", "How to read it and make it again", closing))
    title = studies[0].title if len(studies) == 1 else f"{len(studies)} studies"
    return Page(title, " ".join(map(_verdict, studies[:3])), sections)


def _verdict(study: Played) -> str:
    """The winner, in a sentence that says no more than the intervals allow."""
    result = study.result
    ranked = result.summary()
    first = ranked[0]
    if len(ranked) == 1:
        return f"{study.title}: {first['policy']} lost {first['regret']:,.1f} of {result.oracle[-1]:,.0f} (J*)."
    second = ranked[1]
    clear = first["regret"] + first["half_width"] < second["regret"] - second["half_width"]
    margin = "and its interval lies below all others" if clear else f"but {second['policy']} may be as good"
    regret = f"{first['regret']:,.1f} after {result.horizon:,} rounds"
    return f"{study.title}: {first['policy']} has the least regret, {regret}, {margin}."


def _section(study: Played, key: str, titled: bool) -> Section:
    blocks: list[Block] = [_regret(study, key), _ranking(study, key), _pulls(study, key)]
    if study.about is not None:
        blocks.append(_curves(study, study.about, key))
    else:
        missing = (
            "The folder holds no learning curves: `risingbandits simulate --out` writes them, Result.save does not."
        )
        blocks.append(Text(f"{key}-curves", [missing]))
    blocks.append(_settings(study, key))
    blocks.append(Facts(f"{key}-facts", _facts(study)))
    return Section(key, study.title if titled else "Results", blocks)


def _facts(study: Played) -> list[tuple[str, str]]:
    result = study.result
    facts = [
        ("problem", result.problem),
        ("rounds", f"{result.horizon:,}"),
        ("runs of each policy", f"{result.runs:,}"),
        ("arms", f"{len(study.arms):,}"),
        ("seed", str(result.seed)),
        ("J*", f"{result.oracle[-1]:,.1f}"),
    ]
    return facts if study.about is None else [*facts, ("noise", study.about.noise)]


def _regret(study: Played, key: str) -> Figure:
    result = study.result
    rounds = [0, *result.checkpoints.tolist()]
    data = []
    for place, policy in enumerate(result.policies):
        mean = np.append(0.0, result.mean(policy))
        hover = "%{y:,.5~r}"
        half = np.append(0.0, _half_width(result, policy))
        if result.runs > 1:
            data.append(draw.band(policy, rounds, mean - half, mean + half, place))
            hover += " ± %{customdata:,.3~r}"
        extra = numbers(half, 3) if result.runs > 1 else None
        data.append(draw.line(policy, rounds, numbers(mean), place, hover, extra=extra))
    order = [str(row["policy"]) for row in result.summary()]
    places = {policy: place for place, policy in enumerate(result.policies)}
    runs = f"mean of {result.runs:,} runs; bands: 95 % confidence" if result.runs > 1 else "1 run"
    return Figure(
        key=f"{key}-regret",
        title="Regret over time",
        caption=f"What each policy has lost against the best constant arm; {runs}.",
        data=data,
        layout=draw.layout(
            draw.axis("round", range=[0, result.horizon]),
            draw.axis("policy regret (units of reward)", rangemode="tozero"),
            hovermode="x unified",
        ),
        table=_regret_table(result, order),
        legend=[draw.entry(policy, places[policy]) for policy in order],
        height=420,
    )


def _half_width(result: Result, policy: str) -> Floats:
    """Half the width of the interval; what is only rounding of equal runs is 0."""
    half = result.half_width(policy)
    return np.where(half < 1e-9 * abs(float(result.oracle[-1])), 0.0, half)


def _regret_table(result: Result, order: Sequence[str]) -> TextTable:
    count = min(_ROWS_OF_REGRET, result.checkpoints.size)
    rows_at = np.unique(np.linspace(0, result.checkpoints.size - 1, count).round().astype(int))
    means = {policy: result.mean(policy) for policy in order}
    rows = [(f"{result.checkpoints[at]:,}", *(f"{means[policy][at] + 0.0:,.1f}" for policy in order)) for at in rows_at]
    numeric = frozenset(range(len(order) + 1))
    return TextTable(("round", *order), rows, numeric, "Mean policy regret at some rounds")


def _ranking(study: Played, key: str) -> Figure:
    ranked = study.result.summary()
    names = [str(row["policy"]) for row in ranked]
    several = study.result.runs > 1
    half = [number(_half_width(study.result, name)[-1], 4) for name in names] if several else None
    hover = "%{text}: %{x:,.5~r}" + (" ± %{customdata:,.3~r}" if several else "") + "<extra></extra>"
    return Figure(
        key=f"{key}-ranking",
        title="Final regret, least first",
        caption="Mean regret at the last round" + (" with its 95 % confidence interval." if several else ", 1 run."),
        data=[draw.dots(names, [number(row["regret"]) for row in ranked], half, hover)],
        layout=draw.layout(draw.axis("final regret (units of reward)", rangemode="tozero"), draw.named_rows(names)),
        table=summary_table(study.result),
        height=90 + 30 * len(names),
    )


def _pulls(study: Played, key: str) -> Figure:
    result = study.result
    shares = 100 * np.array([result.pulls[policy].mean(axis=0) for policy in result.policies]) / result.horizon
    best = None if study.about is None else study.about.best
    shares, names = most_pulled(shares, study.arms, best)
    texts = [[percent(share) for share in row] for row in shares]
    star = "; * is the best one" if best is not None else ""
    table = TextTable(
        ("policy", *names),
        [(policy, *row) for policy, row in zip(result.policies, texts, strict=True)],
        frozenset(range(1, len(names) + 1)),
        "Share of the pulls, in percent",
    )
    ticks = {"tickvals": list(range(len(names))), "ticktext": [label(name, 16) for name in names]}
    return Figure(
        key=f"{key}-pulls",
        title="Where the pulls went",
        caption=f"Mean share of the pulls that each policy gave to each arm, in percent{star}.",
        data=[draw.heat(result.policies, names, shares, texts)],
        layout=draw.layout(
            draw.axis("arm", showgrid=False, range=[-0.5, len(names) - 0.5], **ticks),
            draw.named_rows(result.policies, showgrid=False),
        ),
        table=table,
        height=110 + 30 * len(result.policies),
    )


def _curves(study: Played, about: StudyFile, key: str) -> Figure:
    pulls = about.curves.pulls
    names = study.arms
    ranked = list(about.curves.means)
    data, legend = [], []
    hover = "%{y:.4~r}"
    for arm in reversed(ranked[MOST_CURVES:]):
        others = f"{len(names) - MOST_CURVES:,} others"
        means = about.curves.means[arm]
        data.append(draw.line(names[arm], pulls, means, draw.MUTED, hover, group=others, width=1, skip_hover=True))
    for place, arm in enumerate(ranked[:MOST_CURVES]):
        width = 3.0 if arm == about.best else 1.8
        data.append(draw.line(names[arm], pulls, about.curves.means[arm], place, hover, width=width))
        legend.append(draw.entry(names[arm], place))
    if len(names) > MOST_CURVES:
        legend.append(draw.entry(others, draw.MUTED))
    hidden = len(names) - len(ranked)
    unit = "round" if about.restless else "pull of the arm"
    table_at = np.unique(np.linspace(0, len(pulls) - 1, _ROWS_OF_REGRET).round().astype(int))
    rows = [
        (f"{pulls[at]:,}", *(f"{about.curves.means[arm][at]:.4g}" for arm in ranked[:MOST_CURVES])) for at in table_at
    ]
    header = (unit, *(names[arm] for arm in ranked[:MOST_CURVES]))
    return Figure(
        key=f"{key}-curves",
        title="The arms' true learning curves",
        caption="Mean reward of each arm"
        + (" over the rounds." if about.restless else " over its own pulls, which no policy knows.")
        + (f" {hidden:,} arms with smaller sums are not drawn." if hidden else ""),
        data=data,
        layout=draw.layout(draw.axis(unit, range=[0, pulls[-1]]), draw.axis("mean reward"), hovermode="x unified"),
        table=TextTable(header, rows, frozenset(range(len(header))), "Mean reward at some pulls"),
        legend=legend,
        height=400,
    )


def _settings(study: Played, key: str) -> Table:
    rows = list(study.result.settings.items())
    return Table(f"{key}-settings", TextTable(("name here", "policy and its settings"), rows, frozenset(), "Policies"))
