"""Policies that know the form of the curves: equal to their definitions where these decide, right on such curves."""

from __future__ import annotations

import numpy as np
import pytest

import reference_parametric as slow
from reference import play_policy
from reference_phases import Reference, play, r_ucbe_estimate
from risingbandits import RisingBandit, RisingBanditsError, get_problem, simulate
from risingbandits.lab.related import RUCBE, CellaETC, ModelHalving, RestSure
from risingbandits.policies import Policy
from risingbandits.problems import Gaussian, NoNoise, PowerLaw
from risingbandits.testing import check_policy


def power_laws(*arms: tuple[float, float], rho: float = 0.5, sigma: float = 0.02) -> RisingBandit:
    """Arms by their limits and what they rise by."""
    noise = Gaussian(sigma) if sigma else NoNoise()
    return RisingBandit([PowerLaw(limit, rise, rho) for limit, rise in arms], noise, horizon=1_500)


CROSSING = power_laws((0.6, 0.1), (0.9, 0.9), (0.3, 0.2), (0.7, 0.4))
ALIKE = power_laws((0.5, 0.45), (0.5, 0.45), sigma=0.0)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(
    ("problem", "policy", "settings"),
    [
        (CROSSING, CellaETC(scale=1e-3), {"scale": 1e-3}),
        (CROSSING, CellaETC(scale=1e-4), {"scale": 1e-4}),
        (
            power_laws((0.6, 0.1), (0.9, 0.9), rho=0.8),
            CellaETC(rho=0.8, U=0.5, delta=0.1, scale=5e-4),
            {"rho": 0.8, "most": 0.5, "delta": 0.1, "scale": 5e-4},
        ),
    ],
)
def test_explore_then_commit_decides_as_defined(
    problem: RisingBandit, policy: Policy, settings: dict[str, float], seed: int
) -> None:
    said: list[str] = []
    expected = play(slow.power_losses(**settings, rest_sure=False, said=said), problem, 1_500, seed)
    assert said == ["sure"]
    assert expected[-1] == 1
    assert play_policy(policy, problem, 1_500, seed) == expected


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(
    ("problem", "scale", "rules"),
    [
        (CROSSING, 1e-3, {"dropped", "sure"}),
        (CROSSING, 1e-4, {"dropped", "sure"}),
        (get_problem("random-3"), 3e-4, {"dropped"}),
        (ALIKE, 1e-6, {"learning costs more"}),
    ],
)
def test_rest_sure_decides_as_defined(problem: RisingBandit, scale: float, rules: set[str], seed: int) -> None:
    said: list[str] = []
    horizon = 40 if problem is ALIKE else 1_500
    expected = play(slow.power_losses(scale, rest_sure=True, said=said), problem, horizon, seed)
    assert rules <= set(said)
    assert play_policy(RestSure(scale=scale), problem, horizon, seed) == expected


def test_as_printed_no_arm_is_dropped_in_any_usual_run() -> None:
    said: list[str] = []
    for rest_sure, policy in ((False, CellaETC()), (True, RestSure())):
        expected = play(slow.power_losses(1.0, rest_sure, said), CROSSING, 1_500, 0)
        assert play_policy(policy, CROSSING, 1_500, 0) == expected
        assert np.bincount(expected).tolist() == [375] * 4
    assert said == []
    assert (
        simulate("rest-sure", power_laws((0.0, 0.1), (1.0, 1.0)), horizon=200_000).pulls["rest-sure"].min() == 100_000
    )


@pytest.mark.parametrize("policy", [CellaETC(scale=1e-3), RestSure(scale=1e-3)], ids=repr)
def test_the_end_counts_and_not_the_present(policy: Policy) -> None:
    """Arm 1 is behind for its first 1,000 pulls and best at the end; without noise the fit is exact."""
    problem = power_laws((0.50, 0.10), (0.55, 1.70), sigma=0.0)
    assert np.argmax(problem.means(1_000)) == 0
    assert np.argmax(problem.means(10_000)) == 1
    running = policy.reset(2, 10_000)
    for _ in range(2_000):
        arm = running.ask()
        running.tell(arm, float(problem.means(int(running.pulls[arm]) + 1)[arm]))
    assert running.recommend() == 1
    final = running.explain()["final"]
    expected = problem.means(int(running.pulls[1]) + 8_000)[1]
    assert final[1] == pytest.approx(expected, abs=1e-9)
    assert running.explain().why_kept.startswith("predicted end 0.5")


