"""Figures: regret over time, pulls of the arms, learning curves.

Every function draws on the ``ax`` it gets, in whatever style that has, or on a new figure in the style of the package.
None of them uses pyplot or changes Matplotlib's settings.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import PowerNorm
from matplotlib.figure import Figure

from risingbandits._core.errors import RisingBanditsError, check_positive_int
from risingbandits._core.files import write_whole
from risingbandits.problems import RisingBandit
from risingbandits.reports.pictures import MOST_CURVES, most_pulled, percent
from risingbandits.reports.style import look, new_axes, styled, tidy
from risingbandits.simulation.result import Result

__all__ = ["plot_curves", "plot_pulls", "plot_regret", "save_figure"]

_POINTS = 600  # per curve
_DOTS_PER_INCH = 200
_FORMATS: dict[str, dict[str, Any]] = {
    "png": {"metadata": {"Software": None}},
    "svg": {"metadata": {"Date": None, "Creator": None}},
}

P = ParamSpec("P")


def _in_style(draw: Callable[P, Axes]) -> Callable[P, Axes]:
    """Apply the package's look unless the caller brings axes of their own."""

    @wraps(draw)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> Axes:
        if any(isinstance(value, Axes) for value in (*args, *kwargs.values())):
            return draw(*args, **kwargs)
        with styled():
            return draw(*args, **kwargs)

    return drawn


@_in_style
def plot_regret(result: Result, ax: Axes | None = None) -> Axes:
    """Mean policy regret at each checkpoint, with bands of 95 % confidence of the mean.

    Parameters
    ----------
    result : Result
        What `simulate` returned.
    ax : Axes, optional
        Where to draw; by default a new figure, which is ``plot_regret(result).figure``.
    """
    ax = new_axes(entries=len(result.policies)) if ax is None else ax
    rounds = np.concatenate([[0], result.checkpoints])
    lines = []
    for position, label in enumerate(result.policies):
        mean = np.concatenate([[0.0], result.mean(label)])
        line = look(position)
        (drawn,) = ax.plot(rounds, mean, label=label, color=line.color, linestyle=line.linestyle)
        lines.append((mean[-1], drawn))
        if result.runs > 1:
            half = np.concatenate([[0.0], result.half_width(label)])
            ax.fill_between(rounds, mean - half, mean + half, color=line.color, alpha=0.2, linewidth=0)
    ax.set_xlim(0, result.horizon)
    tidy(ax)
    ax.set_xlabel("round")
    ax.set_ylabel("policy regret (units of reward)")
    repeated = f"{result.runs} runs, bands: 95 % confidence" if result.runs > 1 else "1 run"
    ax.set_title(f"{result.problem}: {repeated}")
    _legend_in_order(ax, lines)
    return ax


@_in_style
def plot_pulls(result: Result, ax: Axes | None = None, problem: RisingBandit | None = None) -> Axes:
    """Mean share of the pulls that each policy gave to each arm, as a table of shades.

    Parameters
    ----------
    result : Result
        What `simulate` returned.
    ax : Axes, optional
        Where to draw; by default a new figure.
    problem : RisingBandit, optional
        The problem that was simulated: gives the names of the arms and marks the best one. With more than 20 arms
        the 20 most pulled ones are shown, the others together in a last column.
    """
    shares = 100 * np.array([result.pulls[label].mean(axis=0) for label in result.policies]) / result.horizon
    names, best = _arm_labels(problem, shares.shape[1], result.horizon)
    shares, names = most_pulled(shares, names, best)
    rows, columns = shares.shape
    ax = new_axes(1.4 + 0.25 * max(columns, 10), 0.8 + 0.2 * rows) if ax is None else ax
    ax.imshow(shares, cmap="Blues", norm=PowerNorm(0.5, 0, 100), aspect="auto")
    for row, column in np.ndindex(rows, columns):
        share = float(shares[row, column])
        shade = "white" if share > 35 else "0.6" if share == 0 else "black"
        ax.text(column, row, percent(share), ha="center", va="center", color=shade, fontsize=6)
    slanted = 0.065 * max(map(len, names)) > 0.25 * max(columns, 10) / columns  # inches of the text and of a cell
    ax.set_yticks(range(rows), result.policies)
    ax.set_xticks(range(columns), names, rotation=40 if slanted else 0, ha="right" if slanted else "center")
    ax.tick_params(length=0, pad=2)
    ax.spines[:].set_visible(False)
    ax.set_title(f"{result.problem}: share of the pulls (%)")
    ax.set_xlabel("arm" if best is None else "arm (* is the best one)")
    return ax


