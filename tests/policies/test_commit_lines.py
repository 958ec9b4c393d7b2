"""The lines of the policies that commit: valid under the paper's assumptions alone, drawn on the grid, as sure as told.

Curves are made from the assumptions and nothing else: any first mean in [0, 1], then increments that never grow.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference_commit
from risingbandits import Policy, get_policy, get_problem
from risingbandits.policies import CommitUCB
from risingbandits.policies.commit import _batches, _commit_value, _lines, _widths
from risingbandits.policies.commit import _grid as grid

Floats = npt.NDArray[np.float64]
NOTHING = np.empty(0)


def sums(rewards: Floats) -> Floats:
    """The sum of the first k rewards at place k, as in the histories of a policy."""
    return np.concatenate([[math.nan], np.cumsum(rewards)])


def lines(pool: Floats, n: int, z: float = 0.0, sigma: float = 0.0) -> Iterator[tuple[float, float]]:
    """All lines (u, s) after n pulls, the discarded ones too."""
    for w in grid.commit_windows(n):
        if n > 1:
            mean = _lines.block_mean(pool, 0, n - w, n, _widths.GAUSSIAN)
            yield _lines.anchored_line(mean, _widths.gaussian(z, sigma, float(w)), n, w)
        if w >= 3:
            yield _lines.two_block_line(pool, 0, n - w, n, w // 3, _widths.GAUSSIAN, z, sigma)


# -- validity -----------------------------------------------------------------------------------------------------


@given(st.floats(0, 1), st.floats(0, 1), st.integers(2, 60))
@settings(max_examples=100, deadline=None)
def test_the_kept_line_is_above_a_jump_after_the_first_pull(first: float, jump: float, n: int) -> None:
    mean = np.array([first] + [first + (1.0 - first) * jump] * 99)
    u, s, lo = _lines.best_line(sums(mean), 0, n, _widths.GAUSSIAN, 0.0, 0.0, 1.0, 40.0)
    assert (u + s * np.arange(1, 100 - n + 1) >= mean[n:] - 1e-12).all()
    assert lo <= mean[n - 1] + 1e-12


def test_there_is_no_line_after_one_pull() -> None:
    for reward, level in ((0.0, 1.0), (0.9, 1.3)):
        line = _lines.best_line(sums(np.array([reward])), 0, 1, _widths.GAUSSIAN, 4.0, 0.1, 1.0, 100.0)
        assert line == pytest.approx((level, 0.0, reward - 0.4))
        assert _commit_value.value(line[0], line[1], 1.0, 100.0) == pytest.approx(1.0, abs=1e-8)


@pytest.mark.parametrize("level", [0.0, 0.1, 1 / 3, 0.499, 0.7, 0.9999, 1.0])
def test_flat_arms_without_noise_lose_no_line_to_rounding(level: float) -> None:
    pool = sums(np.full(300, level))
    for n in range(3, 301):
        assert min(s for _, s in lines(pool, n)) >= -_lines._ROUNDING
        u, s, _ = _lines.best_line(pool, 0, n, _widths.GAUSSIAN, 0.0, 0.0, 1.0, 1_000.0)
        assert s == pytest.approx(0.0, abs=1e-15)
        assert u == pytest.approx(level, abs=1e-12)


def test_a_line_that_falls_is_discarded() -> None:
    pool = sums(np.array([0.9, 0.5, 0.1]))
    falling = [s for _, s in lines(pool, 3) if s < 0.0]
    assert falling == pytest.approx([-0.4])
    u, s, _ = _lines.best_line(pool, 0, 3, _widths.GAUSSIAN, 0.0, 0.0, 1.0, 10.0)
    assert s > 0.0
    assert u == pytest.approx(0.1)


# -- the commit value ---------------------------------------------------------------------------------------------


def test_rounds_left_are_a_whole_number_whatever_horizon_is_pretended() -> None:
    policy = CommitUCB(sigma=0.1).reset(3)
    for t in range(1, 2_000):
        policy.tell(policy.ask(), 0.5)
        left = _batches.remaining_rounds(policy._state, t + 1)
        assert left == int(left) > 0
    assert policy._state.run["horizon"][0] % 1.0 > 0.0  # 1.3 times the last one


# -- the grid -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("horizon", "growth"), [(1, 1.05), (2, 1.05), (25, 1.0), (999, 1.05), (5_000, 1.3), (800, 1.0)]
)
def test_lines_are_counted_as_they_are_drawn(horizon: int, growth: float) -> None:
    points = grid.commit_grid(horizon, growth)
    assert points == reference_commit.grid(horizon, growth)
    windows = [w for n in points if n > 1 for w in grid.commit_windows(n)]
    assert windows == [w for n in points if n > 1 for w in reference_commit.windows(n)]
    assert grid.count_lines(horizon, growth) == (len(points), len(windows), len([w for w in windows if w >= 3]))


GRID_POLICIES: list[tuple[Policy, int | None]] = [
    (CommitUCB(sigma=0.1), 3_000),
    (CommitUCB(sigma=0.1, risk=None), 3_000),
    (CommitUCB(sigma=0.1), None),
    (CommitUCB(sigma="auto"), None),
    (CommitUCB(sigma="auto", growth=1.2), 3_000),
]


@pytest.mark.parametrize(("policy", "horizon"), GRID_POLICIES, ids=[f"{p!r} {t}" for p, t in GRID_POLICIES])
def test_lines_are_drawn_on_grid_points_alone(policy: Policy, horizon: int | None) -> None:
    """With second chances, masks, rewards of arms that were not asked for, and restarts."""
    rng = np.random.default_rng(8)
    problem = get_problem("random-3")
    n_arms, rounds = 5, horizon or 1_000
    points = set(grid.commit_grid(rounds, float(policy.get_params().get("growth", 1.05))))
    drawn: set[int] = set()
    policy.reset(n_arms, horizon, seed=1)
    for t in range(rounds):
        available = rng.random(n_arms) < 0.7
        arm = policy.ask(available if t % 5 == 0 and available.any() else None)
        if t % 11 == 0:
            arm = int(rng.integers(n_arms))
        mean = float(problem.curves[arm](int(policy.pulls[arm]) + 1))
        policy.tell(arm, mean + 0.1 * float(rng.standard_normal()))
        drawn |= set(policy._state.arms["drawn"].tolist())
        if t % 250 == 100:
            policy = get_policy(policy.name, **policy.get_params()).restore(policy.state_dict())
    assert drawn - {0} <= points
    assert len(drawn) > 20
