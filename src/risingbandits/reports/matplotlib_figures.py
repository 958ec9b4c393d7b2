"""Figures with Matplotlib: regret over time, pulls of the arms, learning curves.

Every function draws on the ``ax`` it gets, in whatever style that has, or on a new figure in the style of the package.
None of them uses pyplot or changes Matplotlib's settings.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import PowerNorm
from matplotlib.figure import Figure

from risingbandits._core.errors import RisingBanditsError
from risingbandits._core.files import write_whole
from risingbandits.problems import RisingBandit
from risingbandits.reports.figure_data import MUTED, Curves, Line, Shares, curve_lines, pull_shares, regret_lines
from risingbandits.reports.style import look, new_axes, styled, tidy
from risingbandits.simulation.result import Result
from risingbandits.theory.complexity import horizon_of

_POINTS = 600  # of a curve on each of two scales
_DOTS_PER_INCH = 200
_FORMATS: dict[str, dict[str, Any]] = {
    "png": {"metadata": {"Software": None}},
    "svg": {"metadata": {"Date": None, "Creator": None}},
}


@contextmanager
def _axes(ax: Axes | None, width: float = 4.2, height: float = 2.5, entries: int = 0) -> Iterator[Axes]:
    """The caller's axes in their own style, or new ones in the package's."""
    if ax is not None:
        yield ax
        return
    with styled():
        yield new_axes(width, height, entries)


def plot_regret(result: Result, ax: Axes | None = None) -> Axes:
    """Mean policy regret at each record point, with bands of 95 % confidence of the mean.

    Parameters
    ----------
    result : Result
        What `simulate` returned.
    ax : Axes, optional
        Where to draw; by default a new figure, which is ``plot_regret(result).figure``.
    """
    repeated = f"{result.runs} runs, bands: 95 % confidence" if result.runs > 1 else "1 run"
    with _axes(ax, entries=len(result.policies)) as ax:
        draw_lines(ax, regret_lines(result))
        ax.set(xlabel="round", ylabel="policy regret (units of reward)", title=f"{result.problem}: {repeated}")
    return ax


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
    if problem is not None and problem.n_arms != result.final_means.size:
        raise RisingBanditsError(
            f"problem must have the {result.final_means.size} arms of the result, got {problem.n_arms}."
        )
    best = None if problem is None or problem.restless else problem.oracle_arm(result.horizon)
    shares = pull_shares(result, None if problem is None else problem.arm_names, best)
    rows, columns = shares.values.shape
    with _axes(ax, 1.4 + 0.25 * max(columns, 10), 0.8 + 0.2 * rows) as ax:
        draw_shares(ax, shares)
        ax.set_title(f"{result.problem}: share of the pulls (%)")
        ax.set_xlabel("arm" if best is None else "arm (* is the best one)")
    return ax


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
    last = horizon_of(problem, horizon)
    best = None if problem.restless else problem.oracle_arm(last)
    with _axes(ax) as ax:
        draw_lines(ax, curve_lines(Curves.of(problem, last, _POINTS), problem.arm_names, best))
        ax.set(xlabel="round" if problem.restless else "pulls of the arm", ylabel="mean reward")
        ax.set_title(f"{problem.name or 'problem'}: learning curves")
    return ax


def draw_lines(ax: Axes, lines: Sequence[Line], **legend: Any) -> None:
    """Draw lines with their bands, a grid, and a legend in the order in which the lines end.

    The legend stands right of the axes unless settings of ``Axes.legend`` say otherwise.
    """
    handles = {}
    for line in lines:
        shape = look(line.place)
        (drawn,) = ax.plot(line.x, line.y, label=line.name, color=shape.color, linestyle=shape.linestyle)
        if line.place == MUTED:
            drawn.set(linewidth=0.8, zorder=1)
        elif line.bold:
            drawn.set(linewidth=2.0)
        if line.half is not None:
            low, high = line.y - line.half, line.y + line.half
            ax.fill_between(line.x, low, high, color=shape.color, alpha=0.2, linewidth=0)
        handles[line.name] = (-np.inf if line.place == MUTED else float(line.y[-1]), drawn)
    ax.set_xlim(0, max(float(line.x[-1]) for line in lines))
    tidy(ax)
    ordered = [drawn for _, drawn in sorted(handles.values(), key=lambda entry: -entry[0])]
    ax.legend(handles=ordered, **{"loc": "upper left", "bbox_to_anchor": (1.03, 1.0), "handlelength": 2.4, **legend})


def draw_shares(ax: Axes, shares: Shares) -> None:
    """Draw a table of shades; the shade is the square root of the share, so that small ones are seen."""
    rows, columns = shares.values.shape
    ax.imshow(shares.values, cmap="Blues", norm=PowerNorm(0.5, 0, 100), aspect="auto")
    texts = shares.texts()
    for row, column in np.ndindex(rows, columns):
        share = shares.values[row, column]
        shade = "white" if share > 35 else "0.6" if share == 0 else "black"
        ax.text(column, row, texts[row][column], ha="center", va="center", color=shade, fontsize=6)
    longest = max(map(len, shares.columns))
    slanted = 0.065 * longest > 0.25 * max(columns, 10) / columns  # inches of the text and of a cell
    ax.set_yticks(range(rows), shares.rows)
    ax.set_xticks(range(columns), shares.columns, rotation=40 if slanted else 0, ha="right" if slanted else "center")
    ax.tick_params(length=0, pad=2)
    ax.spines[:].set_visible(False)


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
