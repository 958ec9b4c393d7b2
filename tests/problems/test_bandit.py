"""Problems: sums, the oracle, clipping, shapes and what the constructors refuse."""

from __future__ import annotations

import math
import pickle
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference_curves import best_value_by_enumeration
from risingbandits._core.errors import RisingBanditsError
from risingbandits.problems import (
    Bernoulli,
    Beta,
    ConstantCurve,
    Exponential,
    Gaussian,
    NoNoise,
    Polynomial,
    PowerLaw,
    RisingBandit,
    Tabulated,
    get_problem,
    random_problem,
)

MIXED = RisingBandit(
    [Exponential(0.5, 0.01), Polynomial(1.3, 4, 1), PowerLaw(0.5, 0.9, 0.5), Tabulated([0.2, -0.2, 1.2, 0.5])],
    horizon=60,
)


@pytest.mark.parametrize("noise", [Gaussian(0.1), Bernoulli(), Beta()], ids=repr)
def test_sums_are_those_of_the_means(noise: Any) -> None:
    bandit = MIXED.with_noise(noise)
    means = bandit.means(np.arange(1, 61))
    for n in (1, 2, 17, 60):
        assert bandit.mean_sums(n) == pytest.approx([math.fsum(row[:n]) for row in means], rel=1e-13)
    assert bandit.mean_sums().tolist() == bandit.mean_sums(60).tolist()
    assert bandit.mean_sums(0).tolist() == [0.0] * 4
    counts = np.array([[[0, 5, 60, 2], [1, 0, 3, 40]]])
    sums = bandit.mean_sums(counts)
    assert sums.shape == counts.shape
    for index, n in np.ndenumerate(counts):
        assert sums[index] == pytest.approx(math.fsum(means[index[-1], :n]), rel=1e-13)


def test_clipping_follows_the_noise() -> None:
    raw = MIXED.means([1, 3, 60])
    assert raw.min() < 0
    assert raw.max() > 1
    assert MIXED.with_noise(Bernoulli()).means([1, 3, 60]).tobytes() == np.clip(raw, 0, 1).tobytes()
    assert MIXED.with_noise(NoNoise()).means([1, 3, 60]).tobytes() == raw.tobytes()
    assert MIXED.means(3).shape == (4,)
    paper = get_problem("paper-15arms")
    clipped = paper.with_noise(Bernoulli())
    assert clipped.oracle_arm() == 12
    assert clipped.oracle_value() < paper.oracle_value()


increments = st.lists(st.floats(0, 1), min_size=5, max_size=5).map(lambda x: sorted(x, reverse=True))


@settings(deadline=None, max_examples=40)
@given(st.lists(increments, min_size=1, max_size=3))
def test_no_split_of_the_rounds_beats_the_oracle_arm(rows: list[list[float]]) -> None:
    bandit = RisingBandit.from_array(np.cumsum(rows, axis=1))
    assert bandit.oracle_value() == pytest.approx(best_value_by_enumeration(bandit.means(np.arange(1, 6))), rel=1e-12)
    assert bandit.mean_sums()[bandit.oracle_arm()] == bandit.mean_sums().max()


def test_oracle_of_equal_arms_is_the_first() -> None:
    assert RisingBandit([ConstantCurve(0.1), ConstantCurve(0.5), ConstantCurve(0.5)]).oracle_arm(10) == 1


@pytest.mark.parametrize("noise", [Gaussian(0.1), Bernoulli()], ids=repr)
def test_oracle_prefix(noise: Any) -> None:
    bandit = MIXED.with_noise(noise)
    best = bandit.oracle_arm(40)
    rounds = [0, 1, 17, 40]
    expected = [math.fsum(bandit.means(np.arange(1, n + 1))[best]) for n in rounds]
    assert bandit.oracle_prefix(rounds, 40) == pytest.approx(expected, rel=1e-13)
    assert bandit.oracle_value(40) == pytest.approx(expected[-1], rel=1e-13)
    with pytest.raises(RisingBanditsError, match="checkpoints must be a list of rounds up to the horizon, 40"):
        bandit.oracle_prefix([41], 40)


def test_restless_oracle_takes_the_best_arm_of_each_round() -> None:
    bandit = RisingBandit.from_array([[0.1, 0.5, 0.6], [0.3, 0.4, 0.4]], restless=True)
    assert bandit.oracle_prefix([0, 1, 2, 3]) == pytest.approx([0.0, 0.3, 0.8, 1.4])
    assert bandit.oracle_value() == pytest.approx(1.4)
    assert bandit.environment().restless == 1
    assert repr(bandit) == "RisingBandit(2 arms, noise=Gaussian(sigma=0.1), horizon=3, restless=True)"


def test_shapes_name_the_first_arm_that_breaks_them() -> None:
    bandit = RisingBandit([ConstantCurve(0.1), Tabulated([0.1, 0.2, 0.1, 0.4])], arm_names=["flat", "bumpy"])
    falls = bandit.is_non_decreasing()
    assert (bool(falls), falls.arm, falls.first_violation) == (False, 1, 2)
    assert repr(falls) == "ShapeCheck(non-decreasing: violated at pull 2 of 'bumpy' by 0.1)"
    assert bandit.is_concave().first_violation == 2
    assert bandit.is_non_decreasing(2)
    assert bandit.is_non_decreasing(tolerance=0.5)
    assert bandit.is_concave(2).arm is None


def test_instances_are_values() -> None:
    again = RisingBandit(MIXED.curves, horizon=60)
    assert again == MIXED
    assert hash(again) == hash(MIXED)
    MIXED.environment()
    copied = pickle.loads(pickle.dumps(MIXED))
    assert copied == MIXED
    assert "_kept" not in vars(copied)
    assert MIXED.with_horizon(70).horizon == 70
    assert MIXED.with_noise(Bernoulli()) != MIXED
    assert MIXED.with_noise(Bernoulli()).sigma == 0.5
    assert MIXED.arm_names == ("arm 1", "arm 2", "arm 3", "arm 4")
    with pytest.raises(FrozenInstanceError):
        MIXED.horizon = 3  # type: ignore[misc]


def test_a_dict_of_curves_has_the_names_of_the_arms() -> None:
    rows = {"slow": [0.1, 0.2, 0.3], "fast one": [0.5, 0.6]}
    bandit = RisingBandit.from_array(rows, Bernoulli())
    assert bandit == RisingBandit.from_array(list(rows.values()), Bernoulli(), arm_names=list(rows))
    assert bandit.horizon == 3


def test_many_arms_and_a_long_horizon_stay_cheap() -> None:
    bandit = random_problem(10_000, 200_000, seed=3)
    sums = bandit.mean_sums()
    best = bandit.oracle_arm()
    curve = bandit.curves[best]
    assert sums[best] == pytest.approx(math.fsum(curve(np.arange(1, 200_001))), rel=1e-12)
    assert bandit.environment().table.nbytes < 34e6