@_in_style
def plot_curves(problem: RisingBandit, horizon: int | None = None, ax: Axes | None = None) -> Axes:
    """Mean reward of each arm over its pulls (of a restless problem: over the rounds).

    Parameters
    ----------
    problem : RisingBandit
        The problem.
    horizon : int, optional
        Last pull; the problem's own horizon by default.
    ax : Axes, optional
        Where to draw; by default a new figure. The best arm is drawn thicker. With more than 7 arms the 7 with the
        largest sums are in colour and named, the others grey.
    """
    if horizon is None and problem.horizon is None:
        raise RisingBanditsError("horizon must be given, because the problem has none of its own.")
    last = check_positive_int("horizon", problem.horizon if horizon is None else horizon)
    ax = new_axes() if ax is None else ax
    pulls = np.unique(np.geomspace(1, last, _POINTS).round().astype(np.int64))
    pulls = np.union1d(pulls, np.linspace(1, last, _POINTS).round().astype(np.int64))
    sums = problem.mean_sums(last)
    ranked = [int(arm) for arm in np.argsort(-sums, kind="stable")]
    coloured = ranked[:MOST_CURVES]
    means = problem.means(pulls)
    lines = []
    for number, arm in enumerate(ranked[MOST_CURVES:]):
        label = f"{len(ranked) - MOST_CURVES} others" if number == 0 else None
        (drawn,) = ax.plot(pulls, means[arm], color="0.75", linewidth=0.8, label=label, zorder=1)
        if number == 0:
            lines.append((-np.inf, drawn))
    for position, arm in enumerate(coloured):
        line = look(position)
        best = arm == ranked[0] and not problem.restless
        label = problem.arm_names[arm] + (" (best)" if best else "")
        width = 2.0 if best else 1.2
        (drawn,) = ax.plot(pulls, means[arm], color=line.color, linestyle=line.linestyle, linewidth=width, label=label)
        lines.append((float(means[arm, -1]), drawn))
    tidy(ax)
    ax.set_xlim(0, last)
    ax.set_xlabel("round" if problem.restless else "pulls of the arm")
    ax.set_ylabel("mean reward")
    ax.set_title(f"{problem.name or 'problem'}: learning curves")
    _legend_in_order(ax, lines)
    return ax


def save_figure(figure: Figure | Axes, folder: str | Path, stem: str) -> list[Path]:
    """Write ``stem.png`` (200 dpi) and ``stem.svg`` into ``folder``; return their paths.

    ``figure`` may be axes, which stand for the figure they are in. Equal figures give equal bytes: the files hold no
    time and no version. Each appears whole or not at all.
    """
    if isinstance(figure, Axes):
        whole = figure.get_figure(root=True)
        assert whole is not None, "axes without a figure"
        figure = whole
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    with styled():
        for kind, options in _FORMATS.items():
            buffer = io.BytesIO()
            figure.savefig(buffer, format=kind, dpi=_DOTS_PER_INCH, **options)
            path = folder / f"{stem}.{kind}"
            write_whole(path, buffer.getvalue())
            paths.append(path)
    return paths


def _legend_in_order(ax: Axes, lines: list[tuple[float, Any]]) -> None:
    """A legend right of the axes, its entries in the order in which the lines end."""
    handles = [line for _, line in sorted(lines, key=lambda entry: -entry[0])]
    ax.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.03, 1.0), handlelength=2.4)


def _arm_labels(problem: RisingBandit | None, n_arms: int, horizon: int) -> tuple[list[str], int | None]:
    """Short names of the arms, the best one marked, and which that is."""
    if problem is None:
        return [str(arm + 1) for arm in range(n_arms)], None
    if problem.n_arms != n_arms:
        raise RisingBanditsError(f"problem must have the {n_arms} arms of the result, got {problem.n_arms}.")
    names = [str(arm + 1) if name == f"arm {arm + 1}" else name for arm, name in enumerate(problem.arm_names)]
    if problem.restless:
        return names, None
    best = problem.oracle_arm(horizon)
    names[best] += "*"
    return names, best
