"""Policies on the pairs of the lower bounds: the worse of two regrets, and the bound that no policy can beat.

Played, as rows for a CSV file, and as the table and the figure that are made of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from risingbandits._core.errors import check_positive_int
from risingbandits._core.tables import TextTable
from risingbandits.lab.paper import _paper_figures as paper_figures
from risingbandits.lab.paper._csv_tables import with_numbers
from risingbandits.lab.paper.pairs import PAIRS, problem_pair
from risingbandits.policies import policy_names
from risingbandits.problems import Noise
from risingbandits.reports._style import look, styled, thousands
from risingbandits.simulation import Result, simulate
from risingbandits.simulation.run import Policies
from risingbandits.theory.lower_bounds import LowerBound, ProblemPair, lower_bound

Rows = Sequence[Mapping[str, str]]


@dataclass(frozen=True)
class Worse:
    """The side on which a policy's weighted mean regret is larger, with its standard error (0 for one run)."""

    side: str
    regret: float
    error: float


@dataclass(frozen=True)
class PairStudy:
    """What policies did on both sides of a pair."""

    pair: ProblemPair
    bound: LowerBound
    results: tuple[Result, Result]

    @property
    def policies(self) -> list[str]:
        """The labels."""
        return self.results[0].policies

    def worse(self, label: str) -> Worse:
        """Where ``label`` did worse, in the units of the bound."""
        found = []
        for side, result, weight in zip("AB", self.results, self.bound.weights, strict=True):
            final = weight * result.final_regret[label]
            error = float(final.std(ddof=1)) / math.sqrt(final.size) if final.size > 1 else 0.0
            mean = float(final.mean())
            found.append(Worse(side, mean, error if error > 1e-9 * abs(mean) else 0.0))
        return max(found, key=lambda worse: worse.regret)

    def holds(self, label: str, errors: float = 4.0) -> bool:
        """Whether the worse regret plus some standard errors reaches the sharp bound, and so the proved one."""
        worse = self.worse(label)
        return worse.regret + errors * worse.error >= self.bound.sharp * (1.0 - 1e-9)


def learning_policies() -> list[str]:
    """Registered policies for a small cumulative regret that are not told the problem.

    Examples
    --------
    >>> "red-ucb" in learning_policies(), "oracle" in learning_policies()
    (True, False)
    """
    return sorted({"auto", *policy_names("cumulative")} - {"oracle"})


def play_pairs(
    policies: Policies | None = None,
    kinds: Sequence[str] = PAIRS,
    horizon: int = 50_000,
    runs: int = 10,
    seed: int = 0,
    jobs: int | None = None,
    noise: Noise | None = None,
    q: float = 0.5,
    progress: bool | Callable[[str, int], None] = False,
) -> list[PairStudy]:
    """Simulate policies on both sides of each pair.

    By default `learning_policies`, on all pairs with their own noise; ``q`` is that of the cumulative-increment bound,
    the other arguments are those of `simulate`.

    Examples
    --------
    >>> (study,) = play_pairs(["round-robin"], ["concave"], horizon=1_000, runs=1)
    >>> study.worse("round-robin").side, round(study.worse("round-robin").regret, 2), study.holds("round-robin")
    ('B', 156.31, True)
    """
    check_positive_int("runs", runs)
    chosen = learning_policies() if policies is None else policies
    studies = []
    for kind in kinds:
        pair = problem_pair(kind, horizon, noise=noise)
        a, b = (
            simulate(
                chosen,
                side,
                horizon=None,
                runs=runs,
                seed=seed,
                jobs=jobs,
                record_at=1,
                progress=progress,
                objective="cumulative",
            )
            for side in pair.sides
        )
        studies.append(PairStudy(pair, lower_bound(pair, q), (a, b)))
    return studies


