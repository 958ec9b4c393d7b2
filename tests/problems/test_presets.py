"""Named problems have the facts that are known of them; generated ones follow their recipe."""

from __future__ import annotations

import numpy as np
import pytest

from risingbandits.problems import (
    Exponential,
    Gaussian,
    Polynomial,
    PowerLaw,
    exponential_problem,
    get_problem,
    power_law_problem,
    problem_description,
    problem_names,
    random_problem,
)


@pytest.mark.parametrize("name", problem_names())
def test_every_instance_rises_and_is_concave(name: str) -> None:
    bandit = get_problem(name)
    assert bandit.name == f"{name}-v1"
    assert bandit == get_problem(f"{name}-v1")
    assert bandit.is_non_decreasing()
    assert bool(bandit.is_concave()) == (name != "lower-bound-non-concave-a")
    assert problem_description(name) == problem_description(f"{name}-v1")
    assert "\n" not in problem_description(name)


@pytest.mark.parametrize("name", problem_names())
def test_only_one_preset_leaves_the_unit_interval(name: str) -> None:
    bandit = get_problem(name)
    assert bandit.is_concave(from_zero=True) or name == "lower-bound-non-concave-a"
    assert bandit.means(1).min() >= 0.0
    assert bandit.horizon is not None
    highest = float(bandit.means(bandit.horizon).max())
    assert highest == pytest.approx(1.0747, abs=1e-4) if name == "paper-15arms" else highest <= 1.0


def test_the_noise_is_that_of_the_papers() -> None:
    noise = {"mussi-5arms": 0.01, "lower-bound-stochastic-a": 1.0, "lower-bound-beta-a": 0.0, "paper-15arms": 0.1}
    assert {name: get_problem(name).sigma for name in noise} == noise
    assert problem_names(versions=True) == tuple(f"{name}-v1" for name in problem_names())


def test_paper_15arms() -> None:
    bandit = get_problem("paper-15arms")
    thirteen = bandit.curves[12]
    assert thirteen(6_420) <= 1 < thirteen(6_421)
    assert thirteen(200_000) == pytest.approx(1.0747, abs=5e-5)
    assert np.argsort(bandit.mean_sums())[:-3:-1].tolist() == [12, 0]
    assert bandit.curves[5](0) == pytest.approx(0.0086, abs=5e-5)
    assert bandit.means(0)[[i for i in range(15) if i != 5]].tolist() == [0.0] * 14


def test_paper_2arms() -> None:
    bandit = get_problem("paper-2arms")
    fast, slow = bandit.curves
    assert fast(9_499) > slow(9_499)
    assert fast(9_500) == pytest.approx(slow(9_500), rel=1e-14)
    assert fast(9_501) < slow(9_501)
    # Exact sums differ by +0.2963 and -0.0342.
    assert bandit.oracle_arm(17_992) == 0
    assert bandit.oracle_arm(17_993) == 1
    for n, lead in ((17_992, 0.296328), (17_993, -0.034207)):
        assert fast.prefix_sum(n) - slow.prefix_sum(n) == pytest.approx(lead, abs=1e-6)


def test_mussi_5arms() -> None:
    bandit = get_problem("mussi-5arms")
    assert bandit.means(1) == pytest.approx([1 / 38, 0.88 / 11, 0.39, 0.7 / 11, 0.5 / 21])
    assert np.argmax(bandit.means(187)) == 1
    assert np.argmax(bandit.means(189)) == 0
    assert bandit.means(188)[0] == pytest.approx(bandit.means(188)[1], rel=1e-14)


# Means at pulls 1, 100, 10,000 and T, weighted by arm and pull: every coefficient of every arm is in one of them.
FINGERPRINTS = {
    "paper-15arms": 468.393211595,
    "paper-2arms": 13.289078854,
    "random-2": 225.562627312,
    "random-3": 204.632445379,
    "random-4": 241.829098680,
    "random-5": 69.839074291,
    "random-6": 118.080562060,
    "mussi-5arms": 92.511862074,
    "lower-bound-concave-a": 9.583115000,
    "lower-bound-concave-b": 13.583115000,
    "lower-bound-beta-a": 4.657453694,
    "lower-bound-beta-b": 12.249413694,
    "lower-bound-stochastic-a": 2.592780494,
    "lower-bound-stochastic-b": 11.730340494,
    "lower-bound-increment-a": 6.801852500,
    "lower-bound-increment-b": 12.801852500,
    "lower-bound-non-concave-a": 13.000000000,
    "lower-bound-non-concave-b": 5.000000000,
}


@pytest.mark.parametrize("name", problem_names())
def test_no_coefficient_of_a_named_problem_changes(name: str) -> None:
    bandit = get_problem(name)
    assert bandit.horizon is not None
    means = bandit.means([1, 100, 10_000, bandit.horizon])
    found = np.arange(1, bandit.n_arms + 1) @ means @ np.arange(1.0, 5.0)
    assert found == pytest.approx(FINGERPRINTS[name], rel=1e-9)


def test_generator_follows_its_recipe() -> None:
    rng = np.random.default_rng(11)
    n_arms = int(rng.integers(2, 16))
    bandit = random_problem(horizon=1_000, seed=11)
    assert bandit.n_arms == n_arms
    for curve in bandit.curves:
        c, b, heads = np.clip(rng.random(), 0.01, 0.99), rng.integers(2, 1_001), rng.random() < 0.5
        if heads:
            assert curve == Exponential(float(c), int(rng.integers(2, 6)) / int(b))
        else:
            assert curve == Polynomial(float(c), int(b), max(0.4, rng.random()))


def test_generated_instances_are_reproducible() -> None:
    assert random_problem(seed=3) == random_problem(seed=3)
    assert random_problem(seed=3) != random_problem(seed=4)
    assert random_problem(7, seed=3).name == "random-7arms-seed3"
    assert random_problem(7, seed=np.random.default_rng(3)).curves == random_problem(7, seed=3).curves
    assert random_problem(7, seed=np.random.SeedSequence(3)).name == "random-7arms"
    assert random_problem(2, seed=1, noise=Gaussian(1)).sigma == 1


def test_ranges_of_the_random_parameters() -> None:
    curves = random_problem(2_000, 100, seed=5).curves
    exponential = [curve for curve in curves if isinstance(curve, Exponential)]
    polynomial = [curve for curve in curves if isinstance(curve, Polynomial)]
    assert len(exponential) + len(polynomial) == 2_000
    # A fair coin: five standard deviations of 22.4.
    assert abs(len(exponential) - 1_000) < 112
    assert all(2 / 100 <= curve.rate <= 5 / 2 for curve in exponential)
    assert {curve.scale for curve in polynomial} == set(range(2, 101))
    assert min(curve.exponent for curve in polynomial) == 0.4
    limits = [curve.limit for curve in exponential] + [curve.limit for curve in polynomial]
    assert (min(limits), max(limits)) == (0.01, 0.99)


def test_learning_curve_families() -> None:
    for curve in power_law_problem(500, 1_000, seed=1).curves:
        assert isinstance(curve, PowerLaw)
        assert 0.3 <= curve.limit <= 0.95
        assert 0.2 <= curve.exponent <= 1
        assert 0.3 * curve.limit <= curve.amplitude <= curve.limit
    for curve in exponential_problem(500, 1_000, seed=1).curves:
        assert isinstance(curve, Exponential)
        assert 50 <= 1 / curve.rate <= 250.001
        assert 0 <= curve.start <= 0.7 * curve.limit + 1e-12
