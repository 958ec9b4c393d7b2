"""Names of lines at their ends instead of in a legend, moved apart if they would overlap."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D

from risingbandits._core.types import Floats
from risingbandits.theory.measured import rising_fit

_GAP = 1.25  # between the middles of two names, in heights of letters
_MOVED = 0.4  # of a gap: by so much a name may stand beside the end of its line without more
_THIN = {"arrowstyle": "-", "linewidth": 0.5, "relpos": (0.0, 0.5), "shrinkA": 1, "shrinkB": 0}
_NEAR, _FAR = 0.6, 2.2  # heights of letters between the axes and names, without and with thin lines between them


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
    size = FontProperties(size=_font_size(ax)).get_size_in_points()
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


def _font_size(ax: Axes) -> float | str:
    """That of a legend, in the style of the figure."""
    import matplotlib

    return matplotlib.rcParams["legend.fontsize"]  # type: ignore[no-any-return]
