"""Learners as arms of a live rested bandit: a pull lets a learner predict the label of its next row, then train on it.

Every arm goes through the rows in an order of its own, new in each run, and goes on only when it is pulled. `LiveArms`
puts them in the place of curves and noise in the engine's loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from risingbandits._core.errors import RisingBanditsError, check_positive_int
from risingbandits._core.jit import compiled, kernel, rare_kernel
from risingbandits.lab.paper.imdb.data import Rows
from risingbandits.lab.paper.imdb.logistic import LogisticRegression, logistic_step
from risingbandits.lab.paper.imdb.network import Network, network_step
from risingbandits.problems import RisingBandit
from risingbandits.problems._kernels import Environment, mean_at
from risingbandits.simulation._engine import SimulatedArms

Learner = LogisticRegression | Network

_SETTINGS = 5  # most settings of a learner


class Learners(NamedTuple):
    """The data, shared by all runs, and the learners of one run."""

    indptr: np.ndarray
    indices: np.ndarray
    values: np.ndarray
    labels: np.ndarray
    kinds: np.ndarray  # (K,) 0: logistic regression, 1: network
    settings: np.ndarray  # (K, 5)
    layers: np.ndarray  # (K, L) units of each layer, then zeros
    order: np.ndarray  # (K, T) the rows that the arm sees at its pulls 1..T
    weights: np.ndarray  # (K, W) all that an arm has learnt
    moments: np.ndarray  # (K, W) Adam's first moments
    squares: np.ndarray  # (K, W) Adam's second moments
    dense: np.ndarray  # (d,) zeros, room for one row
    outputs: np.ndarray  # (L, U) room for a network's layers
    deltas: np.ndarray


@rare_kernel
def pull(learners: Learners, arm: int, n: int) -> float:
    """The reward of the n-th pull of ``arm``: 1 for a right prediction, 0 for a wrong one; then the arm learns."""
    row = learners.order[arm, n - 1]
    first, last = learners.indptr[row], learners.indptr[row + 1]
    if learners.kinds[arm] == 0:
        return logistic_step(learners, arm, n, first, last, learners.labels[row])
    return network_step(learners, arm, n, first, last, learners.labels[row])


def _train(learners, arm, rewards):  # type: ignore[no-untyped-def]
    """Pull ``arm`` as often as ``rewards`` is long."""
    for n in range(1, rewards.shape[0] + 1):
        rewards[n - 1] = pull(learners, arm, n)


@cache
def _compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    return compiled(function)


class LiveBandit:
    """Learners as arms, with buffers of their own: for one thread.

    An arm may get ``horizon`` pulls at most. Beyond the number of rows it starts over in a new order.

    Examples
    --------
    >>> import numpy as np
    >>> rows = Rows("toy", 2, np.arange(5), np.array([0, 1, 0, 1], np.int32), np.ones(4), np.array([1.0, 0, 1, 0]))
    >>> bandit = LiveBandit(rows, [LogisticRegression(rate=1.0)], horizon=40).reset(seed=1)
    >>> sum(bandit.pull(0) for _ in range(40))
    39.0
    """

    def __init__(self, rows: Rows, arms: Sequence[Learner], horizon: int) -> None:
        if not arms:
            raise RisingBanditsError("arms must name at least one learner, got none.")
        self.rows, self.arms = rows, tuple(arms)
        self.horizon = check_positive_int("horizon", horizon)
        n_arms, width = len(self.arms), max(arm.size(rows.features) for arm in self.arms)
        shapes = [arm.layers() for arm in self.arms]
        depth = max([1, *map(len, shapes)])
        units = max([1, *(max(shape) for shape in shapes if shape)])
        self.learners = Learners(
            rows.indptr,
            rows.indices,
            rows.values,
            rows.labels,
            kinds=np.array([arm.kind for arm in self.arms], dtype=np.int64),
            settings=np.array([_padded(arm.settings(), _SETTINGS) for arm in self.arms]),
            layers=np.array([_padded(shape, depth) for shape in shapes]).astype(np.int64),
            order=np.zeros((n_arms, self.horizon), dtype=np.int32),
            weights=np.zeros((n_arms, width)),
            moments=np.zeros((n_arms, width)),
            squares=np.zeros((n_arms, width)),
            dense=np.zeros(rows.features),
            outputs=np.zeros((depth, units)),
            deltas=np.zeros((depth, units)),
        )
        self.pulls = np.zeros(n_arms, dtype=np.int64)

    @property
    def n_arms(self) -> int:
        return len(self.arms)

    def reset(self, seed: int | np.random.SeedSequence) -> LiveBandit:
        """Begin a run: fresh learners and a fresh order of the rows for each arm, decided by ``seed``."""
        sequence = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
        for arm, own in enumerate(sequence.spawn(self.n_arms)):
            self.start(arm, own)
        return self

    def start(self, arm: int, seed: np.random.SeedSequence) -> None:
        """Begin a run of one arm: a fresh learner and a fresh order of the rows, decided by ``seed``."""
        rng = np.random.default_rng(seed)
        inner = self.learners
        for begin in range(0, self.horizon, self.rows.n_rows):
            order = rng.permutation(self.rows.n_rows)[: self.horizon - begin]
            inner.order[arm, begin : begin + len(order)] = order
        for numbers in (inner.weights, inner.moments, inner.squares):
            numbers[arm].fill(0.0)
        learner = self.arms[arm]
        inner.weights[arm, : learner.size(self.rows.features)] = learner.initial(self.rows.features, rng)
        self.pulls[arm] = 0

    def pull(self, arm: int) -> float:
        """One pull of ``arm`` from Python: its reward, after which it has learnt."""
        if self.pulls[arm] >= self.horizon:
            raise RisingBanditsError(f"arm {arm} has had all of its {self.horizon:,} pulls.")
        self.pulls[arm] += 1
        return float(_compiled(pull)(self.learners, arm, int(self.pulls[arm])))

    def train(self, arm: int) -> npt.NDArray[np.uint8]:
        """The rewards of ``horizon`` pulls of ``arm`` from the start of a run, all at once."""
        rewards = np.zeros(self.horizon, dtype=np.uint8)
        _compiled(_train)(self.learners, arm, rewards)
        self.pulls[arm] = self.horizon
        return rewards


class Live(NamedTuple):
    """What the engine's loop is given: averaged curves and the learners of one run."""

    curves: Environment
    learners: Learners


@kernel
def live_pull(live: Live, arm: int, n: int, t: int, rng: Any) -> tuple[float, float]:
    """The average learner's share of right predictions at pull n, and whether this one was right."""
    return mean_at(live.curves, arm, n), pull(live.learners, arm, n)


class LiveArms(SimulatedArms):
    """Learners in the place of curves and noise: ``simulate(..., arms=partial(LiveArms, rows, learners))``.

    The learners of run i begin alike for every policy, so differences are paired. The problem of the simulation holds
    their averaged learning curves, against which regret is counted.
    """

    pull = staticmethod(live_pull)
    counts_rewards = True

    def __init__(self, rows: Rows, learners: Sequence[Learner], problem: RisingBandit, horizon: int) -> None:
        self.bandit = LiveBandit(rows, learners, horizon)
        self.state = Live(problem.environment(horizon), self.bandit.learners)

    def restart(self, seed: np.random.SeedSequence) -> None:
        self.bandit.reset(seed)


def _padded(numbers: Sequence[float], length: int) -> list[float]:
    return [*numbers, *[0.0] * (length - len(numbers))]
