"""Policies of weights, sweeps and phases: equal to their definitions, sane under masks, odd calls and few arms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference_phases as slow
from reference import play_policy
from risingbandits import Policy, RisingBandit, RisingBanditsError, get_problem, simulate
from risingbandits.lab.related import (
    PTRR,
    RSR,
    RUCBE,
    CellaETC,
    Exp3,
    Exp3S,
    HybridPTRR,
    ModelHalving,
    RestSure,
    SuccessiveRejects,
)
from risingbandits.lab.related.rejects import rejects
from risingbandits.policies import (
    ASHA,
    ExploreThenCommit,
    Hyperband,
    Rexp3,
    SequentialHalving,
    Ser4,
    SuccessiveHalving,
)
from risingbandits.policies.best_arm import _phases
from risingbandits.policies.best_arm.hyperband import brackets
from risingbandits.policies.classic import _exp3
from risingbandits.problems import ConstantCurve, Gaussian, NoNoise
from risingbandits.testing import check_policy

pytestmark = pytest.mark.filterwarnings("ignore:.* is contradicted by the rewards")  # made up as they are

RANDOMISED = (Exp3, Exp3S, Rexp3, Ser4)
PHASED = (RSR, SuccessiveRejects, SequentialHalving, SuccessiveHalving)
RUNGS = (Hyperband, ASHA)
ON_CURVES = (CellaETC, HybridPTRR, ModelHalving, PTRR, RestSure)
ALL = (*RANDOMISED, ExploreThenCommit, RUCBE, *PHASED, *RUNGS, *ON_CURVES)


def rungs_of(n_arms: int, horizon: int, eta: int, max_pulls: int | None) -> list[tuple[bool, int, int]]:
    return [(entering > 0, arms, target) for entering, arms, target in brackets(n_arms, horizon, eta, max_pulls)]


AS_DEFINED: list[tuple[Policy, slow.Reference]] = [
    (Exp3(), slow.exp3_default),
    (Exp3(gamma=0.3), slow.exp3(0.3)),
    (Exp3S(), slow.exp3_s_default),
    (Exp3S(gamma=0.2, alpha=0.01), lambda k, t, rng: slow.exp3(0.2, share=math.e * 0.01 / k)(k, t, rng)),
    (Rexp3(), slow.rexp3_default),
    (Ser4(), slow.ser4()),
    (Ser4(phi=0.004, delta=0.9), slow.ser4(phi=0.004, delta=0.9)),
    (ExploreThenCommit(), slow.explore_then_commit()),
    (ExploreThenCommit(m=20), slow.explore_then_commit(20)),
    (RUCBE(sigma=0.1), slow.r_ucbe(0.1)),
    (RUCBE(sigma=0.01, a=0.5, eps=0.4), slow.r_ucbe(0.01, 0.5, 0.4)),
    (RSR(), slow.rejects(0.25)),
    (RSR(eps=0.1), slow.rejects(0.1)),
    (SuccessiveRejects(), slow.rejects()),
    (SequentialHalving(), slow.sequential_halving),
    (SuccessiveHalving(), slow.successive_halving()),
    (SuccessiveHalving(eta=2, max_pulls=120, share=0.5), slow.successive_halving(2, 120, 0.5)),
    (Hyperband(), lambda k, t, rng: slow.hyperband(rungs_of(k, t, 3, None))(k, t, rng)),
    (Hyperband(4, 50, 1.0), lambda k, t, rng: slow.hyperband(rungs_of(k, t, 4, 50), 1.0)(k, t, rng)),
    (ASHA(), slow.asha()),
    (ASHA(eta=2, max_pulls=60, share=0.3), slow.asha(2, 60, 0.3)),
]


@pytest.mark.parametrize(
    ("policy", "reference"), AS_DEFINED, ids=lambda value: repr(value) if isinstance(value, Policy) else ""
)
@pytest.mark.parametrize("name", ["paper-15arms", "paper-2arms", "random-3"])
def test_decisions_are_those_of_the_definition(policy: Policy, reference: slow.Reference, name: str) -> None:
    problem = get_problem(name)
    for seed in range(2):
        assert play_policy(policy, problem, 1_500, seed) == slow.play(reference, problem, 1_500, seed)


@pytest.mark.parametrize("eps", [None, 0.1])
def test_ser4_drops_arms_as_its_definition_says(eps: float | None) -> None:
    """Three levels far apart, and a restart now and then: the worst arm rests for long and comes back."""
    curves = [ConstantCurve(level) for level in (0.1, 0.5, 0.9)]
    problem = RisingBandit(curves, Gaussian(0.1), horizon=1_500)
    for seed in range(2):
        expected = slow.play(slow.ser4(phi=0.002, delta=0.9, eps=eps), problem, 1_500, seed)
        pulls_of_worst = [t for t, arm in enumerate(expected) if arm == 0]
        assert np.diff(pulls_of_worst).max() > 100, "dropped, and back after a restart"
        assert play_policy(Ser4(phi=0.002, delta=0.9, eps=eps), problem, 1_500, seed) == expected


@pytest.mark.parametrize(
    "policy",
    [
        Exp3(gamma=0.3, reward_range=(-1.0, 2.0)),
        Exp3S(gamma=0.1, alpha=0.2),
        Rexp3(V=200.0),
        Ser4(delta=0.1, eps=0.0, phi=0.05),
        Ser4(phi=0.0),
        ExploreThenCommit(m=3),
        RUCBE(sigma=0.0, a=1.0),
        RSR(eps=1.0),
        SuccessiveHalving(max_pulls=7, share=1.0),
        Hyperband(eta=2, max_pulls=9),
        ASHA(eta=2, max_pulls=9),
        ASHA(max_pulls=1),
    ],
    ids=repr,
)
def test_settings_keep_the_contract(policy: Policy) -> None:
    check_policy(policy)


@pytest.mark.parametrize("policy", ALL)
@settings(max_examples=15, deadline=None)
@given(
    calls=st.lists(st.tuples(st.integers(0, 2**20), st.floats(-2, 3), st.sampled_from("atx")), max_size=60),
    n_arms=st.integers(1, 6),
    horizon=st.integers(1, 40),
)
def test_any_order_of_calls(
    policy: type[Policy], calls: list[tuple[int, float, str]], n_arms: int, horizon: int
) -> None:
    """Asks without tells, tells without asks, any mask: answers stay available, explanations and advice in range."""
    running = policy().reset(n_arms, horizon, seed=1)
    for number, reward, kind in calls:
        mask = np.array([bool(number >> arm & 1) for arm in range(n_arms)])
        mask[number % n_arms] = True
        if kind == "t":
            running.tell(number % n_arms, reward)
        else:
            arm = running.ask(mask)
            assert mask[arm]
            if kind == "a":
                running.tell(arm, reward)
    assert 0 <= running.recommend() < n_arms
    chances = running.explain().columns.get("probability")
    assert chances is None or (np.all(chances > 0) and math.isclose(chances.sum(), 1.0))
    active = running.explain().columns.get("active")
    assert active is None or active.sum() >= 1


@pytest.mark.parametrize(
    "policy",
    [
        Ser4(delta=0.9, phi=0.0),
        RSR(),
        SuccessiveRejects(),
        SequentialHalving(),
        SuccessiveHalving(eta=2),
    ],
    ids=repr,
)
def test_dropped_arms_rest_while_others_are_available(policy: Policy) -> None:
    running = policy.reset(5, 2_000, seed=3)
    rng = np.random.default_rng(4)
    dropped_pulls = 0
    for _ in range(2_000):
        active = running.explain()["active"] > 0
        mask = rng.random(5) < 0.6
        mask[rng.integers(5)] = True
        arm = running.ask(mask)
        assert active[arm] or not (mask & active).any()
        dropped_pulls += not active[arm]
        running.tell(arm, 0.2 * arm)
    assert dropped_pulls > 0
    assert running.explain()["active"][[0, 1, 4]].tolist() == [0, 0, 1]


# -- weights -------------------------------------------------------------------------------------------------------


def test_weights_beyond_the_range_of_floats_come_back() -> None:
    running = Exp3(gamma=1.0).reset(2, seed=1)  # p = 1/2, so that a reward of 1 adds exactly 1 to the log weight
    for arm, count in ((0, 2_000), (1, 2_001)):
        for _ in range(count):
            running.tell(arm, 1.0)
    weights = running._state.weights
    assert weights[0] / weights[1] == pytest.approx(math.exp(-1.0), rel=1e-12)


def test_running_sums_stay_exact() -> None:
    running = Rexp3(V=0.01).reset(15, 20_000, seed=1)
    rng = np.random.default_rng(2)
    summed_anew = 0
    for _ in range(5_000):
        running.tell(running.ask(), rng.random())
        exact = np.cumsum(running._state.weights)
        assert np.all(np.abs(running._state.cumulated - exact) <= 6e-14 * exact[-1])
        if running._state.counts[1] == 0:
            summed_anew += 1
            assert running._state.cumulated.tolist() == exact.tolist()
            assert running._state.weights.max() == 1.0
    assert summed_anew == 5_000 // 512


@given(st.lists(st.booleans(), min_size=6, max_size=6).filter(any), st.floats(0.01, 1.0))
@settings(max_examples=20, deadline=None)
def test_draws_among_available_arms_have_the_stated_chances(mask: list[bool], gamma: float) -> None:
    """Every u of a fine grid, pushed through the draw: each arm's share is the probability that is kept."""
    state = _exp3.new_state(6, gamma, 0.0, 1.0)
    state.weights[:] = [1.0, 0.0, 5.0, 2.0, 0.1, 3.0]
    grid = (np.arange(2_000) + 0.5) / 2_000
    available = np.array(mask)
    arms = [_exp3._select_among(state, available, u) for u in grid]
    for arm in range(6):
        stated = state.asked[arm] if mask[arm] else 0.0
        if arm in arms or not mask[arm]:
            assert arms.count(arm) / 2_000 == pytest.approx(stated, abs=2e-3)
    assert state.asked.sum() == pytest.approx(1.0, abs=2e-3)


