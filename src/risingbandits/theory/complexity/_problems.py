"""What makes a rising bandit hard: cumulative increment, total variation, average rewards, gaps, the oracle."""

from __future__ import annotations

from typing import Any, overload

import numpy as np
import numpy.typing as npt

from risingbandits._core.errors import RisingBanditsError, check_counts, check_finite, check_positive_int
from risingbandits._core.types import Floats
from risingbandits.problems import FunctionCurve, RisingBandit
from risingbandits.theory._envelope import envelope, log_increments


@overload
def cumulative_increment(problem: RisingBandit, pulls: int, q: float) -> float: ...
@overload
def cumulative_increment(problem: RisingBandit, pulls: int, q: npt.ArrayLike) -> Any: ...
def cumulative_increment(problem: RisingBandit, pulls: int, q: npt.ArrayLike) -> Any:
    """Cumulative increment U(M, q), the sum over l = 1..M - 1 of max_i gamma_i(l)^q (the paper's Section 2).

    Closed-form arms cost milliseconds for any M; tables are summed one value after another. The curves are taken as
    given, before any clipping by the noise. At q = 0 every increment counts 1, even 0 (0^0 = 1, as in NumPy), so U(M,
    0) = M - 1.

    Parameters
    ----------
    problem : RisingBandit
        Its curves must not fall.
    pulls : int
        M >= 1.
    q : float or array of float
        In [0, 1].

    Returns
    -------
    float or array
        In the shape of ``q``; the relative error is about 1e-12.

    Examples
    --------
    >>> from risingbandits import get_problem
    >>> problem = get_problem("paper-15arms")
    >>> cumulative_increment(problem, 13_334, 0.0)
    13333.0
    >>> round(cumulative_increment(problem, 10_000_000, 0.5), 6)
    385.29615
    """
    powers = np.asarray(q, dtype=np.float64)
    for power in powers.ravel():
        check_finite("q", float(power), minimum=0, maximum=1)
    sums = envelope(problem, check_positive_int("pulls", pulls)).power_sum
    values = np.array([sums(float(power)) for power in powers.ravel()]).reshape(powers.shape)
    return float(values) if powers.ndim == 0 else values


def total_variation(problem: RisingBandit, horizon: int | None = None) -> float:
    """Total variation V_T = U(T, 1) (the paper's Section 2).

    Examples
    --------
    >>> from risingbandits import get_problem
    >>> round(total_variation(get_problem("paper-2arms")), 9)
    1.24716179
    """
    return cumulative_increment(problem, horizon_of(problem, horizon), 1.0)


def average_rewards(problem: RisingBandit, horizon: int | None = None) -> Floats:
    """Average expected reward of each arm over its first T pulls (the paper's Section 3.1).

    Examples
    --------
    >>> from risingbandits import get_problem
    >>> average_rewards(get_problem("paper-2arms")).round(6)
    array([0.394007, 0.937502])
    """
    last = horizon_of(problem, horizon)
    return np.asarray(problem.mean_sums(last) / last)


def gaps(problem: RisingBandit, horizon: int | None = None) -> Floats:
    """How far each arm's average reward lies below the best arm's (the paper's Section 3.1); 0 for the best arm.

    Arms that fall are refused: the best policy does then not pull one arm, and a gap says nothing.

    Examples
    --------
    >>> from risingbandits import get_problem
    >>> gaps(get_problem("paper-2arms")).round(6)
    array([0.543495, 0.      ])
    """
    last = horizon_of(problem, horizon)
    refuse_falling(problem, last)
    averages = average_rewards(problem, last)
    return np.asarray(averages.max() - averages)


def oracle(problem: RisingBandit, horizon: int | None = None) -> tuple[int, float]:
    """The arm that the best constant policy pulls, and its sum, J* (Heidari et al. 2016, the paper's Theorem 1).

    Arms that fall are refused: their best policy is not constant.

    Examples
    --------
    >>> from risingbandits import get_problem
    >>> arm, value = oracle(get_problem("paper-2arms"))
    >>> arm, round(value, 3)
    (1, 187500.5)
    """
    last = horizon_of(problem, horizon)
    refuse_falling(problem, last)
    return problem.oracle_arm(last), problem.oracle_value(last)


