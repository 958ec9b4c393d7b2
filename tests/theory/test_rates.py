"""The tables of rates around their awkward points, and the limit of the cumulative increment."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from risingbandits import RisingBandit
from risingbandits.problems import LinearCapped, Tabulated, random_problem
from risingbandits.theory.complexity import cumulative_increment, increment_bound, increment_limit, increment_rate

AWKWARD = [1e-17, 1e-16, 1e-15, 1e-12, 1e-8, 1e-4, 0.01, 0.1, 0.14, 0.15, 0.5, 0.9]


def exact(number: Fraction) -> Decimal:
    return Decimal(number.numerator) / Decimal(number.denominator)


def integral(c: float, q: float, last: int) -> Decimal:
    """The integral of x^(-cq) over 1..last with 60 digits, from the very numbers that the floats c and q are."""
    with localcontext() as context:
        context.prec = 60
        rest = exact(1 - Fraction(c) * Fraction(q))
        logarithm = Decimal(last).ln()
        return ((rest * logarithm).exp() - 1) / rest if rest else logarithm


@pytest.mark.parametrize("pulls", [2, 3, 1_000, 10**9])
@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("distance", AWKWARD)
def test_the_rate_keeps_its_order_around_cq_1(distance: float, sign: int, pulls: int) -> None:
    """Between the integral and e/(e - 1) times it, whichever branch: a rate without the branch is 1e15 times it."""
    c, q = 2.0 * (1.0 + sign * distance), 0.5
    truth = float(integral(c, q, pulls))
    assert (
        truth * (1 - 1e-12) <= increment_rate("polynomial", c, q, pulls) <= truth * math.e / (math.e - 1) * (1 + 1e-12)
    )


def test_the_rate_is_that_of_the_table() -> None:
    assert increment_rate("polynomial", 49.0, 1 / 49, 1_000) == pytest.approx(math.log(1_000), rel=1e-12)
    assert 49.0 * (1 / 49) != 1.0
    assert increment_rate("polynomial", 2.0, 0.5, 1_000) == math.log(1_000)
    assert increment_rate("polynomial", 3.0, 0.5, 1_000) == 2.0
    assert increment_rate("polynomial", 1.0, 0.5, 1_000) == pytest.approx(2.0 * math.sqrt(1_000), rel=1e-14)


@pytest.mark.parametrize("pulls", [2, 3, 1_000, 10**9])
@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("distance", AWKWARD)
def test_the_bound_is_the_first_term_and_the_integral(distance: float, sign: int, pulls: int) -> None:
    c, q = 2.0 * (1.0 + sign * distance), 0.5
    truth = 1.0 + float(integral(c, q, pulls - 1))
    assert increment_bound("polynomial", c, q, pulls) == pytest.approx(truth, rel=1e-13)


@pytest.mark.parametrize("c", [1e-15, 1e-9, 1e-3, 1.0, 30.0])
def test_the_exponential_bound_loses_no_digits(c: float) -> None:
    with localcontext() as context:
        context.prec = 60
        rate = Decimal(c)
        truth = (-rate).exp() + ((-rate).exp() - (-999 * rate).exp()) / rate
    assert increment_bound("exponential", c, 1.0, 1_000) == pytest.approx(float(truth), rel=1e-13)


@settings(max_examples=60, deadline=None)
@given(
    n_arms=st.integers(1, 6),
    pulls=st.integers(1, 3_000),
    q=st.one_of(st.just(0.0), st.just(1.0), st.floats(0.0, 1.0)),
    seed=st.integers(0, 10_000),
    tables=st.booleans(),
)
def test_the_increment_never_exceeds_its_limit(n_arms: int, pulls: int, q: float, seed: int, tables: bool) -> None:
    if tables:  # rising, not concave
        rng = np.random.default_rng(seed)
        problem = RisingBandit([Tabulated(np.sort(rng.random(pulls) ** rng.uniform(0.2, 5))) for _ in range(n_arms)])
    else:
        problem = random_problem(n_arms, horizon=3_000, seed=seed)
    found = cumulative_increment(problem, pulls, q)
    assert 0.0 <= found <= increment_limit(n_arms, pulls, q, sharp=True) * (1 + 1e-9)
    assert increment_limit(n_arms, pulls, q, sharp=True) <= increment_limit(n_arms, pulls, q)


@pytest.mark.parametrize("q", [0.0, 0.3, 0.5, 1.0])
def test_the_sharp_limit_is_met(q: float) -> None:
    """By arms that rise in equal steps one after the other, and by a straight line."""
    n_arms, each = 4, 25
    steps = [np.repeat(np.arange(n_arms) == arm, each) / each for arm in range(n_arms)]
    problem = RisingBandit([Tabulated(np.concatenate([[0.0], np.cumsum(row)])) for row in steps])
    pulls = n_arms * each + 1
    met = increment_limit(n_arms, pulls, q, sharp=True)
    assert cumulative_increment(problem, pulls, q) == pytest.approx(met, rel=1e-9)
    line = RisingBandit([LinearCapped(1 / 1_000, 1.0)])
    # The line rises from 1/1000 to 1, by 999/1000 in 999 steps: a limit for arms that rise by so much.
    assert cumulative_increment(line, 1_000, q) == pytest.approx(
        0.999**q * increment_limit(1, 1_000, q, sharp=True), rel=1e-9
    )
