"""What a posterior over curve shapes says of the end: the level that each arm would reach, and which may be the best.

It is a model, not a bound: right as far as curves look like the shapes it knows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from risingbandits._core.jit import interpreted
from risingbandits._core.types import Floats
from risingbandits.policies.commit import _ensemble_members as members
from risingbandits.policies.commit import _lines

BAND = 0.9  # probability that the level at the end lies in the band
_DRAWS = 1_000
_MISFIT = 0.1  # how wrong shapes may be: a deviation of so much of the way from today's level to the end


def level_at_the_end(state: Any, weigh: Callable[..., int]) -> dict[str, Floats]:
    """Columns: ``final`` level of each arm, had it been played to the end of the horizon, with a band of 90 %, and
    ``chance``, the probability that it is the best one.

    ``weigh`` fills ``work`` with the posterior of an arm and returns the number of components. Draws come from a
    generator of their own, so that asking twice gives the same answer and the run is not touched.
    """
    state = state._replace(work=state.work.copy(), log_prior=state.log_prior.copy())
    pulls = state.arms["pulls"]
    known = np.flatnonzero(pulls > 0)
    columns = {name: np.full(pulls.size, np.nan) for name in ("final", "final low", "final high", "chance")}
    drawn = np.empty((known.size, _DRAWS))
    rng = np.random.default_rng(0)
    for place, arm in enumerate(known):
        left = max(0.0, float(state.run["horizon"][0] - pulls[arm]))
        count = weigh(state, arm, float(pulls[arm]), left, True)
        share, mean, spread = (state.work[row, :count] for row in (members.SHARE, members.MEAN, members.SPREAD))
        component = rng.choice(count, size=_DRAWS, p=share / share.sum())
        way = mean[component] - _level(state, int(arm), int(pulls[arm]))
        drawn[place] = rng.normal(mean[component], np.hypot(spread[component], _MISFIT * way))
        columns["final"][arm] = np.average(mean, weights=share)
        band = np.quantile(drawn[place], [0.5 - BAND / 2, 0.5 + BAND / 2]).clip(0.0, state.cap)
        columns["final low"][arm], columns["final high"][arm] = band
    if known.size:
        columns["chance"][known] = np.bincount(drawn.argmax(axis=0), minlength=known.size) / _DRAWS
    return columns


def _level(state: Any, arm: int, n: int) -> float:
    """The mean of the last quarter of the arm's n rewards."""
    first = n - (n + 3) // 4
    return float(interpreted(_lines.block_mean)(state.pool, state.places[arm, 0], first, n, state.kind))
