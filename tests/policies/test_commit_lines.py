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


def concave(rng: np.random.Generator, length: int) -> Floats:
    """mu(1), mu(2), ...: non-decreasing and concave from the first pull on, in [0, 1]; often with a first jump."""
    first = float(rng.choice([0.0, rng.uniform(0.0, 1.0)]))
    increments = np.sort(rng.exponential(size=length - 1) ** rng.uniform(0.0, 6.0))[::-1]
    increments[int(rng.choice([1, 2, length // 2, length])) :] *= rng.choice([0.0, 1e-6, 1.0])
    room = rng.choice([1.0, rng.uniform(0.0, 1.0)]) * (1.0 - first)
    return np.asarray(np.minimum(1.0, first + np.concatenate([[0.0], np.cumsum(increments)]) * room / increments.sum()))


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


@pytest.mark.parametrize("seed", range(6))
def test_every_line_lies_above_every_later_mean(seed: int) -> None:
    """Without noise, after every number of pulls up to 300."""
    rng = np.random.default_rng(seed)
    for _ in range(10):
        mean = concave(rng, 400)
        assert (np.diff(mean) >= -1e-12).all()
        assert (np.diff(mean, 2) <= 1e-12).all()
        pool = sums(mean[:300])
        for n in range(1, 301):
            later = np.arange(1, 400 - n + 1)
            for u, s in lines(pool, n):
                assert (u + s * later >= mean[n:] - 1e-9).all(), (n, u, s)


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


@given(st.floats(-0.5, 1.5), st.floats(0, 0.2), st.floats(0.5, 2.0), st.integers(1, 400))
@settings(max_examples=300, deadline=None)
def test_commit_value_is_the_mean_of_the_capped_line(u: float, s: float, cap: float, rounds: int) -> None:
    value = _commit_value.value(u, s, cap, float(rounds))
    mean = math.fsum(min(cap, u + s * k) for k in range(1, rounds + 1)) / rounds
    tie = 1e-9 * min(u, 1e6) if u >= cap else 0.0
    assert value - tie == pytest.approx(mean, abs=1e-12)
    assert value == pytest.approx(reference_commit.commit_value(u, s, cap, rounds), abs=1e-12)


@given(
    st.floats(-0.5, 1.5),
    st.floats(0, 0.2),
    st.integers(1, 400),
    st.floats(0, 0.5),
    st.floats(0, 0.1),
    st.integers(0, 50),
)
@settings(max_examples=300, deadline=None)
def test_commit_value_grows_with_level_slope_and_rounds(
    u: float, s: float, rounds: int, higher: float, steeper: float, longer: int
) -> None:
    value = _commit_value.value(u, s, 1.0, float(rounds))
    assert _commit_value.value(u + higher, s, 1.0, float(rounds)) >= value - 1e-12
    assert _commit_value.value(u, s + steeper, 1.0, float(rounds)) >= value - 1e-12
    assert _commit_value.value(u, s, 1.0, float(rounds + longer)) >= value - 1e-12


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


# -- how sure they are --------------------------------------------------------------------------------------------


def test_z_makes_all_lines_of_all_arms_hold() -> None:
    """The table of Corollary 0."""
    for n_arms, horizon, delta, z in ((2, 1_000, 0.05, 4.75), (15, 200_000, 0.05, 5.30), (2, 200_000, 5e-6, 6.52)):
        run = CommitUCB(confidence=delta).reset(n_arms, horizon)._state.run
        assert run["z"][0] == pytest.approx(z, abs=0.006)
    assert CommitUCB().reset(2, 1_000)._state.run["z"][0] == pytest.approx(math.sqrt(2 * math.log(1_000)))


def violated(policy: Policy, means: list[Floats], horizon: int, sigma: float, rng: np.random.Generator) -> bool:
    """Whether, in one run, any line of any arm was below its curve or was discarded."""
    rewards: list[list[float]] = [[] for _ in means]
    policy.reset(len(means), horizon)
    for _ in range(horizon):
        arm = policy.ask()
        rewards[arm].append(means[arm][len(rewards[arm])] + sigma * float(rng.standard_normal()))
        policy.tell(arm, rewards[arm][-1])
    z = float(policy._state.run["z"][0])
    for mean, seen in zip(means, rewards, strict=True):
        pool = sums(np.array(seen))
        for n in grid.commit_grid(len(seen)):
            later = np.arange(1, horizon - n + 1)
            for u, s in lines(pool, n, z, sigma):
                if s < 0.0 or (u + s * later < mean[n:] - 1e-12).any():
                    return True
    return False


@pytest.mark.parametrize(("horizon", "runs"), [(300, 60), pytest.param(1_000, 150, marks=pytest.mark.slow)])
def test_lines_fail_as_seldom_as_told(horizon: int, runs: int) -> None:
    """With second chances, on curves for which lines are tight: straight ones, flat ones and jumps."""
    delta, sigma = 0.2, 0.1
    rng = np.random.default_rng(9)
    straight = np.minimum(1.0, np.arange(horizon) / horizon)
    failures = 0
    for _ in range(runs):
        means = [straight, np.full(horizon, 0.4), concave(rng, horizon)]
        failures += violated(CommitUCB(sigma=sigma, confidence=delta), means, horizon, sigma, rng)
    assert failures / runs <= delta + 3 * math.sqrt(delta * (1 - delta) / runs)
