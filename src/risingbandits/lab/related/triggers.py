"""Arms that make each other rise (Genalti et al., 2024): whose pulls move whom, and problems of such arms.

Rested arms, restless arms and everything between them are one matrix. Arms in disjoint cliques are rested arms in
disguise: all arms of a clique have been triggered by the same pulls, so it acts like one arm whose curve is the largest
of theirs. What is known of rested arms is therefore known of cliques: if these curves rise, the best policy plays one
clique for ever, in each round the best arm of it; if they only fall, it is greedy. Every other graph is NP-hard (the
same paper), and the best order is not known.

No arm can be triggered more often than its group of connected arms is pulled. So no policy gets more than the best
group would if each of its arms were triggered by every pull and kept its highest mean so far.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from risingbandits._core.errors import (
    RisingBanditsError,
    check_counts,
    check_finite,
    check_positive_int,
    shown,
)
from risingbandits._core.jit import bound_kernel, kernel
from risingbandits._core.types import Floats, Ints, Rng
from risingbandits.problems import (
    Curve,
    Environment,
    Gaussian,
    Noise,
    RisingBandit,
    Tabulated,
    _oracle,
    power_law_problem,
)
from risingbandits.problems.random import Seed, problem_name
from risingbandits.simulation._engine import CurveArms, curve_pull

__all__ = ["TriggerGraph", "TriggeredBandit", "graph_problem", "trigger_matrix", "with_triggers"]

ONE_CLIQUE = "one clique"  # a best policy beside those of other problems

_DEFAULT_NOISE = Gaussian(0.1)


def check_trigger_matrix(name: str, value: Any, n_arms: int | None = None) -> Ints:
    """``value`` as a square array of 0 and 1 with ones on the diagonal.

    Row j, column i is 1 where a pull of arm j makes arm i rise; the diagonal is 1 because an arm's own pulls always do.

    >>> check_trigger_matrix("triggers", [[1, 1], [0, 0]])
    Traceback (most recent call last):
        ...
    risingbandits.RisingBanditsError: triggers must have ones on the diagonal, got 0 at [1, 1].
    """
    try:
        matrix = np.asarray(value)
    except ValueError as error:  # rows of different lengths
        raise RisingBanditsError(f"{name} must be a square matrix of 0 and 1, got {shown(value)}.") from error
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.size == 0 or matrix.dtype.kind not in "biuf":
        raise RisingBanditsError(f"{name} must be a square matrix of 0 and 1, got {shown(value)}.")
    if n_arms is not None and matrix.shape[0] != n_arms:
        raise RisingBanditsError(
            f"{name} must be a {n_arms} x {n_arms} matrix, a row and a column for each arm, "
            f"got {matrix.shape[0]} x {matrix.shape[1]}."
        )
    other = (matrix != 0) & (matrix != 1)
    off = np.eye(matrix.shape[0], dtype=bool) & (matrix != 1)
    for wrong, allowed in ((other, "hold 0 and 1 only"), (off, "have ones on the diagonal")):
        if wrong.any():
            row, column = np.argwhere(wrong)[0].tolist()
            raise RisingBanditsError(f"{name} must {allowed}, got {shown(matrix[row, column])} at [{row}, {column}].")
    return np.ascontiguousarray(matrix, dtype=np.int64)


@dataclass(frozen=True, init=False, eq=False, repr=False)
class TriggerGraph:
    """A graph over the arms: a pull of an arm makes it and its neighbours rise (Genalti et al., 2024).

    The mean reward of an arm is its curve at the number of pulls that have triggered it, its own among them. Without
    edges arms are rested, with all edges restless.

    Parameters
    ----------
    matrix : array_like of 0 and 1
        Row j, column i is 1 where a pull of arm j makes arm i rise. Square, with ones on the diagonal; the paper's are
        symmetric. Copied.

    References
    ----------
    G. Genalti, M. Mussi, N. Gatti, M. Restelli, M. Castiglioni, A. M. Metelli. Graph-Triggered Rising Bandits. ICML
    2024.
    """

    matrix: Ints

    def __init__(self, matrix: npt.ArrayLike) -> None:
        checked = check_trigger_matrix("triggers", matrix).copy()
        checked.flags.writeable = False
        object.__setattr__(self, "matrix", checked)

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
        return type(self), (self.matrix,)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TriggerGraph):
            return NotImplemented
        return np.array_equal(self.matrix, other.matrix)

    def __hash__(self) -> int:
        return hash(self.matrix.tobytes())

    def __repr__(self) -> str:
        edges = int(self.matrix.sum()) - self.n_arms
        if self.is_cliques:
            what = f"{len(self.components)} clique{'' if len(self.components) == 1 else 's'}"
        else:
            symmetric = np.array_equal(self.matrix, self.matrix.T)
            what = f"{edges // 2} edges" if symmetric else f"{edges} directed edges"
        return f"TriggerGraph({self.n_arms} arm{'' if self.n_arms == 1 else 's'}, {what})"


class TriggeredCurves(NamedTuple):
    """Curves of arms that make each other rise, and how far they have risen in this run."""

    curves: Environment
    triggers: Ints  # (K, K): row j, column i is 1 where a pull of arm j makes arm i rise
    risen: Ints  # (K,) pulls that have made each arm rise


@kernel
def triggered_pull(arms: TriggeredCurves, arm: int, n: int, t: int, rng: Any) -> tuple[float, float]:
    """Mean and reward of a pull of ``arm`` where pulls make other arms rise, too: what moves an arm is counted.

    With the identity the count is n and with all ones it is t, which rested and restless arms have without counting.
    """
    for other in range(arms.risen.shape[0]):
        arms.risen[other] += arms.triggers[arm, other]
    at = arms.risen[arm]
    return curve_pull(arms.curves, arm, at, at, rng)


@cache
def _counted(pull: Callable[..., Any]) -> Callable[..., Any]:
    """`triggered_pull` with this ``pull`` of a curve."""
    return bound_kernel(triggered_pull, curve_pull=pull)


class TriggeredArms(CurveArms):
    """The arms of a problem, with the pulls that trigger each of them counted."""

    def __init__(self, problem: RisingBandit, horizon: int) -> None:
        super().__init__(problem, horizon)
        risen = np.zeros(problem.n_arms, dtype=np.int64)
        self.state = TriggeredCurves(self.state, trigger_matrix(problem), risen)
        self.pull = _counted(self.pull)

    def restart(self, seed: np.random.SeedSequence) -> Rng:
        self.state.risen[:] = 0
        return super().restart(seed)


@dataclass(frozen=True, repr=False)
class TriggeredBandit(RisingBandit):
    """Arms that rise by their own pulls and by those of some others.

    The parameters are those of `RisingBandit`, and ``triggers``: a `TriggerGraph`, or its matrix. `with_triggers` makes
    one of any problem.
    """

    triggers: TriggerGraph

    simulated_arms: ClassVar[type[Any] | None] = TriggeredArms

    def __init__(
        self,
        curves: Iterable[Curve],
        noise: Noise = _DEFAULT_NOISE,
        horizon: int | None = None,
        name: str | None = None,
        restless: bool = False,
        arm_names: Iterable[str] | None = None,
        max_pulls: int | Iterable[int] | None = None,
        triggers: TriggerGraph | npt.ArrayLike = (),
    ) -> None:
        super().__init__(curves, noise, horizon, name, restless, arm_names, max_pulls)
        graph = triggers if isinstance(triggers, TriggerGraph) else TriggerGraph(triggers)
        check_trigger_matrix("triggers", graph.matrix, self.n_arms)
        if restless:
            raise RisingBanditsError(f"restless must be False where triggers say what moves an arm, got {restless}.")
        object.__setattr__(self, "triggers", graph)

    @property
    def rested(self) -> bool:
        """False: other arms' pulls move an arm, too."""
        return False

    @property
    def moves_with(self) -> str:
        """What moves an arm on along its curve."""
        return "pulls that trigger the arm"

    def best_policy(self, horizon: int | None = None) -> str:
        """What regret is measured against: "one clique", played greedily, or "greedy", where all arms are in cliques.

        Otherwise it is "unknown", as it is NP-hard to find: regret is against the best single arm, and more may be
        possible.
        """
        last = self._horizon(horizon)
        if self.triggers.is_cliques:
            kind = self.cliques_as_arms(last).best_policy(last)
            if kind != _oracle.UNKNOWN:
                return ONE_CLIQUE if kind == _oracle.ONE_ARM else kind
        return _oracle.UNKNOWN

    def why_unknown(self, horizon: int | None = None) -> str | None:
        """Why the best policy is not known, and what regret is against instead; None where it is known."""
        last = self._horizon(horizon)
        if self.best_policy(last) != _oracle.UNKNOWN:
            return None
        why = "arms trigger each other, and the best policy is not known (in general it is NP-hard to find)"
        return _oracle.against_one_arm(why, self.oracle_value(last), self.most_that_can_be_had(last), "may be")

    def _best_sums(self, horizon: int) -> Floats | None:
        if self.best_policy(horizon) == _oracle.UNKNOWN:
            return None
        return self.cliques_as_arms(horizon).oracle_prefix(np.arange(horizon + 1), horizon)

    def _only(self, arm: int) -> RisingBandit:
        return RisingBandit(self.curves[arm : arm + 1], self.noise, self.horizon)  # nothing triggers it but itself

    def cliques_as_arms(self, horizon: int) -> RisingBandit:
        """The rested problem with an arm for each clique, whose curve is the largest of its arms'."""
        means = self.means(np.arange(1, horizon + 1))
        curves = [
            self.curves[clique[0]] if len(clique) == 1 else Tabulated(means[list(clique)].max(axis=0))
            for clique in self.triggers.components
        ]
        names = (f"clique {place}" for place in range(1, len(curves) + 1))
        return RisingBandit(curves, self.noise, self.horizon, self.name, arm_names=names)

    def most_that_can_be_had(self, horizon: int) -> float:
        """What no policy exceeds."""
        highest = np.maximum.accumulate(self.means(np.arange(1, horizon + 1)), axis=1)
        return max(float(highest[list(group)].max(axis=0).sum()) for group in self.triggers.components)

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, triggers={self.triggers!r})"


