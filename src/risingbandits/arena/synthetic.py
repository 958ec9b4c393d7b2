"""The tasks of the regret benchmark, as data: which problems, how many rounds and runs, in which group.

A task is a row of the report: one problem played many times, or many problems played once, or a pair of which the
worse side counts. It holds no problem but builds them when they are needed.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from risingbandits import Policy, RisingBandit, get_problem
from risingbandits._core.errors import RisingBanditsError, check_choice, check_positive_int
from risingbandits.arena.bent import SHAPES, misspecified, plateau_instance
from risingbandits.arena.first_families import CurveTask, budgets_of, in_order, load_families
from risingbandits.problems import (
    Bernoulli,
    Gaussian,
    Noise,
    NoNoise,
    exponential_problem,
    power_law_problem,
    problem_pair,
    random_problem,
)

__all__ = ["GROUPS", "Problem", "Sizes", "Task", "suite"]

GROUPS = (
    "presets",
    "families",
    "random",
    "misspecified",
    "pairs",
    "misjudged-sigma",
    "misjudged-cap",
    "real",
    "real-best-arm",
)

_PAPER = ("paper-15arms", "paper-2arms")
_RANDOM = tuple(f"random-{number}" for number in range(2, 7))
_HORIZONS = (2_000, 20_000, 200_000, 1_000_000)
_FULL_RUNS = 20_000  # longer tasks that are not a problem's own have fewer runs, in proportion
_ORDERS = 3  # of the arms of a real task
_NOISES: dict[str, Noise] = {"Gaussian": Gaussian(0.1), "Bernoulli": Bernoulli()}

Change = Callable[[Policy, RisingBandit], Policy | None]
"""A policy as a task wants it, or None where the task is not for this policy."""


@dataclass(frozen=True)
class Problem:
    """One instance to play, with its own horizon.

    ``truth`` holds the means that count where they differ from those the rewards are drawn with; ``sigma`` is what
    policies without a noise level of their own are told, by default that of the instance; ``block`` names problems
    that are averaged before intervals are taken; ``side`` tells the members of a pair apart. With ``finals``, what each
    arm is worth in the end, the arm to keep is looked for: arms cannot be pulled beyond the end of their curves.
    """

    label: str
    instance: RisingBandit
    seed: int
    block: str = ""
    side: str = ""
    truth: RisingBandit | None = None
    sigma: float | None = None
    finals: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Task:
    """A row of the report.

    Intervals are over ``unit``: the runs of the one problem, or the instances (blocks). ``rounds`` is the work for
    one policy. Within its group a task counts by its ``weight``.
    """

    name: str
    group: str
    horizon: int
    runs: int
    build: Callable[[], Iterator[Problem]]
    rounds: int
    unit: str = "runs"
    weight: float = 1.0
    change: Change | None = None

    @property
    def in_percent(self) -> bool:
        """Whether values are percentages of J*; those of real curves are shares of what a random arm loses."""
        return not self.is_real

    @property
    def is_real(self) -> bool:
        """Whether the task is a family of real curves."""
        return self.group.startswith("real")

    def policy_for(self, policy: Policy, problem: Problem) -> Policy | None:
        """The policy as this task plays it, resolved as `simulate` would; None where the task is not for it.

        Policies that look for the best arm are played on real curves only.
        """
        if policy.objective == "best-arm" and not self.is_real:
            return None
        if self.change is not None:
            changed = self.change(policy, problem.instance)
            if changed is None:
                return None
            policy = changed
        if problem.sigma is not None and policy.get_params().get("sigma", 0.0) is None:
            policy = policy.replace(sigma=problem.sigma)
        assert problem.instance.horizon is not None
        return policy.for_problem(problem.instance, problem.instance.horizon)


@dataclass(frozen=True)
class Sizes:
    """How much work: runs of a task of one problem, number of random instances and runs of each."""

    runs: int = 50
    instances: int = 100
    runs_per_instance: int = 1
    quick: bool = False

    def __post_init__(self) -> None:
        for name in ("runs", "instances", "runs_per_instance"):
            check_positive_int(name, getattr(self, name))

    @property
    def some(self) -> int:
        """Runs of a task whose problem is not the heavy-tailed one, or has no noise."""
        return max(min(3, self.runs), self.runs // 5)

    def at(self, horizon: int) -> int:
        """Runs of a problem at a horizon that is not its own: fewer for long ones."""
        return max(min(3, self.runs), min(self.runs, self.runs * _FULL_RUNS // horizon))

    def horizon(self, full: int) -> int:
        """Rounds of a task; far fewer when it need only be seen to work."""
        return max(300, full // 200) if self.quick else full


def suite(groups: Sequence[str], seed: int, sizes: Sizes, data: str | None) -> tuple[list[Task], list[str]]:
    """All tasks of the groups, in a fixed order, and sentences on what was left out and why."""
    for group in groups:
        check_choice("groups", group, GROUPS)
    makers: dict[str, Callable[[int, Sizes], Iterator[Task]]] = {
        "presets": _presets,
        "families": _families,
        "random": _random_instances,
        "misspecified": _misspecified,
        "pairs": _pairs,
        "misjudged-sigma": partial(_misjudged, "sigma", (0.5, 2.0)),
        "misjudged-cap": partial(_misjudged, "cap", (0.8, 1.2)),
    }
    tasks: list[Task] = []
    left_out: list[str] = []
    for group in GROUPS:
        if group not in groups:
            continue
        if group.startswith("real"):
            try:
                tasks.extend(_real(group, seed, sizes, data))
            except RisingBanditsError as error:
                left_out.append(f"{group} curves left out: {error}")
        else:
            tasks.extend(makers[group](seed, sizes))
    return tasks, left_out


# -- groups -------------------------------------------------------------------------------------------------------


def _presets(seed: int, sizes: Sizes) -> Iterator[Task]:
    for noise in _NOISES:
        for name in (*_PAPER, *_RANDOM):
            own = get_problem(name).horizon
            assert own is not None
            horizons = (300, 1_000) if sizes.quick else sorted({*_HORIZONS, own})
            for horizon in horizons:
                runs = sizes.runs if horizon == own or sizes.quick else sizes.at(horizon)
                label = f"{name}, {noise}, T = {horizon:,}"
                yield _one(label, "presets", partial(_preset, name, noise, horizon), horizon, runs, seed)


def _preset(name: str, noise: str, horizon: int) -> RisingBandit:
    return get_problem(name).with_noise(_NOISES[noise]).with_horizon(horizon)


def _families(seed: int, sizes: Sizes) -> Iterator[Task]:
    families = {"power law": power_law_problem, "exponential": exponential_problem}
    instances = 2 if sizes.quick else 6
    for family, draw in families.items():
        for n_arms in (8,) if sizes.quick else (8, 50, 200):
            for horizon, noise in ((20_000, "Gaussian"), (20_000, "Bernoulli"), (200_000, "Gaussian")):
                rounds = sizes.horizon(horizon)
                build = partial(_drawn, draw, n_arms, rounds, noise, f"{family} {n_arms}", seed)
                label = f"{family}, K = {n_arms}, {noise}, T = {rounds:,}"
                runs = max(1, sizes.at(horizon) // 10)
                yield _many(label, "families", build, instances, rounds, runs, seed)


def _random_instances(seed: int, sizes: Sizes) -> Iterator[Task]:
    horizon = sizes.horizon(50_000)
    for noise in _NOISES:
        build = partial(_drawn, _any_arms, 0, horizon, noise, "random", seed)
        label = f"random instances, {noise}, T = {horizon:,}"
        yield _many(label, "random", build, sizes.instances, horizon, sizes.runs_per_instance, seed)


def _misspecified(seed: int, sizes: Sizes) -> Iterator[Task]:
    horizon, short = sizes.horizon(200_000), sizes.horizon(50_000)
    few = min(10, sizes.instances)
    for shape in SHAPES:
        for name, runs in (("paper-2arms", sizes.runs), ("paper-15arms", sizes.some)):
            label = f"{shape}, {name}, T = {horizon:,}"
            build = partial(_bent, name, shape, horizon)
            yield _one(label, "misspecified", build, horizon, runs, seed)
        drawn = partial(_bent_random, shape, short, seed)
        yield _many(f"{shape}, random instances, T = {short:,}", "misspecified", drawn, few, short, 1, seed)
    plateaus = partial(_drawn, plateau_instance, 8, short, "Gaussian", "plateau", seed)
    label = f"plateau then second rise, K = 8, T = {short:,}"
    yield _many(label, "misspecified", plateaus, min(30, sizes.instances), short, 1, seed)


def _pairs(seed: int, sizes: Sizes) -> Iterator[Task]:
    horizon = max(1_100, sizes.horizon(50_000))  # T^0.9 is at most T/2 from 1,024 on
    for kind, noise in (("sigma 0.1", Gaussian(0.1)), ("no noise", NoNoise())):
        runs = sizes.runs if isinstance(noise, Gaussian) else sizes.some
        for beta in (None, 0.5, 0.7, 0.9):
            name = f"pair {'concave' if beta is None else f'beta {beta:g}'}, {kind}, T = {horizon:,}"
            build = partial(_sides, beta, horizon, noise, name, seed)
            yield Task(name, "pairs", horizon, runs, build, 2 * runs * horizon)


def _misjudged(setting: str, factors: Sequence[float], seed: int, sizes: Sizes) -> Iterator[Task]:
    horizon = sizes.horizon(200_000)
    for name, runs in (("paper-2arms", sizes.runs), ("paper-15arms", sizes.some)):
        for factor in factors:
            label = f"{setting} x {factor:g}, {name}, T = {horizon:,}"
            build = partial(_preset, name, "Gaussian", horizon)
            task = _one(label, f"misjudged-{setting}", build, horizon, runs, seed)
            yield replace(task, change=partial(_misjudge, setting, factor))


def _real(group: str, seed: int, sizes: Sizes, data: str | None) -> Iterator[Task]:
    to_find = group == "real-best-arm"
    orders = 1 if sizes.quick else _ORDERS
    for family, tasks in load_families(data).items():
        chosen = tasks[:2] if sizes.quick else tasks
        budgets = [budgets_of(task, sizes.quick, to_find=to_find) for task in chosen]
        build = partial(_replays, chosen, sizes.quick, f"real {family}", seed, orders, to_find)
        label = f"real curves, {family}{', best arm' if to_find else ''}"
        longest, rounds = max(map(max, budgets)), orders * sum(map(sum, budgets))
        yield Task(label, group, longest, 1, build, rounds, unit="instances")


# -- builders of problems ---------------------------------------------------------------------------------------------


def _seed(seed: int, name: str, number: int = 0) -> int:
    """A seed of its own for each problem, decided by the benchmark's seed and the names alone."""
    return int(np.random.SeedSequence(seed, spawn_key=(zlib.crc32(name.encode()), number)).generate_state(1)[0])


