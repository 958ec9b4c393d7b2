"""What configs and earlier runs lead us to believe of arms before their first pull, if rewards are summed.

Scores of the started arms, every pair compared at equal resource, are explained by a Gaussian process over configs; its
mean and deviation without configs are those that earlier runs say. An arm's own score does not count for the belief
about it: what it has shown is for the rule of `auto` to judge.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from risingbandits._core.types import Floats, Ints
from risingbandits.policies import _config_process as process
from risingbandits.policies._knowledge import Knowledge
from risingbandits.policies.config_model import FIT, LEAST, ROWS, Space, last_point

_GROWTH = 1.25  # what is believed changes after so many times the pulls


class Beliefs:
    """Follows a run; all that it finds is a function of what was told and known."""

    def __init__(self, knowledge: Knowledge, n_arms: int) -> None:
        self._n_arms = n_arms
        self.know(knowledge)

    def know(self, knowledge: Knowledge) -> None:
        """Use this from the next time on."""
        self._knowledge = knowledge
        self._space: Space | None = None

    @staticmethod
    def are_due(told: int) -> bool:
        """Whether what is believed changes after so many pulls."""
        return last_point(told, _GROWTH) == told

    def after(self, state: Any) -> tuple[Floats, Floats] | None:
        """Mean and deviation of the score of each arm; None if nothing is believed yet."""
        space = self._space = self._space or Space.of(self._knowledge, self._n_arms)
        started = np.flatnonzero(state.counts)
        if not space.names or len(started) < LEAST:
            return (space.prior, space.deviations) if space.prior.any() else None
        told = int(state.counts.sum())
        picked = np.random.default_rng([told, len(started)]).permutation(started)[:ROWS]
        curves = [_curve(state, arm) for arm in picked.tolist()]
        return believed(space, picked, process.scores_at_equal_resource(curves))


def _curve(state: Any, arm: int) -> Floats:
    """The rewards of an arm, less the first reward of the run."""
    first, count = int(state.places[arm, 0]), int(state.counts[arm])
    curve: Floats = np.diff(state.pool[first + 1 : first + count + 1], prepend=0.0)
    return curve


def believed(space: Space, picked: Ints, scores: Floats) -> tuple[Floats, Floats]:
    """Mean and deviation of the score of each arm, from the scores of those that were ``picked``."""
    groups, points, prior = space.groups, space.points, space.prior
    few = slice(FIT)
    scales = process.most_probable(points[picked[few]], groups, prior[picked[few]], scores[few])
    share = scales.signal / (scales.signal + scales.own)
    near = _near(points, points[picked], scales.lengths[groups])
    cross = share * near * np.outer(space.deviations, space.deviations[picked])
    matrix = cross[picked]
    variances = space.deviations[picked] ** 2
    matrix[np.diag_indices(len(picked))] = variances + process.NOISE
    inverse = np.linalg.inv(matrix)
    solved = inverse @ (scores - prior[picked])
    means = prior + cross @ solved
    squares = space.deviations**2 - ((cross @ inverse) * cross).sum(axis=1)
    alone = 1.0 / np.diag(inverse)  # without the arm's own score
    means[picked] = scores - solved * alone
    squares[picked] = alone - process.NOISE
    return means, np.sqrt(np.maximum(squares, 0.0))


def _near(points: Floats, others: Floats, lengths: Floats) -> Floats:
    """The covariance between configs, 1 where they are equal."""
    left, right = points / lengths, others / lengths
    squares = (left * left).sum(axis=1)[:, None] + (right * right).sum(axis=1) - 2.0 * left @ right.T
    return process.matern(np.maximum(squares, 0.0))[0]
