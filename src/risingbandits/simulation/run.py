"""`simulate`: many runs of several policies on one problem, in parallel, always with the same result."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

import numpy as np

from risingbandits._core.compile_wait import announced
from risingbandits._core.errors import RisingBanditsError, check_choice, check_positive_int
from risingbandits._core.progress import Advance, progress_bar
from risingbandits._core.types import Floats, Ints
from risingbandits.policies import Policy
from risingbandits.policies._parsing import parse_policy
from risingbandits.policies.objectives import DEFAULT, Objective
from risingbandits.problems import RisingBandit, get_problem
from risingbandits.simulation._backends import Backend, backend_for
from risingbandits.simulation._engine import AFTER_END, Run, Runner, SimulatedArms
from risingbandits.simulation.result import Result

PolicyLike = str | Policy
Policies = PolicyLike | Sequence[PolicyLike] | Mapping[str, PolicyLike]

_RECORD_POINTS = 200


def simulate(
    policies: Policies,
    problem: str | RisingBandit,
    *,
    horizon: int | None = None,
    runs: int = 1,
    seed: int = 0,
    jobs: int | None = None,
    record_at: int | Sequence[int] | Ints = _RECORD_POINTS,
    progress: bool | Advance = False,
    backend: str | Backend = "local",
    after_end: str = "hold",
    arms: Callable[[RisingBandit, int], SimulatedArms] | None = None,
    objective: str | Objective = DEFAULT.name,
) -> Result:
    """Play every policy ``runs`` times on ``problem`` and measure its regret.

    Parameters
    ----------
    policies : policy, name, sequence of these, or dict of label -> policy
        What to compare; a name may have settings, "red-ucb(eps=0.1)", and is the label of its policy in the result.
        A policy whose ``sigma`` is None gets the problem's noise level.
    problem : RisingBandit or str
        The problem, or the name of a preset such as "paper-2arms". Regret is against the best policy where that is
        known: one arm if none falls, the highest next mean if arms only fall, the best of each round if restless
        (`RisingBandit.best_policy`). Elsewhere it is against the best single arm, and a warning says so if much more is
        possible.
    horizon : int, optional
        Number of rounds; the problem's own by default.
    runs : int
        Independent repetitions. Run i has the same noise for every policy, so differences are paired.
    seed : int
        Seed of all randomness. The result does not depend on ``jobs`` or on the other policies.
    jobs : int, optional
        Threads, by default one per core; on Ray the most blocks of runs at once, by default the cluster's cores.
    record_at : int or sequence of int
        Rounds at which regret is recorded, or how many, evenly spaced. The horizon is always one of them.
    progress : bool or callable
        True shows a bar; a callable is told ``(label, finished runs)``.
    backend : "local" or "ray"
        Where: in threads of this process, or on a Ray cluster (extra ``ray``), with equal results: that of the
        program's own connection or of RAY_ADDRESS, otherwise a Ray on this machine for the duration of the call.
    after_end : {"hold", "stop"}
        What an arm does at the end of its curve (``max_pulls`` of the problem, or the end of its table): it continues
        as the curve says, a table with its last value, or cannot be pulled any more; the run then ends when no arm is
        left. In both cases regret is against the best constant arm that continues; the best arm is that with the
        highest mean at the end of its curve or at the horizon.
    arms : callable, optional
        What is pulled instead of the problem's own arms: `SimulatedArms` from the problem and the horizon, created in
        each thread. Regret is then against the problem's curves, and the result has the rewards as well.
    objective : {"best-arm", "cumulative"} or Objective
        What policies that are given by name play for if that is one of their parameters, as it is of "auto", and what
        tables of the result are ordered by.

    Examples
    --------
    >>> result = simulate(["red-ucb", "round-robin"], "paper-2arms", horizon=1000, runs=3)
    >>> result.final_regret["round-robin"].round(2).tolist()
    [113.93, 113.93, 113.93]
    """
    problem = get_problem(problem) if isinstance(problem, str) else problem
    if not isinstance(problem, RisingBandit):
        raise RisingBanditsError(f"problem must be a RisingBandit or a name, got {problem!r}.")
    horizon = check_positive_int("horizon", problem.horizon if horizon is None else horizon)
    runs = check_positive_int("runs", runs)
    seed = check_positive_int("seed", seed, minimum=0)
    rounds = record_rounds(record_at, horizon)
    objective = Objective.get(objective)
    given = labelled_policies(policies, objective)
    labelled = {label: policy._for_problem(problem, horizon) for label, policy in given.items()}
    for policy in labelled.values():
        policy._validate()
    stops = check_choice("after_end", after_end, AFTER_END) == "stop"
    if stops and problem.lengths is None:
        raise RisingBanditsError('after_end="stop" needs a problem whose arms end: give it max_pulls.')
    # Measured curves of other arms, such as learners, may waver.
    if arms is None and (why := problem.why_unknown(horizon)) is not None:
        warnings.warn(why, stacklevel=2)
    problem.environment(horizon)  # built once, before the threads start

    fresh = {label: policy.replace() for label, policy in labelled.items()}
    begin = partial(_begin, fresh, problem, horizon, rounds, seed, after_end, arms)
    with announced(), ExitStack() as stack:
        players = stack.enter_context(backend_for(backend, jobs))
        if progress is True:
            progress = stack.enter_context(progress_bar("", runs * len(labelled)))
        outcome = players.play_all(begin, list(labelled), range(runs), progress or None)
    _warn_of_remarks(outcome)
    best = problem.oracle_prefix(rounds, horizon)
    return Result(
        problem=problem.name or repr(problem),
        horizon=horizon,
        seed=seed,
        settings={label: repr(policy) for label, policy in labelled.items()},
        record_at=rounds,
        oracle=best,
        regret={label: best - np.array([run.gained for run in played]) for label, played in outcome.items()},
        pulls={label: np.array([run.pulls for run in played]) for label, played in outcome.items()},
        recommended={label: np.array([run.recommended for run in played]) for label, played in outcome.items()},
        final_means=_final_means(problem, horizon, problem.lengths if stops else None),
        arm_names=problem.arm_names,
        arm_sums=problem.mean_sums(horizon),
        noise=repr(problem.noise),
        reward=_rewards(outcome),
        objective=objective.name,
    )


def _warn_of_remarks(outcome: dict[str, list[Run]]) -> None:
    """The policies' remarks on their runs: for each policy the first one, and in how many runs there was one."""
    for label, played in outcome.items():
        remarks = [run.remark for run in played if run.remark is not None]
        if remarks:
            warnings.warn(f"{label}: {remarks[0]} (in {len(remarks)} of {len(played)} runs)", stacklevel=3)


