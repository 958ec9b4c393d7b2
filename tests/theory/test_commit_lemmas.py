"""The lemmas behind CommitUCB's bounds: exhaustive small cases in exact arithmetic, random arms of all families."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from concave_problems import FAMILIES, random_arm, random_concave
from reference_bound import anchored_line, commit_ceiling, two_block_line
from repaired_commit import RepairedCommit, average, lines_at
from risingbandits import RisingBandit, simulate
from risingbandits.policies.commit._grid import commit_grid, commit_windows
from risingbandits.problems import NoNoise, Tabulated
from risingbandits.theory.upper_bounds import (
    commit_confidence,
    price_of_commitment,
    regret_parts,
    sum_increments,
)
from risingbandits.theory.upper_bounds._commit_lines import commit_value

Curve = tuple[Fraction, ...]


def all_concave(length: int, steps: int) -> list[Curve]:
    """Every rising concave curve of ``length`` means that are multiples of 1/steps in [0, 1]."""
    curves = []
    for start in range(steps + 1):
        for falling in combinations_with_replacement(range(steps - start, -1, -1), length - 1):
            if start + sum(falling) <= steps:
                means = [Fraction(start, steps)]
                for step in falling:
                    means.append(means[-1] + Fraction(step, steps))
                curves.append(tuple(means))
    return curves


def mean(values: Curve) -> Fraction:
    return sum(values, Fraction(0)) / len(values)


SMALL = all_concave(7, 6)


def test_the_small_cases_are_all_there_is() -> None:
    assert len(SMALL) == len(set(SMALL)) > 60
    for curve in SMALL:
        steps = [b - a for a, b in pairwise(curve)]
        assert all(b <= a for a, b in pairwise(steps))
        assert all(step >= 0 for step in steps)
        assert 0 <= curve[0] <= curve[-1] <= 1
    assert (Fraction(0), *[Fraction(1)] * 6) in SMALL  # a jump after the first pull


# -- lines -----------------------------------------------------------------------------------------------------


def test_lemma_1_two_blocks_exactly() -> None:
    for curve in SMALL:
        for a, b, c, d in product(range(7), repeat=4):
            if not a < b <= c < d:
                continue
            m1, m2 = mean(curve[a:b]), mean(curve[c:d])
            c1, c2 = Fraction(a + 1 + b, 2), Fraction(c + 1 + d, 2)
            for x in range(d + 1, 8):
                assert curve[x - 1] <= m2 + (x - c2) * (m2 - m1) / (c2 - c1)


def test_lemma_2_anchored_line_exactly() -> None:
    attained = 0
    for curve in SMALL:
        for n in range(2, 7):
            for a in range(n):
                m, c = mean(curve[a:n]), Fraction(a + 1 + n, 2)
                for x in range(n + 1, 8):
                    above = m * (x - 1) / (c - 1)
                    assert curve[x - 1] <= above
                    attained += curve[x - 1] == above > 0
    assert attained > 0  # by straight lines from 0 at the first pull: no lower line would do


def test_the_line_from_the_origin_needs_more_than_the_papers_assumptions() -> None:
    """m x / c is valid for curves with mu(2) <= 2 mu(1), and for others not always."""
    broken = set()
    for curve in SMALL:
        for n in range(1, 7):
            m, c = mean(curve[:n]), Fraction(1 + n, 2)
            if any(curve[x - 1] > m * x / c for x in range(n + 1, 8)):
                broken.add(curve)
    assert broken
    assert all(curve[1] > 2 * curve[0] for curve in broken)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_line_lies_above_the_future(family: str) -> None:
    rng = np.random.default_rng(len(family))
    for _ in range(8):
        arm = random_arm(rng, 300, family)
        for n in commit_grid(299)[1:]:
            k = np.arange(1, 300 - n + 1)
            lines = lines_at(arm[:n], 0.0)
            assert len(lines) == sum(1 + (w >= 3) for w in commit_windows(n)), "rounding has discarded a line"
            for u, s in lines:
                assert (np.minimum(1.0, u + s * k) >= arm[n:] - 1e-12).all()


def test_lines_of_theory_and_of_the_policy_are_the_same() -> None:
    rng = np.random.default_rng(1)
    rewards = rng.random(60)
    for n in (2, 3, 10, 60):
        expected = []
        for w in commit_windows(n):
            window = rewards[n - w : n]
            expected.append(anchored_line(float(window.mean()), 0.3 / math.sqrt(w), n, w))
            if w >= 3:
                q = w // 3
                line = two_block_line(float(window[:q].mean()), float(window[-q:].mean()), w, 0.3)
                if line[1] >= 0:
                    expected.append(line)
        assert lines_at(rewards[:n], 0.3) == [pytest.approx(line) for line in expected]


# -- noise -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("w", [3, 7, 30])
def test_lemma_3_widths_are_the_norms_of_the_weights(w: int) -> None:
    q = w // 3
    first, last = np.zeros(w), np.zeros(w)
    first[:q], last[-q:] = 1 / q, 1 / q
    slope = (last - first) / (w - q)
    level = last + slope * (q - 1) / 2
    u0, s0 = two_block_line(0.2, 0.5, w)
    u1, s1 = two_block_line(0.2, 0.5, w, 1.0)
    assert u1 - u0 == pytest.approx(np.linalg.norm(level))
    assert s1 - s0 == pytest.approx(np.linalg.norm(slope))


def test_corollary_0_lines_fail_no_more_often_than_stated() -> None:
    """All lines of three arms in 60 runs with second chances, at delta = 0.2."""
    horizon, sigma, delta, runs = 300, 0.1, 0.2, 60
    rng = np.random.default_rng(0)
    z = commit_confidence(3, horizon, delta)
    failed = 0
    for _ in range(runs):
        means, _ = random_concave(rng, 3, horizon)
        run = RepairedCommit(means, sigma, "shared", second_chances=True, z=z)
        run.play(rng)
        bad = False
        for arm, n in {(arm, n) for arm, n, *_ in run.drawn}:
            k = np.arange(1, horizon - n + 1)
            for u, s in lines_at(run.rewards[arm, :n], z * sigma):
                bad |= bool((u + s * k < means[arm, n:] - 1e-12).any())
        failed += bad
        assert {n for _, n, *_ in run.drawn} <= set(commit_grid(horizon)), "lines are drawn on the grid only"
    assert failed <= runs * delta + 3 * math.sqrt(runs * delta * (1 - delta))


# -- tools -----------------------------------------------------------------------------------------------------


@settings(max_examples=300, deadline=None)
@given(
    u=st.floats(-0.5, 1.5),
    s=st.one_of(st.just(0.0), st.floats(1e-9, 2.0)),
    rounds=st.integers(1, 400),
    more=st.floats(0, 0.3),
)
def test_lemma_4_commit_value(u: float, s: float, rounds: int, more: float) -> None:
    exact = math.fsum(min(1.0, u + s * k) for k in range(1, rounds + 1)) / rounds
    value = commit_value(u, s, rounds)
    assert value == pytest.approx(exact, abs=1e-12)
    assert min(1.0, average(u, s, rounds)) == pytest.approx(value, abs=1e-12)
    assert commit_value(u + more, s, rounds) >= value - 1e-12
    assert commit_value(u, s + more, rounds) >= value - 1e-12
    assert commit_value(u, s, rounds + 1) >= value - 1e-12
    if u < 1 and 1 - u < s * rounds:
        smooth = 1 - (1 - u) ** 2 / (2 * s * rounds)
        assert -1e-12 <= value - smooth <= (1 - u) / (2 * rounds) + 1e-12


@pytest.mark.parametrize("sigma", [0.0, 0.02, 0.2])
@pytest.mark.parametrize("seed", range(4))
def test_lemmas_5_and_6_at_every_decision(sigma: float, seed: int) -> None:
    """Kept lines of the best arm are above what it will give on average; those of others are below their ceilings."""
    rng = np.random.default_rng(seed)
    means, problem = random_concave(rng, 4, 400, sigma)
    z, star = commit_confidence(4, 400, 0.001), problem.oracle_arm()
    run = RepairedCommit(means, sigma, z=z)
    run.play(rng if sigma > 0 else None)
    for arm, n, left, u, s in run.drawn:
        for rounds in {left, max(1, left // 3), 1}:
            value = min(1.0, average(u, s, rounds))
            if arm == star:
                assert means[arm, n : n + rounds].mean() <= value + 1e-12
            else:
                assert value <= commit_ceiling(problem.curves[arm], n, 400, z, sigma) + 1e-12


def test_lemma_7_exactly() -> None:
    """Every sequence of pulls of two arms, over all pairs of small curves: regret is the sum of the losses."""
    curves = all_concave(4, 3)
    for one, two in product(curves, repeat=2):
        best = 0 if sum(one) >= sum(two) else 1
        arms = (one, two)
        for choices in product((0, 1), repeat=4):
            earned = [arms[arm][choices[:t].count(arm)] for t, arm in enumerate(choices)]
            losses: list[Fraction] = []
            per_arm = []
            for t, arm in enumerate(choices):
                if arm != best:
                    losses.append(arms[best][4 - len(losses) - 1] - earned[t])
                    before = choices[:t].count(best)
                    assert arms[best][before + 4 - t - 1] - earned[t] == losses[-1]  # mu(N + R)
                    per_arm.append(losses[-1])
            assert sum(arms[best]) - sum(earned) == sum(losses)
            assert all(b <= a for a, b in pairwise(per_arm))
            assert all(loss <= 1 for loss in losses)


def test_lemma_7_takes_simulated_runs_apart() -> None:
    rng = np.random.default_rng(4)
    for policy in ("red-ucb", "commit-ucb", "kl-ucb", "round-robin"):
        means, problem = random_concave(rng, 3, 200)
        result = simulate(policy, problem, runs=1, record_at=200)
        # `record_at=200` has the regret after every round; without noise it tells which arm was pulled.
        choices = choices_of(means, result.oracle - result.regret[policy][0], result.pulls[policy][0])
        parts = regret_parts(problem, choices)
        assert parts.regret == pytest.approx(float(result.final_regret[policy][0]), abs=1e-9)
        assert parts.per_arm.sum() == pytest.approx(parts.regret)
        assert parts.per_arm[parts.best] == 0.0
        for arm in range(3):
            losses = parts.losses[parts.arms == arm]
            assert (np.diff(losses) <= 1e-12).all()
            assert losses.size == (0 if arm == parts.best else np.count_nonzero(np.array(choices) == arm))


def choices_of(means: np.ndarray, gained: np.ndarray, pulls: np.ndarray) -> list[int]:
    """The arms of a run without noise from what it had gained after every round: the one split that fits."""
    steps = np.diff(gained, prepend=0.0)
    counts = [0] * len(means)
    choices: list[int] = []
    for step in steps:
        fits = [arm for arm in range(len(means)) if counts[arm] < pulls[arm]]
        arm = min(fits, key=lambda arm: abs(means[arm, counts[arm]] - step))
        assert means[arm, counts[arm]] == pytest.approx(step, abs=1e-9)
        counts[arm] += 1
        choices.append(arm)
    return choices


def test_lemma_8_exactly() -> None:
    """mu(N + R) = C + D, and the sum of D over distinct R is below that of l gamma(l) (1/(l+1) + ... + 1/T)."""
    last = 7
    for curve in SMALL:
        gamma = {n: curve[n] - curve[n - 1] for n in range(1, last)}
        total = Fraction(0)
        for rounds in range(1, last + 1):
            dearest = Fraction(0)
            for n in range(last - rounds + 1):
                c = mean(curve[n : n + rounds])
                d = sum((k * gamma[n + k] for k in range(1, rounds)), Fraction(0)) / rounds
                assert curve[n + rounds - 1] == c + d
                assert d >= 0
                dearest = max(dearest, d)
            total += dearest
        price = sum(k * gamma[k] * sum(Fraction(1, r) for r in range(k + 1, last + 1)) for k in range(1, last))
        assert total <= price
        assert float(price) <= price_of_commitment(Tabulated([float(x) for x in curve]), last) + 1e-12
        assert sum(k * g for k, g in gamma.items()) == pytest.approx(
            sum_increments(Tabulated([float(x) for x in curve]), last)
        )


def test_lemma_9_with_forty_digits() -> None:
    with localcontext() as context:
        context.prec = 40
        for last in (2, 3, 7):
            for curve in all_concave(last, 6):
                gamma = [curve[n] - curve[n - 1] for n in range(1, last)]

                def exact(x: Fraction) -> Decimal:
                    return Decimal(x.numerator) / x.denominator

                left = sum(exact(k * g) * (Decimal(last) / k).ln() for k, g in enumerate(gamma, 1))
                cut = sum((min(Fraction(1), last * g) for g in gamma), Fraction(0))
                middle = Decimal(last).ln() / 2 * exact(1 + cut)
                assert left <= middle
                for q in (Decimal(0), Decimal("0.3"), Decimal("0.5"), Decimal(1)):
                    powers = sum((Decimal(1) if q == 0 else exact(last * g) ** q) for g in gamma)
                    assert middle <= Decimal(last).ln() / 2 * (1 + powers) + Decimal("1e-35")


@pytest.mark.parametrize("family", FAMILIES)
def test_lemma_9_on_random_arms(family: str) -> None:
    rng = np.random.default_rng(7)
    for _ in range(20):
        last = int(rng.integers(2, 3_000))
        arm = random_arm(rng, last, family)
        gamma = np.maximum(np.diff(arm), 0.0)
        middle = math.log(last) / 2 * (1 + np.minimum(1, last * gamma).sum())
        assert price_of_commitment(Tabulated(arm), last) <= middle + 1e-9
        assert sum_increments(Tabulated(arm), last) <= 0.5 + np.minimum(1, last * gamma).sum() + 1e-9
        assert middle <= math.log(last) / 2 * (1 + ((last * gamma) ** 0.4).sum()) + 1e-9


def test_lemma_10_constants() -> None:
    n = np.arange(8, 200_000)
    w = (0.7 * (0.7 * n).astype(int)).astype(int)
    q = w // 3
    assert (w >= 3).all()
    assert (n - w + 1 >= 0.51 * n + 1 - 1e-9).all()
    assert (n[92:] ** 1.5 / (w * np.sqrt(q))[92:]).max() <= 5.441
    for pulls in range(8, 3_000):
        assert int(0.7 * int(0.7 * pulls)) == commit_windows(pulls)[2]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("z_sigma", [0.0, 0.05])
def test_lemma_10_on_random_arms(family: str, z_sigma: float) -> None:
    rng = np.random.default_rng(11)
    for _ in range(4):
        horizon = int(rng.integers(50, 1_500))
        arm = random_arm(rng, horizon, family)
        for n in commit_grid(horizon - 1)[7::3]:
            w = commit_windows(n)[2]
            excess = commit_ceiling(Tabulated(arm), n, horizon, z_sigma, 1.0) - arm[n]
            slope = horizon / 2 * (arm[n - w + 1] - arm[n - w])
            assert excess <= slope + 3 / math.sqrt(2) * z_sigma * horizon / (w * math.sqrt(w // 3)) + 1e-9


def test_regret_parts_of_no_other_arm() -> None:
    parts = regret_parts(RisingBandit([Tabulated([0.1, 0.2])], NoNoise()), [0, 0, 0])
    assert (parts.regret, parts.losses.size, parts.best) == (0.0, 0, 0)
