"""Figures with Matplotlib: regret over time, pulls of the arms, learning curves.

Every function draws on the given ``ax``, in its own style, or on a new figure in the style of the package.
None of them uses pyplot or changes Matplotlib's settings.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import PowerNorm
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D

from risingbandits._core.errors import RisingBanditsError, check_choice, check_finite
from risingbandits._core.files import write_whole
from risingbandits._core.types import Floats
from risingbandits.problems import RisingBandit
from risingbandits.reports._figure_data import MUTED, Curves, Line, Shares, curve_lines, pull_shares, regret_lines
from risingbandits.reports._style import logarithmic, look, new_axes, styled, tidy
from risingbandits.simulation.result import Result
from risingbandits.theory.complexity._problems import horizon_of
from risingbandits.theory.estimators._measured import rising_fit

WIDTHS = {"column": 3.35, "page": 6.9}  # inches
LEGENDS = ("right", "below", "labels", "none")
_WIDTH = 4.2
_HEIGHT = 2.5 / 4.2  # of the width
_SAMPLE, _LETTER, _ENTRY = 0.6, 0.06, 0.16  # inches of an entry of a legend: its line, a letter, its height
_SMALL = 3.6  # inches, more than a column: the label of the y axis would be longer than the axis
_NARROW = 4.0  # inches: a legend at the side would leave too little for the lines
_DECADES = 1e-4  # of the largest value: what is less, or below 0, is left out on a logarithmic axis
_POINTS = 600  # of a curve on each of two scales
_DOTS_PER_INCH = 200
_FORMATS: dict[str, dict[str, Any]] = {
    "png": {"metadata": {"Software": None}},
    "svg": {"metadata": {"Date": None, "Creator": None}},
    "pdf": {"metadata": {"CreationDate": None, "Creator": None, "Producer": None}},
}
_GAP = 1.25  # between the middles of two names, in heights of letters
_MOVED = 0.4  # of a gap: by so much a name may stand beside the end of its line without more
_THIN = {"arrowstyle": "-", "linewidth": 0.5, "relpos": (0.0, 0.5), "shrinkA": 1, "shrinkB": 0}
_NEAR, _FAR = 0.6, 2.2  # heights of letters between the axes and names, without and with thin lines between them


@contextmanager
def _axes(ax: Axes | None, width: float = 4.2, height: float = 2.5, entries: int = 0) -> Iterator[Axes]:
    """The caller's axes in their own style, or new ones in the package's."""
    if ax is not None:
        yield ax
        return
    with styled():
        yield new_axes(width, height, entries)


def plot_regret(
    result: Result,
    ax: Axes | None = None,
    *,
    policies: Sequence[str] | None = None,
    band: bool = True,
    log: str = "",
    legend: str | None = None,
    title: str | None = None,
    width: float | str | None = None,
    path: str | Path | None = None,
) -> Axes:
    """Mean policy regret at each record point, with confidence bands of the mean (Student t).

    Parameters
    ----------
    result : Result
        What `simulate` returned.
    ax : Axes, optional
        Where to draw; by default a new figure, which is ``plot_regret(result).figure``.
    policies : sequence of str, optional
        Only these labels; each keeps its colour.
    band : bool
        Whether there are bands, of 95 % confidence.
    log : {"", "x", "y", "xy"}
        Which axes are logarithmic.
    legend : {"right", "below", "labels", "none"}, optional
        "labels" writes each name at the end of its line. By default right of the axes, or below them if the figure is
        narrow; for a place inside, use "none" and call ``legend`` of the axes.
    title : str, optional
        By default what was simulated; "" for none, as with a caption.
    width : float, "column" or "page", optional
        Width of a new figure, in inches, or that of a column or a page of a paper in two columns; by default 4.2.
    path : path, optional
        Write the figure to this file, .pdf, .png or .svg; equal figures give equal bytes.
    """
    if ax is not None and width is not None:
        raise RisingBanditsError("width is for a new figure: give either it or ax, which has one.")
    if isinstance(width, str):
        inches = WIDTHS[check_choice("width", width, WIDTHS)]
    else:
        inches = _WIDTH if width is None else check_finite("width", width, minimum=1.0)
    legend = ("below" if inches < _NARROW and ax is None else "right") if legend is None else legend
    check_choice("log", log, ("", "x", "y", "xy"))
    check_choice("legend", legend, LEGENDS)
    lines = regret_lines(result, policies, bands=band)
    height = max(2.0, _HEIGHT * inches)
    if legend == "below":  # which takes nothing from the lines
        names = [line.name for line in lines]
        height += _ENTRY * math.ceil(len(names) / _legend_columns(names, inches))
    with _axes(ax, inches, height, len(lines) if legend == "right" else 0) as ax:
        drawn = draw_curves(ax, lines, log)
        ax.set(xlabel="round", ylabel="policy regret" + (" (units of reward)" if inches > _SMALL else ""))
        ax.set_title(_regret_title(result, band, inches < _NARROW) if title is None else title)
        place_legend(ax, drawn, legend)
        if path is not None:
            save_figure_as(ax, path)
    return ax


def _regret_title(result: Result, band: bool, narrow: bool) -> str:
    said = ", bands: 95 % confidence" if band and result.runs > 1 else ""
    runs = f"{result.runs} run{'' if result.runs == 1 else 's'}{said}"
    return f"{result.problem}:\n{runs}" if narrow else f"{result.problem}: {runs}"


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
    best = problem.oracle_arm(result.horizon) if problem is not None and problem.rested else None
    shares = pull_shares(result, None if problem is None else problem.arm_names, best)
    rows, columns = shares.values.shape
    with _axes(ax, 1.4 + 0.25 * max(columns, 10), 0.8 + 0.2 * rows) as ax:
        draw_shares(ax, shares)
        ax.set_title(f"{result.problem}: share of the pulls (%)")
        ax.set_xlabel("arm" if best is None else "arm (* is the best one)")
    return ax


def plot_curves(problem: RisingBandit, horizon: int | None = None, ax: Axes | None = None) -> Axes:
    """Mean reward of each arm over its pulls (of a restless problem: over the rounds; else over what makes it rise).

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
    best = problem.oracle_arm(last) if problem.rested else None
    with _axes(ax) as ax:
        draw_lines(ax, curve_lines(Curves.of(problem, last, _POINTS), problem.arm_names, best))
        ax.set(xlabel=problem.moves_with, ylabel="mean reward")
        ax.set_title(f"{problem.name or 'problem'}: learning curves")
    return ax


