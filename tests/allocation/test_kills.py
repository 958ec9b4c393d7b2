"""Four workers on one store, killed at random moments and started again, until the budget is spent."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

import kill_worker
from crew import Crew, text
from kill_worker import reward
from programs import until
from risingbandits import Allocator
from risingbandits.allocation import Event, open_reader
from risingbandits.allocation.starting.prior import Belief, Prior

WORKER = kill_worker.__file__
ARMS = [f"arm{i}" for i in range(6)]
WORKERS = 4
PRIOR = Prior({arm: Belief(0.1 * i, 0.5, "4 tasks") for i, arm in enumerate(ARMS)}, 4, 0.5)


def test_20_kills_with_a_prior(place: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(20)
    Allocator(ARMS, budget=10**7, store=place, policy="epsilon-greedy", seed=1, prior=PRIOR).close()
    crew = Crew(WORKER, place, tmp_path)
    try:
        for _ in range(WORKERS):
            crew.start()
        for _ in range(20):
            crew.kill(int(rng.integers(WORKERS)))
            crew.start()
    finally:
        crew.close()
    finish(place)
    with open_reader(place) as reader:
        check(list(reader.events()), crew.diaries)
        assert reader.ledger().surprises == 0, "a replay decides as the first time"


@pytest.mark.parametrize("kills", [4, pytest.param(100, marks=pytest.mark.slow)])
def test_runs_that_grow_while_workers_and_who_lets_them_grow_die(kills: int, place: str, tmp_path: Path) -> None:
    """Each time the budget is spent or nearly so another process extends it, with a new arm, and may be killed."""
    rng = np.random.default_rng(7)
    Allocator(ARMS, budget=20, store=place, policy="epsilon-greedy", seed=1, prior=PRIOR).close()
    crew = Crew(WORKER, place, tmp_path)
    said: list[str] = []
    try:
        for _ in range(WORKERS):
            crew.start()
        for number in range(kills):
            program = f"""
from risingbandits import Allocator
allocator = Allocator.open({place!r})
allocator.extend(budget=allocator.settings.budget.pulls + 400, arms=["extra{number}"])
print("done", flush=True)
allocator.extend(retries={3 + number})
"""
            grower = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
            if number % 4 == 3:
                time.sleep(float(rng.exponential(0.3)))  # before, in the middle of it or afterwards
                grower.kill()
            out, _ = grower.communicate()
            said += [f"extra{number}"] if "done" in out else []
            crew.kill(int(rng.integers(WORKERS)))
            crew.start()
    finally:
        crew.close()
    with Allocator.open(place) as allocator:
        allocator.extend(budget=int(allocator.spent) + len(allocator.ledger.in_flight) + 20)
    finish(place)
    with open_reader(place) as reader:
        events = list(reader.events())
        ledger = reader.ledger()
        check(events, crew.diaries)
        assert ledger.surprises == 0, "a replay decides as the first time"
        assert set(said) <= set(ledger.by_name), "an acknowledged extension is lost"
        assert len(said) >= kills // 2
        assert ledger.spent <= ledger.settings.budget.amount


def finish(store: str) -> None:
    """Resume in this process: what the dead have left in flight is given out again at once."""
    with Allocator.open(store) as allocator:
        for _ in range(20):
            pull = allocator.ask(wait=5.0)
            assert pull is not None
            assert allocator.tell(pull, reward(pull.arm, pull.n))
        assert not allocator.ledger.in_flight


def check(events: list[Event], diaries: list[Path]) -> None:
    told: dict[str, int] = defaultdict(int)
    flying: dict[str, int] = {}
    tells = set()
    for number, event in enumerate(events, start=1):
        assert event.id == number
        if event.kind == "ask":
            assert event.arm not in flying, "two pulls of one arm in flight"
            assert event.n == told[event.arm] + 1, "a gap in the pull numbers"
            flying[event.arm] = event.pull
        elif event.kind == "tell":
            assert event.n == told[event.arm] + 1
            assert event.reward == reward(event.arm, event.n)
            told[event.arm] += 1
            tells.add((event.pull, event.arm, event.n))
            flying.pop(event.arm)
        elif event.kind == "expire":
            assert flying.pop(event.arm) == event.pull
        elif event.kind == "extend":
            assert json.loads(event.text)["said"]
        else:
            pytest.fail(f"an event of kind {event.kind}")
    acknowledged = []
    for diary in diaries:
        for line in text(diary).decode().removesuffix("end\n").splitlines()[1:]:
            id, arm, n = line.split()
            acknowledged.append((int(id), arm, int(n)))
    assert len(set(acknowledged)) == len(acknowledged), "a tell was acknowledged twice"
    assert set(acknowledged) <= tells, "an acknowledged tell is lost"
    assert len(acknowledged) > 2 * len(diaries), "the workers have hardly worked"


def test_the_budget_is_exact_when_workers_die(place: str, tmp_path: Path) -> None:
    """A small budget, spent by workers of which two are killed on the way."""
    Allocator(ARMS, budget=400, store=place, policy="round-robin").close()
    crew = Crew(WORKER, place, tmp_path)
    try:
        for _ in range(WORKERS):
            crew.start()
        crew.kill(0)
        crew.kill(0)
        until(lambda: all(text(diary).endswith(b"end\n") for _, diary in crew.workers))
    finally:
        crew.close()
    with Allocator.open(place) as allocator:
        assert allocator.finished
        assert allocator.spent == 400
        assert allocator.ask() is None
        assert sum(event.kind == "tell" for event in allocator.store.events()) == 400
