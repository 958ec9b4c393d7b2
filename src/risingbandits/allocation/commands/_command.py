"""An arm that is pulled by running a command: in its own process group, its output in files, its reward last."""

from __future__ import annotations

import logging
import math
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from risingbandits._core.errors import RisingBanditsError, shown
from risingbandits._core.platform import KILL, has_locks
from risingbandits._core.processes import MARK, STARTING, Trace, begun, end_all, end_group, ended, wait_for
from risingbandits.allocation.arms._checkpoints import Holds, Name, needed_after, needed_before
from risingbandits.allocation.arms.base import ArmInUse, Outcome
from risingbandits.allocation.commands._folders import ArmFolder
from risingbandits.allocation.commands._output import FINISHED, Output, last_line, read_reward
from risingbandits.allocation.commands._placeholders import PLACEHOLDERS, names_its_slot, visible_devices
from risingbandits.allocation.commands._plan_arms import CommandArm
from risingbandits.allocation.commands._plan_file import Plan, read_plan
from risingbandits.allocation.pull import CannotGoOn, Pull, Saved, folder_name
from risingbandits.allocation.stores.base import StoreBusy, StoreUnreachable

if TYPE_CHECKING:
    from risingbandits.allocation.arms._checkpointed import Checkpointed

_GRACE = 5.0  # seconds that what was killed may take to end
_POLL = 0.2  # seconds between looks at what a command prints
_NOT_ITS_FAULT = (ArmInUse, StoreBusy, StoreUnreachable)
_LONGEST_REASON = 250  # characters of a command's last line that a failure repeats: a message with a path whole
log = logging.getLogger("risingbandits")


def command_arms(plan: Plan) -> dict[str, Command]:
    """The arms of a plan. They can be pulled here, or sent elsewhere if all see the folders of the plan."""
    timed = plan.budget.seconds is not None
    folders = (plan.logs.absolute(), plan.states.absolute(), plan.path.absolute().parent)
    return {arm.name: Command(arm, *folders, timed) for arm in plan.arms}


def added_command(plan: Plan, name: str) -> Command | None:
    """An arm that was added to a plan since it was read, from its present file; None if it is not there."""
    try:
        return command_arms(read_plan(plan.path)).get(name)
    except RisingBanditsError as error:
        log.warning("the plan was changed, and cannot be read: %s", error)
        return None


