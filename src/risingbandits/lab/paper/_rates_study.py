"""The paper's tables of rates, checked against sums, and the construction of its estimator. Nothing is played."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from risingbandits._core.tables import TextTable
from risingbandits.lab.paper import _paper_figures as paper_figures
from risingbandits.lab.paper._csv_tables import read_rows, with_numbers, write_rows
from risingbandits.lab.paper._regret_study import Panel, Size
from risingbandits.problems import Polynomial
from risingbandits.reports._style import look, styled, tidy
from risingbandits.simulation import Result
from risingbandits.theory.complexity._rates import increment_bound, increment_rate, regret_rate
from risingbandits.theory.estimators._paper import deterministic_estimate, window_estimate

_PULLS = (1_000, 10_000, 100_000)
_CASES = (("exponential", 0.5, 0.5), ("polynomial", 2.0, 1.0), ("polynomial", 2.0, 0.5), ("polynomial", 0.8, 0.5))
_CURVE = Polynomial(0.9, 30, 1)
_PULLED, _ROUND, _LAST, _WINDOW = 40, 120, 150, 10


@dataclass(frozen=True)
class RatesStudy:
    """Table 1 (cumulative increment), the rates of the regret, and the estimator's construction."""

    name: str = "rates"
    title: str = "Rates and estimator"

    def panels(self, size: Size) -> list[Panel]:
        return []

    def write(self, results: Mapping[str, Result], size: Size, folder: Path) -> None:
        increments = []
        for decay, c, q in _CASES:
            for pulls in _PULLS:
                l = np.arange(1, pulls, dtype=np.float64)  # noqa: E741 the paper's letter
                exact = np.exp(-c * q * l).sum() if decay == "exponential" else (l ** (-c * q)).sum()
                rate, bound = increment_rate(decay, c, q, pulls), increment_bound(decay, c, q, pulls)
                increments.append((decay, c, q, pulls, *(f"{x:.6g}" for x in (exact, rate, bound))))
        header = ("decay", "c", "q", "M", "sum", "table_1", "lemma")
        write_rows(folder / f"{self.name}-increment.csv", header, increments)
        regret = []
        for setting in ("deterministic", "stochastic"):
            for c in np.round(np.arange(0.5, 3.01, 0.05), 2):
                rate_of = regret_rate("polynomial", float(c), setting)
                regret.append((setting, "polynomial", float(c), f"{rate_of.exponent:.6g}", rate_of.text))
            rate_of = regret_rate("exponential", 1.0, setting)
            regret.append((setting, "exponential", 1.0, f"{rate_of.exponent:.6g}", rate_of.text))
        write_rows(folder / f"{self.name}-regret.csv", ("setting", "decay", "c", "exponent", "rate"), regret)
        write_rows(folder / f"{self.name}-estimator.csv", ("what", "pull", "value"), _estimator_rows())

    def draw(self, folder: Path) -> list[str]:
        figures = {"regret": self._regret(folder), "estimator": self._estimator(folder)}
        return paper_figures.save_all(figures, folder, self.name)

    def _regret(self, folder: Path) -> Figure:
        rows = [row for row in read_rows(folder / f"{self.name}-regret.csv") if row["decay"] == "polynomial"]
        with styled():
            figure, (ax,) = paper_figures.figure_with_axes(1, 3.4, 2.4)
            for place, setting in enumerate(("stochastic", "deterministic")):
                points = np.array([(float(r["c"]), float(r["exponent"])) for r in rows if r["setting"] == setting])
                shape = look(place)
                style = "-" if place == 0 else (0, (5, 1.5))
                ax.plot(points[:, 0], points[:, 1], color=shape.color, linestyle=style, label=setting)
            tidy(ax)
            ax.set_ylim(0, 1.05)
            ax.set(xlabel="$c$, where increments are at most $l^{-c}$", ylabel="exponent of $T$ in the bound")
            ax.set_title("R-ed-UCB: rate of the regret bound")
            ax.legend(loc="lower left")
        return figure

    def _estimator(self, folder: Path) -> Figure:
        found: dict[str, list[tuple[float, float]]] = {}
        for row in read_rows(folder / f"{self.name}-estimator.csv"):
            found.setdefault(row["what"], []).append((float(row["pull"]), float(row["value"])))
        points = {what: np.array(values) for what, values in found.items()}
        with styled():
            figure, axes = paper_figures.figure_with_axes(2, 6.6, 2.6, share_y=True)
            for ax, title in zip(axes, ("without noise: last increment", "with noise: two windows"), strict=True):
                ax.plot(*points["mean"].T, color="black", label="mean reward", zorder=3)
                ax.set_title(title)
            axes[0].plot(*points["last"].T, color=look(0).color, label="line through the last two pulls")
            axes[0].plot(*points["last"][:2].T, "o", color=look(0).color, markersize=3)
            axes[0].plot(*points["estimate"].T, "s", color=look(1).color, markersize=5, label="estimate for round t")
            axes[1].plot(*points["reward"].T, ".", color="0.6", markersize=3, label="rewards")
            axes[1].plot(
                *points["window"].T, color=look(0).color, linestyle=(0, (5, 1.5)), label="line through windows"
            )
            for part, shade in (("old window", "0.93"), ("new window", "0.86")):
                axes[1].axvspan(
                    points[part][0, 0] - 0.5, points[part][1, 0] + 0.5, color=shade, linewidth=0, label=part
                )
            axes[1].plot(
                *points["window estimate"].T, "s", color=look(1).color, markersize=5, label="estimate for round t"
            )
            for ax in axes:
                tidy(ax)
                ax.set_xticks([0, _PULLED, _ROUND], ["0", "N", "t"])
                ax.set_xlim(0, _LAST)
                ax.set_ylim(bottom=0)
                ax.set_xlabel("pulls")
                ax.legend(loc="lower right")
            axes[0].set_ylabel("reward")
        return figure

    def tables(self, folder: Path) -> list[TextTable]:
        measured = read_rows(folder / f"{self.name}-increment.csv")
        increments = [
            (
                f"e^(-{row['c']} l)" if row["decay"] == "exponential" else f"l^-{row['c']}",
                row["q"],
                f"{int(row['M']):,}",
                *(f"{float(row[key]):,.4g}" for key in ("sum", "table_1", "lemma")),
            )
            for row in measured
        ]
        header = ("increments", "q", "M", "U(M, q)", "order in Table 1", "bound of the lemma")
        numbers = list(map(with_numbers, measured))
        first = TextTable(header, increments, frozenset(range(1, 6)), "Cumulative increment", numbers)
        cases = (
            ("e^(-c l)", "exponential", 1.0),
            ("l^-c, c > 3/2", "polynomial", 2.0),
            ("l^-c, 1 < c <= 3/2", "polynomial", 1.25),
            ("l^-c, c <= 1", "polynomial", 0.5),
        )
        rows = {
            (r["setting"], r["decay"], float(r["c"])): r["rate"] for r in read_rows(folder / f"{self.name}-regret.csv")
        }
        table = [
            (setting, *(rows[setting, decay, c] for _, decay, c in cases))
            for setting in ("deterministic", "stochastic")
        ]
        rates = list(map(with_numbers, read_rows(folder / f"{self.name}-regret.csv")))
        settings, title = ("setting", *(text for text, _, _ in cases)), "Rates of the regret of R-ed-UCB"
        second = TextTable(settings, table, title=title, records=rates)
        return [first, second]


