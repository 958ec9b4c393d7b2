"""Several workers on one allocation: in several processes, and resumed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from risingbandits import Allocator, Budget
from risingbandits.allocation import Belief, NoArmAvailable, Prior, Pull
from risingbandits.allocation._snapshot import fold, pack, unpack
from risingbandits.policies import RoundRobin

NAMES = [f"arm{number}" for number in range(7)]


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


CASES: dict[str, dict[str, Any]] = {
    "pulls": {"objective": "cumulative", "budget": 80},
    "cost": {"objective": "cumulative", "budget": Budget(cost=300.0)},
    "prior": {
        "objective": "cumulative",
        "budget": 80,
        "prior": Prior({NAMES[4]: Belief(1.0, 0.5, "3 tasks")}, tasks=3),
    },
    "many pulls": {"objective": "cumulative", "budget": 2_000},
    "draws": {"objective": "cumulative", "budget": 2_000, "policy": "beta-ts"},
}


@pytest.mark.parametrize("case", CASES)
def test_processes_that_know_only_the_log_decide_the_same(case: str, tmp_path: Path) -> None:
    cost = case == "cost"
    whole = drive([Allocator(NAMES, seed=2, **CASES[case])], 3, 70, cost=cost)
    with (
        Allocator(NAMES, seed=2, store=tmp_path / "run.db", **CASES[case]) as one,
        Allocator.open(tmp_path / "run.db") as other,
    ):
        assert drive([one, other], 3, 70, cost=cost) == whole
        assert one.ledger.surprises == other.ledger.surprises == 0
        assert len({*whole}) > 2
    with Allocator.open(tmp_path / "run.db") as late:
        assert late.ledger.surprises == 0, "who reads the whole log comes to the same decisions"
        going_on = [late.ask(), late.ask()]
    assert None not in going_on


@pytest.mark.parametrize("case", CASES)
def test_a_snapshot_need_not_keep_what_only_saves_time(case: str) -> None:
    allocator = Allocator(NAMES, seed=2, **CASES[case])
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


@pytest.mark.parametrize(("objective", "expected"), [("cumulative", [1, 2, 3, 3]), ("best-arm", [])])
def test_the_policy_is_told_how_many_pulls_are_made_at_a_time(objective: str, expected: list[int]) -> None:
    told: list[int] = []

    class Asked(RoundRobin):
        name = "asked"

        def _take_workers(self, state: Any, workers: int) -> bool:
            told.append(workers)
            return True

    allocator = Allocator(NAMES, 20, objective=objective, policy=Asked())
    first, _ = allocator.ask(), allocator.ask()
    assert first is not None
    allocator.ask()
    allocator.tell(first, 0.5)
    allocator.release(allocator.ask() or 0)
    allocator.ask()
    assert told == expected
