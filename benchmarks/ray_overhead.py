"""What Ray costs: a pull of an arm that lives in a process of its own, and a study beside a local pool of processes.

    python benchmarks/ray_overhead.py            # about two minutes
    python benchmarks/ray_overhead.py --quick    # small sizes, to see that it works

The study is the same in both: blocks of about one second, as many at once as there are cores, processes warm. Other
load moves all figures; the ratios, measured in turns in one run, are what counts.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from risingbandits import Allocator, get_policy, get_problem, simulate
from risingbandits._core.ray_connection import connected
from risingbandits.allocation import Pull, RayArms
from risingbandits.simulation._backends import Threads
from risingbandits.simulation._engine import Runner

_PROBLEM, _POLICY = "paper-15arms", "red-ucb"


class Nothing:
    """An arm that does nothing, and can be saved."""

    def pull(self, pull: Pull) -> float:
        return 0.5

    def save(self, path: Path) -> None:
        path.write_bytes(b"x")

    def load(self, path: Path) -> None:
        pass


def pulls(console: Console, count: int, repeats: int) -> None:
    """Milliseconds of a pull, all in all: decision, call, checkpoint, event log."""
    makers: dict[str, dict[str, Any]] = {
        "without checkpoints": {name: (lambda: Nothing().pull) for name in "abcd"},
        "checkpoint after every pull": dict.fromkeys("abcd", Nothing),
    }
    table = Table("arms in processes of their own", "ms a pull, median", "all")
    for title, arms in makers.items():
        taken = [_ms_of_a_pull(arms, count) for _ in range(repeats)]
        table.add_row(title, f"{statistics.median(taken):.2f}", ", ".join(f"{ms:.2f}" for ms in taken))
    local = [_ms_of_a_pull(None, count) for _ in range(repeats)]
    table.add_row("the same arms in this process", f"{statistics.median(local):.2f}", "")
    console.print(table)


def _ms_of_a_pull(arms: dict[str, Any] | None, count: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "store.db"
        if arms is None:
            here = {name: Nothing().pull for name in "abcd"}
            with Allocator(here, count, store=store, policy="round-robin") as allocator:
                start = time.perf_counter()
                allocator.run(progress=False)
                return 1e3 * (time.perf_counter() - start) / count
        there = RayArms(arms, resources={"CPU": 0.1})
        with there, Allocator(list(arms), count + 8, store=store, policy="round-robin") as allocator:
            there.belong_to(allocator)
            for _ in range(8):  # processes start with the first pulls
                pull = allocator.ask()
                assert pull is not None
                reward = there[pull.arm].pull(pull)
                assert isinstance(reward, float)
                allocator.tell(pull, reward)
            start = time.perf_counter()
            allocator.run(progress=False, arms=there)
            return 1e3 * (time.perf_counter() - start) / count


@lru_cache(maxsize=1)
def runner(horizon: int) -> Runner:
    """What a process of the pool makes once, as those of Ray do."""
    problem = get_problem(_PROBLEM)
    policy = get_policy(_POLICY)._for_problem(problem, horizon)
    return Runner(policy, problem, horizon, np.array([horizon], dtype=np.int64))


def play(first: int, runs: int, horizon: int) -> list[float]:
    """One block of a study in the pool: what the policy has gained in each run."""
    one = runner(horizon)
    return [
        float(one.play(np.random.SeedSequence(0, spawn_key=(run,))).gained[-1]) for run in range(first, first + runs)
    ]


def study(console: Console, blocks: int, horizon: int, pairs: int, cores: int) -> None:
    """A study on Ray and in a pool of as many processes, in turns."""
    size = _runs_in_a_second(horizon)
    total = blocks * size
    ratios, rows = [], []
    with ProcessPoolExecutor(cores, mp_context=get_context("spawn")) as pool:

        def local() -> tuple[list[float], float]:
            start = time.perf_counter()
            parts = pool.map(play, range(0, total, size), [size] * blocks, [horizon] * blocks)
            return [gain for part in parts for gain in part], time.perf_counter() - start

        def ray() -> tuple[list[float], float]:
            start = time.perf_counter()
            result = simulate(_POLICY, _PROBLEM, horizon=horizon, runs=total, record_at=1, backend="ray", jobs=cores)
            gains = (result.oracle[-1] - result.final_regret[_POLICY]).tolist()
            return gains, time.perf_counter() - start

        local(), ray()  # so that all processes are there and warm
        for _ in range(pairs):
            (near, near_seconds), (far, far_seconds) = local(), ray()
            assert np.allclose(near, far, rtol=1e-12)
            ratios.append(far_seconds / near_seconds)
            rows.append((f"{near_seconds:.2f}", f"{far_seconds:.2f}", f"{ratios[-1]:.3f}"))
    table = Table("process pool, s", "Ray, s", "ratio", title=f"{blocks} blocks of {size} runs")
    for row in rows:
        table.add_row(*row)
    console.print(table)
    console.print(f"median ratio of {pairs} pairs in turns: {statistics.median(ratios):.3f}")


def _runs_in_a_second(horizon: int) -> int:
    """How many runs one process plays in a second, when nothing else disturbs it."""
    play(0, 1, horizon)
    taken = []
    for _ in range(20):
        start = time.perf_counter()
        play(0, 1, horizon)
        taken.append(time.perf_counter() - start)
    return max(1, round(1.0 / min(taken)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it works")
    quick = parser.parse_args().quick
    console = Console()
    cores = Threads().slots
    with connected("this benchmark"):
        pulls(console, 100 if quick else 1000, 2 if quick else 5)
        study(console, 2 * cores if quick else 6 * cores, 20_000 if quick else 200_000, 2 if quick else 5, cores)


if __name__ == "__main__":
    main()
