"""CommitEnsemble against its definition, piece by piece and in whole runs, and its settings."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

import reference_ensemble as ref
from reference import play_policy
from risingbandits import Policy, RisingBandit, RisingBanditsError, get_problem, simulate
from risingbandits.policies import CommitEnsemble
from risingbandits.policies.commit import _curve_shapes, _ensemble_members
from risingbandits.problems import Bernoulli, ConstantCurve, Gaussian, LinearCapped, Noise, Tabulated
from risingbandits.testing import check_policy

FAMILIES = range(_curve_shapes.FAMILIES)


# -- shapes -------------------------------------------------------------------------------------------------------


@given(st.sampled_from(FAMILIES), st.floats(0.0, 1e6))
@settings(max_examples=200, deadline=None)
def test_curves_are_those_of_the_definition(family: int, x: float) -> None:
    assert _curve_shapes.rise(family, x) == pytest.approx(ref.rise(ref.FAMILIES[family], x), abs=1e-12)


@given(st.sampled_from(FAMILIES), st.floats(0.01, 300.0))
@settings(max_examples=100, deadline=None)
def test_areas_are_the_integrals_of_the_curves(family: int, x: float) -> None:
    corner = min(1.0, x)
    parts = ((0.0, corner), (corner, x))
    exact = sum(quad(lambda y: ref.rise(ref.FAMILIES[family], y), *part)[0] for part in parts)
    assert _curve_shapes.area(family, x) == pytest.approx(exact, rel=1e-8, abs=1e-10)


@given(st.sampled_from(FAMILIES), st.floats(0.5, 1e5), st.integers(1, 5_000), st.integers(1, 5_000))
@settings(max_examples=100, deadline=None)
def test_averages_are_means_over_the_pulls(family: int, tau: float, n: int, remaining: int) -> None:
    pulls = [ref.rise(ref.FAMILIES[family], k / tau) for k in range(n + 1, n + remaining + 1)]
    curvature = 1.0 / (8.0 * min(tau, 1.0) * max(1.0, n / tau))  # a sum is not quite an integral
    assert abs(_curve_shapes.average(family, tau, n, remaining) - math.fsum(pulls) / remaining) <= max(1e-9, curvature)


@given(st.integers(1, 10**7))
@settings(max_examples=100, deadline=None)
def test_paces_go_up_to_four_horizons(horizon: int) -> None:
    assert _curve_shapes.paces(horizon) == pytest.approx(np.array(ref.paces(horizon)), rel=1e-9)


# -- posterior ----------------------------------------------------------------------------------------------------


def weigh(blocks: list[tuple[float, float, float]], horizon: int, n: float, remaining: float, final: bool) -> Any:
    """The compiled posterior for one arm: work and the number of components that count."""
    taus = _curve_shapes.paces(horizon)
    size = _curve_shapes.FAMILIES * taus.size
    moments, work = np.zeros((1, size, 3)), np.zeros((_ensemble_members.ROWS, 2 * size))
    sums = np.zeros(1, [("weight", float), ("weighted", float)])
    for x, y, w in blocks:
        _ensemble_members.add_block(moments, sums, taus, 0, x, y, w)
    top = _ensemble_members.posterior(moments, sums, taus, np.zeros(2 * size), 1.0, work, 0, n, remaining, final)
    _ensemble_members.shares(work, top)
    return work, _ensemble_members.drop_unlikely(work)


@given(
    st.lists(st.tuples(st.floats(-0.2, 1.2), st.floats(1.0, 5e3)), min_size=1, max_size=8),
    st.integers(1, 2_000),
    st.booleans(),
    st.sampled_from([1e-4, 0.002, 0.3]),
)
@settings(max_examples=20, deadline=None)
def test_posterior_is_that_of_the_definition(
    seen: list[tuple[float, float]], remaining: int, final: bool, tail: float
) -> None:
    blocks = [(float(i + 1), y, w) for i, (y, w) in enumerate(seen)]
    n = float(len(blocks))
    found = ref.components(blocks, 1_000, n, float(remaining), final)
    if not found:  # every component is far below zero: nothing to compare
        return
    weights, means, spreads, taus = ref.mixture(found)
    work, count = weigh(blocks, 1_000, n, float(remaining), final)
    assert count == len(weights)
    np.testing.assert_allclose(work[_ensemble_members.SHARE, :count], weights, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(work[_ensemble_members.MEAN, :count], means, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(work[_ensemble_members.SPREAD, :count], spreads, rtol=1e-6, atol=1e-8)
    assert _ensemble_members.upper_quantile(work, count, tail) == pytest.approx(
        ref.upper_quantile(weights, means, spreads, tail), abs=1e-7
    )
    assert _ensemble_members.expectation(work, count) == pytest.approx(weights @ means / weights.sum(), abs=1e-8)
    assert _ensemble_members.slower_than(work, count, 2 * n) == pytest.approx(weights[taus >= 2 * n].sum(), abs=1e-8)


@given(st.floats(-7.5, 5.0))
@settings(max_examples=100, deadline=None)
def test_cutting_a_normal_at_zero_gives_its_mean_and_variance(x: float) -> None:
    shift, shrink = _ensemble_members.cut(x, _ensemble_members.normal_cdf(x))
    if x >= 3.0:
        assert (shift, shrink) == (0.0, 1.0)
    else:
        density = [quad(lambda y, k=k: y**k * norm.pdf(y - x), 0, max(0.0, x) + 12)[0] for k in range(3)]
        mean = density[1] / density[0]
        assert x + shift == pytest.approx(mean, rel=1e-6)
        assert shrink == pytest.approx(max(1e-3, density[2] / density[0] - mean**2), rel=1e-4)


def test_the_posterior_finds_the_curve_behind_much_data() -> None:
    """Blocks of a hyperbolic curve without noise: the future is predicted to a percent, whatever the shape."""
    for family in FAMILIES:
        blocks = [(float(x), 0.1 + 0.7 * _curve_shapes.rise(family, x / 64.0), 1e5) for x in range(10, 1_000, 10)]
        work, count = weigh(blocks, 10_000, 1_000.0, 5_000.0, False)
        truth = 0.1 + 0.7 * _curve_shapes.average(family, 64.0, 1_000.0, 5_000.0)
        assert _ensemble_members.expectation(work, count) == pytest.approx(truth, abs=0.01)


# -- decisions ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "horizon"), [("paper-2arms", 100), ("random-3", 50), ("mussi-5arms", 70)])
def test_decisions_are_those_of_the_definition(name: str, horizon: int) -> None:
    problem = get_problem(name).with_noise(Gaussian(0.1))
    expected = ref.EnsembleReference(problem.n_arms, horizon, 0.1, None).play(problem, 1)
    assert play_policy(CommitEnsemble(sigma=0.1, recheck=0.0), problem, horizon, 1) == expected


@pytest.mark.slow
def test_odds_are_limited() -> None:
    """An arm at once near its end and others that climb for long, so that the way up is a risk."""
    curves = [ConstantCurve(0.6), LinearCapped(0.004, 0.9), LinearCapped(0.002, 0.95), LinearCapped(0.01, 0.7)]
    problem = RisingBandit(curves, Gaussian(0.02), horizon=120)
    policy = CommitEnsemble(sigma=0.02, max_odds=0.5, recheck=0.0)
    expected = ref.EnsembleReference(4, 120, 0.02, None, odds=0.5).play(problem, 1)
    assert play_policy(policy, problem, 120, 1) == expected
    assert play_policy(policy.replace(max_odds=1e9), problem, 120, 1) != expected, "the limit decides"


@pytest.mark.parametrize("noise", [Gaussian(0.1), Bernoulli()], ids=repr)
def test_decisions_told_nothing_are_those_of_the_definition(noise: Noise) -> None:
    """Long enough for the lines to take the estimate: more than 50 pairs."""
    problem = get_problem("mussi-5arms").with_noise(noise)
    reference = ref.EnsembleReference(5, 115, 0.5, None, recheck=0.03, guess=True)
    expected = reference.play(problem, 1)
    assert reference.variance(0)[1] == (noise != Bernoulli())
    assert play_policy(CommitEnsemble(sigma="auto", widths="gaussian"), problem, 115, 1) == expected
    assert play_policy(CommitEnsemble(widths="gaussian"), problem, 115, 1) == expected


def test_decisions_after_a_contradiction_are_those_of_the_definition() -> None:
    """A tenth of the truth is told: all batches are weighed anew and all lines drawn anew when that is noticed."""
    problem = get_problem("paper-2arms").with_noise(Gaussian(0.2))
    reference = ref.EnsembleReference(2, 110, 0.02, None, recheck=0.03)
    expected = reference.play(problem, 3)
    assert reference.guess
    assert reference.contradicted_at < 100
    with pytest.warns(UserWarning, match=r"commit-ensemble: sigma=0.02 is contradicted by the rewards") as said:
        assert play_policy(CommitEnsemble(sigma=0.02), problem, 110, 3) == expected
    assert len(said) == 1
    assert expected != play_policy(CommitEnsemble(sigma="auto"), problem, 110, 3)


@pytest.mark.slow
def test_protection_and_second_chances_are_those_of_the_definition() -> None:
    """In a run where it matters which straight rivals are protected, and that idle arms get second chances."""
    problem = RisingBandit([Tabulated([0.5]), Tabulated([0.1]), Tabulated([0.45])], noise=Gaussian(0.05), horizon=100)
    runs = []
    for protect, recheck in (("best", 0.03), ("all", 0.03), ("best", 0.0)):
        reference = ref.EnsembleReference(3, 100, 0.05, None, recheck=recheck, protect=protect)
        runs.append(reference.play(problem, 2))
        assert bool(reference.chances) == (recheck > 0)
        policy = CommitEnsemble(sigma=0.05, recheck=recheck, protect=protect)
        assert play_policy(policy, problem, 100, 2) == runs[-1]
    assert runs[0] not in runs[1:]


def test_bounds_and_recommendations_are_those_of_the_definition() -> None:
    problem = get_problem("mussi-5arms").with_noise(Gaussian(0.1))
    reference = ref.EnsembleReference(5, 50, 0.1, None, recheck=0.3)
    arms = reference.play(problem, 2)
    policy = CommitEnsemble(sigma=0.1, recheck=0.3).reset(5, 50)
    pulls = [0] * 5
    for arm in arms:
        assert policy.ask() == arm
        policy.tell(arm, reference.histories[arm][pulls[arm]])
        pulls[arm] += 1
    assert (policy._state.arms["pulls"] == policy._state.arms["drawn"]).all()  # all batches are over
    bounds = [reference.bounds[arm][0] for arm in range(5)]
    np.testing.assert_allclose(policy._state.arms["bound"], bounds, atol=1e-8)
    assert policy.recommend() == reference.recommend()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "horizon"), [("paper-2arms", 1_500), ("random-3", 600), ("mussi-5arms", 800)])
def test_longer_runs_are_those_of_the_definition(name: str, horizon: int) -> None:
    problem = get_problem(name).with_noise(Gaussian(0.1))
    for seed in range(2):
        expected = ref.EnsembleReference(problem.n_arms, horizon, 0.1, None, recheck=0.03).play(problem, seed)
        assert play_policy(CommitEnsemble(sigma=0.1, recheck=0.03), problem, horizon, seed) == expected


def test_kl_widths_and_bernoulli_rewards_are_those_of_the_definition() -> None:
    problem = get_problem("paper-2arms").with_noise(Bernoulli())
    expected = ref.EnsembleReference(2, 80, 0.5, None, widths="kl").play(problem, 1)
    assert play_policy(CommitEnsemble(sigma=0.5, widths="kl", recheck=0.0), problem, 80, 1) == expected


@pytest.mark.slow
@pytest.mark.parametrize(
    "policy",
    [
        CommitEnsemble(),
        pytest.param(CommitEnsemble(sigma="auto"), marks=pytest.mark.slow),
        CommitEnsemble(prior="pooled", sigma=0.1),
        pytest.param(CommitEnsemble(sigma="auto", growth=1.0, cap=0.8), marks=pytest.mark.slow),
    ],
    ids=repr,
)
def test_settings_keep_the_contract(policy: Policy) -> None:
    check_policy(policy)


@pytest.mark.parametrize("prior", ["fixed", "pooled"])
def test_asking_for_a_recommendation_changes_nothing(prior: str) -> None:
    rng = np.random.default_rng(1)
    quiet, asked = (CommitEnsemble(prior=prior, sigma=0.1).reset(4, 800) for _ in range(2))
    for _ in range(150):
        arm = quiet.ask()
        assert asked.ask() == arm
        reward = 0.2 * arm + 0.1 * float(rng.standard_normal())
        for policy in (quiet, asked):
            policy.tell(arm, reward)
        asked.recommend()
        asked.explain()


def test_it_recommends_the_arm_that_will_be_best_not_the_one_that_is() -> None:
    policy = CommitEnsemble(sigma=0.01).reset(2, 100_000)
    for n in range(1, 2_501):
        policy.tell(0, 0.5)
        policy.tell(1, n / 10_000)
    assert policy.explain()["level"][0] > policy.explain()["level"][1]
    assert policy.recommend() == 1


@pytest.mark.compiled
def test_unknown_horizon_learns_too() -> None:
    problem = get_problem("paper-2arms")
    rng = np.random.default_rng(1)
    policy = CommitEnsemble(sigma=0.1).reset(2)
    for _ in range(60_000):
        arm = policy.ask()
        policy.tell(arm, float(problem.curves[arm](int(policy.pulls[arm]) + 1)) + 0.1 * rng.standard_normal())
    assert policy.pulls[1] > 45_000
    assert policy.recommend() == 1


@pytest.mark.compiled
def test_constant_arms_are_told_apart() -> None:
    problem = RisingBandit([Tabulated([0.4]), Tabulated([0.6])], noise=Gaussian(0.1), horizon=5_000)
    result = simulate(CommitEnsemble(), problem, runs=5, seed=6)
    assert (result.recommended["commit-ensemble"] == 1).all()
    assert result.final_regret["commit-ensemble"].mean() < 200


def test_the_pooled_prior_is_the_mean_of_the_other_arms() -> None:
    """After one batch of the last arm, its prior is the uniform one counted as 8 arms plus the others' posteriors."""
    policy = CommitEnsemble(prior="pooled", sigma=0.1).reset(3, 1_000)
    for arm, reward in ((0, 0.9), (1, 0.1), (2, 0.5)):
        policy.tell(arm, reward)
    state = policy._state
    np.testing.assert_allclose(state.shares[3], state.shares[:3].sum(axis=0), atol=1e-12)
    np.testing.assert_allclose(state.shares[:3].sum(axis=1), 1.0)
    size = state.log_prior.size
    np.testing.assert_allclose(np.exp(state.log_prior), 8 / size + state.shares[0] + state.shares[1], atol=1e-12)


