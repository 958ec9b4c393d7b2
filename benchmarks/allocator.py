"""How quickly the allocator asks and tells: in memory, with a store, in several processes, and opening a large store.

Run: ``python benchmarks/allocator.py [--seconds 5] [--events 1000000] [--postgres postgresql://...]``. Prints a table.
Times depend on what else the machine does; the bare policy and a bare SQLite commit stand beside them for comparison.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from risingbandits import Allocator, Execution
from risingbandits.allocation._ledger import Ledger
from risingbandits.allocation._snapshot import fold, pack
from risingbandits.policies import CommitUCB

ARMS = [f"arm{i}" for i in range(8)]
BUDGET = 10**8
PROCESSES = 4


def median_us(step: Callable[[], None], seconds: float) -> float:
    """The median time of a step in microseconds."""
    for _ in range(500):
        step()
    times = []
    end = time.perf_counter() + seconds
    while (start := time.perf_counter()) < end:
        step()
        times.append(time.perf_counter() - start)
    return 1e6 * statistics.median(times)


def pair(allocator: Allocator) -> Callable[[], None]:
    """One ask and its tell."""

    def step() -> None:
        pull = allocator.ask()
        assert pull is not None
        allocator.tell(pull, 0.5 + 0.4 * pull.n / (pull.n + 1000))

    return step


def bare_policy(seconds: float) -> float:
    policy = CommitUCB(sigma="auto").reset(len(ARMS), BUDGET)

    def step() -> None:
        policy.tell(policy.ask(), 0.5)

    return median_us(step, seconds)


def bare_commits(folder: Path, seconds: float) -> float:
    """Two commits of one row each, which is what an ask and a tell need at least."""
    connection = sqlite3.connect(folder / "bare.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("CREATE TABLE rows (id INTEGER PRIMARY KEY, text TEXT)")

    def step() -> None:
        for _ in range(2):
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("INSERT INTO rows (text) VALUES (?)", ("x" * 60,))
            connection.execute("COMMIT")

    result = median_us(step, seconds)
    connection.close()
    return result


def with_allocator(store: str | None, seconds: float, durability: str = "process") -> float:
    with Allocator(ARMS, BUDGET, store=store, execution=Execution(durability=durability)) as allocator:
        return median_us(pair(allocator), seconds)


def _worker(store: str, seconds: float, barrier: object, counts: object) -> None:
    from risingbandits import NoArmAvailable

    with Allocator.open(store) as allocator:
        step = pair(allocator)
        for _ in range(50):
            step()
        barrier.wait()  # type: ignore[attr-defined]
        done, end = 0, time.perf_counter() + seconds
        while time.perf_counter() < end:
            try:
                step()
            except NoArmAvailable:
                continue
            done += 1
        counts.put(done)  # type: ignore[attr-defined]


def several_processes(store: str, seconds: float) -> tuple[float, float]:
    """Pairs a second of all processes together, and the slowest one's share of a fair share."""
    Allocator(ARMS, BUDGET, store=store).close()
    context = multiprocessing.get_context("spawn")
    barrier, counts = context.Barrier(PROCESSES), context.Queue()
    workers = [context.Process(target=_worker, args=(store, seconds, barrier, counts)) for _ in range(PROCESSES)]
    for worker in workers:
        worker.start()
    done = [counts.get() for _ in workers]
    for worker in workers:
        worker.join()
    return sum(done) / seconds, min(done) / (sum(done) / PROCESSES)


def reopening(folder: Path, events: int) -> tuple[float, float]:
    """Processor seconds to open a store of so many events with its snapshot as old as it gets, and without one.

    The events are made in memory and copied, which is quicker than committing them one by one.
    """
    path = folder / "large.db"
    with Allocator(ARMS, BUDGET, store=path) as allocator:
        settings, store = allocator.settings, allocator.store
        memory = Allocator(ARMS, BUDGET)
        step = pair(memory)
        for _ in range(events // 2):
            step()
        store.begin(0)
        for event in memory.store.events():
            store.append(event)
        store.commit()
        ledger = Ledger(settings)
        fold(ledger, memory.store.events(limit=int(events / 1.25)), "memory")
        store.keep_snapshot(ledger.last_id, pack(ledger))
    times = []
    for _ in range(2):
        start = time.process_time()
        with Allocator.open(path) as allocator:
            times.append(time.process_time() - start)
            assert allocator.ledger.last_id == events // 2 * 2
            allocator.store.keep_snapshot(events, b"")  # cannot be read: the next one replays everything
    return times[0], times[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0, help="of each measurement")
    parser.add_argument("--events", type=int, default=1_000_000, help="in the store that is opened again")
    parser.add_argument("--postgres", help="the address of a database to measure as well")
    given = parser.parse_args()
    seconds = given.seconds

    def row(name: str, value: str, bar: str = "") -> None:
        print(f"{name:46} {value:>16}  {bar}", flush=True)

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        row("ask + tell of the bare policy, median", f"{bare_policy(seconds):.1f} us")
        row("  with an allocator in memory", f"{with_allocator(None, seconds):.1f} us", "bar 10 us")
        row("two bare commits of SQLite, median", f"{bare_commits(folder, seconds):.1f} us")
        row("  ask + tell with a store", f"{with_allocator(f'{name}/a.db', seconds):.1f} us", "bar 250 us")
        row('  with durability="power"', f"{with_allocator(f'{name}/b.db', seconds, 'power'):.1f} us")
        rate, share = several_processes(f"{name}/c.db", seconds)
        row(f"{PROCESSES} processes, ask + tell a second in all", f"{rate:,.0f}", "bar 5,000")
        row("  the slowest one's part of a fair share", f"{share:.2f}", "bar 0.5")
        if given.postgres:
            address = given.postgres + ("&" if "?" in given.postgres else "?")
            suffix = int(time.time())
            row("ask + tell with PostgreSQL", f"{with_allocator(f'{address}schema=one_{suffix}', seconds):.1f} us")
            rate, share = several_processes(f"{address}schema=four_{suffix}", seconds)
            row(f"{PROCESSES} processes with PostgreSQL, in all", f"{rate:,.0f}", f"slowest {share:.2f}")
        quick, slow = reopening(folder, given.events)
        row(f"opening a store of {given.events:,} events", f"{quick:.2f} s", "bar 10 s")
        row("  without its snapshot (all replayed)", f"{slow:.2f} s")


if __name__ == "__main__":
    main()