def test_probability_at_the_time_of_asking_counts() -> None:
    running = Exp3(gamma=0.5).reset(3, seed=1)
    arm = running.ask([True, False, False])
    assert arm == 0
    running.tell(0, 1.0)  # asked for with certainty: the gain is gamma / K
    assert running._state.logs[0] == pytest.approx(0.5 / 3)
    running.tell(0, 0.0)
    running.tell(1, 1.0)  # not asked for: the present chance counts
    chance = 0.5 / (math.exp(0.5 / 3) + 2) + 0.5 / 3
    assert running._state.logs[1] == pytest.approx(0.5 / 3 / chance)


# -- phases --------------------------------------------------------------------------------------------------------


@given(st.integers(1, 40), st.integers(1, 3_000))
@settings(max_examples=200, deadline=None)
def test_phases_fit_the_budget(n_arms: int, horizon: int) -> None:
    for phases in (rejects(n_arms, horizon, 0.25), _phases.halvings(n_arms, horizon)):
        kept = [n_arms, *phases.kept.tolist()]
        spent = 0
        before = 0
        for pulls, active, end in zip(phases.pulls, kept[:-1], phases.ends, strict=True):
            assert pulls >= before
            spent += int((pulls - before) * active)
            before = pulls
            assert spent == end
        assert kept[-1] == 1
        assert np.all((phases.windows >= 1) & (phases.windows <= phases.pulls))
        if horizon >= n_arms * max(1, len(phases.ends)):
            assert spent <= horizon