def _estimator_rows() -> list[tuple[str, int, str]]:
    """What the figure of the estimator shows, for one curve."""
    pulls = np.arange(1, _LAST + 1)
    rewards = _CURVE(pulls[:_PULLED]) + 0.03 * np.random.default_rng(0).standard_normal(_PULLED)
    estimate = deterministic_estimate(_CURVE, _PULLED, _ROUND)
    last = float(_CURVE(_PULLED))
    slope = (estimate - last) / (_ROUND - _PULLED)
    window = window_estimate(rewards, _WINDOW, _ROUND)
    one_later = window_estimate(rewards, _WINDOW, _ROUND + 1)
    start = _PULLED - _WINDOW // 2
    rows: list[tuple[str, int, float]] = [("mean", int(n), float(_CURVE(int(n)))) for n in pulls]
    rows += [("last", n, last + slope * (n - _PULLED)) for n in (_PULLED - 1, _PULLED, _ROUND)]
    rows += [("estimate", _ROUND, estimate), ("window estimate", _ROUND, window)]
    rows += [("reward", int(n), float(value)) for n, value in zip(pulls, rewards, strict=False)]
    rows += [("window", n, window + (one_later - window) * (n - _ROUND)) for n in (start - _WINDOW, _ROUND)]
    rows += [("old window", n, math.nan) for n in (_PULLED - 2 * _WINDOW + 1, _PULLED - _WINDOW)]
    rows += [("new window", n, math.nan) for n in (_PULLED - _WINDOW + 1, _PULLED)]
    return [(what, n, f"{value:.6g}") for what, n, value in rows]


STUDY = RatesStudy()
