"""Benchmarks: the problems of each, and what one run of a policy on a problem leaves.

A problem consists of recorded curves or is simulated. It is played several times, in other orders of its arms or with
other noise.
"""

from __future__ import annotations

import hashlib
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from risingbandits._core.types import Floats, Ints
from risingbandits.lab.benchmark.curve_tasks import CurveTask
from risingbandits.policies import Objective, Policy
from risingbandits.policies.objectives import BEST_ARM, CUMULATIVE
from risingbandits.problems import NoNoise, RisingBandit
from risingbandits.simulation._engine import Runner

OBJECTIVES = (CUMULATIVE.name, BEST_ARM.name)
KINDS = ("real", "made", "synthetic")
_ROUNDING = 1e-9  # differences of sums that are a matter of their rounding, relative to the sums


class Played(NamedTuple):
    """One run.

    ``regret`` is cumulative, or the simple regret of the recommendation; ``random`` is that of a random arm, ``best``
    the most that was possible (J*, or the final value of the best arm). ``source`` names the benchmark whose curves
    these are, ``side`` the member of a pair.
    """

    task: str
    source: str
    side: str
    run: int
    horizon: int
    regret: float
    random: float
    best: float

    @property
    def share(self) -> float:
        """Normalised regret: relative to that of a random arm; 0 if all arms are alike."""
        return self.regret / self.random if self.random > _ROUNDING * self.best else 0.0

    @property
    def percent(self) -> float:
        """In % of the most that was possible."""
        return 100.0 * self.regret / self.best if self.best > 0 else 0.0


class Problem(ABC):
    """One problem of a benchmark with a number of rounds."""

    task: str
    horizon: int
    runs: int
    objective: str

    @property
    def sums_rewards(self) -> bool:
        """Whether its objective does."""
        return Objective.get(self.objective).sums_rewards

    @property
    @abstractmethod
    def n_arms(self) -> int:
        """Number of arms."""

    @property
    @abstractmethod
    def digest(self) -> str:
        """A hash of everything that determines what is played."""

    @abstractmethod
    def instance(self) -> RisingBandit:
        """The arms, and how they are seen."""

    @abstractmethod
    def player(self, policy: Policy) -> Callable[[int], Played]:
        """A function that plays a run by its number, with its own buffers, for one thread."""


@dataclass(eq=False)
class ReplayedProblem(Problem):
    """Recorded curves; run i has the arms in order i."""

    curves: CurveTask
    horizon: int
    runs: int
    objective: str
    seed: int

    @property
    def task(self) -> str:  # type: ignore[override]
        return self.curves.name

    @property
    def n_arms(self) -> int:
        return self.curves.n_arms

    @cached_property
    def digest(self) -> str:
        return repr((self.curves.digest, self.horizon, self.runs, self.objective, self.seed))

    def instance(self) -> RisingBandit:
        seen = self.curves.observed if self.sums_rewards else self.curves.observed[:, :-1]
        return RisingBandit.from_array(seen, NoNoise(), self.horizon)

    def player(self, policy: Policy) -> Callable[[int], Played]:
        sums, after_end = self.sums_rewards, "hold" if self.sums_rewards else "stop"
        runner = Runner(policy.replace(), self.instance(), self.horizon, np.array([self.horizon]), after_end=after_end)
        listed = runner.arms.state
        curves = self.curves
        worth = _sums(curves.truth, np.full(self.n_arms, self.horizon)) if sums else curves.finals
        best, random = float(worth.max()), float(worth.max() - worth.mean())

        def play(number: int) -> Played:
            order = curves.order(number)
            runner.arms.state = listed._replace(
                **{
                    name: getattr(listed, name)[order]
                    for name in ("family", "params", "data_start", "data_length", "table")
                }
            )
            run = runner.play(np.random.SeedSequence(self.seed, spawn_key=(number,)))
            gained = _sums(curves.truth[order], run.pulls).sum() if sums else worth[order[run.recommended]]
            return Played(curves.name, curves.source, "", number, self.horizon, best - float(gained), random, best)

        return play