def draw_lines(ax: Axes, lines: Sequence[Line], **legend: Any) -> None:
    """Draw lines with their bands, a grid, and a legend in the order in which the lines end.

    The legend stands right of the axes unless settings of ``Axes.legend`` say otherwise.
    """
    ordered = draw_curves(ax, lines)
    ax.legend(handles=ordered, **{"loc": "upper left", "bbox_to_anchor": (1.03, 1.0), "handlelength": 2.4, **legend})


def draw_curves(ax: Axes, lines: Sequence[Line], log: str = "") -> list[Line2D]:
    """Draw lines with their bands and a grid; one line for each name, in the order in which they end."""
    handles = {}
    least = _DECADES * max(float(line.y.max()) for line in lines)
    if "y" in log and least <= 0.0:
        raise RisingBanditsError("log must leave y linear if no value is above 0.")
    for line in lines:
        shape = look(line.place)
        there = slice(int(bool(log) and line.x[0] == 0.0), None)  # 0 is nowhere on a logarithmic axis
        x, y = line.x[there], line.y[there]
        if "y" in log:
            y = np.where(y > least, y, np.nan)
        (drawn,) = ax.plot(x, y, label=line.name, color=shape.color, linestyle=shape.linestyle)
        if line.place == MUTED:
            drawn.set(linewidth=0.8, zorder=1)
        elif line.bold:
            drawn.set(linewidth=2.0)
        if line.half is not None:
            low, high = y - line.half[there], y + line.half[there]
            low = np.maximum(low, least) if "y" in log else low
            ax.fill_between(x, low, high, color=shape.color, alpha=0.2, linewidth=0)
        handles[line.name] = (-np.inf if line.place == MUTED else float(line.y[-1]), drawn)
    ax.set_xlim(0, max(float(line.x[-1]) for line in lines))
    tidy(ax)
    for which in log:
        logarithmic(ax, which)
    if "x" in log:
        ax.set_xlim(min(float(line.x[line.x > 0.0][0]) for line in lines), max(float(line.x[-1]) for line in lines))
    return [drawn for _, drawn in sorted(handles.values(), key=lambda entry: -entry[0])]


def place_legend(ax: Axes, lines: Sequence[Line2D], legend: str) -> None:
    """A legend of the lines, placed as `plot_regret` says."""
    if legend == "labels":
        label_lines(ax, lines)
    elif legend == "right":
        ax.legend(handles=lines, loc="upper left", bbox_to_anchor=(1.03, 1.0), handlelength=2.4)
    elif legend == "below":
        figure = whole_figure(ax)
        names = [str(line.get_label()) for line in lines]
        place: dict[str, Any] = {"ncols": _legend_columns(names, figure.get_figwidth()), "handlelength": 2.4}
        if figure.get_layout_engine() is None:  # nothing makes room: below the label of the axis
            ax.legend(handles=lines, loc="upper center", bbox_to_anchor=(0.5, -0.2), **place)
        else:
            figure.legend(handles=lines, loc="outside lower center", **place)


