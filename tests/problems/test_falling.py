"""Arms that fall: the best policy where it is known, a word where it is not."""

from __future__ import annotations

import warnings
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from risingbandits import RisingBandit, simulate
from risingbandits.problems import Bernoulli, ConstantCurve, Exponential, NoNoise, PowerLaw, Tabulated
from risingbandits.problems._oracle import most_that_can_be_had

rows = st.lists(st.lists(st.integers(0, 8), min_size=4, max_size=4), min_size=1, max_size=3)


def best_split(means: np.ndarray) -> float:
    """The largest sum of means over all splits of the rounds."""
    n_arms, horizon = means.shape
    sums = np.concatenate([np.zeros((n_arms, 1)), np.cumsum(means, axis=1)], axis=1)
    splits = [split for split in product(range(horizon + 1), repeat=n_arms) if sum(split) == horizon]
    return max(sum(float(sums[arm, n]) for arm, n in enumerate(split)) for split in splits)


@settings(max_examples=60, deadline=None)
@given(rows=rows)
def test_greedy_is_the_best_split_of_arms_that_only_fall(rows: list[list[int]]) -> None:
    falling = [sorted((x / 8 for x in row), reverse=True) for row in rows]
    bandit = RisingBandit([Tabulated(row) for row in falling], NoNoise(), 4)
    assert bandit.oracle_value() == pytest.approx(best_split(np.array(falling)))
    constant = all(row[0] == row[-1] for row in falling)
    assert bandit.best_policy() == ("one arm" if constant else "greedy")


@settings(max_examples=60, deadline=None)
@given(rows=rows)
def test_nobody_gets_more_than_can_be_had(rows: list[list[int]]) -> None:
    bandit = RisingBandit([Tabulated(np.array(row) / 8) for row in rows], NoNoise(), 4)
    best = best_split(bandit.means([1, 2, 3, 4]))
    assert bandit.oracle_value() <= best + 1e-12
    assert best <= most_that_can_be_had(bandit, 4) + 1e-12
    if bandit.best_policy() != "unknown":
        assert bandit.oracle_value() == pytest.approx(best)


def test_closed_forms_that_fall() -> None:
    curves = [Exponential(0.1, 0.05, start=0.9), PowerLaw(0.3, -0.5, 1.0), ConstantCurve(0.5)]
    bandit = RisingBandit(curves, NoNoise(), 300)
    table = RisingBandit([Tabulated(curve(np.arange(1, 301))) for curve in curves], NoNoise(), 300)
    assert bandit.best_policy() == table.best_policy() == "greedy"
    assert bandit.oracle_prefix([0, 1, 7, 300]) == pytest.approx(table.oracle_prefix([0, 1, 7, 300]))
    assert bandit.oracle_prefix([1])[0] == pytest.approx(max(curve(1) for curve in curves))
    assert bandit.oracle_value() > bandit.mean_sums().max()
    assert most_that_can_be_had(RisingBandit(curves[:1]), 10) == pytest.approx(10 * curves[0](1))
    assert RisingBandit([Tabulated([1.5, 0.5]), ConstantCurve(0.2)], Bernoulli(), 3).oracle_value() == 2.0


def test_regret_on_falling_arms_is_never_negative() -> None:
    bandit = RisingBandit.from_array([[1.0, 0.2, 0.2, 0.2, 0.2], [0.9, 0.8, 0.7, 0.6, 0.5]], NoNoise(), horizon=5)
    result = simulate(["round-robin", "ucb1"], bandit)
    assert result.oracle[-1] == pytest.approx(1.0 + 0.9 + 0.8 + 0.7 + 0.6)
    assert all(regret[0] >= -1e-12 for regret in result.final_regret.values())


def test_a_word_where_the_best_policy_is_not_known() -> None:
    bandit = RisingBandit.from_array([[1.0, 0.2, 0.2, 0.2], [0.1, 0.4, 0.7, 1.0]], NoNoise())
    assert bandit.best_policy() == "unknown"
    with pytest.warns(UserWarning, match=r"arm 1 falls after pull 1: regret is against the best single arm \(2\.2\)"):
        simulate("round-robin", bandit)
    measured = RisingBandit.from_array([[0.5, 0.6, 0.59, 0.62], [0.1, 0.2, 0.3, 0.4]], NoNoise())
    assert measured.best_policy() == "unknown"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        simulate("round-robin", measured)  # a little down and up is how measured curves are
        simulate("round-robin", RisingBandit(bandit.curves, NoNoise(), 4, restless=True))


def test_only_the_rounds_that_are_played_count() -> None:
    bandit = RisingBandit.from_array([[0.1, 0.2, 0.3, 0.0], [0.2, 0.2, 0.2, 0.2]], NoNoise())
    assert [bandit.best_policy(last) for last in (1, 2, 3, 4)] == ["one arm", "one arm", "one arm", "unknown"]


def test_concavity_begins_with_the_first_pull_or_before() -> None:
    late = [PowerLaw(0.8, 0.8, 2), Tabulated([0.0, 0.6, 0.7])]
    for curve in late:
        assert curve.is_concave()
        check = curve.is_concave(from_zero=True)
        assert (bool(check), check.first_violation) == (False, 0)
        assert check.amount == pytest.approx(0.6)
        assert curve.is_concave(1, from_zero=True)
    assert Exponential(0.5, 0.1).is_concave(from_zero=True)
    assert Tabulated([0.3, 0.6, 0.8]).is_concave(from_zero=True)
    assert Tabulated([0.3, 0.6, 1.0]).is_concave(from_zero=True).first_violation == 1
    bandit = RisingBandit([ConstantCurve(0.5), late[0]])
    assert bandit.is_concave()
    assert bandit.is_concave(from_zero=True).arm == 1