class Command:
    """Runs the command of an arm, once for each pull. What it learns is kept in its files.

    Output goes to ``<logs>/<arm>/<n>-<attempt>.out`` and ``.err``, see `Output`. With ``timed`` a pull costs the
    seconds that it took.
    """

    restores_itself = True

    def __init__(self, arm: CommandArm, logs: Path, states: Path, plan: Path, timed: bool = False) -> None:
        self.arm, self.plan, self.timed = arm, plan, timed
        self.folder = ArmFolder(states, arm.name)
        self.logs = logs / folder_name(arm.name)
        self._holds: Holds | None = None  # None: the store cannot be read here
        self._trained, self._direction = 0, "maximize"
        self._saved: Saved | None = None  # the last checkpoint that a command left
        self._process: subprocess.Popen[bytes] | None = None
        self._stops = 0
        self._timed_out = False

    def kept_by(self, owner: Checkpointed) -> None:
        """Take what is known about the arm where its pulls are asked for."""
        self._holds, self.folder.durable, self.folder.store = owner.holds, owner.flush, owner.store
        self._trained, self._direction = owner.trained, owner.direction or "maximize"

    def pull(self, pull: Pull) -> Outcome:
        """Run the command; `RisingBanditsError` with the reason if it cannot be started or fails."""
        self._stops = 0
        if self.arm.uses_state and (self._holds is None or not has_locks()):
            where = "its store cannot be read, as on Ray" if has_locks() else "files have no locks, as on Windows"
            raise CannotGoOn(
                f"arm {self.arm.name!r} must use {{checkpoint}} and {{previous}}, not {{state}}, where {where}: a "
                "command that has lost its pull would change the folder of another."
            )
        self.folder.claim()
        start = self.folder.start_of(pull, self._trained, not self.arm.uses_state, self._holds)
        self.folder.tidy(pull.n - 1, needed_before(pull))
        # What is missing since the checkpoint is made again; each of these pulls leaves a checkpoint for the next.
        first = pull.n if pull.last is None else (self._trained if start is None else start.n) + 1
        previous = self.folder.at(first - 1, pull.before if start is None else start.id)
        for n in range(first, pull.n):
            self._run(pull._replace(n=n, attempt=0), previous)
            previous = self.folder.at(n, pull.id)
            if not previous.exists():
                raise RisingBanditsError(
                    f"pull {n} left no checkpoint although an earlier one did: a command that writes {{checkpoint}} "
                    "must do so in every pull."
                )
        outcome = self._run(pull, previous)
        if outcome.reward is None:
            self.folder.drop(Name(pull.n, pull.id))
            return outcome
        proof = self.folder.proof(pull.n, pull.id)
        self._saved = Saved(pull.n, pull.id, outcome.reward, proof) if proof else None
        return outcome._replace(checkpoint=proof)

    def told(self, pull: Pull) -> None:
        """A pull counts: only its checkpoint, or the newest before it, and the best one are still needed."""
        self.folder.tidy(pull.n, needed_after(pull, self._saved, self._direction))

    def stop(self) -> None:
        """Ask the command and everything that it started to end; the second time, kill them."""
        self._stops += 1
        self._signal(signal.SIGTERM if self._stops == 1 else KILL)

    def _run(self, pull: Pull, previous: Path) -> Outcome:
        """Run the command, and find out whose error it was if it fails."""
        out = self.logs / f"{pull.n}-{pull.attempt or 'again'}.out"
        mark = secrets.token_hex(8)
        began = time.monotonic()
        streams = [Output(path, self.arm.max_output) for path in (out, out.with_suffix(".err"))]
        try:
            process, trace = self._start(pull, previous, streams, mark)
            try:
                self._wait(process, streams)
                seconds = time.monotonic() - began
            finally:
                self._end(process, trace)
                too_much = any(stream.is_too_much for stream in streams)
                for stream in streams:
                    stream.close()
            if too_much:
                raise RisingBanditsError(
                    f"ended, because it printed far more than max_output, {self.arm.max_output:,} bytes; "
                    f"output in {out}."
                )
            if self._timed_out:
                raise RisingBanditsError(f"not done after {self.arm.timeout:g} s; output in {out}.")
            if process.returncode not in (0, FINISHED):
                raise RisingBanditsError(_failure(process.returncode, out.with_suffix(".err")))
            outcome = read_reward(out, process.returncode, self.arm.metric)
            return outcome._replace(cost=seconds) if self.timed else outcome
        except _NOT_ITS_FAULT:
            raise
        except RisingBanditsError as error:
            self.folder.drop(Name(pull.n, pull.id))  # of this pull, which nobody else can tell
            self.folder.check_disk(error)
            raise

    def _wait(self, process: subprocess.Popen[bytes], streams: Sequence[Output]) -> None:
        """Wait until the command has ended; kill it when its time is over or it prints too much."""
        done = threading.Event()
        # It is not reaped before its group is ended, so the number of the group cannot be another's.
        threading.Thread(target=wait_for, args=(process, done), daemon=True).start()
        end = math.inf if self.arm.timeout is None else time.monotonic() + self.arm.timeout
        while not done.wait(max(0.0, min(_POLL, end - time.monotonic()))):
            if time.monotonic() >= end or any(stream.is_too_much for stream in streams):
                break
        if done.is_set():
            return
        self._timed_out = True
        self._signal(KILL)
        if not done.wait(_GRACE):
            raise ArmInUse(f"its time is over and it was killed, but process {process.pid} does not end.")

    def _end(self, process: subprocess.Popen[bytes], trace: Trace) -> None:
        """End what the command has left behind, which would use the next pull's files; name what does not end."""
        self._signal(KILL)
        left = end_all(trace, _GRACE)
        self._process = None
        try:
            process.wait(_GRACE)
            ended(process.pid)
        except subprocess.TimeoutExpired:  # nothing can end it: it is reaped when it does end
            threading.Thread(target=_reap, args=(process,), daemon=True).start()
        if left:
            log.warning("%s has started processes that were killed and do not end: %s", self.arm.name, ", ".join(left))

    def _start(
        self, pull: Pull, previous: Path, streams: Sequence[Output], mark: str
    ) -> tuple[subprocess.Popen[bytes], Trace]:
        values = {
            "arm": self.arm.name,
            "n": str(pull.n),
            "attempt": str(pull.attempt),
            # Where it cannot be guarded, what a script writes there fails.
            "state": str(self.folder.state if self._holds is not None else self.folder.path / "no-state-here"),
            "checkpoint": str(self.folder.at(pull.n, pull.id)),
            "previous": str(previous),
            "slot": pull.slot,
            "plan": str(self.plan),
            "python": sys.executable,
        }
        own = {name: self.arm.filled(value, values) for name, value in self.arm.environment.items()}
        hides = pull.slot and not names_its_slot(self.arm.texts())
        devices = visible_devices(pull.slot, os.environ) if hides else {}
        ours = {PLACEHOLDERS[name][0]: value for name, value in values.items()}
        self._timed_out = False
        lock = self.folder.lock(mark, lambda: self._stops > 0)
        try:
            # The lock is held from this look until the command has inherited it: nobody else can come between.
            if self._holds is not None:
                if not self._holds(pull):
                    raise ArmInUse(f"pull {pull.n} of arm {self.arm.name!r} was given to another worker.")
                self.folder.state.mkdir(parents=True, exist_ok=True)
            self.logs.mkdir(parents=True, exist_ok=True)
            with streams[0].path.open("wb") as printed, streams[1].path.open("wb") as errors, STARTING:
                self._process = process = subprocess.Popen(
                    self.arm.argv(values),
                    cwd=self.arm.directory,
                    env={**os.environ, **devices, **own, **ours, MARK: mark},
                    stdin=subprocess.DEVNULL,
                    stdout=printed,
                    stderr=errors,
                    pass_fds=(lock,) if has_locks() else (),
                    start_new_session=True,  # so that Ctrl-C reaches only us, and the whole group can be ended
                )
                start = begun(process.pid)
            self.folder.sign(lock, mark, process.pid)
        except _NOT_ITS_FAULT:
            raise
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            for stream in streams:
                stream.close()
            if self._process is not None:  # nothing would wait for it
                self._end(self._process, Trace(mark, self.folder.lock_file, self._process.pid, run=os.getpid()))
            raise RisingBanditsError(f"arm {self.arm.name!r} cannot be started: {error}.") from error
        finally:
            os.close(lock)
        if self._stops:
            self._signal(signal.SIGTERM)
        return process, Trace(mark, self.folder.lock_file, process.pid, start, os.getpid())

    def _signal(self, number: signal.Signals) -> None:
        process = self._process
        if process is not None:
            end_group(process.pid, number)


def _reap(process: subprocess.Popen[bytes]) -> None:
    process.wait()
    ended(process.pid)


def _failure(code: int, errors: Path) -> str:
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    how = f"exit code {code}" if code > 0 else f"ended by {name}"
    last, _ = last_line(errors)
    return f"{how}{f' ({shown(last, _LONGEST_REASON)})' if last else ''}; output in {errors}."
