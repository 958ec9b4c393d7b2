"""Several workers on one allocation: beside a plain reference, in several processes, and resumed."""

from __future__ import annotations

import math
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reference_workers
from risingbandits import Allocator, Budget, Execution
from risingbandits.allocation import Belief, NoArmAvailable, Prior, Pull
from risingbandits.allocation._snapshot import fold, pack, unpack
from risingbandits.allocation.settings import Settings, as_arguments
from risingbandits.policies import CommitUCB, GaussianUCB, Policy

NAMES = [f"arm{number}" for number in range(7)]
POLICIES: dict[str, Policy] = {"commit-ucb": CommitUCB(sigma=0.1), "gaussian-ucb": GaussianUCB()}
WORKERS = (1, 2, 4)
BUDGETS = ((60, 0), (90, 3))  # pulls, and rewards that one arm begins with


def reward(name: str, n: int) -> float:
    arm = NAMES.index(name)
    return (0.2 + 0.1 * (arm * 3 % 7)) * n / (n + 2) + 0.02 * ((11 * n + arm) % 3)


def drive(allocators: list[Allocator], workers: int, steps: int, seed: int = 0, cost: bool = False) -> list[str]:
    """The arms in the order in which they were asked for; whoever is free asks one of the allocators."""
    rng = np.random.default_rng(seed)
    running: list[Pull] = []
    asked: list[str] = []
    while len(asked) < steps:
        try:
            pull = None if len(running) == workers else allocators[len(asked) % len(allocators)].ask()
        except NoArmAvailable:
            pull = None
        if pull is not None:
            asked.append(pull.arm)
            running.append(pull)
        elif not running:
            break
        else:
            tell(allocators[0], running.pop(int(rng.integers(len(running)))), cost)
    for pull in running:
        tell(allocators[0], pull, cost)
    return asked


def tell(allocator: Allocator, pull: Pull, cost: bool) -> None:
    allocator.tell(pull, reward(pull.arm, pull.n), 1.0 + NAMES.index(pull.arm) if cost else None)


@cache
def cases_of(name: str, workers: int, budget: int, warm: int) -> frozenset[str]:
    """Play both, which must agree; the cases of the rule that came up."""
    policy = POLICIES[name]
    seen = set()
    earlier = {NAMES[3]: [reward(NAMES[3], n) for n in range(1, warm + 1)]} if warm else {}
    allocator = Allocator(
        NAMES,
        budget,
        objective="cumulative",
        policy=policy,
        execution=Execution(parallel="joint"),
        seed=5,
        warm_start=earlier,
    )
    allocator.mask(NAMES[6])
    rng = np.random.default_rng(workers)
    log: list[tuple[str, int, float]] = []
    running: list[Pull] = []
    histories = [earlier.get(name, []) for name in NAMES]
    for number in range(budget):
        if len(running) == workers or (running and rng.random() < 0.2):
            pull = running.pop(int(rng.integers(len(running))))
            log.append(("tell", NAMES.index(pull.arm), reward(pull.arm, pull.n)))
            tell(allocator, pull, cost=False)
            if len(running) + sum(kind == "tell" for kind, *_ in log) >= budget:
                break
        in_flight = [NAMES.index(pull.arm) for pull in running]
        expected, why = reference_workers.answer(policy, log, histories, in_flight, [6], budget, 5)
        asked = allocator.ask()
        assert asked is not None
        assert (number, asked.arm) == (number, NAMES[expected])
        seen.add(why)
        log.append(("ask", -1, math.nan))
        running.append(asked)
    return frozenset(seen)


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize(("budget", "warm"), BUDGETS)
def test_the_allocator_decides_like_the_reference(name: str, workers: int, budget: int, warm: int) -> None:
    assert cases_of(name, workers, budget, warm)


def test_every_case_of_the_rule_comes_up() -> None:
    runs = (cases_of(name, workers, *sizes) for name, workers, sizes in product(POLICIES, WORKERS, BUDGETS))
    assert frozenset[str]().union(*runs) == {"alone", "wanted", "opened", "of the free arms"}


