"""What a durable pull costs, beside another tree of the library: ask and tell, an object's pull, a command's pull.

    python benchmarks/durable_pulls.py ../other/src

Both trees take turns in processes of their own, so that other load hits them alike. The table shows the median of each,
in microseconds of wall clock, and the median of the ratios within a turn.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

HERE = Path(__file__).resolve().parents[1] / "src"
ROUNDS = {"ask + tell, SQLite": 1000, "object with checkpoint": 300, "command with checkpoint": 20}
ARMS = ["a", "b", "c", "d"]


class Learner:
    """Writes a kilobyte as its checkpoint."""

    def __init__(self) -> None:
        self.count = 0

    def pull(self, pull: object) -> float:
        self.count += 1
        return self.count / (self.count + 10)

    def save(self, path: Path) -> None:
        path.write_bytes(self.count.to_bytes(8, "little") * 128)

    def load(self, path: Path) -> None:
        self.count = int.from_bytes(path.read_bytes()[:8], "little")


PLAN = """
budget = 1000000
policy = "round-robin"
[defaults]
command = ["sh", "-c", "echo $RISINGBANDITS_PULL > $RISINGBANDITS_CHECKPOINT; echo 0.5"]
[[arms]]
name = "a"
[[arms]]
name = "b"
"""


def serve(folder: Path) -> None:
    """For every line, the name of a task: do it once and print the seconds."""
    from risingbandits import Allocator
    from risingbandits.allocation.arms._checkpointed import Checkpointed
    from risingbandits.allocation.arms._display import Display
    from risingbandits.allocation.arms._driver import Driver
    from risingbandits.allocation.commands._command import command_arms
    from risingbandits.allocation.commands._plan_file import read_plan

    plain = Allocator(ARMS, 10**7, store=folder / "plain.db", policy="round-robin")
    objects = Allocator(dict.fromkeys(ARMS, Learner), 10**7, store=folder / "objects.db", policy="round-robin")
    (folder / "plan.toml").write_text(PLAN)
    commands = command_arms(read_plan(folder / "plan.toml"))
    shells = Allocator(list(commands), 10**7, store=folder / "plan.db", policy="round-robin")

    def ask_and_tell(rounds: int) -> None:
        for _ in range(rounds):
            pull = plain.ask()
            assert pull is not None
            plain.tell(pull, 0.5)

    made = {arm: Checkpointed.of(arm, Learner, objects) for arm in ARMS}
    started = {arm: Checkpointed.of(arm, command, shells) for arm, command in commands.items()}
    drivers = {"o": Driver(objects, made, 1, Display()), "c": Driver(shells, started, 1, Display())}

    def pulls(kind: str, rounds: int) -> None:
        driver = drivers[kind]
        for _ in range(rounds):
            pull = driver.allocator.ask()
            assert pull is not None
            driver.running[pull.id] = pull
            driver._finish(driver._made(pull))

    tasks = {"ask + tell, SQLite": ask_and_tell}
    tasks["object with checkpoint"] = lambda rounds: pulls("o", rounds)
    tasks["command with checkpoint"] = lambda rounds: pulls("c", rounds)
    for line in sys.stdin:
        name = line.strip()
        began = time.perf_counter()
        tasks[name](ROUNDS[name])
        print(time.perf_counter() - began, flush=True)


def timed(server: subprocess.Popen[str], name: str) -> float:
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write(f"{name}\n")
    server.stdin.flush()
    return float(server.stdout.readline())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("other", type=Path, help="the folder src of the other tree")
    parser.add_argument("--turns", type=int, default=15)
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve is not None:
        serve(given.serve)
        return
    with tempfile.TemporaryDirectory() as folder:
        servers = []
        for name, tree in (("this", HERE), ("other", given.other.resolve())):
            own = Path(folder) / name
            own.mkdir()
            words = [sys.executable, __file__, str(given.other), "--serve", str(own)]
            environment = {**os.environ, "PYTHONPATH": str(tree)}
            pipe = subprocess.PIPE
            servers.append(subprocess.Popen(words, env=environment, text=True, stdin=pipe, stdout=pipe))
        for name, rounds in ROUNDS.items():
            seconds: list[tuple[float, float]] = []
            for turn in range(given.turns + 2):
                pair = [0.0, 0.0]
                for which in (0, 1) if turn % 2 else (1, 0):
                    pair[which] = timed(servers[which], name)
                seconds.append((pair[0], pair[1]))
            seconds = seconds[2:]
            this, other = (1e6 * median(values) / rounds for values in zip(*seconds, strict=True))
            ratio = median(one / two for one, two in seconds)
            print(f"{name:25} this {this:9.1f} us   other {other:9.1f} us   ratio {ratio:.3f}")
        for server in servers:
            server.kill()
            server.wait()


if __name__ == "__main__":
    main()