def with_triggers(problem: RisingBandit, triggers: TriggerGraph | npt.ArrayLike) -> RisingBandit:
    """The same curves where ``triggers`` says whose pulls make whom rise; arms without edges stay rested.

    With all edges they are restless.
    """
    given = (problem.curves, problem.noise, problem.horizon, problem.name)
    names, limits = problem.arm_names, problem.max_pulls
    made = TriggeredBandit(*given, False, names, limits, triggers)
    if made.triggers.is_rested or made.triggers.is_restless:
        return RisingBandit(*given, made.triggers.is_restless, names, limits)
    return made


def trigger_matrix(problem: RisingBandit) -> Ints:
    """Whose pulls make whom rise, (K, K): the identity for rested arms, ones for restless ones, or the graph's."""
    if isinstance(problem, TriggeredBandit):
        return problem.triggers.matrix
    return np.ones((problem.n_arms,) * 2, np.int64) if problem.restless else np.eye(problem.n_arms, dtype=np.int64)


def graph_problem(
    n_arms: int,
    horizon: int = 50_000,
    seed: Seed = 0,
    noise: Noise = _DEFAULT_NOISE,
    edges: float = 0.3,
    cliques: int | None = None,
) -> RisingBandit:
    """The learning curves of `power_law_problem` on arms that make each other rise, by a random `TriggerGraph`.

    Parameters
    ----------
    n_arms, horizon, seed, noise
        As in `power_law_problem`, which has the same curves.
    edges : float
        The chance that a pair of arms has an edge, in [0, 1]; without edges arms are rested, with all of them restless.
    cliques : int, optional
        Make this many disjoint cliques instead, none of them empty: their best policy is known. Every further arm is in
        any of them with the same chance.
    """
    n_arms = check_positive_int("n_arms", n_arms)
    chance = check_finite("edges", edges, minimum=0, maximum=1)
    rng = np.random.default_rng(seed)
    problem = power_law_problem(n_arms, horizon, rng, noise)
    if cliques is None:
        above = np.triu(rng.random((n_arms, n_arms)) < chance, 1)
        graph = TriggerGraph(above | above.T | np.eye(n_arms, dtype=bool))
    else:
        groups = check_positive_int("cliques", cliques)
        if groups > n_arms:
            raise RisingBanditsError(f"cliques must be at most the number of arms, {n_arms}, got {groups}.")
        group_of = np.append(np.arange(groups), rng.integers(0, groups, n_arms - groups))[rng.permutation(n_arms)]
        graph = TriggerGraph(group_of[:, None] == group_of)
    return with_triggers(replace(problem, name=problem_name("graph", n_arms, seed)), graph)
