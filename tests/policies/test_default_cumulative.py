"""The default for sums of rewards: nothing jumps, scales do not matter, its parts are what their definitions say."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad

from reference_default import SlowCumulative
from risingbandits import RisingBandit, get_problem, simulate
from risingbandits._core.jit import interpreted
from risingbandits.policies import Auto
from risingbandits.policies.default import _comparison as comparison
from risingbandits.policies.default import _cumulative as cumulative
from risingbandits.policies.default import _extrapolation as extrapolation
from risingbandits.policies.default import _seen as seen
from risingbandits.problems import Gaussian


def crossing(rounds: int) -> RisingBandit:
    """The second arm is best in the end, and worse than the first until pull 57."""
    n = np.arange(1, rounds + 1)
    means = [0.55 * -np.expm1(-n / 5), 0.9 * -np.expm1(-n / 60), 0.3 * -np.expm1(-n / 10)]
    return RisingBandit.from_array(np.array(means), Gaussian(0.01), rounds)


def lost(rounds: int, patience: float = 25.0) -> float:
    """Per cent of what the best arm brings."""
    return float(
        simulate([Auto("cumulative", patience=patience)], crossing(rounds), runs=20, seed=1).summary()[0]["percent"]
    )


def test_curves_that_cross_are_found_with_two_hundred_rounds_for_each_arm_and_with_fewer() -> None:
    at = {rounds: lost(rounds) for rounds in (400, 500, 599, 601)}
    assert at[400] < 13.0
    assert at[500] < 8.0
    assert max(at[599], at[601]) < 6.5
    assert abs(at[599] - at[601]) < 1.0


def test_patience_decides_who_is_believed() -> None:
    assert lost(400, patience=1e6) > 25.0


def played(scale: float, shift: float, rounds: int = 600) -> list[int]:
    """Arms of noisy rewards that are multiples of 2^-10, so that scaling and shifting them is exact."""
    rng = np.random.default_rng(3)
    noise = rng.integers(-40, 40, (5, rounds))
    policy = Auto("cumulative", bounded=False).reset(5, rounds, seed=2)
    asked = []
    for _ in range(rounds):
        arm = policy.ask()
        n = int(policy.pulls[arm]) + 1
        units = round(1024 * (arm + 1) / 6 * n / (n + 20 * arm + 5)) + int(noise[arm, n - 1])
        policy.tell(arm, scale * (units / 1024) + shift)
        asked.append(arm)
    return asked


@pytest.mark.parametrize(("scale", "shift"), [(8.0, 0.0), (2.0**-20, 0.0), (1.0, 512.0), (4.0, -64.0)])
def test_scaled_and_shifted_rewards_lead_to_the_same_decisions(scale: float, shift: float) -> None:
    decisions = played(1.0, 0.0)
    assert len(set(decisions)) > 2
    assert played(scale, shift) == decisions


def test_while_all_rewards_are_the_same_arms_take_turns_of_some_square_roots() -> None:
    policy = Auto("cumulative", order="given").reset(3, 400)
    for _ in range(400):
        policy.tell(policy.ask(), 0.5)
    assert sorted(policy.pulls) == [50, 50, 300]


@pytest.mark.parametrize("family", range(6))
def test_areas_are_integrals(family: int) -> None:
    rise, area = interpreted(extrapolation.rise), interpreted(extrapolation.area)
    for low, high in ((0.0, 0.3), (0.2, 1.5), (0.5, 12.0)):
        expected, _ = quad(lambda x: rise(family, x), low, high, points=[1.0] if low < 1.0 < high else None)
        assert area(family, high) - area(family, low) == pytest.approx(expected, abs=1e-7)


def run(means: np.ndarray, rounds: int) -> seen.State:
    """The state after rounds of ask and tell without noise."""
    policy = Auto("cumulative", order="given").reset(len(means), means.shape[1])
    for _ in range(rounds):
        arm = policy.ask()
        policy.tell(arm, float(means[arm, policy.pulls[arm]]))
    state: seen.State = policy._state
    return state


def test_the_posterior_is_that_of_weighted_least_squares_with_priors() -> None:
    """By hand: for each shape, a normal linear model of the batches, with b cut at 0 as a whole."""
    n = np.arange(1, 401)
    state = run(np.array([0.5 * -np.expm1(-n / 4), 0.9 * -np.expm1(-n / 60)]), 200)
    arm, length = 1, 1.0
    interpreted(extrapolation.learn)(state, arm)
    pulls = int(state.arms["drawn"][arm])
    grid = [0]
    while grid[-1] < pulls:
        grid.append(interpreted(extrapolation.next_point)(grid[-1]))
    start, origin = state.places[arm, 0], float(state.plan["origin"][0])
    sums = np.array([0.0, *(state.pool[start + k] + k * origin for k in range(1, pulls + 1))])
    batches = [(b - a, a + (b - a + 1) / 2, (sums[b] - sums[a]) / (b - a)) for a, b in itertools.pairwise(grid)]
    m, x, y = map(np.array, zip(*batches[1:], strict=True))  # the first pull counts only as long as it is alone
    w = m / (state.arms["variance"][arm] - 0.005**2 + 0.005**2 * x)
    rise = interpreted(extrapolation.rise)
    weights, levels = [], []
    for with_start in (False, True):
        for family in range(6 - with_start):
            for pace in state.paces:
                g = np.array([rise(family, v / pace) for v in x])
                design = np.stack([np.ones_like(g), g], 1) if with_start else g[:, None]
                prior = np.array([0.3, 0.3]) if with_start else np.array([0.5])
                precision = np.diag(1 / prior**2) if with_start else np.array([[1 / 0.4**2]])
                posterior = precision + design.T @ (w[:, None] * design)
                right = precision @ prior + design.T @ (w * y)
                mean, covariance = np.linalg.solve(posterior, right), np.linalg.inv(posterior)
                fit = mean @ right - prior @ precision @ prior
                log = 0.5 * (np.log(np.linalg.det(precision) / np.linalg.det(posterior)) + fit)
                deviation = math.sqrt(covariance[-1, -1])
                if mean[-1] < 3 * deviation:  # cut at 0: of no weight here
                    continue
                weights.append(log)
                levels.append(mean[-1] * rise(family, 2 * pulls / pace) + (mean[0] if with_start else 0.0))
    share = np.exp(np.array(weights) - max(weights))
    expected = float(share @ np.array(levels) / share.sum())
    count = interpreted(extrapolation.weigh)(state, arm, float(pulls), float(pulls), True)
    found = interpreted(extrapolation.expectation)(state.work, count) + origin
    assert found == pytest.approx(expected, abs=0.01 * length)
    assert found == pytest.approx(0.9 * -math.expm1(-2 * pulls / 60), abs=0.1)


def test_upper_quantiles_are_exceeded_with_their_probability() -> None:
    work = np.array([[0.3, 0.7, 0.0], [0.0, 1.0, 9.0], [1.0, 0.5, 1.0]])
    found = interpreted(extrapolation.upper_quantile)(work, 2, 0.05)
    draws = np.random.default_rng(0)
    which = draws.random(400_000) < 0.3
    values = np.where(which, draws.normal(0, 1, which.size), draws.normal(1, 0.5, which.size))
    assert (values > found).mean() == pytest.approx(0.05, abs=0.002)


def test_positive_parts_are_means() -> None:
    draws = np.random.default_rng(0).normal(-0.3, 0.7, 1_000_000)
    assert interpreted(comparison.positive_part)(-0.3, 0.7) == pytest.approx(np.maximum(draws, 0).mean(), abs=2e-3)
    assert interpreted(comparison.positive_part)(0.2, 0.0) == 0.2


def test_the_evidence_counts_for_four_at_most_and_not_at_all_against_an_unknown_end() -> None:
    odds = interpreted(cumulative.log_odds)
    state = Auto("cumulative").reset(4, 100)._state
    assert odds(state, 10) == pytest.approx(0.0)
    state.plan["tests"], state.plan["own"], state.plan["shared"] = 50, 0.0, 10.0
    assert odds(state, 10) == pytest.approx(4.0)
    state.plan["own"], state.plan["shared"] = 10.0, 0.0
    assert odds(state, 10) == pytest.approx(-4.0)
    unknown = Auto("cumulative").reset(4)._state
    assert odds(unknown, 4 * 46) < 0.0 < odds(unknown, 4 * 47)


def test_an_ask_that_cannot_have_the_planned_arm_keeps_nothing() -> None:
    rng = np.random.default_rng(1)
    policy = Auto("cumulative").reset(6, 600, seed=4)
    for _ in range(300):
        arm = policy.ask()
        policy.tell(arm, float(0.1 * arm + rng.normal(0, 0.05)))
        before = {name: np.copy(value) for name, value in policy._state._asdict().items() if name != "aside"}
        free = np.ones(6, dtype=bool)
        free[policy.ask()] = False
        assert free[policy.ask(free)]
        for name, value in before.items():
            assert value.tobytes() == np.copy(getattr(policy._state, name)).tobytes(), name


def test_only_a_first_reward_next_to_nothing_is_looked_at_again() -> None:
    """It was compared with the first reward of the run, so that most arms were pulled twice."""
    policy = Auto("cumulative", order="given").reset(5, 20)
    policy.tell(0, 0.5)
    policy.tell(1, 0.3)
    assert policy.ask() == 0
    policy.tell(2, 0.02)
    assert policy.ask() == 2
    policy.tell(2, 0.02)
    assert policy.ask() == 0


def test_an_arm_is_judged_anew_when_rewards_turn_out_noisier() -> None:
    """With too little noise its line promised nothing, and 2 of 100 runs of the paper's problem lost half of it all."""
    problem = get_problem("paper-2arms")
    means = problem.means(np.arange(1, 3_001))
    noise = np.random.default_rng(10).normal(0, 0.1, 6_000)
    policy = Auto("cumulative").reset(2, problem.horizon, seed=10)
    for t in range(3_000):
        arm = policy.ask()
        policy.tell(arm, float(means[arm, policy.pulls[arm]] + noise[t]))
    assert policy.pulls.min() > 100