def test_pulls_of_a_whole_run_are_those_of_the_schedule() -> None:
    problem = RisingBandit([ConstantCurve(0.1 * arm) for arm in range(6)], NoNoise(), horizon=1_000)
    for policy in (SuccessiveRejects(), SequentialHalving()):
        pulls = simulate(policy, problem, runs=1).pulls[policy.name][0]
        phases = policy._schedule(6, 1_000)
        ends = np.repeat(phases.pulls, -np.diff([6, *phases.kept]))
        assert pulls[:-1].tolist() == ends.tolist()
        assert pulls.sum() == 1_000


def test_ties_keep_the_lowest_arm() -> None:
    for policy in PHASED:
        running = policy().reset(5, 200)
        for _ in range(200):
            running.tell(running.ask(), 0.5)
        assert running.recommend() == 0


# -- error rates ---------------------------------------------------------------------------------------------------


def test_error_rate_and_simple_regret_by_hand() -> None:
    problem = get_problem("mussi-5arms")
    result = simulate(["r-sr", "successive-rejects", "oracle"], problem, horizon=1_000, runs=20, seed=1)
    assert result.final_means.tolist() == problem.means(1_000).tolist()
    assert result.error_rate("r-sr").value == 0.0
    assert result.error_rate("r-sr").high == pytest.approx(0.1611, abs=1e-4)  # Wilson, 0 of 20
    assert result.error_rate("successive-rejects") == pytest.approx((1.0, 0.8389, 1.0), abs=1e-4)
    assert result.simple_regret("oracle").tolist() == [0.0] * 20
    lag = result.final_means[0] - result.final_means[result.recommended["successive-rejects"]]
    assert result.simple_regret("successive-rejects").tolist() == lag.tolist()
    with pytest.raises(RisingBanditsError, match="label must be one of"):
        result.error_rate("other")


