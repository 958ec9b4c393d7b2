"""Curve families against their formulas in exact arithmetic, their shapes, and what their constructors refuse."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference_curves import reference_increment, reference_sum, reference_value, summed_values
from risingbandits._core.errors import RisingBanditsError
from risingbandits.problems import (
    ConstantCurve,
    Curve,
    Exponential,
    LinearCapped,
    Polynomial,
    PowerLaw,
    Tabulated,
)

CLOSED_FORMS: list[Curve] = [
    Exponential(0.5, 3 / 162),
    Exponential(0.323442, 2 / 40_560),
    Exponential(0.7, 1e-9),
    Exponential(0.7, 0.3, start=0.2),
    Exponential(0.9, 40.0),
    Exponential(0.2, 0.01, start=0.6),
    Polynomial(1, 177, 0.8),
    Polynomial(0.4, 500, 1),
    Polynomial(0.390385, 42_831, 0.4),
    Polynomial(0.43, 195, 0.9, inner=199),
    Polynomial(0.8, 0.5, 0.2),
    Polynomial(0.8, 1, 3),
    Polynomial(0.8, 1e6, 2.5),
    Polynomial(0.8, 30, 1 + 1e-9),
    PowerLaw(0.9, 0.9, 0.2),
    PowerLaw(0.6, 0.3, 1),
    PowerLaw(0.6, 0.3, 3),
    LinearCapped(1 / 25_000, 1),
    LinearCapped(0.1, 0.35),
    LinearCapped(0.3, 0.1),
    LinearCapped(0.0, 0.5),
    LinearCapped(0.5, -0.2),
    ConstantCurve(0.3),
]
ALL_CURVES = [*CLOSED_FORMS, Tabulated(np.sqrt(np.arange(1, 40)) / 7)]

exponents = st.floats(0.2, 3)
scales = st.floats(-2, 6).map(lambda x: 10.0**x)
closed_forms = st.one_of(
    st.builds(Polynomial, st.floats(0.1, 1), scales, exponents),
    st.builds(PowerLaw, st.just(0.9), st.floats(0.1, 0.9), exponents),
    st.builds(Exponential, st.floats(0.1, 1), st.floats(-8, 1).map(lambda x: 10.0**x)),
)


@pytest.mark.parametrize("curve", ALL_CURVES, ids=repr)
def test_values_and_increments_keep_their_digits(curve: Curve) -> None:
    for n in (curve.first_pull, 1, 2, 3, 17, 1_000, 200_000):
        assert curve(n) == pytest.approx(reference_value(curve, n), rel=1e-14, abs=1e-40)
        assert curve.increment(n) == pytest.approx(reference_increment(curve, n), rel=1e-12, abs=1e-17)


@pytest.mark.parametrize("curve", ALL_CURVES, ids=repr)
def test_sums_are_exact_for_small_n(curve: Curve) -> None:
    for n in (0, 1, 2, 7, 41):
        assert curve.prefix_sum(n) == pytest.approx(reference_sum(curve, n), rel=2e-14, abs=1e-300)


@pytest.mark.parametrize(
    "curve", [Polynomial(0.8, 1e58, 30), PowerLaw(0.9, 0.9, 30), Exponential(0.5, 0.249)], ids=repr
)
def test_sums_of_steep_curves(curve: Curve) -> None:
    for n in (1, 2, 10, 90):
        assert curve.prefix_sum(n) == pytest.approx(reference_sum(curve, n), rel=1e-13, abs=1e-300)


@pytest.mark.parametrize("curve", ALL_CURVES, ids=repr)
def test_sums_equal_added_values_for_large_n(curve: Curve) -> None:
    counts = [999, 60_000]
    assert curve.prefix_sum(counts) == pytest.approx([summed_values(curve, n) for n in counts], rel=1e-13)


@settings(deadline=None, max_examples=60)
@given(curve=closed_forms, n=st.integers(1, 20_000))
def test_sums_of_any_closed_form(curve: Curve, n: int) -> None:
    assert curve.prefix_sum(n) == pytest.approx(summed_values(curve, n), rel=1e-12)


@settings(deadline=None, max_examples=40)
@given(curve=closed_forms, n=st.integers(1, 10**7))
def test_sums_and_increments_agree_with_values(curve: Curve, n: int) -> None:
    total = curve.prefix_sum(n)
    assert curve.prefix_sum(n + 1) - total == pytest.approx(curve(n + 1), abs=1e-13 * total + 1e-15)
    assert curve(n) + curve.increment(n) == pytest.approx(curve(n + 1), rel=1e-13)
    assert curve.increment(n) >= curve.increment(n + 1) >= 0
    assert curve.is_non_decreasing()
    assert curve.is_concave()


def test_scalars_and_arrays() -> None:
    curve = Exponential(0.5, 0.1)
    assert isinstance(curve(3), float)
    assert isinstance(curve.prefix_sum(np.int32(3)), float)
    grid = np.array([[1, 2], [3, 4]])
    for method in (curve, curve.increment, curve.prefix_sum):
        values = method(grid)
        assert values.shape == (2, 2)
        assert values.dtype == np.float64
        assert values[1, 0] == method(3)
    assert curve(np.array([], dtype=int)).shape == (0,)


def test_tables_are_copies_that_hold_their_last_value() -> None:
    values = np.array([0.0, 0.1, 0.4])
    curve = Tabulated(values)
    values[0] = 9.0
    assert curve([1, 2, 3, 4, 1_000]).tolist() == [0.0, 0.1, 0.4, 0.4, 0.4]
    with pytest.raises(ValueError, match="read-only"):
        curve.values[0] = 1.0
    assert curve == Tabulated([-0.0, 0.1, 0.4])
    assert hash(curve) == hash(Tabulated([-0.0, 0.1, 0.4]))
    assert curve != Tabulated([0.0, 0.1])
    assert curve != ConstantCurve(0.0)
    assert repr(curve) == "Tabulated(<3 values: 0 .. 0.4>)"
    assert repr(Tabulated([0.5])) == "Tabulated(<1 values: 0.5>)"


@pytest.mark.parametrize("curve", ALL_CURVES, ids=repr)
def test_curves_copy_by_value(curve: Curve) -> None:
    curve(1)
    again = pickle.loads(pickle.dumps(curve))
    assert again == curve == copy.deepcopy(curve)
    assert hash(again) == hash(curve)
    assert "_environment" not in vars(again)
    if isinstance(again, Tabulated):
        assert not again.values.flags.writeable


def test_second_scale_of_a_polynomial_counts_only_if_it_differs() -> None:
    assert Polynomial(1, 2, 1, inner=2) == Polynomial(1, 2, 1)
    assert Polynomial(1, 2, 1, inner=3) != Polynomial(1, 2, 1)


@pytest.mark.parametrize(
    "curve", [Exponential(0.2, 0.1, start=0.6), Polynomial(-0.5, 10, 1), PowerLaw(0.2, -0.3, 0.5)], ids=repr
)
def test_falling_closed_forms_are_told(curve: Curve) -> None:
    falls = curve.is_non_decreasing()
    assert not falls
    assert falls.first_violation == 1
    assert falls.amount == pytest.approx(curve(1) - curve(2))
    bends = curve.is_concave()
    assert not bends
    assert bends.first_violation == 1
    assert bends.amount == pytest.approx(curve(3) - 2 * curve(2) + curve(1))
    assert curve.is_non_decreasing(1)
    assert not curve.is_non_decreasing(2)
    assert curve.is_concave(2)
    assert not curve.is_concave(3)


def test_tables_are_checked_within_the_horizon_and_a_tolerance() -> None:
    curve = Tabulated([0.1, 0.3, 0.4, 0.35, 0.6])
    assert curve.is_non_decreasing(3)
    assert curve.is_non_decreasing(4).first_violation == 3
    assert curve.is_non_decreasing().amount == pytest.approx(0.05)
    assert curve.is_non_decreasing(tolerance=0.1)
    assert curve.is_concave(4)
    assert curve.is_concave().first_violation == 3
    assert repr(curve.is_concave()) == "ShapeCheck(concave: violated at pull 3 by 0.3)"
    assert Tabulated([0.3, 0.1 + 0.2, 0.3]).is_non_decreasing()
    # Beyond the table its last value is held: a fall that stops there bends upwards.
    assert Tabulated([0.5, 0.4]).is_concave()
    assert Tabulated([0.5, 0.4]).is_concave(10).first_violation == 1
    with pytest.raises(RisingBanditsError, match="horizon must be an integer >= 1, got 0"):
        curve.is_concave(0)
    with pytest.raises(RisingBanditsError, match="tolerance must be a finite number >= 0, got -1"):
        curve.is_concave(tolerance=-1)


@pytest.mark.parametrize("curve", CLOSED_FORMS, ids=repr)
def test_analytic_shapes_agree_with_tables(curve: Curve) -> None:
    table = Tabulated(curve(np.arange(1, 300)))
    for check, tabulated in ((curve.is_non_decreasing, table.is_non_decreasing), (curve.is_concave, table.is_concave)):
        assert bool(check()) == bool(tabulated())
        assert check().first_violation == tabulated().first_violation