def _one(name: str, group: str, build: Callable[[], RisingBandit], horizon: int, runs: int, seed: int) -> Task:
    def problems() -> Iterator[Problem]:
        yield Problem("", build(), _seed(seed, name))

    return Task(name, group, horizon, runs, problems, runs * horizon)


def _many(
    name: str,
    group: str,
    build: Callable[[int], RisingBandit],
    instances: int,
    horizon: int,
    runs: int,
    seed: int,
) -> Task:
    def problems() -> Iterator[Problem]:
        for number in range(instances):
            label = f"instance {number + 1}"
            yield Problem(label, build(number), _seed(seed, name, number), block=label)

    return Task(name, group, horizon, runs, problems, instances * runs * horizon, unit="instances")


def _drawn(
    draw: Callable[..., RisingBandit], n_arms: int, horizon: int, noise: str, key: str, seed: int, i: int
) -> RisingBandit:
    """Instance ``i`` of a family: the same arms under every noise."""
    source = np.random.SeedSequence(seed, spawn_key=(zlib.crc32(f"curves of {key}".encode()), i))
    return draw(n_arms, horizon, source, _NOISES[noise])


def _any_arms(_: int, horizon: int, source: np.random.SeedSequence, noise: Noise) -> RisingBandit:
    return random_problem(None, horizon, source, noise)


