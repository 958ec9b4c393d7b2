"""The allocator beside Optuna, and beside SQLite itself: how quickly they ask and tell, alone and in four processes.

Run: ``python benchmarks/allocator_peers.py [--seconds 3] [--events 1000000]``. Prints tables. What is compared is
measured in turns, so that other load on the machine hits all alike; compare figures within a table.

Optuna draws its parameter at random (the quickest of its samplers), so that its storage is measured and not a model.
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
from typing import Any

from risingbandits import Allocator, NoArmAvailable
from risingbandits.allocation._snapshot import pack
from risingbandits.allocation.events import Event

Step = Callable[[], None]
ARMS = (10, 1_000, 10_000)
GROWTH = (1_000, 10_000, 100_000, 1_000_000)
PROCESSES = 4
_COLUMNS = (*Event._fields, "checksum")
_WARM_UP = 6.0  # seconds in which every process gets its machine code, while the others want the cores too
_WORKER = "host:4711:1234567:4026531836:7d5c8ded"


# -- what is measured ------------------------------------------------------------------------------------------------


def ours(place: str, arms: int) -> Step:
    """One ask and one tell of the allocator."""
    names = [f"arm{i}" for i in range(arms)]
    allocator = Allocator(names, 10**8, store=place or None)

    def step() -> None:
        pull = allocator.ask(wait=60)
        assert pull is not None
        allocator.tell(pull, 0.5 + 0.4 * pull.n / (pull.n + 1000))

    return step


def optuna_step(place: str, arms: int) -> Step:
    """One ask, one suggestion and one tell of Optuna, with an address ``sqlite:///...`` or ``journal:...``."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    storage: Any = place
    if place.startswith("journal:"):
        from optuna.storages.journal import JournalFileBackend

        storage = optuna.storages.JournalStorage(JournalFileBackend(place.removeprefix("journal:")))
    study = optuna.create_study(
        study_name="s", storage=storage, load_if_exists=True, sampler=optuna.samplers.RandomSampler(seed=0)
    )

    def step() -> None:
        trial = study.ask()
        trial.suggest_int("arm", 0, arms - 1)
        study.tell(trial, 0.5)

    return step


def bare(place: str, arms: int) -> Step:
    """Two commits of the rows that an ask and a tell write, to the same table, under the same settings."""
    connection = sqlite3.connect(place, isolation_level=None, timeout=30.0)
    connection.execute("PRAGMA page_size = 2048")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA wal_autocheckpoint = 8000")
    connection.execute(
        "CREATE TABLE IF NOT EXISTS events (id INTEGER PRIMARY KEY, time REAL NOT NULL, kind TEXT NOT NULL, "
        "arm TEXT NOT NULL, pull INTEGER NOT NULL, n INTEGER NOT NULL, reward REAL, cost REAL, text TEXT NOT NULL, "
        "worker TEXT NOT NULL, checksum INTEGER)"
    )
    connection.execute("PRAGMA busy_timeout = 0")
    insert = f"INSERT INTO events ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' for _ in _COLUMNS)})"
    cursor = connection.cursor()

    def begin() -> None:
        pause = 1e-4
        while True:
            try:
                cursor.execute("BEGIN IMMEDIATE")
                return
            except sqlite3.OperationalError:
                time.sleep(pause)
                pause = min(1.5 * pause, 2e-3)

    def step() -> None:
        for kind, reward, cost in (("ask", None, None), ("tell", 0.75, 1.0)):
            begin()
            last = cursor.execute("SELECT coalesce(max(id), 0) FROM events").fetchone()[0]
            row = (last + 1, time.time(), kind, "arm1", last, last, reward, cost, "", _WORKER, 2**31)
            cursor.execute(insert, row)
            cursor.execute("COMMIT")

    return step


MAKERS: dict[str, Callable[[str, int], Step]] = {"ours": ours, "optuna": optuna_step, "bare": bare}


# -- how it is measured ----------------------------------------------------------------------------------------------


def median_us(step: Step, seconds: float) -> float:
    """The median time of a step in microseconds, after a tenth of the time to warm up."""
    times: list[float] = []
    begun = time.perf_counter()
    while (start := time.perf_counter()) < begun + 1.1 * seconds or len(times) < 3:
        step()
        if start > begun + 0.1 * seconds:
            times.append(time.perf_counter() - start)
    return 1e6 * statistics.median(times)