def _legend_columns(names: Sequence[str], width: float) -> int:
    """How many columns of a legend fit side by side: samples of lines, and letters."""
    columns = int(width / (_SAMPLE + _LETTER * max(map(len, names))))
    return min(max(1, columns), len(names))


def draw_shares(ax: Axes, shares: Shares) -> None:
    """Draw a table of shades; the shade is the square root of the share, so that small ones are visible."""
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
    time and no version. Each is written atomically.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    return [save_figure_as(figure, folder / f"{stem}.{kind}") for kind in ("png", "svg")]


def save_figure_as(figure: Figure | Axes, path: str | Path) -> Path:
    """Write one file as `save_figure` does, in the format of its ending: .pdf, .png or .svg."""
    if isinstance(figure, Axes):
        figure = whole_figure(figure)
    path = Path(path)
    kind = path.suffix.lower().removeprefix(".")
    if kind not in _FORMATS:
        raise RisingBanditsError(f"path must end in .pdf, .png or .svg, got {str(path)!r}.")
    buffer = io.BytesIO()
    with styled():
        figure.savefig(buffer, format=kind, dpi=_DOTS_PER_INCH, **_FORMATS[kind])
    write_whole(path, buffer.getvalue())
    return path


def whole_figure(ax: Axes) -> Figure:
    """The figure that axes are in, also where they are in a part of it (Matplotlib has a call for it from 3.10 on)."""
    part = ax.figure
    assert part is not None, "axes without a figure"
    return part.figure


def label_lines(ax: Axes, lines: Sequence[Line2D]) -> None:
    """Write the label of each line right of its end, in its colour.

    Names keep the order of the ends and move no further than they must. Their size is measured in the present figure,
    so draw, title and scale the axes first, and do not resize the figure afterwards.
    """
    lines = [line for line in lines if np.isfinite(np.asarray(line.get_ydata(), dtype=float)).any()]
    if not lines:
        return
    figure = whole_figure(ax)
    size = FontProperties(size=matplotlib.rcParams["legend.fontsize"]).get_size_in_points()
    # The names narrow the axes, which moves nothing but their width: heights are those of the figure before.
    figure.draw_without_rendering()
    extent = ax.get_window_extent()
    width, height = extent.width * 72.0 / figure.dpi, extent.height * 72.0 / figure.dpi
    ends = [(float(np.asarray(line.get_xdata())[-1]), float(np.asarray(line.get_ydata())[-1])) for line in lines]
    to_axes = ax.transData + ax.transAxes.inverted()
    places = np.array([to_axes.transform(end)[1] if np.isfinite(end).all() else 0.0 for end in ends]).clip(0.0, 1.0)
    order = np.argsort(places, kind="stable")
    moved = np.empty(len(lines))
    moved[order] = spread(places[order], _GAP * size / height)
    # One name that is moved asks for thin lines from all names to their ends, or they would cross one another.
    far = bool((np.abs(moved - places) > _MOVED * _GAP * size / height).any())
    away = (_FAR if far else _NEAR) * size / width
    for line, end, place in zip(lines, ends, moved.tolist(), strict=True):
        leads = far and bool(np.isfinite(end).all())
        ax.annotate(
            str(line.get_label()),
            xy=end if leads else (1.0, place),
            xycoords="data" if leads else "axes fraction",
            xytext=(1.0 + away, place),
            textcoords="axes fraction",
            color=line.get_color(),
            fontsize=size,
            va="center",
            annotation_clip=False,
            arrowprops={**_THIN, "color": line.get_color()} if leads else None,
        )


def spread(places: Floats, gap: float) -> Floats:
    """Rising places moved as little as possible (least squares) until neighbours are a gap apart; within 0 and 1 if
    there is room.

    >>> spread(np.array([0.5, 0.5, 0.9]), 0.1).round(2).tolist()
    [0.45, 0.55, 0.9]
    >>> spread(np.array([0.0, 0.0]), 0.1).round(2).tolist()
    [0.0, 0.1]
    """
    steps = gap * np.arange(len(places))
    room = max(0.0, 1.0 - float(steps[-1]))
    return np.asarray(rising_fit(places - steps).clip(0.0, room) + steps)
