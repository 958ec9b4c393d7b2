"""The regret bounds of CommitUCB beside those of R-ed-UCB as the horizon grows: rows, a table and a figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from risingbandits._core.tables import TextTable
from risingbandits.lab.paper import _paper_figures as paper_figures
from risingbandits.lab.paper._csv_tables import with_numbers
from risingbandits.problems import RisingBandit
from risingbandits.reports._matplotlib_figures import label_lines
from risingbandits.reports._style import look, styled, thousands
from risingbandits.theory.upper_bounds import best_z, commit_bound, stochastic_bound, trivial_bound

HORIZONS = (200_000, 1_000_000, 10_000_000, 100_000_000)
Rows = Sequence[Mapping[str, str]]
# The paper's bound at the best of these parameters of R-ed-UCB; q is the best one anyway.
_EPS = (0.1, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45)
_ALPHA = (2.05, 2.1, 2.2, 2.5, 3.0)
_LINES = {
    "red_ucb": "R-ed-UCB (paper)",
    "closed": "CommitUCB, closed form",
    "least": "CommitUCB, least",
    "least_best_z": "CommitUCB, least, best z",
}


def paper_bound(problem: RisingBandit, horizon: int) -> float:
    """The paper's bound on R-ed-UCB, with parameters chosen in its favour."""
    return min(stochastic_bound(problem, horizon, eps, alpha).value for eps in _EPS for alpha in _ALPHA)


def bound_rows(problem: RisingBandit, horizons: Sequence[int] = HORIZONS) -> list[dict[str, str]]:
    """One row for each horizon."""
    rows = []
    for horizon in horizons:
        z = best_z(problem, horizon)
        least, best = commit_bound(problem, horizon), commit_bound(problem, horizon, z=z)
        numbers = {
            "least": least.value,
            "z": least.z or 0.0,
            "least_best_z": best.value,
            "best_z": z,
            "closed": commit_bound(problem, horizon, form="closed").value,
            "red_ucb": paper_bound(problem, horizon),
            "trivial": trivial_bound(problem, horizon),
        }
        row = {"problem": problem.name or "problem", "horizon": str(horizon), "form": least.form}
        rows.append(row | {name: f"{value:.6g}" for name, value in numbers.items()})
    return rows


def bounds_over_horizons(rows: Rows) -> TextTable:
    """The bounds in rounds, and as a share of the horizon: 1 or more says nothing."""
    table = []
    for row in rows:
        horizon = int(row["horizon"])
        cells = [f"{float(row[key]):,.0f} ({float(row[key]) / horizon:.2g})" for key in reversed(_LINES)]
        table.append((row["problem"], f"{horizon:,}", row["form"], *cells))
    header = ("problem", "T", "form", *reversed(_LINES.values()))
    title, records = "Upper bounds as T grows, in brackets / T", list(map(with_numbers, rows))
    return TextTable(header, table, frozenset({1, 3, 4, 5, 6}), title, records)


def plot_bounds(rows: Rows) -> Figure:
    """Bounds divided by T against T, a panel for each problem; above the line at 1 a bound says nothing."""
    names = list(dict.fromkeys(row["problem"] for row in rows))
    with styled():
        figure, axes = paper_figures.figure_with_axes(len(names), 1.2 + 2.6 * len(names), 2.6, share_y=True)
        for ax, name in zip(axes, names, strict=True):
            own = [row for row in rows if row["problem"] == name]
            horizons = [int(row["horizon"]) for row in own]
            for place, (key, label) in enumerate(_LINES.items()):
                shares = [float(row[key]) / horizon for row, horizon in zip(own, horizons, strict=True)]
                style = look(place)
                ax.plot(horizons, shares, color=style.color, marker="o", markersize=3, label=label)
            ax.axhline(1.0, color="0.5", linestyle=(0, (4, 2)))
            ax.set_xscale("log")
            ax.set_yscale("log")
            ax.xaxis.set_major_formatter(lambda value, _place: thousands(value))
            ax.grid(True, color="0.9", linewidth=0.5)
            ax.set_title(name)
            ax.set_xlabel("rounds T")
        axes[0].set_ylabel("bound / T (1: says nothing)")
        label_lines(axes[-1], axes[-1].get_lines()[: len(_LINES)])
    return figure
