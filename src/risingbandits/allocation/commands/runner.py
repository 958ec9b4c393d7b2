"""Run a plan: ask for pulls, let commands do them, tell their rewards; stop cleanly when told to.

One thread talks to the store. Each command has a thread that only waits for its end; signals and ends of commands meet
in one queue.
"""

from __future__ import annotations

import math
import queue
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Protocol

from risingbandits._core.errors import RisingBanditsError
from risingbandits.allocation.allocator import Allocator
from risingbandits.allocation.commands.command import Command
from risingbandits.allocation.commands.plan import Plan
from risingbandits.allocation.pull import NoArmFree, Pull

__all__ = ["Runner", "Watcher"]

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_GRACE = 5.0  # seconds between asking commands to end and ending them
_LONGEST_WAIT = 0.5  # seconds between looks at deadlines and leases
_STORE_POLL = 0.2  # seconds between looks at a store whose free arms other processes have


class Watcher(Protocol):
    """Who shows what happens. Failures and lost pulls come by way of `logging`."""

    def started(self, command: Command) -> None:
        """A command runs."""

    def told(self, command: Command, reward: float) -> None:
        """A pull is done and counted."""

    def say(self, sentence: str) -> None:
        """Something that the user should know."""

    def tick(self) -> None:
        """Called several times a second while something happens, at least every second otherwise."""


class Runner:
    """Runs the commands of ``plan`` for ``allocator``, at most ``jobs`` at a time.

    The first SIGINT lets running commands finish; a second one, SIGTERM or SIGHUP ends them and gives their pulls back.
    Pulls that were told are in the store before the next command starts, whatever happens.
    """

    def __init__(self, plan: Plan, allocator: Allocator, jobs: int, watcher: Watcher) -> None:
        self.plan, self.allocator, self.jobs, self.watcher = plan, allocator, jobs, watcher
        self.running: dict[int, Command] = {}
        self._arms = {arm.name: arm for arm in plan.arms}
        # SimpleQueue: its put may be called by a signal handler that interrupts a get or a put.
        self._queue: queue.SimpleQueue[Command | signal.Signals] = queue.SimpleQueue()
        self._signal: signal.Signals | None = None
        self._ending = False  # whether running commands are being ended
        self._waiting = False  # whether the user was told that all arms are elsewhere
        self._kill_at = math.inf
        self._next_renewal = time.monotonic() + plan.lease / 3

    def run(self) -> int:
        """Run until the budget is spent or a signal comes; 0, or 128 + the number of the signal."""
        with self._signals():
            try:
                while self._go_on():
                    self._take(self._wait())
            except BaseException:
                self._abandon()
                raise
        return 0 if self._signal is None else 128 + int(self._signal)

    def _go_on(self) -> bool:
        """Start what can be started; whether there is something to wait for."""
        while self._signal is None and len(self.running) < self.jobs:
            try:
                pull = self.allocator.ask()
            except NoArmFree as reason:
                if not self.running and not self._waiting:
                    self.watcher.say(f"Waiting: {reason}")
                self._waiting = not self.running
                return True  # an arm will be free when a command ends, here or in another process
            if pull is None:
                break
            self._waiting = False
            self._start(pull)
        return bool(self.running)

    def _start(self, pull: Pull) -> None:
        arm = self._arms.get(pull.arm)
        if arm is None:
            self.allocator.fail(pull, "the plan has no such arm")
            return
        command = Command(arm, pull, self.plan.logs, self.plan.states, self.plan.path)
        try:
            command.start(self._queue.put)
        except RisingBanditsError as error:
            self.allocator.fail(pull, str(error))
            return
        self.running[pull.id] = command
        self.watcher.started(command)

    def _wait(self) -> Command | signal.Signals | None:
        """The next thing that happens; None when it is time to look at the clock."""
        now = time.monotonic()
        times = [command.deadline for command in self.running.values() if not command.timed_out]
        until = min([*times, self._next_renewal, self._kill_at, now + (_LONGEST_WAIT if self.running else _STORE_POLL)])
        try:
            return self._queue.get(timeout=max(0.0, until - now))
        except queue.Empty:
            return None

    def _take(self, happened: Command | signal.Signals | None) -> None:
        if isinstance(happened, signal.Signals):
            self._stop(happened)
        elif happened is not None:
            self._finish(happened)
        self._look_at_clock()
        self.watcher.tick()

    def _finish(self, command: Command) -> None:
        """Tell the reward of a command that has ended, or give its pull back."""
        del self.running[command.pull.id]
        try:
            reported = command.result()
            cost = command.seconds if self.plan.budget.seconds is not None else reported.cost
            self.allocator.tell(command.pull, reported.reward, cost)
        except RisingBanditsError as error:
            if self._ending:
                self.allocator.release(command.pull, "stopped")
            else:
                self.allocator.fail(command.pull, str(error))
            return
        command.folder.keep_from(command.pull.n)
        self.watcher.told(command, reported.reward)

    def _look_at_clock(self) -> None:
        now = time.monotonic()
        for command in self.running.values():
            if now >= command.deadline and not command.timed_out:
                command.timed_out = True
                command.stop(signal.SIGKILL)
        if now >= self._kill_at:
            self._kill_at = math.inf
            self._signal_all(signal.SIGKILL)
        if now >= self._next_renewal:
            self._next_renewal = now + self.plan.lease / 3
            for command in self.running.values():
                if not self.allocator.renew(command.pull):  # another worker has it now
                    command.stop(signal.SIGKILL)

    # -- stopping -----------------------------------------------------------------------------------------------

    def _stop(self, received: signal.Signals) -> None:
        first = self._signal is None
        self._signal = self._signal or received
        if first and received == signal.SIGINT:
            if self.running:
                number = f"{len(self.running)} running pull{'' if len(self.running) == 1 else 's'}"
                self.watcher.say(f"Interrupted: finishing {number}. Interrupt again to stop now.")
        elif not self._ending:
            self._ending = True
            self._signal_all(signal.SIGTERM)
            self._kill_at = time.monotonic() + _GRACE

    def _signal_all(self, number: signal.Signals) -> None:
        for command in self.running.values():
            command.stop(number)

    def _abandon(self) -> None:
        """After an error: no command goes on without us. Pulls that cannot be given back are reclaimed later."""
        self._signal_all(signal.SIGKILL)
        for command in self.running.values():
            with suppress(Exception):
                self.allocator.release(command.pull, "stopped by an error")

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """Signals go to the queue while the plan runs; before and after they do what they did."""

        def note(number: int, frame: FrameType | None) -> None:
            self._queue.put(signal.Signals(number))

        before = {number: signal.signal(number, note) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
