"""Learners whose checkpoints version 0.1.0 wrote go on where their last counted pull left them."""

from __future__ import annotations

from pathlib import Path

import pytest
from counting import BEGUN, BUDGET, NAMES, PLAN, PROGRAM, TOLD, Counter, OnRay, begun, worth
from hidden import run_command

from risingbandits import Allocator


def check(store: Path) -> None:
    """The budget is spent, and every pull was made by a learner that had had all pulls before it."""
    with Allocator.open(store) as allocator:
        assert allocator.spent == BUDGET
        for name in NAMES:
            rewards = allocator.rewards(name)
            assert len(rewards) == BUDGET // len(NAMES)
            assert rewards == [worth(name, n + 1) for n in range(len(rewards))]


def test_run_goes_on_with_its_checkpoints(tmp_path: Path) -> None:
    store = begun("run", tmp_path)
    arms = {name: Counter(name) for name in NAMES}
    with Allocator.open(store, arms) as allocator:
        assert allocator.spent == TOLD
        allocator.run(progress=False)
    assert sum(arm.made for arm in arms.values()) == BUDGET - TOLD
    check(store)


@pytest.mark.parametrize(("kind", "every"), [("ray", 1), ("ray-every-5", 5)])
def test_processes_of_ray_go_on_with_their_checkpoints(kind: str, every: int, tmp_path: Path) -> None:
    store = begun(kind, tmp_path)
    arms = {name: OnRay(name, store.with_name("run.db.checkpoints"), every) for name in NAMES}
    with Allocator.open(store) as allocator:
        assert allocator.spent == TOLD
        allocator.run(progress=False, arms=arms)
    again = sum(arm.made for arm in arms.values()) - (BUDGET - TOLD)
    assert 0 <= again <= (every - 1) * len(NAMES)  # pulls since the last checkpoint are made again
    check(store)


def test_commands_go_on_with_their_checkpoints(tmp_path: Path) -> None:
    store = begun("plan", tmp_path)
    with Allocator.open(store) as allocator:
        assert allocator.spent == TOLD
    assert run_command(["run", str(store.with_name("plan.toml"))]) == 0
    check(store)


@pytest.mark.parametrize("kind", BEGUN)
@pytest.mark.parametrize("runner", ["objects", "processes of Ray", "commands"])
def test_another_runner_goes_on(kind: str, runner: str, tmp_path: Path) -> None:
    """What was begun with one kind of runner is continued by each other, as if it had been its own."""
    store = begun(kind, tmp_path)
    if runner == "commands":
        (store.parent / "plan.toml").write_text(f'store = "{store.name}"\n{PLAN}')
        (store.parent / "count.py").write_text(PROGRAM)
        assert run_command(["run", str(store.parent / "plan.toml")]) == 0
    else:
        with Allocator.open(store) as allocator:
            folder = allocator.store.directory
            assert folder is not None
            arms = {name: Counter(name) if runner == "objects" else OnRay(name, folder, 1) for name in NAMES}
            allocator.run(progress=False, arms=arms)
        again = sum(arm.made for arm in arms.values()) - (BUDGET - TOLD)
        assert 0 <= again <= (4 * len(NAMES) if kind == "ray-every-5" else 0)
    check(store)
