"""Random problems, reproducible from a seed."""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np

from risingbandits._core.errors import check_positive_int
from risingbandits.problems._curve import Curve
from risingbandits.problems.bandit import RisingBandit
from risingbandits.problems.curves import Exponential, Polynomial, PowerLaw
from risingbandits.problems.noise import Gaussian, Noise

Seed: TypeAlias = int | np.random.SeedSequence | np.random.Generator

_DEFAULT_NOISE = Gaussian(0.1)


def random_problem(
    n_arms: int | None = None, horizon: int = 50_000, seed: Seed = 0, noise: Noise = _DEFAULT_NOISE
) -> RisingBandit:
    """Exponential and polynomial curves with random parameters, as in the problems random-2 to random-6.

    Draws, in this order: K uniform in 2..15 unless given; then for each arm c = U(0, 1) clipped to [0.01, 0.99], b
    uniform in 2..T, and a fair coin: heads (U(0, 1) < 1/2) ``Exponential(c, a/b)`` with a uniform in 2..5, tails
    ``Polynomial(c, b, rho)`` with rho = max(0.4, U(0, 1)).

    Parameters
    ----------
    n_arms : int, optional
        Number of arms K.
    horizon : int
        Rounds T, at least 2; curves are slower for larger T.
    seed : int, SeedSequence or Generator
        Source of the draws.
    noise : Noise
        Noise of the rewards.

    Examples
    --------
    >>> random_problem(3, seed=1).curves[0]
    Exponential(limit=0.5118216247002567, rate=0.00013241876109007123, start=0.0)
    """
    horizon = check_positive_int("horizon", horizon, 2)
    rng = np.random.default_rng(seed)
    n_arms = int(rng.integers(2, 16)) if n_arms is None else check_positive_int("n_arms", n_arms)
    curves: list[Curve] = []
    for _ in range(n_arms):
        limit = min(max(rng.random(), 0.01), 0.99)
        scale = int(rng.integers(2, horizon + 1))
        if rng.random() < 0.5:
            curves.append(Exponential(limit, int(rng.integers(2, 6)) / scale))
        else:
            curves.append(Polynomial(limit, scale, max(0.4, rng.random())))
    return RisingBandit(curves, noise, horizon, problem_name("random", n_arms, seed))


def power_law_problem(
    n_arms: int, horizon: int = 50_000, seed: Seed = 0, noise: Noise = _DEFAULT_NOISE
) -> RisingBandit:
    """Learning curves c - a n^(-b) with, drawn in this order, c in [0.3, 0.95], b in [0.2, 1] and a in c [0.3, 1].

    Examples
    --------
    >>> power_law_problem(4, 2_000, seed=1).is_concave()
    ShapeCheck(concave: holds)
    """
    n_arms = check_positive_int("n_arms", n_arms)
    rng = np.random.default_rng(seed)
    curves = []
    for _ in range(n_arms):
        limit = rng.uniform(0.3, 0.95)
        exponent = rng.uniform(0.2, 1.0)
        curves.append(PowerLaw(limit, limit * rng.uniform(0.3, 1.0), exponent))
    return RisingBandit(curves, noise, horizon, problem_name("power-law", n_arms, seed))


def exponential_problem(
    n_arms: int, horizon: int = 50_000, seed: Seed = 0, noise: Noise = _DEFAULT_NOISE
) -> RisingBandit:
    """Learning curves c - (c - s) e^(-n/tau) with random parameters.

    Drawn in this order: c in [0.3, 0.95], c - s in c [0.3, 1] (the same rise as in `power_law_problem`), and tau
    log-uniform in [50, T/4]. T is at least 200.

    Examples
    --------
    >>> exponential_problem(4, 2_000, seed=1).is_non_decreasing()
    ShapeCheck(non-decreasing: holds)
    """
    n_arms = check_positive_int("n_arms", n_arms)
    horizon = check_positive_int("horizon", horizon, 200)
    rng = np.random.default_rng(seed)
    curves = []
    for _ in range(n_arms):
        limit = rng.uniform(0.3, 0.95)
        rise = limit * rng.uniform(0.3, 1.0)
        tau = math.exp(rng.uniform(math.log(50), math.log(horizon / 4)))
        curves.append(Exponential(limit, 1 / tau, start=limit - rise))
    return RisingBandit(curves, noise, horizon, problem_name("exponential", n_arms, seed))


def problem_name(kind: str, n_arms: int, seed: Seed) -> str:
    """What a random problem is called."""
    return f"{kind}-{n_arms}arms" + (f"-seed{seed}" if isinstance(seed, (int, np.integer)) else "")
