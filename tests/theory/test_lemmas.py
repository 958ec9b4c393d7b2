"""The paper's lemmas, checked on random curves and by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from risingbandits import RisingBandit
from risingbandits.problems import Curve, Exponential, LinearCapped, Polynomial, PowerLaw
from risingbandits.theory.complexity import cumulative_increment
from risingbandits.theory.estimators import (
    concentration_width,
    deterministic_bias_bound,
    deterministic_estimate,
    stochastic_bias_bound,
    window_estimate,
)
from risingbandits.theory.lower_bounds import bretagnolle_huber

limits = st.floats(0.05, 1.0)
rising = st.one_of(
    st.builds(Exponential, limits, st.floats(1e-4, 0.5)),
    st.builds(Polynomial, limits, st.floats(1, 2_000), st.floats(0.3, 3.0)),
    st.builds(PowerLaw, limits, st.floats(0.01, 0.5), st.floats(0.1, 3.0)),
    st.builds(LinearCapped, st.floats(1e-5, 1e-2), limits),
)
SLACK = 1e-9


@settings(max_examples=150, deadline=None)
@given(curve=rising, n=st.integers(2, 500), beyond=st.integers(1, 2_000))
def test_deterministic_estimator_is_optimistic_with_bounded_bias(curve: Curve, n: int, beyond: int) -> None:
    t = n + beyond
    estimate = deterministic_estimate(curve, n, t)
    assert estimate >= curve(t) - SLACK
    assert estimate - curve(n + 1) <= deterministic_bias_bound(curve, n, t) + SLACK
    assert deterministic_estimate(curve, 1, t) == math.inf


@settings(max_examples=150, deadline=None)
@given(curve=rising, n=st.integers(2, 500), beyond=st.integers(1, 2_000), share=st.floats(0.01, 0.5))
def test_window_estimator_is_optimistic_with_bounded_bias(curve: Curve, n: int, beyond: int, share: float) -> None:
    t, h = n + beyond, max(1, math.floor(share * n))
    estimate = window_estimate(curve(np.arange(1, n + 1)), h, t)
    assert estimate >= curve(t) - SLACK
    assert estimate - curve(n + 1) <= stochastic_bias_bound(curve, n, h, t) + SLACK


@pytest.mark.parametrize(("n", "h", "t"), [(4, 1, 5), (40, 10, 41), (40, 10, 400), (200, 100, 1_000)])
@pytest.mark.parametrize("delta", [0.3, 0.05])
def test_concentration_width_covers(n: int, h: int, t: int, delta: float) -> None:
    rng, curve, sigma, runs = np.random.default_rng(7), Polynomial(0.8, 50, 1), 0.3, 4_000
    means = curve(np.arange(1, n + 1))
    center, width = window_estimate(means, h, t), concentration_width(n, h, t, sigma, delta)
    estimates = [window_estimate(means + sigma * rng.standard_normal(n), h, t) for _ in range(runs)]
    missed = np.mean(np.abs(np.array(estimates) - center) > width)
    assert missed <= 2 * delta + 4 * math.sqrt(delta / runs)
    assert np.mean(estimates) == pytest.approx(center, abs=5 * float(np.std(estimates)) / math.sqrt(runs))


def test_width_comes_from_the_sum_of_squared_weights() -> None:
    for n, h, t in ((10, 3, 50), (100, 25, 101), (64, 32, 9_000)):
        far = (t - np.arange(n - h + 1, n + 1)) / h
        squares = np.sum((1 + far) ** 2) + np.sum(far**2)
        bound = 5 * (t - n + h - 1) ** 2 / h
        assert squares <= bound * (1 + 1e-12)
        # A sum of Gaussian terms with these weights, divided by h, exceeds so much with probability delta at most.
        width = 0.2 * math.sqrt(2 * math.log(1 / 0.01) * bound) / h
        assert concentration_width(n, h, t, sigma=0.2, delta=0.01) == pytest.approx(width, rel=1e-12)


@settings(max_examples=100, deadline=None)
@given(curve=rising, k=st.integers(2, 1_000), back=st.integers(1, 999))
def test_increments_are_below_earlier_slopes(curve: Curve, k: int, back: int) -> None:
    """Of gamma(k - 1), as the lemma is used; it states the same of gamma(k), which is smaller."""
    earlier = max(1, k - back)
    assert curve.increment(k - 1) <= (curve(k) - curve(earlier)) / (k - earlier) + SLACK


@settings(max_examples=100, deadline=None)
@given(share=st.floats(0.05, 0.999), m=st.integers(3, 400), power=st.floats(0.1, 3))
def test_sum_over_floors(share: float, m: int, power: float) -> None:
    values = (1.0 + np.arange(0, m + 1)) ** -power  # f(0), f(1), ...: the lemma's sum begins at 0 for share < 1/3
    indices = np.floor(share * np.arange(3, m + 1)).astype(int)
    right = math.ceil(1 / share) * values[math.floor(3 * share) : math.floor(share * m) + 1].sum()
    assert values[indices].sum() <= right * (1 + 1e-12)


def test_the_bias_bounds_are_those_of_the_lemmas() -> None:
    """On a curve whose increments are 1/(l (l + 1)): gamma(9) = 1/90 and gamma(13) = 1/182."""

    def curve(n: np.ndarray) -> np.ndarray:
        return 1.0 - 1.0 / np.asarray(n, dtype=np.float64)

    assert deterministic_bias_bound(curve, 10, 25) == pytest.approx(15 / 90, rel=1e-12)
    assert stochastic_bias_bound(curve, 20, 4, 30) == pytest.approx(0.5 * (60 - 40 + 4 - 1) / 182, rel=1e-12)


@settings(max_examples=100, deadline=None)
@given(eps=st.floats(0.01, 0.49), arms=st.integers(1, 5), seed=st.integers(0, 1_000), power=st.floats(0.05, 2))
def test_increments_of_the_stochastic_theorem_are_counted_right(eps: float, arms: int, seed: int, power: float) -> None:
    """The step of the proof that was off by one: sum over pulls 3..N_i of g at the window's oldest increment."""
    pulls = np.random.default_rng(seed).multinomial(300, np.full(arms, 1 / arms))
    g = np.arange(1, 400.0) ** -power  # g(1), g(2), ...
    total = 0.0
    for n in pulls:
        j = np.arange(3, n + 1)
        h = np.floor(eps * (j - 1) + 1e-12).astype(int)
        total += g[j - 2 * h - 1].sum()
    share = 1 - 2 * eps
    repeats = math.ceil(1 / share - 1e-12)
    m = math.ceil(share * 300 / arms - 1e-12) + (repeats > 2)
    assert total <= arms * repeats * g[: m - 1].sum() * (1 + 1e-12)


