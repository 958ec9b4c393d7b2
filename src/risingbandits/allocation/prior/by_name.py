"""What earlier tasks say about arms with the same names.

The score of an arm in a task is taken as theta + e: theta belongs to the arm and is the same in all tasks, with
variance a, and e, with variance 1 - a, is what the task does to it. So a is how well tasks agree: with 0, one task says
nothing about another; with 1, everything.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from risingbandits.allocation.prior.beliefs import Belief

Scores = Mapping[str, float]  # normal scores of the arms of one task

AGREEMENT = 0.5  #: of unknown tasks: a mean is then shrunk by one pseudo task
_WEIGHT = 3.0  # of that, in tasks
_MOST = 0.9  # tasks that seem to agree fully are few


def common_share(tasks: Sequence[Scores]) -> float:
    """The share a of the variance of scores that belongs to arms, between 0 and 0.9; 0.5 for one task.

    Estimated from the products of the scores of an arm in two tasks, relative to their squares.

    >>> common_share([{"a": 1.0, "b": -1.0}]), common_share([{"a": 1.0, "b": -1.0}, {"a": -1.0, "b": 1.0}])
    (0.5, 0.125)
    """
    products = squares = 0.0
    linked = set()
    for i, j in combinations(range(len(tasks)), 2):
        for arm in tasks[i].keys() & tasks[j].keys():
            one, other = tasks[i][arm], tasks[j][arm]
            products += one * other
            squares += (one * one + other * other) / 2.0
            linked |= {i, j}
    if squares <= 0.0:
        return AGREEMENT
    weight = len(linked) - 1
    return float(np.clip((_WEIGHT * AGREEMENT + weight * products / squares) / (_WEIGHT + weight), 0.0, _MOST))


def beliefs_by_name(tasks: Sequence[Scores], share: float) -> dict[str, Belief]:
    """Mean and deviation of the score of each arm in a further task.

    >>> beliefs_by_name([{"a": 1.0}, {"a": 0.5, "b": -1.0}], 0.5)["a"]
    Belief(mean=0.5, deviation=0.816..., source='2 tasks')
    """
    found: dict[str, list[float]] = {}
    for task in tasks:
        for arm, score in task.items():
            found.setdefault(arm, []).append(score)
    beliefs = {}
    for arm, scores in found.items():
        n = len(scores)
        shrunk = share / (n * share + 1.0 - share)
        deviation = math.sqrt((1.0 - share) * (1.0 + shrunk))
        beliefs[arm] = Belief(math.fsum(scores) * shrunk, deviation, "1 task" if n == 1 else f"{n} tasks")
    return beliefs
