"""`play_live`: many runs of several policies on live learners, in parallel, always with the same result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from risingbandits._core.errors import check_positive_int
from risingbandits._core.progress import Advance
from risingbandits._core.stats import half_width
from risingbandits._core.types import Floats, Ints
from risingbandits.paper.imdb.data import Rows
from risingbandits.paper.imdb.live import Learner, LiveBandit, LiveRun, LiveRunner
from risingbandits.policies import Policy
from risingbandits.problems import RisingBandit
from risingbandits.simulation.backends.base import Backend, opened
from risingbandits.simulation.blocks import in_blocks
from risingbandits.simulation.result import Result
from risingbandits.simulation.run import Policies, checkpoint_rounds, labelled_policies

__all__ = ["LiveResult", "Paired", "play_live"]


@dataclass(frozen=True)
class Paired:
    """A mean over runs and half the width of its 95 % interval (Student t; NaN for a single run)."""

    mean: float
    half_width: float

    @classmethod
    def of(cls, values: Floats | Ints) -> Paired:
        """Of one number per run."""
        return cls(float(np.mean(values)), float(half_width(values)))

    def __str__(self) -> str:
        end = "" if self.half_width != self.half_width else f" ± {self.half_width:,.0f}"
        return f"{round(self.mean) + 0:,}{end}"


@dataclass(frozen=True)
class LiveResult:
    """Right predictions and pulls of every run of every policy.

    Attributes
    ----------
    name, arms, horizon, seed, settings
        What was played; ``settings`` maps each label to the policy's repr.
    checkpoints : (C,) int array
        The rounds at which was counted; the last is the horizon.
    correct : dict of (runs, C) int arrays
        Right predictions so far.
    spent : dict of (runs, C, K) int arrays
        Pulls of each arm so far.
    recommended : dict of (runs,) int arrays
        The arm that the policy would keep.
    """

    name: str
    arms: tuple[str, ...]
    horizon: int
    seed: int
    settings: dict[str, str]
    checkpoints: Ints
    correct: dict[str, Ints]
    spent: dict[str, Ints]
    recommended: dict[str, Ints]

    @property
    def runs(self) -> int:
        return len(next(iter(self.correct.values())))

    def total(self, label: str) -> Paired:
        """Right predictions by the horizon."""
        return Paired.of(self.correct[label][:, -1])

    def lead(self, label: str, other: str) -> Paired:
        """How many more right predictions ``label`` has than ``other``, paired by run."""
        return Paired.of(self.correct[label][:, -1] - self.correct[other][:, -1])

    def against(self, curves: RisingBandit) -> Result:
        """The regret of the pulls against averaged learning curves, as a result of `simulate`."""
        best = curves.oracle_prefix(self.checkpoints, self.horizon)
        return Result(
            problem=self.name,
            horizon=self.horizon,
            seed=self.seed,
            settings=self.settings,
            checkpoints=self.checkpoints,
            oracle=best,
            regret={label: best - curves.mean_sums(spent).sum(axis=-1) for label, spent in self.spent.items()},
            pulls={label: spent[:, -1] for label, spent in self.spent.items()},
            recommended=self.recommended,
            final_means=curves.means(self.horizon),
        )


@dataclass(frozen=True)
class _Begin:
    """Settings of live runs, from which they are played here or in another process."""

    policies: dict[str, Policy]
    rows: Rows
    arms: tuple[Learner, ...]
    horizon: int
    checkpoints: Ints
    seed: int

    def __call__(self, label: str) -> Callable[[int], LiveRun]:
        bandit = LiveBandit(self.rows, self.arms, self.horizon)
        runner = LiveRunner(self.policies[label], bandit, self.checkpoints)
        return lambda run: runner.play(np.random.SeedSequence(self.seed, spawn_key=(run,)))


def play_live(
    policies: Policies,
    rows: Rows,
    arms: Sequence[Learner],
    curves: RisingBandit,
    horizon: int,
    runs: int = 1,
    seed: int = 0,
    jobs: int | None = None,
    checkpoints: int = 200,
    progress: Advance | None = None,
    backend: str | Backend = "threads",
    address: str | None = None,
) -> LiveResult:
    """Play every policy ``runs`` times on learners that train only when they are pulled.

    Parameters
    ----------
    policies : policy, name, sequence of these, or dict of label -> policy
        What to compare. A policy takes its noise level from ``curves`` where its ``sigma`` is None.
    rows : Rows
        The data; every arm goes through it in an order of its own.
    arms : sequence of LogisticRegression and Network
        The learners.
    curves : RisingBandit
        Averaged learning curves of the arms, with the noise of their rewards (Bernoulli).
    horizon, runs, seed, jobs, checkpoints
        As for `simulate`. Run i has the same learners and orders for every policy.
    progress : callable, optional
        Told ``(label, finished runs)``.
    backend, address
        As for `simulate`.
    """
    horizon = check_positive_int("horizon", horizon)
    runs = check_positive_int("runs", runs)
    seed = check_positive_int("seed", seed, minimum=0)
    rounds = checkpoint_rounds(checkpoints, horizon)
    labelled = {label: policy.for_problem(curves, horizon) for label, policy in labelled_policies(policies).items()}
    for policy in labelled.values():
        policy.validate()

    fresh = {label: policy.replace() for label, policy in labelled.items()}
    begin = _Begin(fresh, rows, tuple(arms), horizon, rounds, seed)
    with opened(backend, jobs, address) as players:
        played = in_blocks(list(labelled), begin, range(runs), players, progress)
    return LiveResult(
        name=curves.name or rows.name,
        arms=tuple(arm.name for arm in arms),
        horizon=horizon,
        seed=seed,
        settings={label: repr(policy) for label, policy in labelled.items()},
        checkpoints=rounds,
        correct={label: np.array([run.correct for run in own]) for label, own in played.items()},
        spent={label: np.array([run.spent for run in own]) for label, own in played.items()},
        recommended={label: np.array([run.recommended for run in own]) for label, own in played.items()},
    )
