"""CommitUCB against its definition, the claims behind it by execution, and its settings."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference import play_policy
from reference_commit import Reference, Watched, kl_width
from risingbandits import Policy, RisingBandit, RisingBanditsError, get_problem, simulate
from risingbandits._core.jit import interpreted
from risingbandits.policies import CommitUCB
from risingbandits.policies.commit import _commit_value, _widths
from risingbandits.problems import Bernoulli, ConstantCurve, Gaussian, LinearCapped, NoNoise, Tabulated
from risingbandits.testing import check_policy

RULES = (None, "sunk-cost", "shared")


# -- decisions ----------------------------------------------------------------------------------------------------


PLAIN = {"sigma": 0.1, "recheck": 0.0}
CHANCES = {"sigma": 0.1, "recheck": 0.03}
CASES: list[tuple[str, int, dict[str, Any]]] = [
    *((name, seed, PLAIN) for name in ("paper-15arms", "paper-2arms", "random-3") for seed in range(3)),
    ("paper-2arms", 4, CHANCES),
    ("random-3", 4, CHANCES),
    # without noise in the widths, what exploring has cost soon counts for as much as it may
    *(
        ("random-3", 5, CHANCES | more)
        for more in ({"confidence": 0.05}, {"cap": 0.9}, {"sigma": 0.0}, {"growth": 1.3})
    ),
]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("name", "seed", "settings"), CASES, ids=repr)
def test_decisions_are_those_of_the_definition(
    name: str, seed: int, settings: dict[str, Any], rule: str | None
) -> None:
    problem = get_problem(name)
    expected = Reference(problem.n_arms, 1_500, rule=rule, **settings).play(problem, seed)
    assert play_policy(CommitUCB(risk=rule, **settings), problem, 1_500, seed) == expected


@pytest.mark.parametrize("rule", RULES)
def test_decisions_with_kl_widths_and_with_an_estimate_are_those_of_the_definition(rule: str | None) -> None:
    problem = get_problem("random-3").with_noise(Bernoulli())
    expected = Reference(problem.n_arms, 1_500, 0.5, rule, widths="kl").play(problem, 1)
    assert play_policy(CommitUCB(risk=rule, sigma=0.5, widths="kl", recheck=0.0), problem, 1_500, 1) == expected
    problem = get_problem("paper-2arms")
    expected = Watched(problem.n_arms, 900, 0.0, rule, recheck=0.03).play(problem, 1)
    assert play_policy(CommitUCB(risk=rule, sigma="auto"), problem, 900, 1) == expected


# An arm at once near its end and others that climb for long, so that the way up is a risk.
CLIMBING = RisingBandit(
    [ConstantCurve(0.3), LinearCapped(0.002, 1.0), LinearCapped(0.001, 0.9)], NoNoise(), horizon=1_000
)


@pytest.mark.parametrize("rule", RULES[1:])
def test_odds_are_limited(rule: str) -> None:
    limited, unlimited = (Reference(3, 1_000, 0.0, rule, odds=odds).play(CLIMBING, 0) for odds in (8.0, 1e9))
    assert limited != unlimited, "the limit decides"
    assert play_policy(CommitUCB(risk=rule, sigma=0.0, recheck=0.0), CLIMBING, 1_000, 0) == limited


@pytest.mark.parametrize(
    "policy",
    [
        CommitUCB(risk=None),
        CommitUCB(risk="sunk-cost", sigma=0.1),
        CommitUCB(risk="shared", sigma=0.1, growth=1.0),
        CommitUCB(sigma="auto"),
        CommitUCB(widths="kl", recheck=0.0),
    ],
    ids=repr,
)
def test_settings_keep_the_contract(policy: Policy) -> None:
    check_policy(policy)


# -- a told sigma that is too small -----------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.filterwarnings("ignore:cap=10")
@pytest.mark.parametrize("case", ["two arms", "Bernoulli", "beyond 1", "15 arms"])
def test_decisions_after_a_contradiction_are_those_of_the_definition(rule: str | None, case: str) -> None:
    """Lines are drawn anew when it is noticed, by what all arms have shown and each of its own."""
    problem = {
        "two arms": get_problem("paper-2arms").with_noise(Gaussian(0.2)),
        "Bernoulli": RisingBandit([Tabulated([0.4]), Tabulated([0.5])], noise=Bernoulli(), horizon=600),
        "beyond 1": RisingBandit([Tabulated([4.0]), Tabulated([5.0])], noise=Gaussian(3.0), horizon=600),
        "15 arms": get_problem("random-3").with_noise(Gaussian(0.3)),
    }[case]
    told, cap = (1.0, 10.0) if case == "beyond 1" else (0.05, 1.0)
    reference = Watched(problem.n_arms, 600, told, rule, cap=cap, recheck=0.03)
    expected = reference.play(problem, 3)
    assert 20 < reference.contradicted_at < 500
    assert expected != Reference(problem.n_arms, 600, told, rule, cap=cap, recheck=0.03).play(problem, 3)
    with pytest.warns(UserWarning, match=rf"commit-ucb: sigma={told} is contradicted by the rewards") as said:
        assert play_policy(CommitUCB(risk=rule, sigma=told, cap=cap), problem, 600, 3) == expected
    assert len([warning for warning in said if "contradicted" in str(warning.message)]) == 1


# -- pieces -------------------------------------------------------------------------------------------------------


@given(st.floats(-0.2, 1.0), st.floats(0, 0.1), st.floats(0, 1.2), st.integers(1, 500))
@settings(max_examples=100, deadline=None)
def test_climb_counts_the_reward_lost_on_the_way(u: float, s: float, level: float, remaining: int) -> None:
    k0, lost = _commit_value.climb(u, s, level, float(remaining))
    assert 0 <= k0 <= remaining
    steps = np.linspace(0, k0, 20_001)
    assert lost == pytest.approx(np.trapezoid(np.maximum(0.0, level - u - s * steps), steps), rel=1e-4, abs=1e-7)


@given(st.floats(0, 1), st.floats(1e-6, 50))
@settings(max_examples=200, deadline=None)
def test_kl_width_solves_its_equation(mean: float, x: float) -> None:
    assert _widths.kl_above(mean, x) == pytest.approx(kl_width(mean, x), abs=1e-9)


@pytest.mark.parametrize("mean", [0.0, 0.5, 0.738, 0.999])
def test_kl_width_without_divergence_is_nothing(mean: float) -> None:
    for kl_above in (_widths.kl_above, interpreted(_widths.kl_above)):
        assert kl_above(mean, 0.0) == 0.0


def test_past_exploration_counts_for_a_limited_amount() -> None:
    """P = K ((sigma T)^(2/3) (ln T)^(1/3) + ln T), in units of the cap."""
    most = 5 * (200.0 ** (2 / 3) * math.log(2_000) ** (1 / 3) + math.log(2_000))
    assert _commit_value.most_sunk(5, 0.1, 1.0, 2_000.0) == pytest.approx(most)
    assert _commit_value.most_sunk(5, 0.2, 2.0, 2_000.0) == pytest.approx(2 * most)
    assert _commit_value.shared_cost(10.0, 4.0, 90.0, 8.0, 0.3, 0.2, most) == pytest.approx(0.7 * 60.0 * 3.375)
    assert _commit_value.shared_cost(1e4, 4.0, 9e4, 8.0, 0.3, 0.2, most) == most
    assert _commit_value.shared_cost(10.0, 4.0, 90.0, 8.0, 0.3, 0.0, most) == most
    assert _commit_value.shared_cost(0.0, 4.0, 90.0, 8.0, 0.3, 0.0, most) == 0.0


def test_widths_are_ordered() -> None:
    for mean in (0.0, 0.02, 0.5, 0.97):
        for w in (1.0, 7.0, 100.0):
            gauss, kl = (_widths.above(kind, 4.0, 0.5, mean, w) for kind in range(2))
            assert kl <= gauss


# -- settings -----------------------------------------------------------------------------------------------------


def test_a_cap_above_1_has_no_kl_widths() -> None:
    with pytest.raises(RisingBanditsError, match="cap"):
        CommitUCB(cap=1.5, widths="kl").reset(2)


def test_dangerous_settings_warn_once_in_one_sentence() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            CommitUCB(cap=1.2).reset(2)
            simulate(CommitUCB(sigma=0.0), "paper-2arms", horizon=100)
    messages = [str(warning.message) for warning in caught]
    assert len([m for m in messages if "cap=1.2" in m]) == 1
    assert len([m for m in messages if "sigma=0.0" in m]) == 1


def test_simulate_fills_in_noise_and_widths() -> None:
    problem = get_problem("paper-2arms")
    assert CommitUCB()._for_problem(problem, 10).get_params()["sigma"] == 0.1
    bernoulli = CommitUCB()._for_problem(problem.with_noise(Bernoulli()), 10)
    assert (bernoulli.sigma, bernoulli.widths) == (0.5, "kl")
    assert CommitUCB(sigma="auto")._for_problem(problem, 10).widths == "auto"


def test_explain_names_level_line_value_risk_and_cost() -> None:
    policy = CommitUCB(sigma=0.1).reset(3, horizon=1_000)
    for reward in np.linspace(0.2, 0.8, 200):
        policy.tell(0, float(reward))
    for _ in range(30):
        policy.tell(1, 0.1)
    explanation = policy.explain()
    assert list(explanation.columns) == [
        *("pulls", "estimate", "lcb", "predicted", "low", "high", "p_best"),
        *("sure", "line", "slope", "commit value", "risk", "cost"),
    ]
    assert explanation["estimate"][0] == pytest.approx(np.linspace(0.2, 0.8, 200)[128:].mean())
    assert explanation["sure"][0] < explanation["estimate"][0]
    assert explanation["cost"][1] > 0
    assert explanation["commit value"][2] == np.inf
    assert np.isnan(explanation["estimate"][2])
    assert "commit value" in str(explanation)


def test_ask_inside_a_batch_is_the_kernels_answer() -> None:
    policy = CommitUCB(sigma=0.1).reset(2, horizon=5_000)
    rng = np.random.default_rng(5)
    inside = 0
    for _ in range(3_000):
        arm = policy.ask()
        assert arm == Policy.ask(policy)
        inside += int(policy._state.run["arm"][0]) >= 0
        policy.tell(arm, 0.5 * arm + 0.1 * float(rng.standard_normal()))
    assert inside > 2_000