def test_arms_that_were_missing_hold_a_commitment_up_but_no_elimination() -> None:
    for policy, dropped in ((CellaETC(scale=1e-4), 0), (RestSure(scale=1e-4), 2)):
        running = policy.reset(4, 2_000)
        for _ in range(200):
            arm = running.ask([True, True, False, True])
            running.tell(arm, [0.2, 0.8, 0.0, 0.5][arm])
        assert running.recommend() == 1
        assert running.explain()["active"].sum() == 4 - dropped


HALVINGS: list[tuple[Policy, Reference]] = [
    (ModelHalving(), slow.model_halving()),
    (ModelHalving(powers=(0.5,), ridge=0.0), slow.model_halving((0.5,), 0.0)),
    (ModelHalving(powers=[0.3, 0.8, 1.5], ridge=1.0), slow.model_halving((0.3, 0.8, 1.5), 1.0)),
    (ModelHalving(target=400, ceiling=2.0), slow.model_halving(target=400, ceiling=2.0)),
]


@pytest.mark.parametrize(
    ("policy", "reference"), HALVINGS, ids=lambda value: repr(value) if isinstance(value, Policy) else ""
)
@pytest.mark.parametrize("problem", [CROSSING, get_problem("paper-15arms"), get_problem("random-3")])
def test_model_halving_decides_as_defined(policy: Policy, reference: Reference, problem: RisingBandit) -> None:
    for seed in range(2):
        assert play_policy(policy, problem, 1_500, seed) == play(reference, problem, 1_500, seed)


def test_the_better_half_goes_on_wherever_it_stands() -> None:
    """The best arm is the last one; the program that was published with the paper keeps the lower numbers."""
    problem = power_laws((0.3, 0.1), (0.4, 0.1), (0.5, 0.1), (0.6, 0.1), (0.75, 1.5))
    result = simulate(["model-halving", "sequential-halving"], problem, horizon=600, runs=50, seed=1)
    assert set(result.recommended["model-halving"]) == {4}
    assert set(result.recommended["sequential-halving"]) == {3}, "which does not look ahead"


def test_powers_that_say_the_same_are_left_out_of_the_fit() -> None:
    running = ModelHalving(powers=(0.5, 0.5 + 1e-13), ridge=0.0).reset(2, 100)
    for _ in range(100):
        arm = running.ask()
        running.tell(arm, [0.5, 0.9][arm] - 0.4 * (running.pulls[arm] + 1) ** -0.5)
    assert running.explain()["final"] == pytest.approx([0.5 - 0.04, 0.9 - 0.04], abs=1e-9)


def test_a_first_reward_is_predicted_to_stay() -> None:
    running = ModelHalving(ridge=0.0).reset(3, 100)
    running.tell(1, 0.4)
    assert running.recommend() == 1
    assert running.explain()["level"][1] == pytest.approx(0.4)


@pytest.mark.parametrize(
    "policy",
    [
        CellaETC(scale=1e-3),
        RestSure(rho=0.9, scale=1e-4, delta=0.5),
        ModelHalving(powers=(0.5,), ridge=0.0),
        ModelHalving(target=5, ceiling=0.0),
        RUCBE(recommends="index"),
        RUCBE(recommends="index", sigma="auto"),
    ],
    ids=repr,
)
def test_settings_keep_the_contract(policy: Policy) -> None:
    check_policy(policy)


def test_r_ucbe_recommends_by_estimate_or_by_index() -> None:
    """With the same pulls; an arm that was seldom pulled has the higher index."""
    horizon, sigma = 60, 0.05
    by_estimate, by_index = (RUCBE(sigma=sigma, recommends=rule).reset(2, horizon) for rule in ("estimate", "index"))
    rewards: list[list[float]] = [[], []]
    for arm, count in ((0, 40), (1, 8)):
        for n in range(1, count + 1):
            rewards[arm].append([0.8, 0.5][arm] + 0.001 * n)
            by_estimate.tell(arm, rewards[arm][-1])
            by_index.tell(arm, rewards[arm][-1])
    estimates, indexes = [], []
    for own in rewards:
        estimate, h = r_ucbe_estimate(own, horizon, 0.25)
        width = sigma * (horizon - len(own) + h - 1) * np.sqrt(2 * np.log(horizon) / h**3)
        estimates.append(estimate)
        indexes.append(estimate + width)
    assert [int(np.argmax(estimates)), int(np.argmax(indexes))] == [0, 1]
    assert [by_estimate.recommend(), by_index.recommend()] == [0, 1]
    assert by_index.explain().why_kept.startswith("best index")


def test_powers_of_a_model_must_differ() -> None:
    with pytest.raises(RisingBanditsError, match="powers must be different numbers"):
        ModelHalving(powers=(0.5, 0.5))._validate()
