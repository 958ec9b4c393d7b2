"""One look for all figures: readable at the width of a paper's column, in grey and by colour-blind readers.

Colours are those of Okabe and Ito without yellow, which is too light for lines. When they run out, the line style
changes, so 28 lines can be distinguished. Matplotlib's own settings are never changed: use `styled`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

from risingbandits._core.errors import missing

try:
    import matplotlib
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter
except ImportError:
    raise missing("Matplotlib", "figures", "plot") from None

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_LINES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1, 1)), (0, (6, 1.5, 1, 1.5)))


class Look(NamedTuple):
    """How one of several lines is drawn."""

    color: str
    linestyle: Any


def look(position: int) -> Look:
    """The look of line number ``position``, counted from 0; grey for -1.

    >>> len({look(position) for position in range(28)})
    28
    """
    if position < 0:
        return Look("0.75", "-")
    return Look(_COLOURS[position % len(_COLOURS)], _LINES[position // len(_COLOURS) % len(_LINES)])


@cache
def _settings() -> Any:
    with resources.as_file(resources.files(__package__) / "assets" / "figures.mplstyle") as path:
        return matplotlib.rc_params_from_file(path, use_default_template=False)


@contextmanager
def styled() -> Iterator[None]:
    """Use the look of the package inside a ``with`` block."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_settings())
        yield


def new_axes(width: float = 4.2, height: float = 2.5, entries: int = 0) -> Axes:
    """Axes of a new figure, without a window or global state.

    Sizes are in inches; the height is at least what a legend with that many ``entries`` takes.
    """
    return Figure(figsize=(width, max(height, 0.5 + 0.16 * entries)), layout="constrained").add_subplot()


def tidy(ax: Axes) -> None:
    """A thin grid, and few ticks with thousands separators."""
    ax.grid(True, color="0.9", linewidth=0.5)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 2.5, 5, 10]))
        axis.set_major_formatter(FuncFormatter(thousands))


def logarithmic(ax: Axes, which: str) -> None:
    """A logarithmic x or y axis, with the powers of ten written out and finer marks without numbers."""
    ax.set(**{f"{which}scale": "log"})
    axis = ax.xaxis if which == "x" else ax.yaxis
    axis.set_major_locator(LogLocator(numticks=8))
    axis.set_minor_locator(LogLocator(subs="auto", numticks=80))
    axis.set_major_formatter(FuncFormatter(thousands))
    axis.set_minor_formatter(NullFormatter())


def thousands(value: float, _position: int | None = None) -> str:
    """A number for an axis.

    >>> thousands(200_000.0), thousands(0.25), thousands(-1_500.0)
    ('200,000', '0.25', '−1,500')
    """
    text = f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.6g}"
    return text.replace("-", "\N{MINUS SIGN}")
