"""Complexity functions agree with sums written out, and are fast."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from risingbandits import RisingBandit, RisingBanditsError, get_problem, simulate
from risingbandits.problems import (
    ConstantCurve,
    Exponential,
    FunctionCurve,
    LinearCapped,
    Polynomial,
    PowerLaw,
    Tabulated,
    random_problem,
)
from risingbandits.theory._envelope import envelope
from risingbandits.theory.complexity import (
    average_rewards,
    cumulative_increment,
    decay_exponent,
    gaps,
    increment_bound,
    increment_rate,
    oracle,
    regret_from_pulls,
    regret_rate,
    total_variation,
)

POWERS = (0.05, 0.3, 0.5, 0.9, 1.0)

limits = st.floats(0.01, 1.0)
curves = st.one_of(
    st.builds(Exponential, limits, st.floats(1e-5, 0.05)),
    st.builds(Polynomial, limits, st.floats(2, 50_000), st.floats(0.4, 3.0)),
    st.builds(PowerLaw, limits, st.floats(0.01, 0.5), st.floats(0.2, 4.0)),
    st.builds(LinearCapped, st.floats(1e-6, 1e-3), limits),
    st.builds(ConstantCurve, limits),
    st.builds(lambda seed: Tabulated(np.sort(np.random.default_rng(seed).random(300))), st.integers(0, 9)),
)


def brute_force(bandit: RisingBandit, pulls: int, q: float) -> float:
    steps = np.arange(1, pulls)
    largest = np.max([np.maximum(curve.increment(steps), 0.0) for curve in bandit.curves], axis=0)
    return math.fsum(largest**q)


@pytest.mark.compiled
@settings(max_examples=60, deadline=None)
@given(arms=st.lists(curves, min_size=1, max_size=6), pulls=st.integers(1, 60_000))
def test_cumulative_increment_is_the_sum(arms: list[Polynomial], pulls: int) -> None:
    bandit = RisingBandit(arms)
    for q in POWERS:
        expected = brute_force(bandit, pulls, q)
        assert cumulative_increment(bandit, pulls, q) == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert cumulative_increment(bandit, pulls, 0.0) == pulls - 1


@pytest.mark.compiled
@pytest.mark.parametrize("name", ["paper-15arms", "paper-2arms", "random-3", "lower-bound-beta-a"])
def test_named_instances(name: str) -> None:
    bandit = get_problem(name)
    got = cumulative_increment(bandit, 200_000, np.array(POWERS))
    expected = [brute_force(bandit, 200_000, q) for q in POWERS]
    assert got == pytest.approx(expected, rel=1e-11)


def test_arms_that_nearly_tie() -> None:
    bandit = RisingBandit([Polynomial(0.5, 300, 1), Polynomial(0.5 * (1 + 1e-9), 300, 1), Polynomial(0.6, 310, 1.02)])
    assert cumulative_increment(bandit, 100_000, 0.5) == pytest.approx(brute_force(bandit, 100_000, 0.5), rel=1e-9)


def test_increments_below_the_smallest_float_count() -> None:
    bandit = RisingBandit([Exponential(1.0, 1.0)])
    geometric = math.exp(0.001 * math.log(-math.expm1(-1.0))) * math.exp(-0.001) / -math.expm1(-0.001)
    assert cumulative_increment(bandit, 1_000_000, 0.001) == pytest.approx(geometric, rel=1e-12)


def test_ten_million_pulls_of_fifteen_arms_need_a_few_thousand_numbers() -> None:
    bandit = get_problem("paper-15arms")
    assert envelope(bandit, 10_000_000).log.size < 10_000
    assert cumulative_increment(bandit, 10_000_000, 0.5) == pytest.approx(385.29615021, rel=1e-9)


@pytest.mark.slow
def test_ten_million_pulls_against_the_sum() -> None:
    for bandit in (get_problem("paper-15arms"), random_problem(seed=4)):
        assert cumulative_increment(bandit, 10_000_000, 0.5) == pytest.approx(
            brute_force(bandit, 10_000_000, 0.5), rel=1e-9
        )


def test_total_variation_averages_gaps_and_oracle() -> None:
    bandit = random_problem(5, 3_000, seed=2)
    means = bandit.means(np.arange(1, 3_001))
    assert total_variation(bandit) == pytest.approx(np.diff(means, axis=1).max(axis=0).sum(), rel=1e-9)
    assert average_rewards(bandit) == pytest.approx(means.mean(axis=1), rel=1e-12)
    assert gaps(bandit) == pytest.approx(means.mean(axis=1).max() - means.mean(axis=1), abs=1e-12)
    arm, value = oracle(bandit)
    assert arm == means.sum(axis=1).argmax()
    assert value == pytest.approx(means.sum(axis=1).max(), rel=1e-12)


@pytest.mark.parametrize("name", ["paper-2arms", "random-4"])
def test_regret_is_at_least_its_decomposition(name: str) -> None:
    bandit = get_problem(name).with_horizon(3_000)
    result = simulate(["red-ucb", "round-robin"], bandit, runs=3, jobs=1, record_at=1)
    for label in result.policies:
        bound = regret_from_pulls(bandit, result.pulls[label])
        assert (result.final_regret[label] >= bound - 1e-9).all()


@settings(max_examples=40, deadline=None)
@given(arms=st.lists(curves, min_size=2, max_size=4), data=st.data())
def test_decomposition_holds_for_every_split(arms: list[Polynomial], data: st.DataObject) -> None:
    horizon = 400
    bandit = RisingBandit(arms, horizon=horizon)
    cuts = sorted(data.draw(st.lists(st.integers(0, horizon), min_size=len(arms) - 1, max_size=len(arms) - 1)))
    pulls = np.diff([0, *cuts, horizon])
    regret = bandit.oracle_value() - bandit.mean_sums(pulls).sum()
    assert regret >= regret_from_pulls(bandit, pulls) - 1e-9


@pytest.mark.parametrize(("c", "q"), [(0.8, 0.5), (2.0, 0.5), (2.0, 0.9), (1.2, 1.0), (3.0, 0.2)])
def test_table_of_rates(c: float, q: float) -> None:
    x = np.arange(1.0, 1_000_000)
    for decay, increments in (("polynomial", x**-c), ("exponential", np.exp(-c * x))):
        sums = {pulls: float(np.sum(increments[: pulls - 1] ** q)) for pulls in (100, 10_000, 1_000_000)}
        for pulls, total in sums.items():
            assert total <= increment_bound(decay, c, q, pulls) * (1 + 1e-12)
        # The order is right if the ratio to it settles.
        ratios = [total / increment_rate(decay, c, q, pulls) for pulls, total in sums.items()]
        assert 0.2 < ratios[-1] < 8
        assert ratios[-1] == pytest.approx(ratios[-2], rel=0.35)


def test_rates_are_the_formulas() -> None:
    assert increment_rate("polynomial", 0.5, 0.5, 100) == pytest.approx(100**0.75 / 0.75, rel=1e-14)
    assert increment_rate("polynomial", 2.0, 0.5, 100) == pytest.approx(math.log(100), rel=1e-14)
    assert increment_rate("polynomial", 3.0, 0.5, 100) == pytest.approx(2.0, rel=1e-14)
    assert increment_rate("exponential", 0.5, 0.5, 100) == pytest.approx(4.0 * math.exp(-0.25), rel=1e-14)


def test_table_of_regret_rates() -> None:
    assert regret_rate("polynomial", 0.8).exponent == regret_rate("polynomial", 0.8, "deterministic").exponent == 1
    assert regret_rate("polynomial", 1.2).exponent == pytest.approx(1 / 1.2)
    assert regret_rate("polynomial", 1.5).exponent == pytest.approx(2 / 3)
    assert regret_rate("polynomial", 3).exponent == pytest.approx(2 / 3)
    assert regret_rate("polynomial", 3, "deterministic").exponent == pytest.approx(1 / 3)
    assert regret_rate("exponential", 2, "deterministic")(math.e**2) == pytest.approx(2)
    powers = {
        (decay, c, setting): regret_rate(decay, c, setting).log_power
        for decay, c in (("polynomial", 0.8), ("polynomial", 1.2), ("polynomial", 3), ("exponential", 2))
        for setting in ("deterministic", "stochastic")
    }
    assert list(powers.values()) == pytest.approx([0, 0, 1, 1, 1, 1 / 3, 1, 1 / 3])


def test_the_decay_of_a_function_is_not_told_where_it_is_not_known() -> None:
    problem = RisingBandit([FunctionCurve(lambda n: 1.0 - n**-0.5, horizon=1_000)])
    assert decay_exponent(problem, 999) == pytest.approx(1.5, abs=0.01)
    with pytest.raises(
        RisingBanditsError, match="pulls must be below 1000, where a curve of the problem ends, got 1000"
    ):
        decay_exponent(problem, 1_000)
