"""Upper and lower bounds: their numbers, and that policies keep to them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from risingbandits import RisingBandit, RisingBanditsError, get_problem, simulate
from risingbandits.lab.paper._pair_study import learning_policies, play_pairs
from risingbandits.lab.paper.pairs import PAIRS, problem_pair
from risingbandits.problems import ConstantCurve, Exponential, Gaussian, NoNoise, PowerLaw, random_problem
from risingbandits.theory.complexity import cumulative_increment, gaps
from risingbandits.theory.lower_bounds import game_value, lower_bound
from risingbandits.theory.upper_bounds import deterministic_bound, predicted_regret, stochastic_bound, trivial_bound
from risingbandits.theory.upper_bounds._red_ucb import least_over_q

# -- upper bounds -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("valley", [0.0, 0.337133, 0.5, 0.98765, 1.0])
def test_the_best_q_lies_between_the_values_that_are_looked_at_first(valley: float) -> None:
    best, least = least_over_q(lambda q: math.cosh(3.0 * (q - valley)), None)
    assert best == pytest.approx(valley, abs=1e-6)
    assert least == pytest.approx(1.0, abs=1e-12)


def test_the_best_q_of_a_bound_is_better_than_every_other() -> None:
    problem = RisingBandit([PowerLaw(0.9, 0.9, 1.3), PowerLaw(0.8, 0.7, 0.9)], horizon=10_000)
    bound = deterministic_bound(problem)
    assert bound.q is not None
    assert 0.0 < bound.q < 1.0
    assert abs(32 * bound.q - round(32 * bound.q)) > 1e-3, "between the values that are looked at first"
    for q in (*np.linspace(0, 1, 101), bound.q - 1e-4, bound.q + 1e-4):
        assert deterministic_bound(problem, q=float(q)).value >= bound.value * (1 - 1e-12)


def test_the_papers_bounds_on_its_fifteen_arms_are_vacuous() -> None:
    problem = get_problem("paper-15arms")
    bound = deterministic_bound(problem)
    assert bound.value == pytest.approx(200_025)
    assert bound.q == 0.0
    assert bound.vacuous
    noisy = stochastic_bound(problem)
    assert noisy.value == pytest.approx(1.7e6, rel=0.01)
    assert noisy.vacuous
    assert noisy.value == pytest.approx(sum(noisy.terms.values()))
    assert noisy == predicted_regret(problem)


def test_bounds_are_the_formulas() -> None:
    problem = random_problem(3, 900, seed=1)
    for q in (0.0, 0.3, 1.0):
        expected = 6 + 3 * 900**q * cumulative_increment(problem, 300, q)
        assert deterministic_bound(problem, q=q).value == pytest.approx(expected)
        noise = 3 * 3 / 0.2 * (2 * 0.1 * 900) ** (2 / 3) * (10 * 4 * math.log(900)) ** (1 / 3)
        expected = 1 + 6 / 2 + 15 + 3 / 0.2 + noise + 3 * 900**q * 2 * cumulative_increment(problem, 180, q)
        assert stochastic_bound(problem, eps=0.2, alpha=4, q=q).value == pytest.approx(expected)
        # A fifth of the pulls, so that each is counted five times, and one pull more for what is rounded.
        noise = 3 * 3 / 0.4 * (2 * 0.1 * 900) ** (2 / 3) * (10 * 4 * math.log(900)) ** (1 / 3)
        expected = 1 + 6 / 2 + 15 + 3 / 0.4 + noise + 3 * 900**q * 5 * cumulative_increment(problem, 61, q)
        assert stochastic_bound(problem, eps=0.4, alpha=4, q=q).value == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(3))
def test_best_q_is_best(seed: int) -> None:
    problem = random_problem(seed=seed, horizon=20_000)
    grid = np.linspace(0, 1, 41)
    for bound in (deterministic_bound, stochastic_bound):
        values = [bound(problem, q=float(q)).value for q in grid]
        assert bound(problem).value <= min(values) * (1 + 1e-9)


@pytest.mark.parametrize("c", [1.2, 2.0, 3.0])
def test_bound_grows_at_the_predicted_rate(c: float) -> None:
    problem = RisingBandit([PowerLaw(0.8, 0.8, c - 1), ConstantCurve(0.8)], NoNoise())
    low, high = (deterministic_bound(problem, horizon).value for horizon in (10**6, 10**7))
    # T^(1/c) log T, up to the slowly changing constant.
    assert math.log10(high / low) == pytest.approx(1 / c + math.log10(7 / 6), abs=0.03)


@pytest.mark.parametrize("seed", range(6))
def test_red_ucb_keeps_to_the_deterministic_bound(seed: int) -> None:
    rng = np.random.default_rng(seed)
    arms = [PowerLaw(float(rng.uniform(0.3, 0.9)), 0.3, float(rng.uniform(1, 3))) for _ in range(3)]
    problem = RisingBandit([*arms, Exponential(0.7, 0.2)], NoNoise(), 20_000)
    bound = deterministic_bound(problem)
    assert not bound.vacuous
    assert not bound.broken
    result = simulate("red-ucb", problem, runs=1, jobs=1, record_at=1)
    assert result.final_regret["red-ucb"][0] <= bound.value


def test_red_ucb_keeps_to_the_stochastic_bound() -> None:
    problem = RisingBandit([Exponential(0.7, 0.2), ConstantCurve(0.2)], Gaussian(0.001), 50_000)
    bound = stochastic_bound(problem)
    assert not bound.vacuous
    result = simulate("red-ucb", problem, runs=3, jobs=1, record_at=1)
    assert result.final_regret["red-ucb"].mean() <= bound.value


@pytest.mark.parametrize("name", ["paper-2arms", "random-5"])
def test_no_split_of_the_pulls_exceeds_the_trivial_bound(name: str) -> None:
    problem = get_problem(name).with_horizon(2_000)
    bound, rng = trivial_bound(problem), np.random.default_rng(0)
    shares = rng.dirichlet(np.full(problem.n_arms, 0.3), size=2_000)
    pulls = np.floor(shares * 2_000).astype(np.int64)
    pulls[:, 0] += 2_000 - pulls.sum(axis=1)
    regret = problem.oracle_value() - problem.mean_sums(pulls).sum(axis=1)
    assert regret.max() <= bound
    assert regret.max() > 0.9 * bound


def test_trivial_bound_is_attained() -> None:
    problem = get_problem("paper-2arms").with_horizon(500)
    counts = np.arange(501)
    earned = problem.mean_sums(np.column_stack([counts, 500 - counts])).sum(axis=1)
    assert trivial_bound(problem) == pytest.approx(problem.oracle_value() - earned.min(), rel=1e-3)


def test_only_red_ucb_and_commit_ucb_have_theorems() -> None:
    with pytest.raises(RisingBanditsError, match="policy must be red-ucb or commit-ucb"):
        predicted_regret(get_problem("paper-2arms"), policy="round-robin")


def test_broken_assumptions_are_named() -> None:
    (bent,) = deterministic_bound(get_problem("lower-bound-non-concave-a")).broken
    assert bent.startswith("arms are concave ('arm 2' is not after pull")
    (high,) = deterministic_bound(get_problem("paper-15arms")).broken
    assert high == "means lie in [0, 1] ('arm 13' has 1.0747 at pull 200,000)"


# -- lower bounds -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", PAIRS)
@pytest.mark.parametrize("horizon", [100, 1_001, 50_000])
def test_pairs_are_what_they_claim(kind: str, horizon: int) -> None:
    pair = problem_pair(kind, horizon)
    pulls = np.arange(1, pair.alike + 1)
    assert np.array_equal(pair.a.means(pulls), pair.b.means(pulls))
    assert pair.a.means(pair.alike + 1)[1] != pair.b.means(pair.alike + 1)[1]
    assert {pair.a.oracle_arm(), pair.b.oracle_arm()} == {0, 1}
    assert all(side.is_non_decreasing() for side in pair.sides)
    assert bool(pair.a.is_concave()) == (kind != "non-concave")
    assert pair.b.is_concave()
    for side in pair.sides:
        ends = side.means([1, horizon])
        assert ends.min() >= 0
        assert ends.max() <= 1
    bound = lower_bound(pair)
    assert bound.value <= bound.sharp * (1 + 1e-12)
    assert bound.reason.endswith(".")


@pytest.mark.parametrize("horizon", [7, 100, 1_001])
def test_capped_lines_are_those_of_the_paper(horizon: int) -> None:
    """min(n/T, 1/2) and min(n/T, b), also where the cap lies between two pulls, as at odd T."""
    n = np.arange(1, horizon + 1)
    for pair, cap in ((problem_pair("concave", horizon), 0.5), (problem_pair("increment", horizon, cap=0.3), 0.3)):
        np.testing.assert_allclose(pair.a.means(n)[1], np.minimum(n / horizon, cap), rtol=1e-15)
        apart = pair.b.mean_sums(horizon)[1] - pair.a.mean_sums(horizon)[1]
        assert gaps(pair.a)[1] == pytest.approx(apart / horizon / 2)
        if cap == 0.5:
            assert gaps(pair.a)[1] >= 1 / 16


def test_presets_are_the_pairs() -> None:
    for kind in PAIRS:
        pair = problem_pair(kind)
        for side, bandit in zip("ab", pair.sides, strict=True):
            preset = get_problem(f"lower-bound-{kind}-{side}")
            assert (preset.curves, preset.noise, preset.horizon) == (bandit.curves, bandit.noise, bandit.horizon)


def test_printed_and_proved_constants() -> None:
    stochastic = lower_bound(problem_pair("stochastic", 50_000))
    assert stochastic.printed == pytest.approx(2 * stochastic.value, rel=1e-3)
    assert stochastic.printed == math.floor(50_000**0.5 + 50_000 ** (2 / 3)) / (64 * math.sqrt(math.e))
    increment = lower_bound(problem_pair("increment", 10_000, cap=0.5), q=0.5)
    assert (increment.printed, increment.value) == (100 / 8, 100 / 32)
    assert increment.sharp == pytest.approx(100 / 24, rel=1e-3)
    small = lower_bound(problem_pair("increment", 1_000_000, cap=0.01), q=0.5)
    assert small.sharp == pytest.approx(1_000 / (4 / (1 - 0.01**2) + 4 / 0.99**2), rel=1e-3)
    for cap, proved in ((0.25, 1 / 32), (0.05, 1 / (4 / (0.05 * (1 - 0.05**2)) + 4 / 0.95**2))):
        none = lower_bound(problem_pair("increment", 1_000_000, cap=cap), q=0.0)  # U is T - 1 on both sides
        assert none.printed == 1 / 8
        assert none.value == pytest.approx(proved, rel=1e-3)
        assert none.sharp == pytest.approx(1 / (4 / (cap * (1 - cap**2)) + 4 / (1 - cap) ** 2), rel=1e-3)
    step = lower_bound(problem_pair("non-concave", 20, gmax=0.6))
    assert step.value < step.printed  # the floor of the printed bound is not covered by its proof


@pytest.mark.parametrize("beta", [0.0, 0.3, 0.5, 0.7, 0.9])
@pytest.mark.parametrize("horizon", [5_000, 10**6])
def test_the_printed_stochastic_bound_is_true_all_the_same(beta: float, horizon: int) -> None:
    bound = lower_bound(problem_pair("stochastic", horizon, beta=beta))
    assert bound.printed < bound.sharp


@pytest.mark.parametrize(
    ("kind", "q"), [("concave", 0.5), ("beta", 0.5), ("increment", 0.5), ("increment", 0.0), ("non-concave", 0.5)]
)
@pytest.mark.parametrize("horizon", [30, 31])
def test_game_value_is_the_value_of_the_game(kind: str, q: float, horizon: int) -> None:
    """All pure strategies written out: x pulls of arm 2 on both sides, or finding out and any number on each side."""
    from scipy.optimize import linprog

    pair = problem_pair(kind, horizon, beta=0.6, cap=0.3)
    weights = lower_bound(pair, q).weights
    regret = np.array(
        [
            [side.oracle_value() - side.mean_sums([horizon - x, x]).sum() for x in range(horizon + 1)]
            for side in pair.sides
        ]
    )
    alike = [(x, x) for x in range(pair.alike + 1)]
    apart = [(x, y) for x in range(pair.alike + 1, horizon + 1) for y in range(pair.alike + 1, horizon + 1)]
    losses = np.array([[weights[0] * regret[0, x], weights[1] * regret[1, y]] for x, y in alike + apart])
    # Least v with mixture p: losses.T p <= v.
    n = len(losses)
    solved = linprog(
        np.append(np.zeros(n), 1.0),
        A_ub=np.column_stack([losses.T, -np.ones(2)]),
        b_ub=np.zeros(2),
        A_eq=np.append(np.ones(n), 0.0)[None],
        b_eq=[1.0],
    )
    assert game_value(pair, weights) == pytest.approx(solved.fun, rel=1e-7)


def _check_every_policy(horizon: int, runs: int) -> None:
    for study in play_pairs(horizon=horizon, runs=runs, jobs=1):
        for label in study.policies:
            worse = study.worse(label)
            assert worse.regret + 4 * worse.error >= study.bound.value, (study.pair.kind, label)
            assert study.holds(label), (study.pair.kind, label)


@pytest.mark.compiled
def test_no_policy_beats_a_bound() -> None:
    assert "red-ucb" in learning_policies()
    _check_every_policy(600, 3)


@pytest.mark.slow
def test_no_policy_beats_a_bound_at_full_size() -> None:
    _check_every_policy(50_000, 10)


def test_the_bounds_hold_with_noise() -> None:
    for study in play_pairs(["red-ucb", "ucb1"], horizon=1_000, runs=5, jobs=1, noise=Gaussian(0.1)):
        assert all(study.holds(label) for label in study.policies)


def test_an_informed_policy_does_beat_the_bound() -> None:
    (study,) = play_pairs(["oracle"], ["concave"], horizon=600, runs=1, jobs=1)
    assert not study.holds("oracle")