def pair_rows(studies: Sequence[PairStudy]) -> list[dict[str, str]]:
    """One row for each pair and policy: the worse of the two mean regrets, and the bounds."""
    rows = []
    for study in studies:
        for label in study.policies:
            worse, bound = study.worse(label), study.bound
            names = {"pair": study.pair.kind, "horizon": study.pair.horizon, "runs": study.results[0].runs}
            numbers = {"worse_regret": worse.regret, "standard_error": worse.error, "printed": bound.printed}
            numbers |= {"proved": bound.value, "sharp": bound.sharp}
            row = {**names, "policy": label, "side": worse.side, **{k: f"{v:.6g}" for k, v in numbers.items()}}
            rows.append({key: str(value) for key, value in row.items()} | {"holds": str(study.holds(label))})
    return rows


def pairs_table(rows: Rows) -> TextTable:
    """The worse of the two mean regrets of each policy on each pair, below the bounds."""
    cells, kinds, labels = _by_pair(rows)
    table = []
    for key, text in (("printed", "as printed"), ("proved", "as proved"), ("sharp", "best for this pair")):
        table.append((f"bound {text}", *(_short(float(cells[kind, labels[0]][key])) for kind in kinds)))
    for label in labels:
        found = []
        for row in (cells[kind, label] for kind in kinds):
            mark = "" if row["holds"] == "True" else " BELOW THE BOUND"
            regret, error = (_short(float(row[key])) for key in ("worse_regret", "standard_error"))
            found.append(f"{regret} ± {error} ({row['side']}){mark}")
        table.append((label, *found))
    title = f"Lower bounds, T = {int(rows[0]['horizon']):,}, {rows[0]['runs']} runs; ± one standard error"
    header, records = ("worse mean regret (side)", *kinds), list(map(with_numbers, rows))
    return TextTable(header, table, frozenset(range(1, len(kinds) + 1)), title, records)


def plot_pairs(rows: Rows) -> Figure:
    """Worse mean regret of every policy on every pair as a multiple of the proved bound."""
    cells, kinds, labels = _by_pair(rows)
    regrets = {place: float(row["worse_regret"]) for place, row in cells.items()}
    labels.sort(key=lambda label: -np.mean([math.log(max(regrets[kind, label], 1e-9)) for kind in kinds]))
    with styled():
        size = 1.3 + 1.25 * len(kinds), 1.0 + 0.16 * len(labels)
        figure, axes = paper_figures.figure_with_axes(len(kinds), *size, share_y=True)
        for ax, kind in zip(axes, kinds, strict=True):
            proved, sharp = (float(cells[kind, labels[0]][key]) for key in ("proved", "sharp"))
            multiples = [regrets[kind, label] / proved for label in labels]
            errors = [float(cells[kind, label]["standard_error"]) / proved for label in labels]
            ax.errorbar(multiples, range(len(labels)), xerr=errors, fmt="o", markersize=3, color=look(0).color)
            ax.axvline(1.0, color=look(1).color)
            ax.axvline(sharp / proved, color=look(2).color, linestyle=(0, (4, 2)))
            ax.set_xscale("log")
            ax.set_xlim(0.7, 1.6 * max(*multiples, sharp / proved))
            if ax.get_xlim()[1] < 12:  # too short for powers of ten alone
                ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            ax.xaxis.set_major_formatter(lambda value, _place: thousands(value))
            ax.xaxis.set_minor_formatter("")
            ax.grid(True, color="0.9", linewidth=0.5)
            ax.set_title(f"{kind}\nproved {_short(proved)}")
        axes[0].set_yticks(range(len(labels)), labels)
        axes[0].set_ylim(-0.7, len(labels) - 0.3)
        text = "worse mean regret of the pair / proved bound (solid: proved, dashed: best known for the pair)"
        figure.supxlabel(text, fontsize=8)
    return figure


def _by_pair(rows: Rows) -> tuple[dict[tuple[str, str], Mapping[str, str]], list[str], list[str]]:
    """The rows by pair and policy, the pairs and the policies."""
    cells = {(row["pair"], row["policy"]): row for row in rows}
    return cells, list(dict.fromkeys(pair for pair, _ in cells)), list(dict.fromkeys(label for _, label in cells))


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
