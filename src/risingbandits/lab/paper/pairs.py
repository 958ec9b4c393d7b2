"""Pairs of two-armed problems that look alike for a while and have different best arms: why regret is unavoidable.

Arm 1 is constant in both problems of a pair and arm 2 gives the same rewards until its pull number ``alike``. They
are the problems of the paper's lower bounds; `risingbandits.theory` has the bounds.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from risingbandits._core.errors import RisingBanditsError, check_choice, check_finite, check_positive_int
from risingbandits.problems import ConstantCurve, Gaussian, LinearCapped, Noise, NoNoise, RisingBandit, Tabulated
from risingbandits.theory.lower_bounds import ProblemPair

PAIRS = ("concave", "beta", "stochastic", "increment", "non-concave")

_HORIZON = 50_000
_BETA = {"beta": 0.8, "stochastic": 0.5}


def problem_pair(
    kind: str,
    horizon: int = _HORIZON,
    *,
    beta: float | None = None,
    cap: float = 0.25,
    gmax: float = 1.0,
    noise: Noise | None = None,
) -> ProblemPair:
    """The pair behind one of the paper's lower bounds.

    Parameters
    ----------
    kind : {"concave", "beta", "stochastic", "increment", "non-concave"}
        Which theorem.
    horizon : int
        T >= 4.
    beta : float, optional
        For "beta" and "stochastic": alike for floor(T^beta) pulls, at most T/2; by default 0.8 and 0.5.
    cap : float
        For "increment": the cap b of side A, in (0, 1/2]; the paper's text leads to 1/2, the pair of "concave".
    gmax : float
        For "non-concave": the largest increment, in (0, 1].
    noise : Noise, optional
        By default none, and unit variance for "stochastic".

    Examples
    --------
    >>> pair = problem_pair("concave", 1_000)
    >>> pair.alike, pair.a.oracle_arm(), pair.b.oracle_arm()
    (500, 0, 1)
    >>> pair.a.means(500) == pair.b.means(500)
    array([ True,  True])
    """
    check_choice("kind", kind, PAIRS)
    last = check_positive_int("horizon", horizon, minimum=4)
    if noise is None:
        noise = Gaussian(1.0) if kind == "stochastic" else NoNoise()
    if kind == "non-concave":
        return _step_pair(last, check_finite("gmax", gmax, above=0, maximum=1), noise)
    level = 0.0  # of the capped line, where it lies between two pulls
    if kind in _BETA:
        parameter = check_finite("beta", _BETA[kind] if beta is None else beta, minimum=0, below=1)
        alike = math.floor(last**parameter + 1e-9)
    else:
        level = parameter = 0.5 if kind == "concave" else check_finite("cap", cap, above=0, maximum=0.5)
        alike = math.floor(parameter * last + 1e-9)
    if not 1 <= alike <= last / 2:
        raise RisingBanditsError(f"the sides of a pair must be alike for 1 to T/2 = {last / 2:g} pulls, got {alike}.")
    slope = 1.0 / last
    line = LinearCapped(slope, 1.0)
    capped = LinearCapped(slope, max(slope * alike, level))
    middle = ConstantCurve(0.5 * (line.prefix_sum(last) + capped.prefix_sum(last)) / last)
    return ProblemPair(
        kind,
        RisingBandit([middle, capped], noise, last, f"lower-bound-{kind}-a"),
        RisingBandit([middle, line], noise, last, f"lower-bound-{kind}-b"),
        alike,
        parameter,
    )


def _step_pair(horizon: int, gmax: float, noise: Noise) -> ProblemPair:
    alike = horizon // 3
    half = ConstantCurve(gmax / 2)
    step = Tabulated(np.append(np.zeros(alike), gmax))
    return ProblemPair(
        "non-concave",
        RisingBandit([half, step], noise, horizon, "lower-bound-non-concave-a"),
        RisingBandit([half, ConstantCurve(0.0)], noise, horizon, "lower-bound-non-concave-b"),
        alike,
        gmax,
    )


def side_of_pair(name: str) -> RisingBandit:
    """The named problem "lower-bound-KIND-SIDE-v1"; its parameters are written out, being versioned."""
    kind, _, side = name.removeprefix("lower-bound-").removesuffix("-v1").rpartition("-")
    pair = problem_pair(kind, 50_000, beta=_BETA.get(kind), cap=0.25, gmax=1.0)
    return replace(pair.a if side == "a" else pair.b, name=name)
