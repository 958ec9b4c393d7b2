"""What CommitUCB computes, as plain functions: commit values, and how often a line may fail.

Lemmas and theorems are numbered as on the page "What is proved" of the documentation.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from risingbandits._core.errors import RisingBanditsError, check_finite, check_flag, check_positive_int
from risingbandits.policies.commit._grid import commit_grid, commit_windows

GROWTH = 1.05


class CommitCounts(NamedTuple):
    """How many grid points and lines one arm has."""

    points: int
    """M, the grid points up to the horizon."""
    windows: int
    """Lambda, the pairs of a window and a grid point from 2 on: the number of anchored lines."""
    two_block: int
    """Lambda_2, those with a window of at least 3: the number of lines through two blocks."""


def commit_counts(horizon: int, growth: float = GROWTH) -> CommitCounts:
    """Count the grid points and the lines that an arm can have within ``horizon`` pulls.

    Examples
    --------
    >>> commit_counts(200_000)
    CommitCounts(points=219, windows=1441, two_block=1413)
    """
    grid = commit_grid(check_positive_int("horizon", horizon), check_finite("growth", growth, minimum=1))
    windows = [w for n in grid if n >= 2 for w in commit_windows(n)]
    return CommitCounts(len(grid), len(windows), sum(w >= 3 for w in windows))


def commit_confidence(n_arms: int, horizon: int, delta: float, levels: bool = False, growth: float = GROWTH) -> float:
    """The width z with which all lines of all arms lie above their curves with probability 1 - ``delta``.

    Corollary 0: sqrt(2 ln(K (Lambda + 2 Lambda_2) / delta)), a union bound over all lines that can be drawn.

    Parameters
    ----------
    n_arms, horizon : int
        K and T >= 2.
    delta : float
        In (0, 1).
    levels : bool
        Whether the pessimistic levels, which the risk rules use, must hold as well.
    growth : float
        Growth of the batches.

    Examples
    --------
    >>> round(commit_confidence(15, 200_000, 0.05), 2), round(commit_confidence(2, 200_000, 0.05), 2)
    (5.3, 4.91)
    """
    arms = check_positive_int("n_arms", n_arms)
    horizon = check_positive_int("horizon", horizon, minimum=2)
    delta = check_finite("delta", delta, above=0, below=1)
    count = commit_counts(horizon, growth)
    events = count.windows + 2 * count.two_block + (count.windows + 1 if check_flag("levels", levels) else 0)
    return math.sqrt(2.0 * math.log(arms * events / delta))


def commit_failure(n_arms: int, horizon: int, z: float, every_arm: bool = False, growth: float = GROWTH) -> float:
    """An upper bound on the probability that a line fails that a theorem needs, with widths of ``z`` standard errors.

    Parameters
    ----------
    n_arms, horizon : int
        K and T.
    z : float
        >= 0.
    every_arm : bool
        False: p(z) of Theorems 1 and 2, which need the lines of the best arm and one ceiling of every other arm.
        True: p_3(z) of Theorem 3, which needs the lines and the pessimistic levels of all arms.
    growth : float
        Growth of the batches.

    Returns
    -------
    float
        At most 1. Without noise nothing fails, and the probability is 0.

    Examples
    --------
    >>> round(200_000 * commit_failure(2, 200_000, math.sqrt(2 * math.log(200_000))))
    4924
    """
    arms = check_positive_int("n_arms", n_arms)
    z = check_finite("z", z, minimum=0)
    count = commit_counts(horizon, growth)
    if check_flag("every_arm", every_arm):
        events = arms * (2 * count.windows + 1 + 2 * count.two_block) + 2 * (arms - 1) * count.points
    else:
        events = count.windows + 2 * count.two_block + 3 * (arms - 1) * count.points
    return min(1.0, events * math.exp(-0.5 * z * z))


def commit_value(u: npt.ArrayLike, s: npt.ArrayLike, rounds: npt.ArrayLike, cap: float = 1.0) -> Any:
    """The average of min(``cap``, ``u`` + ``s`` k) over k = 1..``rounds``, exactly (Lemma 4); s >= 0, rounds >= 1.

    >>> round(commit_value(0.0, 0.25, 8), 9)  # 1/4, 2/4, 3/4, 1, 1, 1, 1, 1
    0.8125
    """
    u, s, rounds = (np.asarray(value, dtype=np.float64) for value in (u, s, rounds))
    if (s < 0.0).any() or (rounds < 1.0).any():
        raise RisingBanditsError(f"s must be at least 0 and rounds at least 1, got {s.min()} and {rounds.min()}.")
    room = np.maximum(cap - u, 0.0)
    with np.errstate(all="ignore"):
        below = np.where(s > 0.0, np.floor(np.minimum(room / s, rounds)), rounds)  # pulls until the line is at the cap
    lost = below * room - s * 0.5 * below * (below + 1.0)
    value = np.where(u >= cap, cap, np.where(room >= s * rounds, u + s * 0.5 * (rounds + 1.0), cap - lost / rounds))
    return float(value) if value.ndim == 0 else value
