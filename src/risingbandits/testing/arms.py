"""`check_arm`: whether a learner can be paused, resumed and moved without anybody noticing.

>>> class Counter:
...     count = 0
...     def pull(self, pull):
...         self.count += 1
...         return self.count / 100
...     def save(self, path):
...         _ = path.write_text(str(self.count))
...     def load(self, path):
...         self.count = int(path.read_text())
>>> from risingbandits.testing import check_arm
>>> check_arm(Counter)
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from risingbandits.allocation.arms.base import Arm, Outcome, as_arm, makes_arm
from risingbandits.allocation.pull import Pull


def check_arm(make: Callable[[], Any], pulls: int = 6, tolerance: float = 0.0) -> None:
    """Raise AssertionError, with a sentence, if an arm breaks its contract.

    It checks that rewards and costs are finite numbers, and that two arms that were made alike give the same rewards.
    If the arm has ``save`` and ``load``, it also checks that an arm which is saved after any pull and loaded by a new
    one goes on as if nothing had happened, that ``save`` leaves the arm as it was, that ``load`` replaces all that was
    learnt, and that ``load`` of a checkpoint which is missing or damaged raises, in one line, and leaves the arm as it
    was.
    `check_killed_arm` and `check_failing_arm` test what a crash and a failure leave behind.

    Parameters
    ----------
    make : function without arguments
        Makes a new arm that has not been pulled; with fixed seeds, so that its rewards can be repeated.
    pulls : int
        How often it is pulled.
    tolerance : float
        How much two rewards that should be the same may differ: 0 where training is exact.
    """
    assert makes_arm(make), f"make must be a class, or a function without arguments that makes an arm, got {make!r}."
    first = as_arm(make())
    rewards = [_pulled(first, n) for n in range(1, pulls + 1)]
    again = as_arm(make())
    for n in range(1, pulls + 1):
        _same(_pulled(again, n), rewards[n - 1], tolerance, f"pull {n} of a second new arm")
    if not (callable(getattr(first, "save", None)) and callable(getattr(first, "load", None))):
        assert not hasattr(first, "save"), "an arm with save must have load, too."
        assert not hasattr(first, "load"), "an arm with load must have save, too."
        return
    with tempfile.TemporaryDirectory() as folder:
        for paused in range(1, pulls):
            _check_pause(make, rewards, paused, Path(folder) / f"after-{paused}", tolerance)
        _check_bad_checkpoints(make, rewards, Path(folder), tolerance)


def _check_pause(make: Callable[[], Any], rewards: list[float], paused: int, path: Path, tolerance: float) -> None:
    arm: Any = as_arm(make())
    for n in range(1, paused + 1):
        _pulled(arm, n)
    arm.save(path)
    assert path.exists(), "save(path) must write a file or a folder at path."
    resumed: Any = as_arm(make())
    if paused % 2 == 0:
        _pulled(resumed, 1)  # load must replace this, and also do without
    resumed.load(path)
    for n in range(paused + 1, len(rewards) + 1):
        _same(_pulled(arm, n), rewards[n - 1], tolerance, f"pull {n} after save at {paused}")
        _same(_pulled(resumed, n), rewards[n - 1], tolerance, f"pull {n} after load of the state after {paused}")


def _check_bad_checkpoints(make: Callable[[], Any], rewards: list[float], folder: Path, tolerance: float) -> None:
    damaged = folder / "damaged"
    damaged.write_bytes(b"no checkpoint")
    arm: Any = as_arm(make())
    for n, (path, kind) in enumerate(((folder / "nowhere", "missing"), (damaged, "damaged")), start=1):
        _same(_pulled(arm, n), rewards[n - 1], tolerance, f"pull {n}")
        try:
            arm.load(path)
        except Exception as error:
            said = str(error).strip()
        else:
            raise AssertionError(f"load(path) of a {kind} checkpoint must raise an exception.")
        assert len(said.splitlines()) == 1, (
            f"load(path) of a {kind} checkpoint must say why in one line, said {said!r}."
        )
    if len(rewards) > 2:
        _same(_pulled(arm, 3), rewards[2], tolerance, "pull 3 after checkpoints that could not be loaded")


def _pulled(arm: Arm, n: int) -> float:
    answer: Any = arm.pull(Pull(n, "arm", n))
    outcome = answer if isinstance(answer, Outcome) else Outcome(answer)
    reward: Any = outcome.reward
    cost = outcome.cost
    assert isinstance(reward, int | float) or hasattr(reward, "__float__"), f"pull {n} gave {reward!r}, not a number."
    assert math.isfinite(float(reward)), f"pull {n} gave {reward!r}, not a finite number."
    assert cost is None or (math.isfinite(cost) and cost >= 0), f"pull {n} cost {cost!r}, not a number >= 0."
    return float(reward)


def _same(reward: float, expected: float, tolerance: float, what: str) -> None:
    assert abs(reward - expected) <= tolerance, f"{what} gave {reward!r}, an arm without a pause {expected!r}."