def _sums(values: Floats, pulls: Ints) -> Floats:
    """For each arm the sum of its first values, the last of which is that of all later pulls."""
    last = values.shape[1] - 1
    prefix = np.concatenate([np.zeros((len(values), 1)), np.cumsum(values[:, :last], axis=1)], axis=1)
    held: Floats = (
        prefix[np.arange(len(values)), np.minimum(pulls, last)] + np.maximum(pulls - last, 0) * values[:, last]
    )
    return held


@dataclass(eq=False)
class SimulatedProblem(Problem):
    """Curves with noise, built when they are needed."""

    task: str
    build: Callable[[], RisingBandit]
    runs: int
    seed: int
    source: str = ""
    side: str = ""
    objective: str = CUMULATIVE.name

    def instance(self) -> RisingBandit:
        return _built(self)

    @property
    def horizon(self) -> int:  # type: ignore[override]
        horizon = self.instance().horizon
        assert horizon is not None
        return horizon

    @property
    def n_arms(self) -> int:
        return self.instance().n_arms

    @property
    def digest(self) -> str:
        """The names and the seed decide what ``build`` makes; its source is part of a cell's key."""
        return repr((self.task, self.side, self.runs, self.seed, self.objective))

    def player(self, policy: Policy) -> Callable[[int], Played]:
        instance, horizon = self.instance(), self.horizon
        runner = Runner(policy.replace(), instance, horizon, np.array([horizon]))
        sums = self.sums_rewards
        worth = instance.mean_sums(horizon) if sums else instance.means(horizon)
        best = float(instance.oracle_prefix(np.array([horizon]), horizon)[-1] if sums else worth.max())
        random = float(worth.max() - worth.mean())

        def play(number: int) -> Played:
            run = runner.play(np.random.SeedSequence(self.seed, spawn_key=(number,)))
            gained = float(run.gained[-1] if sums else worth[run.recommended])
            return Played(self.task, self.source, self.side, number, horizon, best - gained, random, best)

        return play


@lru_cache(maxsize=4)
def _built(problem: SimulatedProblem) -> RisingBandit:
    """Built again rather than kept: some have millions of tabulated means."""
    return problem.build()


@dataclass(frozen=True, eq=False)
class Benchmark:
    """Problems that have one figure together.

    ``group`` is what the tables gather benchmarks under: a benchmark of real curves is its own group. ``measure`` is
    "share", the regret of a random arm, or "percent", that of J*. ``runs`` of one policy are numbered through.
    """

    name: str
    group: str
    kind: str
    objective: str
    measure: str
    problems: tuple[Problem, ...]

    @cached_property
    def starts(self) -> Ints:
        """Where the runs of each problem start, and finally their number."""
        return np.cumsum([0, *(problem.runs for problem in self.problems)])

    @property
    def runs(self) -> int:
        return int(self.starts[-1])

    @cached_property
    def digest(self) -> str:
        parts = (self.name, self.objective, *(problem.digest for problem in self.problems))
        return hashlib.sha256(repr(parts).encode()).hexdigest()

    def values(self, runs: Sequence[Played]) -> dict[str, Floats]:
        """By task, the measure of each of its runs (orders), the mean over budgets."""
        found: dict[str, dict[int, list[float]]] = {}
        for run in runs:
            value = run.percent if self.measure == "percent" else run.share
            found.setdefault(run.task, {}).setdefault(run.run, []).append(value)
        return {
            task: np.array([float(np.mean(values)) for _, values in sorted(by_run.items())])
            for task, by_run in found.items()
        }


def seed_of(seed: int, name: str, number: int = 0) -> int:
    """A separate seed for each problem, from the benchmark's seed and the names alone."""
    return int(np.random.SeedSequence(seed, spawn_key=(zlib.crc32(name.encode()), number)).generate_state(1)[0])
