"""The curve model that explains any run: the same posterior as CommitEnsemble's kernels, from rewards alone."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from risingbandits.policies import CommitEnsemble
from risingbandits.policies.commit import _curve_shapes, _ensemble_bounds, _ensemble_noise, _prediction, forecast
from risingbandits.policies.commit import _ensemble_members as members

RNG = np.random.default_rng(7)
# Arms that make every branch fire: steep and flat ones, one that falls (components that are impossible), one reward,
# lengths on and off the grid of batches, and noise between next to nothing and much.
CURVES = [
    0.8 * (1 - np.exp(-np.arange(1, 61) / 9)) + 0.02 * RNG.standard_normal(60),
    0.5 + 0.1 * RNG.standard_normal(7),
    0.9 - 0.8 * np.arange(150) / 150,
    np.array([0.3]),
    np.arange(1, 42) / 500,
]


def told(curves: list[np.ndarray], **settings: Any) -> CommitEnsemble:
    policy = CommitEnsemble(**settings).reset(len(curves), 400)
    for arm, rewards in enumerate(curves):
        for reward in rewards:
            policy.tell(arm, float(reward))
    return policy


def test_shapes_of_all_families_at_once_are_those_of_the_kernel() -> None:
    taus = _curve_shapes.paces(50)
    for x in (0.0, 0.3, 1.0, 80.0):
        expected = [_curve_shapes.rise(f, x / tau) for f in range(_curve_shapes.FAMILIES) for tau in taus]
        np.testing.assert_allclose(_prediction.rises(x / taus), expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("prior", ["fixed", "pooled"])
def test_the_posterior_of_all_arms_is_that_of_the_kernels_arm_by_arm(prior: str) -> None:
    policy = told(CURVES, prior=prior)
    state = policy.clone()._state
    arms = state.arms
    sums = arms["weight"].copy(), arms["weighted"].copy(), state.moments.copy()
    ages = np.full(len(CURVES), 400.0)
    found = _prediction.posterior(sums, state.taus, _ensemble_bounds.log_priors(state), state.cap, ages)
    dropped = clear = 0
    for arm, rewards in enumerate(CURVES):
        n = float(len(rewards))
        count = _ensemble_bounds.weigh(state, arm, n, 400.0 - n, True)
        share = state.work[members.SHARE, :count] / state.work[members.SHARE, :count].sum()
        kept = found.share[arm] > 0
        assert kept.sum() == count
        np.testing.assert_allclose(found.share[arm, kept], share, rtol=1e-6)
        np.testing.assert_allclose(found.mean[arm, kept], state.work[members.MEAN, :count], rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(found.spread[arm, kept], state.work[members.SPREAD, :count], rtol=1e-6, atol=1e-8)
        dropped, clear = dropped + (~kept).sum(), clear + kept.sum()
    assert dropped > 0 < clear


@pytest.mark.slow
def test_sums_and_noise_from_rewards_are_those_of_the_policy_that_was_told_them() -> None:
    policy = told(CURVES, drift=forecast._DRIFT)
    state = policy.clone()._state
    variances = forecast._variances(CURVES)
    sums = forecast._sums(CURVES, variances, state.taus)
    for arm, rewards in enumerate(CURVES):  # the unfinished batch, too
        for last in range(state.arms["drawn"][arm] + 1, rewards.size + 1):
            _ensemble_noise.compare(state, arm, last)
        state.arms["drawn"][arm] = rewards.size
    for arm in range(len(CURVES)):
        _ensemble_bounds.learn_anew(state, arm)
    np.testing.assert_allclose(sums[0], state.arms["weight"], rtol=1e-6)
    np.testing.assert_allclose(sums[1], state.arms["weighted"], rtol=1e-6)
    np.testing.assert_allclose(sums[2], state.moments, rtol=1e-6, atol=1e-9)


def test_a_forecast_of_nothing_and_of_one_reward() -> None:
    empty = forecast.forecast([[], []], [10, 10])
    assert np.isnan(empty).all()
    one = forecast.forecast([[0.4], []], [1, 10], (0.0, 1.0))
    assert one.level[0] == 0.4
    assert one.chance[0] == 1.0
    assert 0.0 <= one.low[0] <= one.final[0] <= one.high[0] <= 1.0
    assert np.isnan(one.final[1])


def test_equal_questions_have_equal_answers_and_the_band_narrows_towards_the_end() -> None:
    rng = np.random.default_rng(3)
    ages = np.arange(1, 101)
    curves = [0.9 * ages[:n] / (ages[:n] + 20) + 0.02 * rng.standard_normal(n) for n in (10, 100)]
    first, second = (forecast.forecast(curves, [400, 400]) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert first.high[0] - first.low[0] > 2 * (first.high[1] - first.low[1])
    assert first.low[1] < 0.9 * 400 / 420 < first.high[1]


def test_the_chance_goes_by_levels_at_equal_age_and_by_how_far_arms_have_come() -> None:
    rng = np.random.default_rng(5)
    curves = [np.sort(rng.random(n)) for n in (3, 3, 7, 12, 12, 5)]

    def level(curve: np.ndarray, age: int) -> float:
        return float(sum(curve[age - math.ceil(age / 4) : age]) / math.ceil(age / 4))

    expected = []
    for curve in curves:
        at, age = level(curve, len(curve)), len(curve)
        for older in sorted({len(other) for other in curves if len(other) > age}):
            gone_on = [level(other, older) - level(other, age) for other in curves if len(other) >= older]
            at, age = at + sum(gone_on) / len(gone_on), older
        expected.append(at)
    np.testing.assert_allclose(forecast.at_equal_age(curves), expected)
    pair = [np.full(10, 0.4), np.full(10, 0.6)]
    for age in (10, 20, 100):
        moves = 1.5 * np.std([0.4, 0.6], ddof=1) * (1.0 - 10 / age)
        chance = 1.0 if moves == 0.0 else 0.5 * math.erfc(-0.2 / moves / 2.0)
        assert forecast.forecast(pair, [age, age]).chance[1] == pytest.approx(chance, abs=0.04)


@pytest.mark.parametrize("pulls", [1, 3, 30, 100])
@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_no_end_is_below_what_the_arm_gives_now(pulls: int, noise: float) -> None:
    rng = np.random.default_rng(2)
    ages = np.arange(1, pulls + 1)
    paces = np.exp(rng.uniform(0.0, 4.0, 60))
    curves = [
        top * -np.expm1(-ages / pace) + noise * rng.standard_normal(pulls)
        for top, pace in zip(rng.uniform(0.2, 0.9, 60), paces, strict=True)
    ]
    found = forecast.forecast(curves, [4 * pulls + 20] * 60)
    now = found.level if noise else np.array([curve[-1] for curve in curves])
    assert (found.final >= now - 0.003).all()
    assert (found.high >= found.final).all()
    assert (found.low <= found.final).all()


def test_of_many_arms_the_chances_still_add_up() -> None:
    found = forecast.forecast([[0.1 + arm / 500] * 3 for arm in range(300)], [30] * 300)
    assert found.chance.sum() == pytest.approx(1.0)
    assert found.chance[-50:].sum() > found.chance[:50].sum()