def _worker(maker: str, place: str, arms: int, seconds: float, barrier: Any, counts: Any) -> None:
    step = MAKERS[maker](place, arms)
    ready = time.perf_counter() + _WARM_UP
    while time.perf_counter() < ready:
        step()
    barrier.wait()
    done, end = 0, time.perf_counter() + seconds
    while time.perf_counter() < end:
        try:
            step()
        except NoArmAvailable:
            continue
        done += 1
    counts.put(done)


def pairs_a_second(maker: str, place: str, arms: int, seconds: float) -> float:
    """Of all processes together."""
    MAKERS[maker](place, arms)()
    context = multiprocessing.get_context("spawn")
    barrier, counts = context.Barrier(PROCESSES), context.Queue()
    settings = (maker, place, arms, seconds, barrier, counts)
    workers = [context.Process(target=_worker, args=settings) for _ in range(PROCESSES)]
    for worker in workers:
        worker.start()
    done: int = sum(counts.get() for _ in workers)
    for worker in workers:
        worker.join()
    return done / seconds


def places(folder: Path, name: str) -> dict[str, tuple[str, str]]:
    """What is compared: a maker and an address for each."""
    return {
        "risingbandits, SQLite": ("ours", f"{folder}/{name}.db"),
        "Optuna, SQLite": ("optuna", f"sqlite:///{folder}/{name}-optuna.db"),
        "Optuna, journal": ("optuna", f"journal:{folder}/{name}.log"),
        "bare SQLite, the same rows": ("bare", f"{folder}/{name}-bare.db"),
    }


def fill(place: str, events: int) -> None:
    """Bring the events in our store to a number, made in memory and copied, with a snapshot as old as one gets."""
    names = [f"arm{i}" for i in range(ARMS[0])]
    with Allocator(names, 10**8, store=place) as kept:
        begun = kept.store.last_id()
        memory = Allocator(names, 10**8)
        for event in kept.store.events():
            memory.ledger.apply(event)
        memory.store.begin(0)
        for event in kept.store.events():
            memory.store.append(event)
        memory.store.commit()
        while memory.store.last_id() < events:
            pull = memory.ask()
            assert pull is not None
            memory.tell(pull, 0.5 + 0.4 * pull.n / (pull.n + 1000))
        kept.store.begin(begun)
        for event in memory.store.events(begun):
            kept.store.append(event)
        kept.store.commit()
        kept.store.keep_snapshot(memory.ledger.last_id, pack(memory.ledger))


def optuna_growth(folder: Path, trials: int, seconds: float) -> float:
    """Median microseconds of Optuna's pair after so many trials."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    place = f"sqlite:///{folder}/growth{trials}.db"
    study = optuna.create_study(study_name="s", storage=place)
    space: dict[str, optuna.distributions.BaseDistribution] = {"arm": optuna.distributions.IntDistribution(0, 9)}
    study.add_trials(
        [optuna.trial.create_trial(params={"arm": i % 10}, distributions=space, value=0.5) for i in range(trials)]
    )
    return median_us(optuna_step(place, ARMS[0]), seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.0, help="of each measurement")
    parser.add_argument("--events", type=int, default=GROWTH[-1], help="the largest store")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print("ask + tell in one process, median microseconds; in memory ours alone")
        for arms in ARMS:
            memory = median_us(ours("", arms), given.seconds)
            print(f"  {arms:>6,} arms: {'risingbandits, memory':<28} {memory:>12,.1f}", flush=True)
            for what, (maker, place) in places(folder, f"one{arms}").items():
                print(
                    f"  {'':>12}  {what:<28} {median_us(MAKERS[maker](place, arms), given.seconds):>12,.1f}", flush=True
                )
        print(f"ask + tell in {PROCESSES} processes, pairs a second in all")
        for arms in ARMS:
            for what, (maker, place) in places(folder, f"four{arms}").items():
                rate = pairs_a_second(maker, place, arms, given.seconds)
                print(f"  {arms:>6,} arms: {what:<28} {rate:>12,.0f}", flush=True)
        print("ask + tell in one process with 10 arms, median microseconds, as the store grows")
        for events in (number for number in GROWTH if number <= given.events):
            place = f"{folder}/growth.db"
            fill(place, events)
            start = time.process_time()
            step = ours(place, ARMS[0])
            opened = time.process_time() - start
            pair = median_us(step, given.seconds)
            print(f"  {events:>9,} events: risingbandits {pair:>10,.1f}   opened in {opened:.2f} s of CPU", flush=True)
            if events <= 10_000:  # two events are one trial
                print(
                    f"  {'':>17} Optuna        {optuna_growth(folder, events // 2, given.seconds):>10,.1f}", flush=True
                )


if __name__ == "__main__":
    main()
