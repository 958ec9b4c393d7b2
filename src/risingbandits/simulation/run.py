"""`simulate`: many runs of several policies on one problem, in parallel threads, always with the same result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from risingbandits.errors import RisingBanditsError, check_positive_int
from risingbandits.instances import RisingBandit, get_instance
from risingbandits.policies import Policy, get_policy
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
        Threads; by default one per core.
    checkpoints : int or sequence of int
        Rounds at which regret is recorded, or how many, evenly spaced. The horizon is always one.
    progress : bool or callable
        True shows a bar; a callable is told ``(label, finished runs)``.
    first_run : int
        Number of the first run: runs 10 to 19 of a longer simulation are ``runs=10, first_run=10``, with equal results.

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
    problem.environment(horizon)  # built once, before the threads start

    def begin(label: str) -> Callable[[int], Run]:
        runner = Runner(labelled[label], problem, horizon, rounds)
        return lambda run: runner.play(np.random.SeedSequence(seed, spawn_key=(run,)))

    with _Progress(runs * len(labelled), progress) as bar:
        outcome = in_blocks(list(labelled), begin, range(first_run, first_run + runs), jobs, bar.advance)
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
        final_means=problem.means(horizon),
    )


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