def _bent(name: str, shape: str, horizon: int) -> RisingBandit:
    return misspecified(get_problem(name), shape, horizon)


def _bent_random(shape: str, horizon: int, seed: int, number: int) -> RisingBandit:
    return misspecified(_drawn(_any_arms, 0, horizon, "Gaussian", "misspecified", seed, number), shape)


def _sides(beta: float | None, horizon: int, noise: Noise, name: str, seed: int) -> Iterator[Problem]:
    pair = problem_pair("concave" if beta is None else "beta", horizon, beta=beta, noise=noise)
    for side, instance in (("A", pair.a), ("B", pair.b)):
        yield Problem(side, instance, _seed(seed, name), side=side)


def _misjudge(setting: str, factor: float, policy: Policy, instance: RisingBandit) -> Policy | None:
    """The policy with sigma or cap off by a factor, None where it has none or finds it out by itself."""
    params = policy.get_params()
    if setting not in params:
        return None
    value = params[setting]
    if setting == "sigma" and value is None:
        value = instance.sigma
    return policy.replace(**{setting: factor * value}) if isinstance(value, int | float) else None


def _replays(
    tasks: Sequence[CurveTask], quick: bool, key: str, seed: int, orders: int, to_find: bool
) -> Iterator[Problem]:
    for task in tasks:
        for budget in budgets_of(task, quick, to_find=to_find):
            for order in range(orders):
                drawn = in_order(task, order)
                seen = drawn.observed[:, :-1] if to_find else drawn.observed
                yield Problem(
                    f"{task.name}, B = {budget:,}{f', order {order}' if order else ''}",
                    RisingBandit.from_array(seen, NoNoise(), budget),
                    _seed(seed, f"{key} {task.name}{f' {order}' if order else ''}", budget),
                    block=task.name,
                    truth=None if to_find else RisingBandit.from_array(drawn.truth, NoNoise(), budget),
                    sigma=task.sigma,
                    finals=tuple(drawn.truth[:, -1].tolist()) if to_find else None,
                )