def _begin(
    policies: dict[str, Policy],
    problem: RisingBandit,
    horizon: int,
    record_at: Ints,
    seed: int,
    after_end: str,
    arms: Callable[[RisingBandit, int], SimulatedArms] | None,
    label: str,
) -> Callable[[int], Run]:
    """What plays a run of the policy ``label`` by its number, here or in another process."""
    runner = Runner(policies[label], problem, horizon, record_at, after_end=after_end, arms=arms)
    return lambda run: runner.play(np.random.SeedSequence(seed, spawn_key=(run,)))


def _rewards(outcome: Mapping[str, Sequence[Run]]) -> dict[str, Floats] | None:
    """The sums of the rewards, if the arms count them."""
    counted = {label: [run.earned for run in runs if run.earned is not None] for label, runs in outcome.items()}
    return {label: np.array(own) for label, own in counted.items()} if all(counted.values()) else None


def _final_means(problem: RisingBandit, horizon: int, lengths: Ints | None) -> Floats:
    """The mean of each arm at the horizon, or at the end of its curve if it cannot be pulled beyond that."""
    if lengths is None:
        return problem.means(horizon)
    last, places = np.unique(np.minimum(lengths, horizon), return_inverse=True)
    return problem.means(last)[np.arange(problem.n_arms), places]


def labelled_policies(policies: Policies, objective: Objective = DEFAULT) -> dict[str, Policy]:
    """Any accepted way of naming policies as a dict of label -> policy.

    A string is its own label, as on the command line, whatever it is compared with. Objects are called by their names
    or, where something else has the same one, by what makes them.

    >>> from risingbandits.policies import REdUCB, RoundRobin
    >>> list(labelled_policies(["red-ucb", "red-ucb(eps=0.1)", REdUCB(eps=0.2), RoundRobin()]))
    ['red-ucb', 'red-ucb(eps=0.1)', 'REdUCB(eps=0.2)', 'round-robin']
    """
    if isinstance(policies, str | Policy):
        policies = [policies]
    if isinstance(policies, Mapping):
        given = [(str(label), str(label), _as_policy(policy, objective)) for label, policy in policies.items()]
    else:
        given = [_labels(policy, objective) for policy in policies]
    if not given:
        raise RisingBanditsError("policies must name at least one policy, got none.")
    labels = [label for label, _, _ in given]
    named: dict[str, Policy] = {}
    for label, instead, policy in given:
        unique = label if labels.count(label) == 1 else instead
        if unique in named:
            raise RisingBanditsError(f"policies has {unique} twice; give a dict of label -> policy to keep both.")
        named[unique] = policy
    return named


def _labels(given: Any, objective: Objective) -> tuple[str, str, Policy]:
    """What a policy is called, and what it is called where another is called so, too."""
    policy = _as_policy(given, objective)
    if isinstance(given, str):
        label = given.strip() if "(" in given else policy.name
        return label, label, policy
    return policy.name, repr(policy), policy


def _as_policy(policy: Any, objective: Objective) -> Policy:
    if isinstance(policy, str):
        return parse_policy(policy, objective.name)
    if isinstance(policy, Policy):
        return policy
    raise RisingBanditsError(f"policies takes Policy objects and registered names, got {policy!r}.")


def record_rounds(record_at: int | Sequence[int] | Ints, horizon: int) -> Ints:
    """Rising rounds that end at the horizon, from a number of them or the rounds themselves."""
    if np.ndim(record_at) == 0:
        count = min(check_positive_int("record_at", record_at), horizon)
        return np.unique(np.ceil(np.arange(1, count + 1) * (horizon / count)).astype(np.int64).clip(1, horizon))
    rounds = np.asarray(record_at)
    if rounds.ndim != 1 or not np.issubdtype(rounds.dtype, np.integer):
        raise RisingBanditsError(f"record_at must be whole rounds, got {record_at!r}.")
    if rounds.size and not (rounds.min() >= 1 and rounds.max() <= horizon):
        raise RisingBanditsError(f"record_at must lie in 1 to {horizon}, got {rounds.min()} to {rounds.max()}.")
    return np.unique(np.append(rounds, horizon)).astype(np.int64)
