"""The paper's lower bounds: the pairs of problems behind them, and what policies lose on the worse side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator

from risingbandits._core.files import write_whole
from risingbandits._core.tables import TextTable
from risingbandits.paper import drawing
from risingbandits.paper.kept_runs import Panel
from risingbandits.paper.pair_study import PairStudy
from risingbandits.paper.regret_study import POLICIES, Size
from risingbandits.paper.tables_on_disk import read_rows, write_rows
from risingbandits.policies import get_policy
from risingbandits.problems import PAIRS, problem_pair
from risingbandits.reports.style import look, styled, thousands, tidy
from risingbandits.reports.theory import pairs_csv
from risingbandits.simulation import Result
from risingbandits.theory.lower_bounds import lower_bound

__all__ = ["STUDY", "LowerBoundStudy"]

_POINTS = 120


@dataclass(frozen=True)
class LowerBoundStudy:
    """Policies on both sides of every pair, with a tenth of the runs: most pairs have no noise."""

    name: str = "lower-bounds"
    title: str = "Lower bounds"
    horizon: int = 50_000
    kinds: tuple[str, ...] = PAIRS

    def panels(self, size: Size) -> list[Panel]:
        horizon = self.horizon if size.horizon is None else size.horizon
        runs = max(1, size.runs // 10)
        found = []
        for kind in self.kinds:
            pair = problem_pair(kind, horizon)
            for side, problem in zip("ab", pair.sides, strict=True):
                policies = {name: get_policy(name) for name in POLICIES}
                found.append(Panel(f"{kind}-{side}", kind, problem, policies, horizon, runs, size.seed, 1))
        return found

    def write(self, results: Mapping[str, Result], size: Size, folder: Path) -> None:
        studies, curves = [], []
        for kind in self.kinds:
            first = results[f"{kind}-a"]
            pair = problem_pair(kind, first.horizon)
            studies.append(PairStudy(pair, lower_bound(pair), (first, results[f"{kind}-b"])))
            points = np.linspace(1, pair.horizon, _POINTS + 1).round().astype(np.int64)
            pulls = np.union1d(points, [pair.alike, pair.alike + 1])
            for side, problem in zip("AB", pair.sides, strict=True):
                means = problem.means(pulls)
                for arm, values in enumerate(means):
                    curves += [
                        (kind, side, arm + 1, int(n), f"{value:.6g}")
                        for n, value in zip(pulls, values, strict=True)
                        if arm > 0 or n in (pulls[0], pulls[-1])  # arm 1 is constant
                    ]
        write_whole(folder / f"{self.name}.csv", pairs_csv(studies).encode())
        write_rows(folder / f"{self.name}-instances.csv", ("pair", "side", "arm", "pull", "mean"), curves)

    def draw(self, folder: Path) -> list[str]:
        figures = {"problems": self._instances(folder), "multiples": self._multiples(folder)}
        return drawing.save_all(figures, folder, self.name)

    def _instances(self, folder: Path) -> Figure:
        curves: dict[tuple[str, str, str], list[tuple[float, float]]] = {}
        for row in read_rows(folder / f"{self.name}-instances.csv"):
            place = row["pair"], row["side"], row["arm"]
            curves.setdefault(place, []).append((float(row["pull"]), float(row["mean"])))
        kinds = list(dict.fromkeys(kind for kind, _, _ in curves))
        with styled():
            figure, axes = drawing.figure_with_axes(len(kinds), 1.45 * len(kinds), 2.9, rows=2, share_y=True)
            for number, ax in enumerate(axes):
                side, kind = "AB"[number // len(kinds)], kinds[number % len(kinds)]
                for arm in ("1", "2"):
                    points = np.array(curves[kind, side, arm])
                    shape = look(int(arm) - 1)
                    ax.plot(
                        points[:, 0], points[:, 1], color=shape.color, linestyle="-" if arm == "1" else (0, (5, 1.5))
                    )
                tidy(ax)
                ax.set_xticks([0, points[-1, 0]], ["0", "T"])
                ax.set_ylim(-0.03, 1.05)
                ax.set_title(f"{kind}, {side}")
            handles = [
                Line2D([], [], color=look(0).color, label="arm 1"),
                Line2D([], [], color=look(1).color, linestyle=(0, (5, 1.5)), label="arm 2"),
            ]
            figure.legend(handles=handles, loc="outside lower center", ncols=2)
            figure.supylabel("mean reward", fontsize=8)
        return figure

    def _multiples(self, folder: Path) -> Figure:
        rows = read_rows(folder / f"{self.name}.csv")
        kinds = list(dict.fromkeys(row["pair"] for row in rows))
        labels = list(dict.fromkeys(row["policy"] for row in rows))[::-1]
        with styled():
            size = 1.0 + 1.25 * len(kinds), 1.2 + 0.17 * len(labels)
            figure, axes = drawing.figure_with_axes(len(kinds), *size, share_y=True)
            for ax, kind in zip(axes, kinds, strict=True):
                of = {row["policy"]: row for row in rows if row["pair"] == kind}
                proved = float(of[labels[0]]["proved"])
                values = [float(of[label]["worse_regret"]) / proved for label in labels]
                errors = [float(of[label]["standard_error"]) / proved for label in labels]
                ax.errorbar(values, range(len(labels)), xerr=errors, fmt="o", markersize=3, color=look(0).color)
                ax.axvline(1.0, color=look(1).color)
                sharp = float(of[labels[0]]["sharp"]) / proved
                ax.axvline(sharp, color=look(2).color, linestyle=(0, (4, 2)))
                ax.set_xscale("log")
                ax.set_xlim(0.7, 1.6 * max(*values, sharp))
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

    def tables(self, folder: Path) -> list[TextTable]:
        rows = read_rows(folder / f"{self.name}.csv")
        kinds = list(dict.fromkeys(row["pair"] for row in rows))
        cells = {(row["pair"], row["policy"]): row for row in rows}
        labels = list(dict.fromkeys(row["policy"] for row in rows))
        table = []
        for key, text in (("printed", "bound as printed"), ("proved", "bound as proved"), ("sharp", "best known")):
            table.append((text, *(_short(float(cells[kind, labels[0]][key])) for kind in kinds)))
        for label in labels:
            found = [cells[kind, label] for kind in kinds]
            table.append((label, *(f"{_short(float(row['worse_regret']))} ({row['side']})" for row in found)))
        title = f"{self.title}: worse mean regret (side), T = {int(rows[0]['horizon']):,}, {rows[0]['runs']} runs"
        return [TextTable(("policy", *kinds), table, frozenset(range(1, len(kinds) + 1)), title)]


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


STUDY = LowerBoundStudy()
