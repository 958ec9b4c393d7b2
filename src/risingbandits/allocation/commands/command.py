"""One pull of a command: started in a process group of its own, its output in files, its reward on the last line."""

from __future__ import annotations

import contextlib
import json
import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from risingbandits._core.errors import RisingBanditsError, shown
from risingbandits.allocation.commands.folders import ArmFolder, folder_name
from risingbandits.allocation.commands.placeholders import expand, variables
from risingbandits.allocation.commands.plan import CommandArm
from risingbandits.allocation.pull import Pull

__all__ = ["Command", "Reported", "read_reward"]

_TAIL = 65_536  # bytes of the output in which the last line must begin


class Reported(NamedTuple):
    """What a command printed."""

    reward: float
    cost: float | None = None


class Command:
    """A pull that is being done by a command.

    Output goes to ``<logs>/<arm>/<n>-<attempt>.out`` and ``.err``, not through pipes: nothing is lost if this process
    dies, and nothing is blocked if the command prints much.
    """

    def __init__(self, arm: CommandArm, pull: Pull, logs: Path, states: Path, plan: Path) -> None:
        self.arm, self.pull = arm, pull
        self.folder = ArmFolder(states, arm.name)
        place = logs / folder_name(arm.name)
        self.out = place / f"{pull.n}-{pull.attempt}.out"
        self.err = self.out.with_suffix(".err")
        self.seconds = 0.0
        self.timed_out = False
        self._values = {
            "arm": arm.name,
            "n": str(pull.n),
            "attempt": str(pull.attempt),
            "state": str(self.folder.state),
            "checkpoint": str(self.folder.checkpoint(pull.n)),
            "previous": str(self.folder.checkpoint(pull.n - 1)),
            "plan": str(plan.absolute().parent),
            "python": sys.executable,
        }
        self._process: subprocess.Popen[bytes] | None = None
        self._began = 0.0

    def start(self, ended: Callable[[Command], None]) -> None:
        """Run the command; ``ended`` is called from another thread when it is over.

        Raises `RisingBanditsError` where it cannot be started.
        """
        lock = self.folder.lock()
        try:
            self.folder.begin(self.pull.n)
            self.out.parent.mkdir(parents=True, exist_ok=True)
            with self.out.open("wb") as out, self.err.open("wb") as err:
                self._began = time.monotonic()
                self._process = subprocess.Popen(
                    self.arm.argv(self._values),
                    cwd=self.arm.directory,
                    env=self._environment(),
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                    pass_fds=(lock,),
                    start_new_session=True,  # so that Ctrl-C reaches only us, and the whole group can be ended
                )
            self.folder.sign(lock, self._process.pid)
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            self._end_at_once()
            raise RisingBanditsError(f"arm {self.arm.name!r} cannot be started: {error}.") from error
        finally:
            os.close(lock)
        threading.Thread(target=self._wait, args=(self._process, ended), daemon=True).start()

    @property
    def deadline(self) -> float:
        """When it has to be over, by the monotonic clock."""
        return math.inf if self.arm.timeout is None else self._began + self.arm.timeout

    def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        """Send a signal to the command and all that it started."""
        if self._process is not None and self._process.returncode is None:
            # Its leader is not reaped before the group is ended (`_wait`), so the number cannot be another group's.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, number)

    def result(self) -> Reported:
        """What it reported; `RisingBanditsError` with the reason if it failed."""
        assert self._process is not None
        if self.timed_out:
            raise RisingBanditsError(f"not done after {self.arm.timeout:g} s; output in {self.out}.")
        code = self._process.returncode
        if code:
            how = f"exit code {code}" if code > 0 else f"ended by {_signal_name(-code)}"
            last = _last_line(self.err)
            raise RisingBanditsError(f"{how}{f' ({shown(last)})' if last else ''}; output in {self.err}.")
        return read_reward(self.out)

    def _end_at_once(self) -> None:
        """End a command that nobody would wait for."""
        if self._process is not None:
            self.stop(signal.SIGKILL)
            self._process.wait()

    def _environment(self) -> dict[str, str]:
        own = {name: expand(value, self._values) for name, value in self.arm.environment.items()}
        return {**os.environ, **own, **variables(self._values)}

    def _wait(self, process: subprocess.Popen[bytes], ended: Callable[[Command], None]) -> None:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        self.seconds = time.monotonic() - self._began
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)  # what the command left behind would work on the next pull's files
        process.wait()
        ended(self)


def read_reward(path: Path) -> Reported:
    """The reward on the last line of a file: a number, or a JSON object with "reward" and, if it likes, "cost"."""
    line = _last_line(path)
    if not line:
        raise RisingBanditsError(f"nothing printed: the last line of the output must be the reward; output in {path}.")
    try:
        return Reported(_finite(float(line)))
    except ValueError:
        pass
    try:
        value = json.loads(line)
        if not isinstance(value, dict):
            raise ValueError(line)
        cost = value.get("cost")
        return Reported(_number(value["reward"]), None if cost is None else _number(cost, minimum=0.0))
    except (ValueError, KeyError, RecursionError, OverflowError):
        raise RisingBanditsError(
            f'the last line of the output must be a finite number or {{"reward": 0.5, "cost": 2}} with a cost >= 0, '
            f"got {shown(line)}; output in {path}."
        ) from None


def _number(value: object, minimum: float = -math.inf) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or value < minimum:
        raise ValueError(value)
    return _finite(float(value))


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise ValueError(value)
    return value


def _last_line(path: Path) -> str:
    """The last line that is not blank; empty if there is none."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL))
            lines = file.read().decode("utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