@settings(max_examples=60, deadline=None)
@given(arms=st.lists(rising, min_size=1, max_size=4), q=st.floats(0.0, 1.0), data=st.data())
def test_balanced_pulls_have_the_largest_increments(arms: list[Curve], q: float, data: st.DataObject) -> None:
    """Every arm is pulled: with an arm left out the lemma is off by one, as two arms and q = 0 show."""
    horizon = 240
    rest = horizon - len(arms)
    cuts = sorted(data.draw(st.lists(st.integers(0, rest), min_size=len(arms) - 1, max_size=len(arms) - 1)))
    pulls = 1 + np.diff([0, *cuts, rest])
    total = sum(
        float(np.sum(curve.increment(np.arange(1, n)) ** q)) for curve, n in zip(arms, pulls, strict=True) if n > 1
    )
    bound = len(arms) * cumulative_increment(RisingBandit(arms), -(-horizon // len(arms)), q)
    assert total <= bound * (1 + 1e-9) + SLACK


def test_balanced_pulls_need_every_arm() -> None:
    two = RisingBandit([Exponential(1.0, 0.5), Exponential(1.0, 0.5)])
    one_arm_only = cumulative_increment(two, 240, 0.0)
    assert one_arm_only > 2 * cumulative_increment(two, 120, 0.0)


@settings(max_examples=100, deadline=None)
@given(a=st.integers(1, 50), length=st.integers(0, 200), power=st.floats(0.1, 3).filter(lambda p: abs(p - 1) > 1e-3))
def test_sums_against_integrals(a: int, length: int, power: float) -> None:
    b = a + length
    n = np.arange(a, b + 1.0)

    def integral(low: float, high: float, p: float) -> float:
        return float((high ** (p + 1) - low ** (p + 1)) / (p + 1))

    up = integral(a, b, power) + b**power
    assert np.sum(n**power) <= up * (1 + 1e-12)
    assert up <= integral(a, b + 1, power) * (1 + 1e-12)
    down = a**-power + integral(a, b, -power)
    assert np.sum(n**-power) <= down * (1 + 1e-12)
    if a > 1:
        assert down <= integral(a - 1, b, -power) * (1 + 1e-12)


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 10_000), size=st.integers(2, 8))
def test_bretagnolle_huber_on_discrete_distributions(seed: int, size: int) -> None:
    rng = np.random.default_rng(seed)
    p, q = rng.dirichlet(np.ones(size)), rng.dirichlet(np.ones(size))
    divergence = float(np.sum(p * np.log(p / q)))
    # The best event for a small sum is the one where p < q.
    assert np.minimum(p, q).sum() >= bretagnolle_huber(divergence)


def test_without_its_half_the_inequality_is_false() -> None:
    p, q = np.array([0.02, 0.98]), np.array([0.2, 0.8])
    divergence = float(np.sum(p * np.log(p / q)))
    assert np.minimum(p, q).sum() < math.exp(-divergence)
