"""Learners that only count: pull n is worth ``worth(arm, n)`` if and only if the learner has had n - 1 pulls before.

Their checkpoints are the same for all runners, a number in a file (in a folder for "small net"), so that a store that
was begun with one kind of runner can be continued with another.
"""

from __future__ import annotations

from pathlib import Path

from frozen import unpack
from hidden import Checkpointed

from risingbandits import Pull

NAMES = ("a", "small net", "../x")
BUDGET, TOLD = 60, 41  # of the golden stores; one more pull was made and its checkpoint written, but not told

#: What was begun with `Allocator.run`, with the arms of Ray's processes (also with a checkpoint every fifth pull), and
#: with a plan of commands; and where the store is.
BEGUN = {"run": "run.db", "ray": "run.db", "ray-every-5": "run.db", "plan": "plan.db"}

#: The same learner as a program. It fails where the checkpoint that it needs is not there.
PROGRAM = """\
import os, sys
from pathlib import Path

arm, n, before, after = (os.environ["RISINGBANDITS_" + name] for name in ("ARM", "PULL", "PREVIOUS", "CHECKPOINT"))
place = "count" if arm == "small net" else ""
count = 1 + (int(Path(before, place).read_text()) if int(n) > 1 else 0)
if place:
    Path(after).mkdir()
Path(after, place).write_text(str(count))
print(count / (count + len(arm)))
"""
PLAN = f"""\
budget = {BUDGET}
policy = "round-robin"
[defaults]
command = ["{{python}}", "-S", "-E", "{{plan}}/count.py"]
[[arms]]
name = "a"
[[arms]]
name = "small net"
[[arms]]
name = "../x"
"""


def begun(kind: str, place: Path) -> Path:
    """The store of a golden allocation, copied with its checkpoints into the folder ``place``."""
    return unpack("checkpoints.zip", kind, place) / BEGUN[kind]


def worth(arm: str, n: int) -> float:
    """The reward of the nth pull."""
    return n / (n + len(arm))


class Counter:
    """Counts its pulls; ``made`` are those in this process."""

    def __init__(self, name: str) -> None:
        self.name, self.count, self.made = name, 0, 0

    def pull(self, pull: Pull) -> float:
        self.count += 1
        self.made += 1
        return worth(self.name, self.count)

    def save(self, path: Path) -> None:
        if self.name == "small net":
            path.mkdir()
            path = path / "count"
        path.write_text(str(self.count))

    def load(self, path: Path) -> None:
        self.count = int((path / "count" if self.name == "small net" else path).read_text())


class OnRay:
    """An arm as `RayArms` has it, with the learner in this process instead of one on a cluster."""

    restores_itself = True

    def __init__(self, name: str, folder: Path, every: int) -> None:
        self.learners: list[Counter] = []
        self.arm = Checkpointed(name, self._make, folder, every)
        self.name = name

    @property
    def made(self) -> int:
        return sum(learner.made for learner in self.learners)

    def pull(self, pull: Pull) -> float:
        reward = self.arm.pull(pull)
        assert isinstance(reward, float)
        return reward

    def _make(self) -> Counter:
        self.learners.append(Counter(self.name))
        return self.learners[-1]
