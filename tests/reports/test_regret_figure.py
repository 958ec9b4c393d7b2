"""The figure of a result and its options: widths, axes, bands, legends that fit, names that do not overlap."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Annotation

from risingbandits import Result, RisingBanditsError
from risingbandits.reports._matplotlib_figures import WIDTHS, spread


def made(ends: dict[str, float], runs: int = 3) -> Result:
    """Regrets that rise evenly to these ends, a little apart in each run."""
    rounds = np.array([10, 100, 1000])
    noise = np.linspace(0.9, 1.1, runs)[:, None]
    return Result(
        problem="made up",
        horizon=1000,
        seed=0,
        settings=dict.fromkeys(ends, "Made()"),
        record_at=rounds,
        oracle=rounds / 1.0,
        regret={label: noise * end * rounds / 1000 for label, end in ends.items()},
        pulls={label: np.tile([900, 100], (runs, 1)) for label in ends},
        recommended={label: np.zeros(runs, dtype=np.int64) for label in ends},
        final_means=np.array([0.9, 0.1]),
        arm_names=("arm 1", "arm 2"),
        arm_sums=np.array([9.0, 4.0]),
        noise="NoNoise()",
    )


CLOSE = made({f"policy number {n}": end for n, end in enumerate((500.0, 501.0, 502.0, 503.0, 20.0, 0.0, -3.0, 499.0))})


def drawn(ax: Axes) -> Figure:
    figure = ax.get_figure(root=True)
    assert figure is not None
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # such as that axes have collapsed
        figure.draw_without_rendering()
    return figure


@pytest.mark.parametrize("width", ["column", "page", 2.5, None])
@pytest.mark.parametrize("legend", ["right", "below", "labels", "none", None])
@pytest.mark.parametrize("log", ["", "xy"])
def test_everything_is_inside_the_figure(width: str | float | None, legend: str | None, log: str) -> None:
    if width == 2.5 and legend == "right":
        pytest.skip("no room beside the axes")
    ax = CLOSE.plot(width=width, legend=legend, log=log)
    figure = drawn(ax)
    wide = WIDTHS[width] if isinstance(width, str) else width or 4.2
    assert figure.get_figwidth() == wide
    box = figure.get_tightbbox()
    assert box.x0 >= -0.02
    assert box.y0 >= -0.02
    assert box.x1 <= wide + 0.02
    assert box.y1 <= figure.get_figheight() + 0.02
    assert ax.get_window_extent().height / figure.dpi > 0.9


@pytest.mark.parametrize("width", ["column", 3.3, 3.7])
def test_without_a_title_the_label_of_the_axis_is_whole(width: str | float) -> None:
    """A caption replaces the title in a paper, and nothing then keeps room above the axes."""
    ax = made({"trend": 4.0, "without the trend": 3.0, "commit-ucb": 2.0, "red-ucb": 1.0}).plot(width=width, title="")
    figure = drawn(ax)
    label = ax.yaxis.label.get_window_extent()
    assert label.y0 >= 0.0
    assert label.y1 <= figure.bbox.y1


@pytest.mark.parametrize("log", ["", "y"])
def test_names_at_the_ends_of_lines_do_not_overlap(log: str) -> None:
    ax = CLOSE.plot(width="column", legend="labels", log=log)
    figure = drawn(ax)
    names = [text for text in ax.texts if isinstance(text, Annotation)]
    seen = [label for label in CLOSE.policies if log == "" or CLOSE.mean(label)[-1] > 0]
    assert sorted(text.get_text() for text in names) == sorted(seen)
    # The extent of an annotation has its thin line in it; the text itself is as high as its letters around its place.
    middles = sorted(ax.transAxes.transform((0.0, text.xyann[1]))[1] * 72 / figure.dpi for text in names)
    assert np.diff(middles).min() >= 1.1 * float(names[0].get_fontsize())
    order = sorted(names, key=lambda text: text.xyann[1])
    assert [text.get_text() for text in order] == sorted(seen, key=lambda label: CLOSE.mean(label)[-1])


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=12), st.floats(0.001, 0.2))
def test_places_are_a_gap_apart_and_in_order(places: list[float], gap: float) -> None:
    wanted = np.sort(places)
    moved = spread(wanted, gap)
    assert (np.diff(moved) >= gap - 1e-9).all()
    assert moved[0] >= -1e-9
    if gap * (len(places) - 1) <= 1.0:
        assert moved[-1] <= 1.0 + 1e-9
    if len(places) == 1 or np.diff(wanted).min() >= gap:
        np.testing.assert_allclose(moved, wanted, atol=1e-9)


def test_bands_and_title() -> None:
    assert len(CLOSE.plot().collections) == 8
    assert len(CLOSE.plot(band=False).collections) == 0
    assert CLOSE.plot().get_title(loc="left") == "made up: 3 runs, bands: 95 % confidence"
    assert CLOSE.plot(band=False).get_title(loc="left") == "made up: 3 runs"
    assert CLOSE.plot(title="").get_title(loc="left") == ""


def test_logarithmic_axes() -> None:
    ax = CLOSE.plot(log="xy")
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert ax.get_xlim() == (10.0, 1000.0)
    assert ax.get_ylim()[0] > 0.01, "what is 0 or below does not stretch the axis"
    with pytest.raises(RisingBanditsError, match="log must leave y linear"):
        made({"a": -1.0}).plot(log="y")


@pytest.mark.parametrize("kind", ["pdf", "png", "svg"])
def test_files_of_equal_figures_are_equal(kind: str, tmp_path: Path) -> None:
    one, two = tmp_path / f"one.{kind}", tmp_path / f"two.{kind}"
    CLOSE.plot(path=one, width="column", legend="labels")
    CLOSE.plot(path=two, width="column", legend="labels")
    assert one.read_bytes() == two.read_bytes()
    assert len(one.read_bytes()) > 2000


def test_axes_of_the_user() -> None:
    for legend in ("right", "below", "labels"):
        ax = Figure(figsize=(6, 4)).add_subplot()
        assert CLOSE.plot(ax, legend=legend, policies=["policy number 0"]) is ax
        assert drawn(ax).get_figwidth() == 6
