"""The paper's lower bounds: the pairs of problems behind them, and what policies lose on the worse side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from risingbandits._core.tables import TextTable
from risingbandits.lab.paper import _pair_study as pair_study
from risingbandits.lab.paper import _paper_figures as paper_figures
from risingbandits.lab.paper._csv_tables import read_rows, write_rows
from risingbandits.lab.paper._regret_study import POLICIES, Panel, Size
from risingbandits.lab.paper.pairs import PAIRS, problem_pair
from risingbandits.policies import get_policy
from risingbandits.reports._style import look, styled, tidy
from risingbandits.simulation import Result
from risingbandits.theory.lower_bounds import lower_bound

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
                found.append(Panel(f"{kind}-{side}", problem, policies, horizon, runs, size.seed, 1))
        return found

    def write(self, results: Mapping[str, Result], size: Size, folder: Path) -> None:
        studies, curves = [], []
        for kind in self.kinds:
            first = results[f"{kind}-a"]
            pair = problem_pair(kind, first.horizon)
            studies.append(pair_study.PairStudy(pair, lower_bound(pair), (first, results[f"{kind}-b"])))
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
        rows = pair_study.pair_rows(studies)
        write_rows(folder / f"{self.name}.csv", list(rows[0]), [list(row.values()) for row in rows])
        write_rows(folder / f"{self.name}-instances.csv", ("pair", "side", "arm", "pull", "mean"), curves)

    def draw(self, folder: Path) -> list[str]:
        multiples = pair_study.plot_pairs(read_rows(folder / f"{self.name}.csv"))
        figures = {"problems": self._instances(folder), "multiples": multiples}
        return paper_figures.save_all(figures, folder, self.name)

    def _instances(self, folder: Path) -> Figure:
        curves: dict[tuple[str, str, str], list[tuple[float, float]]] = {}
        for row in read_rows(folder / f"{self.name}-instances.csv"):
            place = row["pair"], row["side"], row["arm"]
            curves.setdefault(place, []).append((float(row["pull"]), float(row["mean"])))
        kinds = list(dict.fromkeys(kind for kind, _, _ in curves))
        with styled():
            figure, axes = paper_figures.figure_with_axes(len(kinds), 1.45 * len(kinds), 2.9, rows=2, share_y=True)
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

    def tables(self, folder: Path) -> list[TextTable]:
        return [pair_study.pairs_table(read_rows(folder / f"{self.name}.csv"))]


STUDY = LowerBoundStudy()
