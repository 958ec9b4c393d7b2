"""Whose pulls make whom rise: rested arms, restless arms and everything between them are one matrix."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from risingbandits._core.errors import RisingBanditsError, check_counts, check_flag, shown
from risingbandits._core.trigger_matrix import check_trigger_matrix
from risingbandits._core.types import Ints


@dataclass(frozen=True, init=False, eq=False, repr=False)
class TriggerGraph:
    """A graph over the arms: a pull of an arm makes it and its neighbours rise (Genalti et al., 2024).

    The mean reward of an arm is its curve at the number of pulls that have triggered it, its own among them. Without
    edges arms are rested, with all edges restless.

    Parameters
    ----------
    matrix : array_like of 0 and 1
        Row j, column i is 1 where a pull of arm j makes arm i rise. Square, with ones on the diagonal; symmetric,
        as in the paper, unless it is ``directed``. Copied.
    directed : bool
        Whether the matrix need not be symmetric.

    References
    ----------
    G. Genalti, M. Mussi, N. Gatti, M. Restelli, M. Castiglioni, A. M. Metelli. Graph-Triggered Rising Bandits. ICML
    2024.

    Examples
    --------
    >>> graph = TriggerGraph([[1, 1, 0], [1, 1, 0], [0, 0, 1]])
    >>> graph, graph.components
    (TriggerGraph(3 arms, 2 cliques), ((0, 1), (2,)))
    >>> graph.counts([5, 2, 1])
    array([7, 7, 1])
    """

    matrix: Ints
    directed: bool

    def __init__(self, matrix: npt.ArrayLike, directed: bool = False) -> None:
        directed = check_flag("directed", directed)
        checked = check_trigger_matrix("triggers", matrix, directed=directed).copy()
        checked.flags.writeable = False
        object.__setattr__(self, "matrix", checked)
        object.__setattr__(self, "directed", directed)

    @classmethod
    def of_cliques(cls, cliques: Iterable[Sequence[int]]) -> TriggerGraph:
        """Disjoint groups of arms that make each other rise: together they have every arm number from 0 on once.

        Examples
        --------
        >>> TriggerGraph.of_cliques([[0, 2], [1]]).matrix
        array([[1, 0, 1],
               [0, 1, 0],
               [1, 0, 1]])
        """
        groups = [check_counts("cliques", group).ravel() for group in cliques]
        arms = np.concatenate(groups) if groups else np.zeros(0, dtype=np.int64)
        if arms.size == 0 or sorted(arms.tolist()) != list(range(arms.size)):
            raise RisingBanditsError(
                f"cliques must have every arm from 0 on once, got {shown([group.tolist() for group in groups])}."
            )
        matrix = np.zeros((arms.size, arms.size), dtype=np.int64)
        for group in groups:
            matrix[np.ix_(group, group)] = 1
        return cls(matrix)

    @property
    def n_arms(self) -> int:
        """Number of arms K."""
        return int(self.matrix.shape[0])

    @property
    def is_rested(self) -> bool:
        """Whether every arm rises by its own pulls alone."""
        return int(self.matrix.sum()) == self.n_arms

    @property
    def is_restless(self) -> bool:
        """Whether every pull makes all arms rise; a single arm counts as rested."""
        return self.n_arms > 1 and bool(self.matrix.all())

    @cached_property
    def components(self) -> tuple[tuple[int, ...], ...]:
        """The arms in groups between which there is no edge, the lowest numbers first."""
        either = (self.matrix + self.matrix.T) > 0
        left, found = set(range(self.n_arms)), []
        while left:
            group, waiting = set(), [min(left)]
            while waiting:
                arm = waiting.pop()
                if arm not in group:
                    group.add(arm)
                    waiting.extend(np.flatnonzero(either[arm]).tolist())
            left -= group
            found.append(tuple(sorted(group)))
        return tuple(found)

    @property
    def is_cliques(self) -> bool:
        """Whether in every group of `components` each arm makes all others rise."""
        return sum(len(group) ** 2 for group in self.components) == int(self.matrix.sum())

    def counts(self, pulls: npt.ArrayLike) -> Ints:
        """How many pulls have made each arm rise, from the pulls of each arm in the last dimension."""
        own = check_counts("pulls", pulls)
        if own.ndim == 0 or own.shape[-1] != self.n_arms:
            raise RisingBanditsError(
                f"the last dimension of pulls must be the number of arms, {self.n_arms}, got shape {own.shape}."
            )
        return np.asarray(own @ self.matrix)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.matrix, self.directed)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TriggerGraph):
            return NotImplemented
        return self.directed == other.directed and np.array_equal(self.matrix, other.matrix)

    def __hash__(self) -> int:
        return hash((self.matrix.tobytes(), self.directed))

    def __repr__(self) -> str:
        edges = int(self.matrix.sum()) - self.n_arms
        if self.is_cliques:
            what = f"{len(self.components)} clique{'' if len(self.components) == 1 else 's'}"
        else:
            what = f"{edges} directed edges" if self.directed else f"{edges // 2} edges"
        return f"TriggerGraph({self.n_arms} arm{'' if self.n_arms == 1 else 's'}, {what})"


def check_triggers(triggers: Any, n_arms: int) -> TriggerGraph:
    """``triggers`` as a graph over this many arms."""
    graph = triggers if isinstance(triggers, TriggerGraph) else TriggerGraph(triggers)
    check_trigger_matrix("triggers", graph.matrix, n_arms)
    return graph