CURVES = {
    "cross": lambda n: np.array([0.55 * -np.expm1(-n / 5), 0.9 * -np.expm1(-n / 60), 0.3 * -np.expm1(-n / 10)]),
    "alike": lambda n: np.array([end * n / (n + 4) for end in (0.2, 0.3, 0.45, 0.6, 0.7, 0.8)]),
    "from nothing": lambda n: np.array([end * np.maximum(0, n - 3) / (n + 3) for end in (0.1, 0.2, 0.8, 0.6)]),
    "level": lambda n: np.array([level + 0 * n for level in (0.2, 0.3, 0.4, 0.6, 0.5)]),
}


@pytest.mark.parametrize(
    ("curves", "rounds", "sigma", "known", "happened"),
    [
        ("cross", 200, 0.01, True, {"tried before any is judged", "next to nothing", "extrapolated"}),
        ("cross", 700, 0.1, True, {"tried before any is judged", "extrapolated"}),
        ("cross", 310, 0.01, True, {"tried before any is judged", "extrapolated"}),
        ("cross", 190, 0.02, False, {"extrapolated", "incumbent"}),
        ("alike", 60, 0.01, True, {"incumbent", "tried"}),
        ("alike", 250, 0.03, True, {"opened", "tried", "incumbent", "extrapolated"}),
        ("alike", 100, 0.01, False, {"incumbent"}),
        ("from nothing", 120, 0.0, True, {"all the same", "next to nothing", "tried"}),
        ("level", 300, 0.05, True, {"opened", "tried", "incumbent"}),
    ],
)
def test_decisions_are_those_of_the_definition(
    curves: str, rounds: int, sigma: float, known: bool, happened: set[str]
) -> None:
    means = CURVES[curves](np.arange(1, rounds + 1))
    rewards = means + sigma * np.random.default_rng(rounds).normal(size=means.shape)
    horizon = rounds if known else None
    policy = Auto("cumulative", order="given").reset(len(means), horizon)
    offset = 0.0 if rounds % 100 == 0 else 0.4
    policy._state.plan["offset"] = offset
    slow = SlowCumulative(horizon, list(range(len(means))), seen.NUMBERS, 25.0, offset)
    for t in range(min(rounds, 200)):
        arm = policy.ask()
        assert slow.ask() == arm, t
        reward = float(rewards[arm, policy.pulls[arm]])
        policy.tell(arm, reward)
        slow.tell(arm, reward)
    assert happened <= set(slow.seen)
