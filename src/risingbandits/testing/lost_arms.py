"""`check_killed_arm` and `check_failing_arm`: what a crash and a failure leave behind of an arm."""

from __future__ import annotations

import math
import multiprocessing
import os
import pickle
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from risingbandits.allocation.allocator import Allocator
from risingbandits.allocation.arms._checkpointed import Checkpointed
from risingbandits.allocation.arms._checkpoints import Checkpoints
from risingbandits.allocation.arms.base import Outcome, as_arm, makes_arm
from risingbandits.allocation.pull import Pull
from risingbandits.allocation.settings import Execution
from risingbandits.testing.arms import _pulled, _same

_INSTANTS = ("in a pull", "in save", "before the pull is told")


def check_killed_arm(make: Callable[[], Any], pulls: int = 4, tolerance: float = 0.0) -> None:
    """Raise AssertionError, with a sentence, if an arm is not the same after its process was killed.

    A process of its own pulls the arm, with a store and checkpoints, and gets SIGKILL in the middle of a pull, when a
    checkpoint is half written, and between a checkpoint and the tell of its pull. Each time this process goes on with
    the store, and the rewards must be those of an arm that nothing has happened to.

    Parameters
    ----------
    make : function without arguments
        Makes a new arm, with fixed seeds. A new process must be able to import it: a function or class of a module, or
        a ``functools.partial`` of one.
    pulls : int
        How often it is pulled; the process is killed at the second pull.
    tolerance : float
        How much two rewards that should be the same may differ.
    """
    assert makes_arm(make), f"make must be a class, or a function without arguments that makes an arm, got {make!r}."
    try:
        pickle.dumps(make)
    except Exception as error:
        raise AssertionError(f"make must be importable by a new process, got {make!r} ({error}).") from None
    arm = as_arm(make())
    expected = [_pulled(arm, n) for n in range(1, pulls + 1)]
    for instant in _INSTANTS:
        if instant == _INSTANTS[1] and not hasattr(arm, "save"):
            continue
        with tempfile.TemporaryDirectory() as folder:
            store = Path(folder) / "run.db"
            _pull_and_be_killed(make, store, pulls, instant)
            with _allocator(make, store, pulls) as allocator:
                before = len(allocator.ledger.rewards("arm"))
                assert before == 1, f"killed {instant}, {before} pulls were told, not 1."
                _pull_all(allocator, make)
                rewards = allocator.ledger.rewards("arm")
        for n, (reward, wanted) in enumerate(zip(rewards, expected, strict=True), start=1):
            _same(reward, wanted, tolerance, f"pull {n} of an arm that was killed {instant} 2")


def check_failing_arm(make: Callable[[], Any], good_pulls: int = 0) -> str:
    """Raise AssertionError, with a sentence, if the failure of an arm costs more than the pull that fails.

    ``make`` makes an arm that fails after ``good_pulls`` pulls, as one whose loss becomes NaN. An allocator with it and
    another arm must spend its budget, keep the rewards of the good pulls and the checkpoint of the last of them, from
    which a new arm can go on, and retire the arm with one line; that is what comes back, for you to look at.
    """
    with tempfile.TemporaryDirectory() as folder:
        arms: dict[str, Any] = {"fails": make, "works": lambda pull: 0.5}
        settings: dict[str, Any] = {"policy": "round-robin", "reward_range": None, "execution": Execution(retries=2)}
        store, budget = Path(folder) / "run.db", 2 * good_pulls + 4
        with Allocator(arms, budget, store=store, direction=_direction(make), **settings) as allocator:
            allocator.run(progress=False)
            failed = allocator.ledger.arm("fails")
            assert len(failed.rewards) == good_pulls, f"{len(failed.rewards)} pulls count, not {good_pulls}."
            assert all(math.isfinite(reward) for reward in failed.rewards)
            assert allocator.spent == budget, f"only {allocator.spent:g} of {budget} pulls were made."
            assert failed.retired is not None, "an arm that goes on failing must be retired."
            reason = failed.retired
            assert len(reason.splitlines()) == 1, f"a failure must be told in one line, got {reason!r}."
            if good_pulls and Checkpointed.of("fails", make, allocator).is_light():
                kept = failed.last
                assert kept is not None
                assert kept.n == good_pulls, "the last good checkpoint is lost."
                assert allocator.store.directory is not None
                files = Checkpoints(allocator.store.directory, "fails")
                as_arm(make()).load(files.at(kept.n, kept.id))  # type: ignore[attr-defined]
    return reason


def _direction(make: Callable[[], Any]) -> str | None:
    return getattr(make(), "direction", None)


@contextmanager
def _allocator(make: Callable[[], Any], store: Path, pulls: int) -> Iterator[Allocator]:
    arms = {"arm": make}
    with Allocator(arms, pulls, store=store, reward_range=None, direction=_direction(make)) as allocator:
        yield allocator


def _pull_all(allocator: Allocator, make: Callable[[], Any], killed_before_tell: int = 0) -> None:
    arm = Checkpointed.of("arm", make, allocator)
    for pull in allocator:
        answer = arm.pull(pull)
        if pull.n == killed_before_tell:
            _die()
        outcome = answer if isinstance(answer, Outcome) else Outcome(answer)
        allocator.tell(pull, *outcome)
        arm.told(pull)


def _pull_and_be_killed(make: Callable[[], Any], store: Path, pulls: int, instant: str) -> None:
    """Have a process pull the arm and killed in pull 2."""
    context = multiprocessing.get_context("spawn")  # a fork of a process with threads of a framework may hang
    here, there = context.Pipe()
    child = context.Process(target=_work, args=(make, store, pulls, instant, there), daemon=True)
    child.start()
    there.close()
    try:
        here.recv()  # pull 2 has begun
        if instant == _INSTANTS[0]:
            child.kill()
    except EOFError:
        pass  # it has ended before: what it says comes below
    child.join()
    here.close()
    assert child.exitcode == -signal.SIGKILL, f"pulls of a new process ended with exit code {child.exitcode}."


def _work(make: Callable[[], Any], store: Path, pulls: int, instant: str, parent: Any) -> None:
    def doomed() -> _Doomed:
        return _Doomed(as_arm(make()), instant, parent)

    with _allocator(make, store, pulls) as allocator:
        _pull_all(allocator, doomed, 2 if instant == _INSTANTS[2] else 0)


class _Doomed:
    """An arm that is killed in its second pull or in the save that follows."""

    def __init__(self, arm: Any, instant: str, parent: Any) -> None:
        self.arm, self.instant, self.parent = arm, instant, parent
        self.direction = getattr(arm, "direction", None)
        self.pulled = 0
        if hasattr(arm, "save"):
            self.save, self.load = self._save, arm.load
        if hasattr(arm, "restores_itself"):
            self.restores_itself = arm.restores_itself

    def pull(self, pull: Pull) -> Any:
        self.pulled = pull.n
        if pull.n == 2:
            self.parent.send("begun")
        answer = self.arm.pull(pull)
        if pull.n == 2 and self.instant == _INSTANTS[0]:
            signal.pause()  # the pull was too quick: the kill comes now
        return answer

    def _save(self, path: Path) -> None:
        self.arm.save(path)
        if self.instant == _INSTANTS[1] and self.pulled == 2:
            for file in [path] if path.is_file() else sorted(inner for inner in path.rglob("*") if inner.is_file()):
                os.truncate(file, file.stat().st_size // 2)
            _die()


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
