"""What the first minute costs: CPU seconds of four first steps, each with a compiler cache of its own.

    python benchmarks/first_contact.py                          # this tree
    python benchmarks/first_contact.py --baseline ../old/src    # beside another one, taking turns

The bars are those for an empty cache on two shared server cores. A warm cache is measured after it.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import risingbandits

README = Path(__file__).parents[1] / "README.md"
HERE = Path(risingbandits.__file__).parents[1]
PLAN = """
budget = 6
[[arms]]
name = "a"
command = ["echo", "0.5"]
[[arms]]
name = "b"
command = ["echo", "0.6"]
"""
ALLOCATOR = """
import risingbandits as rb
allocator = rb.Allocator(["small net", "large net"], budget=100, policy="commit-ucb", sigma=0.01)
for pull in allocator:
    skill = {"small net": 0.4, "large net": min(0.9, 0.02 * pull.n)}[pull.arm]
    allocator.tell(pull, reward=skill)
assert allocator.recommend() == "large net"
"""


def snippet(call: str) -> str:
    """The Python block of the README that has this call."""
    (found,) = [block for block in re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL) if call in block]
    return str(found)


def steps() -> dict[str, tuple[list[str], float]]:
    """The arguments for Python and the bar of every step."""
    return {
        "run, six echo pulls": (["-m", "risingbandits", "run", "plan.toml"], 2.5),
        "allocator, two arms": (["-c", ALLOCATOR], 2.5),
        "README, six models": (["-c", snippet("PartialFitArm(")], 10.0),
        "README, simulate": (["-c", snippet("rb.simulate(")], 10.0),
    }


def cpu_seconds(arguments: list[str], tree: Path, folder: Path, cache: Path) -> float:
    """User and system seconds of one child, which begins in an empty folder."""
    folder.mkdir()
    (folder / "plan.toml").write_text(PLAN)
    environment = {**os.environ, "PYTHONPATH": str(tree), "NUMBA_CACHE_DIR": str(cache)}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], cwd=folder, env=environment, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--baseline", type=Path, help="the src folder of another tree")
    parser.add_argument("--repeats", type=int, default=1, help="the least of so many is shown")
    given = parser.parse_args()
    trees = {"this tree": HERE} | ({} if given.baseline is None else {"baseline": given.baseline.resolve()})
    for name, (arguments, bar) in steps().items():
        seconds: dict[str, tuple[list[float], list[float]]] = {tree: ([], []) for tree in trees}
        for _ in range(given.repeats):
            for tree, path in trees.items():
                with tempfile.TemporaryDirectory() as place:
                    for number in range(2):  # an empty cache, then a warm one
                        used = cpu_seconds(arguments, path, Path(place, str(number)), Path(place, "cache"))
                        seconds[tree][number].append(used)
        for tree, (cold, warm) in seconds.items():
            print(f"{name:22} {tree:10} {min(cold):6.2f} s cold (bar {bar})  {min(warm):6.2f} s warm", flush=True)


if __name__ == "__main__":
    main()
