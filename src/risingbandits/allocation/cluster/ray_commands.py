"""The commands of a plan on a Ray cluster: each pull runs its command on the node where the arm has its place."""

from __future__ import annotations

import signal
import threading
import time
from pathlib import Path

from risingbandits._core.errors import RisingBanditsError, shown
from risingbandits.allocation.arms.base import Outcome
from risingbandits.allocation.cluster.ray_arms import RayArms
from risingbandits.allocation.commands.command import Command
from risingbandits.allocation.commands.plan import CommandArm, Plan
from risingbandits.allocation.pull import Pull

__all__ = ["CommandPulls", "command_arms", "parse_resources"]


class CommandPulls:
    """Runs the command of an arm, once for each pull. What it learns is in its files, which all nodes must see."""

    def __init__(self, arm: CommandArm, logs: Path, states: Path, plan: Path) -> None:
        self.arm, self.logs, self.states, self.plan = arm, logs, states, plan

    def __call__(self, pull: Pull) -> Outcome:
        command = Command(self.arm, pull, self.logs, self.states, self.plan)
        command.folder.keep_from(pull.n - 1)  # pull n is asked for, so n - 1 counts
        ended = threading.Event()
        try:
            command.start(lambda _command: ended.set())
            left = command.deadline - time.monotonic()
            if not ended.wait(min(left, threading.TIMEOUT_MAX)):
                command.timed_out = True
                command.stop(signal.SIGKILL)
                ended.wait()
        except BaseException:
            command.stop(signal.SIGKILL)
            raise
        reported = command.result()
        return Outcome(reported.reward, reported.cost)


def command_arms(plan: Plan, resources: dict[str, float] | None, address: str | None) -> RayArms:
    """The arms of a plan for ``Allocator.run``."""
    makers = {arm.name: _Maker(arm, plan.logs.absolute(), plan.states.absolute(), plan.path) for arm in plan.arms}
    return RayArms(makers, plan.states, resources=resources, address=address)


class _Maker:
    def __init__(self, *settings: object) -> None:
        self.settings = settings

    def __call__(self) -> CommandPulls:
        return CommandPulls(*self.settings)  # type: ignore[arg-type]


def parse_resources(text: str | None) -> dict[str, float] | None:
    """Resources from text.

    >>> parse_resources("CPU=2,GPU=0.5")
    {'CPU': 2.0, 'GPU': 0.5}
    """
    if text is None:
        return None
    try:
        pairs = [part.split("=") for part in text.split(",")]
        return {kind.strip(): float(amount) for kind, amount in pairs}
    except ValueError:
        raise RisingBanditsError(f"resources must be as CPU=2,GPU=0.5, got {shown(text)}.") from None