@pytest.mark.compiled
def test_best_arm_of_five() -> None:
    """Mussi et al.: both find the best arm for T >= 1,000; on plain means it is missed, and by more at T = 400."""
    for horizon in (1_000, 1_500):
        result = simulate(["r-ucbe", "r-sr"], "mussi-5arms", horizon=horizon, runs=200, seed=1)
        assert result.error_rate("r-ucbe").value <= 0.05
        assert result.error_rate("r-sr").value <= 0.05
    result = simulate(["r-ucbe", "r-sr", "successive-rejects"], "mussi-5arms", horizon=400, runs=200, seed=1)
    assert result.error_rate("successive-rejects").low > result.error_rate("r-ucbe").high
    assert result.simple_regret("successive-rejects").mean() > 2 * result.simple_regret("r-sr").mean()


# -- the reference regrets of the specification ---------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "label", "mean", "sd"),
    [
        ("paper-15arms", "ser4", 53_556, 6_682),
        ("paper-15arms", "rexp3", 56_281, 681),
        ("paper-2arms", "ser4", 19_725, 2_486),
        ("paper-2arms", "rexp3", 35_173, 823),
    ],
)
def test_regret_at_full_size(name: str, label: str, mean: float, sd: float) -> None:
    """Within 4 standard errors of the difference of two means of 100 runs, or 0.5 %, whichever is larger."""
    final = simulate(label, name, runs=100, seed=1).final_regret[label]
    error = math.sqrt((sd**2 + float(final.var(ddof=1))) / 100)
    assert abs(final.mean() - mean) <= max(4 * error, 0.005 * mean)


# -- few arms, rungs and lengths ---------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(
    n_arms=st.integers(1, 60),
    horizon=st.integers(1, 3_000),
    eta=st.integers(2, 5),
    longest=st.integers(1, 200) | st.none(),
)
def test_brackets_fit_the_budget(n_arms: int, horizon: int, eta: int, longest: int | None) -> None:
    """Brackets are those of the algorithm, cut to the arms there are, and cost no more than the budget if one pull."""
    rungs = brackets(n_arms, horizon, eta, longest)
    cost = before = 0
    for entering, arms, target in rungs:
        cost += arms * (target - (0 if entering else before))
        assert 1 <= arms <= n_arms
        assert entering in (0, arms)
        assert 1 <= target <= (horizon if longest is None else longest)
        assert entering or target > before
        before = target
    assert cost <= horizon or all(target == 1 for _, _, target in rungs)
    assert rungs[0][0] > 0


def test_brackets_of_the_paper() -> None:
    """Table 1 of Li et al. (2018): R = 81, eta = 3."""
    rungs = brackets(1_000, 10**6, 3, 81)
    table = [[81, 27, 9, 3, 1], [34, 11, 3, 1], [15, 5, 1], [8, 2], [5]]
    once = [arms for bracket in table for arms in bracket]
    assert [arms for _, arms, _ in rungs[: len(once)]] == once
    assert [target for _, _, target in rungs[:5]] == [1, 3, 9, 27, 81]


@pytest.mark.parametrize("policy", [SuccessiveHalving(), Hyperband(), ASHA()], ids=repr)
def test_the_length_of_curves_is_taken_from_the_instance(policy: Policy) -> None:
    curves = np.linspace(0.1, 0.9, 12)[None, :] * np.array([[0.5], [0.9], [0.7], [0.2]])
    problem = RisingBandit.from_array(curves, NoNoise(), 30)
    assert policy._for_problem(problem, 30).get_params()["max_pulls"] == 12
    assert policy._for_problem(get_problem("paper-2arms"), 30).get_params()["max_pulls"] is None
    result = simulate(policy, problem, after_end="stop")
    assert result.pulls[policy.name].max() <= 12
    assert result.recommended[policy.name].tolist() == [1]
