"""`simulate`: many runs of several policies on one problem, in parallel, always with the same result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from risingbandits._compiling import announced
from risingbandits.errors import RisingBanditsError, check_choice, check_positive_int
from risingbandits.instances import RisingBandit, get_instance
from risingbandits.policies import Policy, get_policy
from risingbandits.simulation.backend import Backend, opened
from risingbandits.simulation.blocks import Advance, in_blocks
from risingbandits.simulation.engine import Run, Runner
from risingbandits.simulation.result import Result

PolicyLike = str | Policy
Policies = PolicyLike | Sequence[PolicyLike] | Mapping[str, PolicyLike]

_DEFAULT_CHECKPOINTS = 200


def simulate(
    policies: Policies,
    instance: str | RisingBandit,
    horizon: int | None = None,
    runs: int = 1,
    seed: int = 0,
    jobs: int | None = None,
    checkpoints: int | Sequence[int] | npt.NDArray[np.int64] = _DEFAULT_CHECKPOINTS,
    progress: bool | Advance = False,
    first_run: int = 0,
    backend: str | Backend = "threads",
    address: str | None = None,
    finished: str = "paying",
) -> Result:
    """Play every policy ``runs`` times on ``instance`` and measure its regret.

    Parameters
    ----------
    policies : policy, name, sequence of these, or dict of label -> policy
        What to compare. A policy whose ``sigma`` is None gets the instance's noise level.
    instance : RisingBandit or str
        The problem, or the name of a preset such as "paper-2arms".
    horizon : int, optional
        Number of rounds; the instance's own by default.
    runs : int
        Independent repetitions. Run i has the same noise for every policy, so differences are paired.
    seed : int
        Decides all randomness. The result does not depend on ``jobs`` or on the other policies.
    jobs : int, optional
        Threads, by default one per core; on Ray the most blocks of runs at once, by default the cluster's cores.
    checkpoints : int or sequence of int
        Rounds at which regret is recorded, or how many, evenly spaced. The horizon is always one.
    progress : bool or callable
        True shows a bar; a callable is told ``(label, finished runs)``.
    first_run : int
        Number of the first run: runs 10 to 19 of a longer simulation are ``runs=10, first_run=10``, with equal results.
    backend : "threads" or "ray"
        Where: in threads of this process, or on a Ray cluster (extra ``ray``), with equal results.
    address : str, optional
        Of the Ray cluster, such as "auto" or "ray://host:10001". By default a connection that the program has
        already, that of RAY_ADDRESS, or a Ray started on this machine for the time of the call.
    finished : {"paying", "masked"}
        What an arm does at the end of its curve (``max_pulls`` of the instance, or the end of its table): goes on
        paying as the curve says, or is no longer offered; the run then ends when no arm is left. Regret is in both
        cases against the best constant arm that goes on paying; the best arm is that with the highest mean at the end
        of its curve or at the horizon.

    Examples
    --------
    >>> result = simulate(["red-ucb", "round-robin"], "paper-2arms", horizon=1000, runs=3)
    >>> result.final_regret["round-robin"].round(2).tolist()
    [113.93, 113.93, 113.93]
    """
    problem = get_instance(instance) if isinstance(instance, str) else instance
    if not isinstance(problem, RisingBandit):
        raise RisingBanditsError(f"instance must be a RisingBandit or a name, got {instance!r}.")
    horizon = check_positive_int("horizon", problem.horizon if horizon is None else horizon)
    runs = check_positive_int("runs", runs)
    seed = check_positive_int("seed", seed, minimum=0)
    first_run = check_positive_int("first_run", first_run, minimum=0)
    rounds = checkpoint_rounds(checkpoints, horizon)
    labelled = {label: policy.for_instance(problem, horizon) for label, policy in labelled_policies(policies).items()}
    for policy in labelled.values():
        policy.validate()
    masked = check_choice("finished", finished, ("paying", "masked")) == "masked"
    lengths = problem.lengths
    if masked and lengths is None:
        raise RisingBanditsError('finished="masked" needs an instance whose arms end: give it max_pulls.')
    problem.environment(horizon)  # built once, before the threads start

    begin = _Begin(
        {label: policy.with_params() for label, policy in labelled.items()}, problem, horizon, rounds, seed, masked
    )
    with announced(), opened(backend, jobs, address) as players, _Progress(runs * len(labelled), progress) as bar:
        outcome = in_blocks(list(labelled), begin, range(first_run, first_run + runs), players, bar.advance)
    best = problem.oracle_prefix(rounds, horizon)
    return Result(
        instance=problem.name or repr(problem),
        horizon=horizon,
        seed=seed,
        settings={label: repr(policy) for label, policy in labelled.items()},
        checkpoints=rounds,
        oracle=best,
        regret={label: best - np.array([run.gained for run in played]) for label, played in outcome.items()},
        pulls={label: np.array([run.pulls for run in played]) for label, played in outcome.items()},
        recommended={label: np.array([run.recommended for run in played]) for label, played in outcome.items()},
        final_means=_final_means(problem, horizon, lengths if masked else None),
    )


@dataclass(frozen=True)
class _Begin:
    """Settings of a simulation, from which its runs are played here or in another process."""

    policies: dict[str, Policy]
    instance: RisingBandit
    horizon: int
    checkpoints: npt.NDArray[np.int64]
    seed: int
    masked: bool = False

    def __call__(self, label: str) -> Callable[[int], Run]:
        runner = Runner(self.policies[label], self.instance, self.horizon, self.checkpoints, masked=self.masked)
        return lambda run: runner.play(np.random.SeedSequence(self.seed, spawn_key=(run,)))


def _final_means(problem: RisingBandit, horizon: int, lengths: npt.NDArray[np.int64] | None) -> npt.NDArray[np.float64]:
    """The mean of each arm at the horizon, or at the end of its curve where it cannot be pulled beyond."""
    if lengths is None:
        return problem.means(horizon)
    last, places = np.unique(np.minimum(lengths, horizon), return_inverse=True)
    return problem.means(last)[np.arange(problem.n_arms), places]


def labelled_policies(policies: Policies) -> dict[str, Policy]:
    """Any accepted way of naming policies as a dict of label -> policy. Equal names are numbered."""
    if isinstance(policies, str | Policy):
        policies = [policies]
    if isinstance(policies, Mapping):
        pairs = [(str(label), _as_policy(policy)) for label, policy in policies.items()]
    else:
        pairs = [(policy.name, policy) for policy in map(_as_policy, policies)]
    if not pairs:
        raise RisingBanditsError("policies must name at least one policy, got none.")
    labels = [label for label, _ in pairs]
    named: dict[str, Policy] = {}
    for label, policy in pairs:
        unique = label if labels.count(label) == 1 else repr(policy)
        if unique in named:
            raise RisingBanditsError(f"policies has {unique} twice; give a dict of label -> policy to keep both.")
        named[unique] = policy
    return named


def _as_policy(policy: Any) -> Policy:
    if isinstance(policy, str):
        return get_policy(policy)
    if isinstance(policy, Policy):
        return policy
    raise RisingBanditsError(f"policies takes Policy objects and registered names, got {policy!r}.")


def checkpoint_rounds(checkpoints: int | Sequence[int] | npt.NDArray[np.int64], horizon: int) -> npt.NDArray[np.int64]:
    """Rising rounds that end at the horizon, from a number of them or the rounds themselves."""
    if np.ndim(checkpoints) == 0:
        count = min(check_positive_int("checkpoints", checkpoints), horizon)
        return np.unique(np.ceil(np.arange(1, count + 1) * (horizon / count)).astype(np.int64).clip(1, horizon))
    rounds = np.asarray(checkpoints)
    if rounds.ndim != 1 or not np.issubdtype(rounds.dtype, np.integer):
        raise RisingBanditsError(f"checkpoints must be whole rounds, got {checkpoints!r}.")
    if rounds.size and not (rounds.min() >= 1 and rounds.max() <= horizon):
        raise RisingBanditsError(f"checkpoints must lie in 1 to {horizon}, got {rounds.min()} to {rounds.max()}.")
    return np.unique(np.append(rounds, horizon)).astype(np.int64)


class _Progress:
    """A bar on the terminal, a callback, or nothing."""

    def __init__(self, total: int, progress: bool | Advance) -> None:
        self.callback = progress if callable(progress) else None
        self.bar: Any = None
        if progress is True:
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
            self.bar = Progress(*columns, transient=True)
            self.task = self.bar.add_task("runs", total=total)

    def __enter__(self) -> _Progress:
        if self.bar is not None:
            self.bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self.bar is not None:
            self.bar.stop()

    def advance(self, label: str, finished: int) -> None:
        if self.bar is not None:
            self.bar.update(self.task, advance=1, description=label)
        if self.callback is not None:
            self.callback(label, finished)
