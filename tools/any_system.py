"""Try the installed package on any system: a durable allocation, a run of two commands, a simulation and a replay.

    python tools/any_system.py

Uses nothing but the package itself, so that it can be run where the tests' own tools are not. A test runs it without
what Linux has and macOS or Windows have not.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import risingbandits as rb
from risingbandits.cli import run

PLAN = """
budget = 4
policy = "round-robin"

[[arms]]
name = "trains"
command = ["{python}", "-c", '''
import os, sys
before, after = sys.argv[1:]
steps = int(open(before).read()) if os.path.exists(before) else 0
open(after, "w").write(str(steps + 1))
print((steps + 1) / 4)
''', "{previous}", "{checkpoint}"]

[[arms]]
name = "does not"
command = ["{python}", "-c", "print(0.5)"]
"""


class Learner:
    """An arm that saves its number of steps."""

    steps = 0

    def pull(self, pull: rb.Pull) -> float:
        """One step more."""
        self.steps += 1
        return self.steps / 10

    def save(self, path: Path) -> None:
        """Write the steps to a file."""
        path.write_text(str(self.steps))

    def load(self, path: Path) -> None:
        """Read them again."""
        self.steps = int(path.read_text())


def check(what: str, found: Any, expected: Any) -> None:
    """Print what was tried; end the program if something else came out."""
    if found != expected:
        sys.exit(f"{what}: {found!r} instead of {expected!r}")
    print(f"{what}: as expected")


def allocation(folder: Path) -> None:
    """A run that is continued from its store by objects that know nothing of it."""
    for budget in (4, 6):
        with rb.Allocator({"a": Learner, "b": Learner}, budget, policy="round-robin", store=folder / "run.db") as run:
            run.run(progress=False)
            rewards = [run.rewards(name) for name in ("a", "b")]
    check("durable allocation", rewards, [[0.1, 0.2, 0.3]] * 2)


def commands(folder: Path) -> None:
    """A plan, run and run again; and what needs locks, where there are none."""
    plan = folder / "plan.toml"
    plan.write_text(PLAN)
    check("commands", [run(["run", str(plan)]) for _ in range(2)], [0, 0])
    with rb.Allocator.open(folder / "plan.db") as store:
        check("their rewards", [store.rewards(name) for name in ("trains", "does not")], [[0.25, 0.5], [0.5, 0.5]])


def curves(folder: Path) -> None:
    """Recorded curves, and a problem of the same."""
    path = folder / "curves.csv"
    path.write_text("early,late\n0.1,0.2\n0.2,0.3\n0.3,0.5\n")
    loaded = rb.load_curves(path)
    check("replay", rb.replay(loaded, ["round-robin"], 4).pulls["round-robin"].tolist(), [[2, 2]])
    problem = rb.RisingBandit.from_array(loaded.values)
    result = rb.simulate(["round-robin"], problem, horizon=10, runs=2, jobs=2)
    check("simulation", result.pulls["round-robin"].tolist(), [[5, 5]] * 2)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        for part in (allocation, commands, curves):
            part(Path(temporary))
