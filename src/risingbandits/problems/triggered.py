"""What the best policy is, and how much it earns, where pulls of an arm make others rise.

Arms in disjoint cliques are rested arms in disguise: all arms of a clique have been triggered by the same pulls, so it
acts like one arm whose curve is the largest of theirs. What is known of rested arms is therefore known of cliques: if
these curves rise, the best policy plays one clique for ever, in each round the best arm of it (Genalti et al., 2024);
if they only fall, it is greedy. Every graph else is NP-hard (the same paper). There the best order is found by looking
at all pull counts, or not at all.

No arm can be triggered more often than its group of connected arms is pulled. So no policy gets more than the best
group would if each of its arms were triggered by every pull and kept its highest mean so far.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from risingbandits._core.types import Floats
from risingbandits.problems import _search, falling
from risingbandits.problems.curves import Tabulated

if TYPE_CHECKING:
    from risingbandits.problems.bandit import RisingBandit

ONE_CLIQUE, SEARCH = "one clique", "search"  # beside those of `falling`


def best_policy(problem: RisingBandit, horizon: int) -> str:
    """Which policy is the best for ``horizon`` rounds."""
    graph = problem.triggers
    assert graph is not None
    if graph.is_cliques:
        kind = cliques_as_arms(problem, horizon).best_policy(horizon)
        if kind != falling.UNKNOWN:
            return ONE_CLIQUE if kind == falling.ONE_ARM else kind
    return SEARCH if _search.is_small(problem.n_arms, horizon) else falling.UNKNOWN


def best_sums(problem: RisingBandit, horizon: int) -> Floats | None:
    """Sums of the means that the best policy has got after 0, 1, ... ``horizon`` rounds; None where it is unknown."""
    kind = best_policy(problem, horizon)
    if kind == falling.UNKNOWN:
        return None
    if kind == SEARCH:
        return _search.best_sums(problem.means(np.arange(1, horizon + 1)), problem.trigger_matrix)
    return cliques_as_arms(problem, horizon).oracle_prefix(np.arange(horizon + 1), horizon)


def cliques_as_arms(problem: RisingBandit, horizon: int) -> RisingBandit:
    """The rested problem with an arm for each clique, whose curve is the largest of its arms'."""
    graph = problem.triggers
    assert graph is not None
    means = problem.means(np.arange(1, horizon + 1))
    curves = [
        problem.curves[clique[0]] if len(clique) == 1 else Tabulated(means[list(clique)].max(axis=0))
        for clique in graph.components
    ]
    names = tuple(f"clique {place}" for place in range(1, len(curves) + 1))
    return replace(problem, curves=tuple(curves), arm_names=names, max_pulls=None, triggers=None)


def most_that_can_be_had(problem: RisingBandit, horizon: int) -> float:
    """What no policy exceeds."""
    graph = problem.triggers
    assert graph is not None
    highest = np.maximum.accumulate(problem.means(np.arange(1, horizon + 1)), axis=1)
    return max(float(highest[list(group)].max(axis=0).sum()) for group in graph.components)
