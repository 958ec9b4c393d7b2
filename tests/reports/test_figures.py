"""Figures: what they show, that they leave Matplotlib alone, and that files are the same every time."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from risingbandits import Policy, Result, RisingBandit, RisingBanditsError, simulate
from risingbandits.lab.paper._regret_study import POLICIES
from risingbandits.policies import Constant, policy_names
from risingbandits.problems import LinearCapped, random_problem
from risingbandits.reports._figure_data import _POLICY_PLACES, Shares, policy_places, regret_lines
from risingbandits.reports._matplotlib_figures import plot_curves, plot_pulls, plot_regret, save_figure
from risingbandits.reports._style import look


def test_shares_in_a_table_are_whole_percents_and_little_is_not_nothing() -> None:
    shares = Shares(["red-ucb"], ["a", "b", "c", "d"], np.array([[0.0, 0.2, 0.6, 99.2]]))
    assert shares.texts() == [["0", "<1", "1", "99"]]


@pytest.fixture(scope="module")
def problem() -> RisingBandit:
    return RisingBandit(
        [LinearCapped(0.01, 0.4), LinearCapped(0.002, 1.0)], horizon=2_000, name="two", arm_names=["quick", "slow"]
    )


@pytest.fixture(scope="module")
def result(problem: RisingBandit) -> Result:
    return simulate(["round-robin", "oracle"], problem, runs=4, record_at=20)


def legend(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_regret_is_the_mean_over_runs(result: Result) -> None:
    ax = plot_regret(result)
    line = ax.lines[0]
    np.testing.assert_array_equal(line.get_xdata(), [0, *result.record_at])
    np.testing.assert_allclose(np.asarray(line.get_ydata(), float), [0, *result.mean("round-robin")])
    assert legend(ax) == ["round-robin", "oracle"]  # in the order in which the lines end
    assert len(ax.collections) == 2  # a band for each
    assert "4 runs" in ax.get_title(loc="left")


def test_one_run_has_no_band(problem: RisingBandit) -> None:
    ax = plot_regret(simulate("round-robin", problem, runs=1))
    assert len(ax.collections) == 0
    assert "1 run" in ax.get_title(loc="left")


def test_drawing_on_given_axes(result: Result, problem: RisingBandit) -> None:
    ax = Figure().add_subplot()
    assert plot_regret(result, ax) is ax
    assert result.plot(ax) is ax
    assert plot_pulls(result, ax=ax) is ax
    assert plot_curves(problem, ax=ax) is ax


def test_pulls_name_the_arms_and_mark_the_best(result: Result, problem: RisingBandit) -> None:
    ax = plot_pulls(result, problem=problem)
    assert [label.get_text() for label in ax.get_xticklabels()] == ["quick", "slow*"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["round-robin", "oracle"]
    assert [text.get_text() for text in ax.texts] == ["50", "50", "0", "100"]
    with pytest.raises(RisingBanditsError, match="must have the 2 arms of the result, got 3"):
        plot_pulls(result, problem=random_problem(3))


def test_many_arms_are_shown_together() -> None:
    many = random_problem(100, horizon=400, seed=3)
    policies: dict[str, Policy] = {str(arm): Constant(arm) for arm in (70, 71)}
    result = simulate(policies, many, runs=1)
    labels = [label.get_text() for label in plot_pulls(result, problem=many).get_xticklabels()]
    assert len(labels) == 21
    assert labels[-1] == "80 others"
    assert {"71", "72", f"{many.oracle_arm() + 1}*"} <= set(labels)
    assert len(plot_curves(many).lines) == 100
    assert legend(plot_curves(many))[-1] == "93 others"


def test_curves_end_at_the_horizon_and_mark_the_best(problem: RisingBandit) -> None:
    ax = plot_curves(problem, horizon=500)
    assert legend(ax) == ["slow (best)", "quick"]
    for line in ax.lines:
        pulls = np.asarray(line.get_xdata()).astype(np.int64)
        assert (pulls[0], pulls[-1]) == (1, 500)
    np.testing.assert_allclose(np.asarray(ax.lines[0].get_ydata(), float), problem.means(pulls)[1])
    with pytest.raises(RisingBanditsError, match="horizon must be given"):
        plot_curves(RisingBandit([LinearCapped(0.1, 1)]))


def test_settings_of_matplotlib_stay(result: Result, tmp_path: Path) -> None:
    before = dict(matplotlib.rcParams)
    save_figure(plot_regret(result), tmp_path, "regret")
    assert dict(matplotlib.rcParams) == before


def test_files_are_the_same_whatever_the_user_has_set(result: Result, problem: RisingBandit, tmp_path: Path) -> None:
    draws: dict[str, Callable[[], Axes]] = {
        "regret": lambda: plot_regret(result),
        "pulls": lambda: plot_pulls(result, problem=problem),
        "curves": lambda: plot_curves(problem),
    }
    for stem, draw in draws.items():
        first = [path.read_bytes() for path in save_figure(draw(), tmp_path / "a", stem)]
        with matplotlib.rc_context({"font.size": 20, "savefig.dpi": 30, "axes.grid": True}):
            second = [path.read_bytes() for path in save_figure(draw(), tmp_path / "b", stem)]
        assert first == second
        assert b"<dc:date>" not in first[1]
        assert first[0].startswith(b"\x89PNG")
    assert sorted(path.suffix for path in (tmp_path / "a").iterdir()) == [".png"] * 3 + [".svg"] * 3


@pytest.mark.parametrize(
    "labels",
    [
        POLICIES,  # the reproduction and IMDB
        (*POLICIES, "auto", "red-ucb, index 1", "red-ucb, index 1, random ties", "red-ucb, published"),
        ("kl-ucb", "red-ucb", "commit-ucb"),  # the README
        ("r-ucbe", "r-sr", "successive-rejects", "sequential-halving"),
        tuple(_POLICY_PLACES),
    ],
)
def test_policies_on_one_figure_look_different_and_keep_their_looks(labels: tuple[str, ...]) -> None:
    places = policy_places(labels)
    assert list(places) == list(labels)
    assert len({look(place) for place in places.values()}) == len(labels)
    for label in set(labels) & set(_POLICY_PLACES):
        assert places[label] == policy_places([label])[label] == policy_places(labels[::-1])[label]
    assert set(_POLICY_PLACES) <= set(policy_names())


def test_a_policy_has_its_colour_whoever_else_is_drawn(problem: RisingBandit) -> None:
    alone = simulate(["commit-ucb"], problem, runs=1, horizon=20)
    among = simulate(["round-robin", "kl-ucb", "commit-ucb"], problem, runs=1, horizon=20)
    (line,) = regret_lines(alone)
    assert line.place == regret_lines(among)[2].place == regret_lines(among, ["commit-ucb"])[0].place
    assert plot_regret(alone).lines[0].get_color() == look(line.place).color


def test_twenty_eight_policies_fit(problem: RisingBandit, tmp_path: Path) -> None:
    policies: dict[str, Policy] = {f"policy number {i}": Constant(i % 2) for i in range(28)}
    result = simulate(policies, problem, runs=2, horizon=50)
    assert len({look(position) for position in range(28)}) == 28
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # Matplotlib warns when the layout does not work out
        save_figure(plot_regret(result), tmp_path, "regret")
        save_figure(plot_pulls(result), tmp_path, "pulls")
