"""Curves that break the assumptions on purpose: what a policy does when arms do not rise, or are not concave.

`misspecified` bends the curves of a problem; `plateau_instance` draws arms that rise, rest and may rise again. Both
give tabulated curves up to the horizon; later pulls have the last value.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from risingbandits._core.errors import check_choice, check_positive_int
from risingbandits._core.types import Floats
from risingbandits.problems import Gaussian, Noise, RisingBandit, Tabulated
from risingbandits.problems.random import Seed

__all__ = ["SHAPES", "misspecified", "plateau_instance"]

_DEFAULT_NOISE = Gaussian(0.1)
_WIGGLE = 0.03
_SLOW_START = 200.0
_PERIOD = 500.0
_DECREASE = 0.1

# Each takes the means of all arms (K, T) and the pulls 1..T as floats.
_Bend = Callable[[Floats, Floats], Floats]

_BENDS: dict[str, _Bend] = {
    "slow-start": lambda mu, n: mu / (1.0 + (_SLOW_START / n) ** 2),
    "log-wiggle": lambda mu, n: mu + _WIGGLE * np.sin(6.0 * np.log(n)),
    "wave": lambda mu, n: mu + _WIGGLE * np.sin(2.0 * math.pi * n / _PERIOD),
    "decrease": lambda mu, n: mu - _DECREASE * n / n[-1],
}

SHAPES: tuple[str, ...] = tuple(_BENDS)
"""The names that `misspecified` knows."""


def misspecified(problem: RisingBandit, shape: str, horizon: int | None = None) -> RisingBandit:
    """The same arms with all curves mu(n), n = 1..T, bent in one way.

    Parameters
    ----------
    problem : RisingBandit
        The arms; their noise, names and order stay.
    shape : str
        ``"slow-start"``: mu(n)/(1 + (200/n)^2), convex at first. ``"log-wiggle"``: mu(n) + 0.03 sin(6 ln n), waves
        that get longer. ``"wave"``: mu(n) + 0.03 sin(2 pi n/500). ``"decrease"``: mu(n) - 0.1 n/T.
    horizon : int, optional
        T; the problem's own by default.

    Examples
    --------
    >>> from risingbandits.problems import get_problem
    >>> bent = misspecified(get_problem("paper-2arms"), "decrease", horizon=1_000)
    >>> bent.is_non_decreasing()
    ShapeCheck(non-decreasing: violated at pull 914 of 'arm 1' by 4.05e-08)
    """
    bend = _BENDS[check_choice("shape", shape, SHAPES)]
    horizon = problem._horizon(horizon)
    pulls = np.arange(1, horizon + 1)
    bent = bend(np.array([curve(pulls) for curve in problem.curves]), pulls.astype(np.float64))
    name = None if problem.name is None else f"{problem.name}-{shape}"
    return replace(problem, curves=tuple(Tabulated(row) for row in bent), horizon=horizon, name=name)


def plateau_instance(
    n_arms: int = 8, horizon: int = 50_000, seed: Seed = 0, noise: Noise = _DEFAULT_NOISE
) -> RisingBandit:
    """Arms c1 (1 - e^(-n/t1)) that reach a plateau; every second one, on average, rises again by c2 after pull n2.

    The second rise is c2 (1 - e^(-(n - n2)/t2)) for n > n2. Drawn in this order for each arm: c1 in [0.1, 0.5]; t1
    log-uniform in [T/1000, T/50]; a fair coin for the second rise; n2 in [T/50, T/10]; c2 in [0.1, 0.45]; t2
    log-uniform in [T/1000, T/20]. T is at least 100.

    Examples
    --------
    >>> bandit = plateau_instance(4, 2_000, seed=1)
    >>> bool(bandit.is_non_decreasing()), bool(bandit.is_concave())
    (True, False)
    """
    n_arms = check_positive_int("n_arms", n_arms)
    horizon = check_positive_int("horizon", horizon, 100)
    rng = np.random.default_rng(seed)
    pulls = np.arange(1, horizon + 1, dtype=np.float64)
    curves = []
    for _ in range(n_arms):
        first = rng.uniform(0.1, 0.5)
        values = -first * np.expm1(-pulls / _log_uniform(rng, horizon / 1_000, horizon / 50))
        again = rng.random() < 0.5
        begin = rng.uniform(horizon / 50, horizon / 10)
        second = rng.uniform(0.1, 0.45)
        tau = _log_uniform(rng, horizon / 1_000, horizon / 20)
        if again:
            values -= second * np.expm1(-np.maximum(pulls - begin, 0.0) / tau)
        curves.append(Tabulated(values))
    return RisingBandit(curves, noise, horizon, f"plateau-{n_arms}arms")


def _log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    return math.exp(rng.uniform(math.log(low), math.log(high)))
