"""Arms are compared at equal resource, as the slow reference says."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference_scores import slow_scores
from risingbandits._core.stats import mid_ranks, rank_correlation
from risingbandits.policies._config_process import scores_at_equal_resource, wins

# Few different values, exact in binary, so that ties happen and means are exact.
VALUES = st.sampled_from([-1.0, 0.0, 0.25, 0.5, 1.0, math.nan, math.inf, -math.inf])
CURVES = st.lists(st.lists(VALUES, min_size=1, max_size=50), min_size=1, max_size=12)


@given(CURVES)
@settings(deadline=None, max_examples=300)
def test_agrees_with_the_reference(curves: list[list[float]]) -> None:
    fast = scores_at_equal_resource([np.array(curve) for curve in curves], 0.05)
    assert fast == pytest.approx(slow_scores(curves), abs=1e-6)


def test_agrees_on_long_curves() -> None:
    rng = np.random.default_rng(1)
    curves = [rng.integers(0, 9, rng.choice([20, 41, 100, 300])).astype(float) for _ in range(40)]
    for spoilt in (3, 17):
        curves[spoilt][-1] = math.nan
    curves[5][10] = math.nan  # recovered
    assert scores_at_equal_resource(curves, 0.05) == pytest.approx(
        slow_scores([curve.tolist() for curve in curves]), abs=1e-6
    )


def test_a_long_bad_arm_does_not_beat_a_short_good_one() -> None:
    good, bad = np.array([0.5, 0.6]), np.linspace(0.1, 0.9, 50)
    middling = np.array([0.3, 0.4, 0.5])
    scores = scores_at_equal_resource([bad, middling, good])
    assert scores[2] > scores[1] > scores[0]


def test_failed_arms_are_last_and_equal() -> None:
    failed = [np.array([0.9, 0.9, np.nan]), np.array([np.nan])]
    assert wins([np.array([0.1]), np.array([-5.0, -6.0]), *failed], 0.05).tolist() == [3.0, 2.0, 0.5, 0.5]


def test_ranks() -> None:
    assert mid_ranks(np.array([2.0, 2.0, 2.0])).tolist() == [1.0, 1.0, 1.0]
    assert rank_correlation(np.array([1.0, 2.0]), np.array([1.0, 2.0])) is None
    assert rank_correlation(np.array([1.0, 2.0, 3.0]), np.zeros(3)) is None
    assert rank_correlation(np.array([1.0, 2.0, 3.0]), np.array([9.0, 4.0, 1.0])) == pytest.approx(-1.0)
