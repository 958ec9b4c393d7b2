"""Policies on the pairs of the lower bounds: the worse of two regrets beside what no policy can beat."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from risingbandits._core.errors import check_positive_int
from risingbandits.policies import policy_class, policy_names
from risingbandits.problems import PAIRS, Noise, ProblemPair, problem_pair
from risingbandits.simulation import Result, simulate
from risingbandits.simulation.run import Policies
from risingbandits.theory.lower_bounds import LowerBound, lower_bound


@dataclass(frozen=True)
class Worse:
    """The side on which a policy's weighted mean regret is larger, with its standard error (0 for one run)."""

    side: str
    regret: float
    error: float


@dataclass(frozen=True)
class PairStudy:
    """What policies did on both sides of a pair."""

    pair: ProblemPair
    bound: LowerBound
    results: tuple[Result, Result]

    @property
    def policies(self) -> list[str]:
        """The labels."""
        return self.results[0].policies

    def worse(self, label: str) -> Worse:
        """Where ``label`` did worse, in the units of the bound."""
        found = []
        for side, result, weight in zip("AB", self.results, self.bound.weights, strict=True):
            final = weight * result.final_regret[label]
            error = float(final.std(ddof=1)) / math.sqrt(final.size) if final.size > 1 else 0.0
            mean = float(final.mean())
            found.append(Worse(side, mean, error if error > 1e-9 * abs(mean) else 0.0))
        return max(found, key=lambda worse: worse.regret)

    def holds(self, label: str, errors: float = 4.0) -> bool:
        """Whether the worse regret plus so many standard errors reaches the sharp bound, and so the proved one."""
        worse = self.worse(label)
        return worse.regret + errors * worse.error >= self.bound.sharp * (1.0 - 1e-9)


def learning_policies() -> list[str]:
    """Registered policies that seek a small cumulative regret and are not told the problem.

    Examples
    --------
    >>> "red-ucb" in learning_policies(), "oracle" in learning_policies()
    (True, False)
    """
    return [name for name in policy_names() if name != "oracle" and policy_class(name).objective == "cumulative"]


def play_pairs(
    policies: Policies | None = None,
    kinds: Sequence[str] = PAIRS,
    horizon: int = 50_000,
    runs: int = 10,
    seed: int = 0,
    jobs: int | None = None,
    noise: Noise | None = None,
    q: float = 0.5,
    progress: bool | Callable[[str, int], None] = False,
) -> list[PairStudy]:
    """Simulate policies on both sides of each pair.

    By default `learning_policies`, on all pairs with their own noise; ``q`` is that of the cumulative-increment bound,
    the other arguments are those of `simulate`.

    Examples
    --------
    >>> (study,) = play_pairs(["round-robin"], ["concave"], horizon=1_000, runs=1)
    >>> study.worse("round-robin").side, round(study.worse("round-robin").regret, 2), study.holds("round-robin")
    ('B', 156.31, True)
    """
    check_positive_int("runs", runs)
    chosen = learning_policies() if policies is None else policies
    studies = []
    for kind in kinds:
        pair = problem_pair(kind, horizon, noise=noise)
        a, b = (
            simulate(chosen, side, runs=runs, seed=seed, jobs=jobs, record_at=1, progress=progress)
            for side in pair.sides
        )
        studies.append(PairStudy(pair, lower_bound(pair, q), (a, b)))
    return studies