def test_many_arms_fit_in_memory() -> None:
    """Ten thousand arms at twice as many rounds: 4.2 kB an arm for the moments."""
    state = CommitEnsemble().new_state(10_000, 20_000, 20_000)
    assert sum(value.nbytes for value in state if isinstance(value, np.ndarray)) < 50e6


# -- settings -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "word"),
    [
        ({"prior": "wide"}, "prior"),
        ({"sigma": "loud"}, "sigma"),
        ({"sigma": -1.0}, "sigma"),
        ({"widths": "bernstein"}, "widths"),
        ({"cap": 0.0}, "cap"),
        ({"cap": 1.5, "widths": "kl"}, "cap"),
        ({"recheck": 2.0}, "recheck"),
        ({"growth": 0.9}, "growth"),
        ({"max_odds": -1.0}, "max_odds"),
        ({"tail": 0.0}, "tail"),
        ({"tail": 0.5}, "tail"),
        ({"sunk": math.inf}, "sunk"),
        ({"drift": -0.1}, "drift"),
        ({"straight": 0.0}, "straight"),
        ({"protect": "none"}, "protect"),
        ({"lookahead": 1.0}, "lookahead"),
    ],
)
def test_settings_out_of_range_are_refused_by_name(params: dict[str, Any], word: str) -> None:
    with pytest.raises(RisingBanditsError, match=word):
        CommitEnsemble(**params).reset(2)


def test_simulate_fills_in_noise_and_widths() -> None:
    problem = get_problem("paper-2arms")
    assert CommitEnsemble().for_problem(problem, 10).get_params()["sigma"] == 0.1
    bernoulli = CommitEnsemble().for_problem(problem.with_noise(Bernoulli()), 10)
    assert (bernoulli.sigma, bernoulli.widths) == (0.5, "kl")


def test_explain_names_what_decides() -> None:
    policy = CommitEnsemble(sigma=0.1).reset(3, horizon=1_000)
    for reward in np.linspace(0.2, 0.8, 200):
        policy.tell(0, float(reward))
    for _ in range(30):
        policy.tell(1, 0.1)
    explanation = policy.explain()
    names = ["pulls", "level", "sure", "line value", "bound", "expected", "straight", "risk", "cost"]
    assert [name for name in explanation.columns if name in names] == names
    assert explanation["bound"][0] > explanation["bound"][1]
    assert explanation["bound"][2] == np.inf
    assert np.isnan(explanation["expected"][2])
    assert 0 <= explanation["straight"][1] <= 1
