"""One learner for every kind of runner, and one store that they take in turns."""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from chain_arm import Chain, expected
from risingbandits import Allocator, Pull
from risingbandits.allocation.arms._checkpointed import Checkpointed
from risingbandits.allocation.arms._display import Display
from risingbandits.allocation.arms._driver import Driver
from risingbandits.allocation.commands._command import Command
from risingbandits.allocation.commands._plan_arms import CommandArm

BUDGET, TURN = 30, 10

#: `Chain` as a program; its checkpoints are the same files.
PROGRAM = """\
import hashlib, os
from pathlib import Path

arm, n, before, after = (os.environ["RISINGBANDITS_" + name] for name in ("ARM", "PULL", "PREVIOUS", "CHECKPOINT"))
with open("diary", "a") as diary:
    diary.write(f"begin {arm} {n} command\\n")
state = Path(before).read_text() if int(n) > 1 else arm
state = hashlib.sha256(f"{state};{n}".encode()).hexdigest()
Path(after).write_text(state)
print(int(state[:8], 16) / 0xFFFFFFFF)
"""


class Interrupting(Display):
    """A display that interrupts the program when so many pulls have been told."""

    def __init__(self, pulls: int) -> None:
        self.left = pulls

    def told(self, pull: Pull, reward: float) -> None:
        self.left -= 1
        if self.left == 0:
            signal.raise_signal(signal.SIGINT)


def an_object(allocator: Allocator, folder: Path) -> Mapping[str, Any]:
    return {"a b": Chain("a b", folder / "diary")}


def a_function_that_makes_one(allocator: Allocator, folder: Path) -> Mapping[str, Any]:
    return {"a b": lambda: Chain("a b", folder / "diary")}


def a_process(allocator: Allocator, folder: Path) -> Mapping[str, Any]:
    """As a process of Ray has it."""
    assert allocator.store.directory is not None
    return {"a b": Checkpointed("a b", lambda: Chain("a b", folder / "diary"), allocator.store.directory, make=True)}


def a_command(allocator: Allocator, folder: Path) -> Mapping[str, Any]:
    (folder / "learn.py").write_text(PROGRAM)
    assert allocator.store.directory is not None
    config = CommandArm("a b", ("{python}", "-S", "-E", "{plan}/learn.py"), directory=folder, environment={})
    return {"a b": Command(config, folder / "logs", allocator.store.directory, folder)}


def take_turns(runners: list[Callable[[Allocator, Path], Mapping[str, Any]]], folder: Path) -> None:
    """Each makes about a third of the pulls; all of them together are the first 30 of the learner, none made twice."""
    for number, runner in enumerate(runners, start=1):
        last = number == len(runners)
        with Allocator(["a b"], BUDGET, store=folder / "run.db", policy="round-robin") as allocator:
            before = allocator.spent
            arms = runner(allocator, folder)
            received = Driver(allocator, arms, 1, Interrupting(BUDGET if last else TURN)).run()
            if hasattr(arms, "close"):
                arms.close()
            assert received == (None if last else signal.SIGINT)
            assert allocator.finished if last else allocator.spent - before in (TURN, TURN + 1)
            assert allocator.rewards("a b") == expected("a b", int(allocator.spent))
    made = [line for line in (folder / "diary").read_text().splitlines() if line.startswith("begin")]
    assert len(made) == BUDGET