CASES: dict[str, dict[str, Any]] = {
    "pulls": {"objective": "cumulative", "budget": 80},
    "cost": {"objective": "cumulative", "budget": Budget(cost=300.0)},
    "prior": {
        "objective": "cumulative",
        "budget": 80,
        "prior": Prior({NAMES[4]: Belief(1.0, 0.5, "3 tasks")}, tasks=3),
    },
    "many pulls": {"objective": "cumulative", "budget": 2_000},
    "draws": {"objective": "cumulative", "budget": 2_000, "policy": "beta-ts", "parallel": "joint"},
}


@pytest.mark.parametrize("case", CASES)
def test_processes_that_know_only_the_log_decide_the_same(case: str, tmp_path: Path) -> None:
    cost = case == "cost"
    whole = drive([Allocator(NAMES, seed=2, **as_arguments(CASES[case]))], 3, 70, cost=cost)
    with (
        Allocator(NAMES, seed=2, store=tmp_path / "run.db", **as_arguments(CASES[case])) as one,
        Allocator.open(tmp_path / "run.db") as other,
    ):
        assert drive([one, other], 3, 70, cost=cost) == whole
        assert one.ledger.surprises == other.ledger.surprises == 0
        assert len({*whole}) > 3
    with Allocator.open(tmp_path / "run.db") as late:
        assert late.ledger.surprises == 0, "who reads the whole log comes to the same decisions"
        going_on = [late.ask(), late.ask()]
    assert None not in going_on


@pytest.mark.parametrize("case", CASES)
def test_a_snapshot_need_not_keep_what_only_saves_time(case: str) -> None:
    allocator = Allocator(NAMES, seed=2, **as_arguments(CASES[case]))
    drive([allocator], 3, 30, cost=case == "cost")
    copy = unpack(pack(allocator.ledger), allocator.settings)
    assert copy is not None
    drive([allocator], 3, 30, seed=1, cost=case == "cost")
    fold(copy, allocator.store.events(copy.last_id), "memory")
    assert copy.surprises == 0


def test_to_look_at_a_run_changes_nothing() -> None:
    looked_at = Allocator(NAMES, 60, objective="cumulative", seed=1)
    for _ in range(2):
        looked_at.explain()
    first = looked_at.ask()
    assert first is not None
    looked_at.explain()
    other = Allocator(NAMES, 60, objective="cumulative", seed=1)
    assert [first, looked_at.ask()] == [other.ask(), other.ask()]


def test_to_find_the_arm_to_keep_the_policy_names_the_next_arm_itself() -> None:
    runs = [
        drive([Allocator(NAMES, 60, objective="best-arm", execution=Execution(parallel=parallel))], 3, 60)
        for parallel in ("joint", "fill")
    ]
    assert runs[0] == runs[1]


def test_it_is_the_default_of_new_stores_with_the_default_policy(tmp_path: Path) -> None:
    assert Settings.make(arms=["a"], budget=9).options["parallel"] == "joint"
    assert Settings.make(arms=["a"], budget=9, policy="auto").options["parallel"] == "joint"
    assert Settings.make(arms=["a"], budget=9, policy="round-robin").options["parallel"] == "fill"
    with Allocator(NAMES, 40, execution=Execution(parallel="fill"), store=tmp_path / "run.db") as allocator:
        drive([allocator], 2, 10)
    with Allocator(NAMES, 40, store=tmp_path / "run.db") as allocator:
        assert allocator.settings.options["parallel"] == "fill", "a store goes on as it began"
    with Allocator(NAMES, 40, execution=Execution(parallel="joint"), store=tmp_path / "run.db") as allocator:
        assert allocator.settings.options["parallel"] == "joint", "it may change, and that is an event of the log"
        drive([allocator], 2, 10)
    with Allocator.open(tmp_path / "run.db") as allocator:
        assert allocator.ledger.surprises == 0