def regret_from_pulls(problem: RisingBandit, pulls: npt.ArrayLike, horizon: int | None = None) -> Any:
    """Least regret that pull counts can have: sum over arms of gap_i N_i (the paper's regret decomposition lemma).

    The lemma needs arms that never fall, not concavity. Its proof ends in "=", which must read ">=".

    Parameters
    ----------
    problem : RisingBandit
        Its curves must not fall.
    pulls : array of int
        Pulls of each arm in the last dimension, such as ``result.pulls[label]``; every row sums to the horizon.
    horizon : int, optional
        T; the problem's own by default.

    Examples
    --------
    >>> from risingbandits import get_problem
    >>> round(regret_from_pulls(get_problem("paper-2arms"), [100_000, 100_000]), 1)
    54349.5
    """
    last = horizon_of(problem, horizon)
    counts = check_counts("pulls", pulls)
    if counts.ndim == 0 or counts.shape[-1] != problem.n_arms or (counts.sum(axis=-1) != last).any():
        raise RisingBanditsError(
            f"pulls must have {problem.n_arms} counts in the last dimension that sum to the horizon, {last}, "
            f"got shape {counts.shape} with sums from {counts.sum(axis=-1).min()} to {counts.sum(axis=-1).max()}."
        )
    bound = counts @ gaps(problem, last)
    return float(bound) if np.ndim(bound) == 0 else bound


def decay_exponent(problem: RisingBandit, pulls: int) -> float:
    """The c of l^(-c) that the largest increment follows around pull ``pulls``: minus its slope between M/2 and M
    in logarithms; inf if nothing rises any more.

    Examples
    --------
    >>> from risingbandits import RisingBandit
    >>> from risingbandits.problems import PowerLaw
    >>> round(decay_exponent(RisingBandit([PowerLaw(1.0, 0.5, 0.5)]), 100_000), 4)
    1.5
    """
    last = check_positive_int("pulls", pulls, minimum=2)
    known = [curve.horizon for curve in problem.curves if isinstance(curve, FunctionCurve)]
    if known and last >= min(known):  # the increment after the last value is not known
        raise RisingBanditsError(f"pulls must be below {min(known)}, where a curve of the problem ends, got {pulls}.")
    ends = np.array([last // 2, last], dtype=np.float64)
    half, whole = np.max([log_increments(curve, ends) for curve in problem.curves], axis=0)
    return float("inf") if whole == -np.inf else float((half - whole) / np.log(ends[1] / ends[0]))


def horizon_of(problem: RisingBandit, horizon: int | None) -> int:
    """The horizon, or the problem's own."""
    if not isinstance(problem, RisingBandit):
        raise RisingBanditsError(f"problem must be a RisingBandit, got {problem!r}.")
    if horizon is None and problem.horizon is None:
        raise RisingBanditsError("horizon must be given, because the problem has none of its own.")
    return check_positive_int("horizon", problem.horizon if horizon is None else horizon)


def refuse_falling(problem: RisingBandit, horizon: int) -> None:
    """Raise an error if an arm falls within ``horizon`` pulls: the best policy is then not one arm.

    Restless arms may fall: their best policy takes the best arm of each round. Of arms that trigger each other nothing
    that follows from their own pulls is true.
    """
    if not (problem.rested or problem.restless):
        raise RisingBanditsError(f"problem must have arms that do not make others rise, got {problem!r}.")
    shape = problem.is_non_decreasing(max(horizon, 2))
    if not problem.restless and not shape:
        raise RisingBanditsError(
            f"problem must have arms that never fall, but arm {shape.arm_name!r} falls after pull "
            f"{shape.first_violation} by {shape.amount:.3g}."
        )
