"""Random sequences of everything that can happen, beside the plain model."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reference_allocator import ModelPull, ReferenceAllocator
from risingbandits import Allocator, Budget, NoArmAvailable, Pull
from risingbandits.allocation.settings import as_arguments
from risingbandits.allocation.stores._memory import MemoryStore
from risingbandits.allocation.stores._sqlite import SqliteStore
from risingbandits.allocation.stores.base import Store
from risingbandits.policies import BetaThompson, CommitUCB, EpsilonGreedy, Policy, RoundRobin

POLICIES: list[Policy] = [CommitUCB(sigma="auto"), BetaThompson(), EpsilonGreedy(), RoundRobin()]
RARE = ["fail", "finish", "release", "renew", "sleep", "reopen", "add", "retire", "mask", "unmask", "extend"]
ACTIONS = ["ask"] * 6 + ["tell"] * 6 + RARE
actions = st.lists(st.tuples(st.sampled_from(ACTIONS), st.integers(0, 99)), max_size=60)
configurations = st.fixed_dictionaries(
    {
        "policy": st.sampled_from(POLICIES),
        "budget": st.sampled_from([Budget(pulls=6), Budget(pulls=1000), Budget(cost=9.5), Budget(seconds=50.0)]),
        "max_pulls": st.sampled_from([None, 4]),
        "warm_start": st.sampled_from([{}, {"a": [1.0, 2.0, 3.0], "c": [0.5]}]),
        "direction": st.sampled_from(["maximize", "minimize"]),
        "seed": st.integers(0, 3),
    }
)


class Clock:
    """Time that stands still until it is moved."""

    def __init__(self) -> None:
        self.time = 1000.0

    def __call__(self) -> float:
        return self.time


class Machine:
    """The allocator and the model, side by side."""

    def __init__(self, store: Store | Path | None, clock: Clock, configuration: dict[str, Any]) -> None:
        self.clock, self.store = clock, store
        shared = {**configuration, "lease": 10.0, "retries": 2, "reward_range": (0.0, 4.0)}
        self.real = Allocator(["a", "b", "c"], store=self._opened(), **as_arguments(shared))
        policy, budget = shared.pop("policy"), shared.pop("budget")
        self.model = ReferenceAllocator(["a", "b", "c"], budget.unit, budget.amount, policy, **shared)
        self.given: list[tuple[Pull, ModelPull]] = []

    def _opened(self) -> Store:
        if isinstance(self.store, Path):
            return SqliteStore(self.store, clock=self.clock)
        assert self.store is not None
        return self.store

    def extend(self, number: int, names: list[str]) -> None:
        """A larger budget, or as small a one as there can be; perhaps an arm, other limits, more retries."""
        budget = self.real.settings.budget
        flying = sum(pull.status == "in flight" for pull in self.model.pulls) if budget.unit == "pulls" else 0
        least = self.model.spent() + flying
        amount = [budget.amount, max(least, budget.amount + 3), max(1, least), least + 2][number % 4]
        arms = [f"new {len(names)}"] if number % 3 == 0 and len(names) < 6 else []
        retries, max_pulls = 2 + number % 2, [None, 4, 7][number % 5 % 3]
        grown: dict[str, Any] = {budget.unit: amount}
        self.real.extend(Budget(**grown), arms or None, retries=retries, max_pulls=max_pulls)
        self.model.extend(amount, arms, retries, max_pulls)

    def act(self, action: str, number: int) -> None:
        names = [arm.name for arm in self.model.arms]
        name = names[number % len(names)]
        if action == "ask":
            self.ask()
        elif action in ("tell", "finish", "fail", "release", "renew"):
            if self.given:
                self.about_pull(action, number, *self.given[-1 - number % min(5, len(self.given))])
        elif action == "sleep":
            self.clock.time += [0.5, 3.0, 11.0][number % 3]
        elif action == "reopen":  # as after a kill: nothing is closed or handed back
            self.real = Allocator.open(self._opened())
        elif action == "extend":
            self.extend(number, names)
        elif action == "add" and len(names) < 6:
            self.real.add(f"new {len(names)}")
            self.model.add(f"new {len(names)}")
        elif action == "retire":
            self.real.retire(name, "enough")
            self.model.retire(name)
        elif action in ("mask", "unmask"):
            self.real.mask(name) if action == "mask" else self.real.unmask(name)
            self.model.mask(name, action == "mask")
        self.compare()

    def ask(self) -> None:
        answer: Pull | str | None
        try:
            answer = self.real.ask()
        except NoArmAvailable:
            answer = "not now"
        expected = self.model.ask(self.clock.time)
        if isinstance(expected, ModelPull):
            assert isinstance(answer, Pull)
            assert (answer.arm, answer.n, answer.attempt) == (expected.arm, expected.n, expected.attempt)
            self.given.append((answer, expected))
        else:
            assert (answer is None) == (expected is None), f"{answer} instead of {expected}"
            assert not isinstance(answer, Pull)

    def about_pull(self, action: str, number: int, real: Pull, model: ModelPull) -> None:
        if action == "tell":
            reward, cost = (number % 9) / 2.0, [None, 0.5, 1.5][number % 3]
            token = real if number % 2 else real.id
            assert self.real.tell(token, reward, cost) == self.model.tell(model, reward, cost, self.clock.time)
        elif action == "finish":
            last = [None, 2.5][number % 2]
            told = self.model.tell(model, last, None, self.clock.time, finished=True)
            assert self.real.tell(real, last, finished=True) == told
        elif action == "fail":
            self.real.fail(real, "because")
            self.model.fail(model)
        elif action == "release":
            self.real.release(real)
            self.model.release(model)
        else:
            assert self.real.renew(real) == self.model.renew(model, self.clock.time)

    def compare(self) -> None:
        real, model = self.real.ledger, self.model
        assert [(arm.name, arm.rewards.tolist()) for arm in real.arms] == [(a.name, a.rewards) for a in model.arms]
        flying = [(pull.arm, pull.n, pull.attempt) for pull in model.pulls if pull.status == "in flight"]
        assert [flight.pull[1:4] for flight in real.in_flight.values()] == flying
        assert len({arm for arm, _, _ in flying}) == len(flying), "one pull in flight per arm"
        assert real.spent == pytest.approx(model.spent(), rel=1e-12)
        assert real.finished == model.finished()
        assert real.surprises == 0, "a replay decides as the first time"
        if real.settings.budget.pulls is not None:
            assert real.told + len(flying) <= real.settings.budget.pulls


def random_steps(seed: int, length: int) -> tuple[dict[str, Any], list[tuple[str, int]]]:
    """Long sequences, in which rare things happen after each other; Hypothesis prefers short ones."""
    rng = np.random.default_rng(seed)
    configuration = {
        "policy": POLICIES[rng.integers(len(POLICIES))],
        "budget": [Budget(pulls=6), Budget(pulls=1000), Budget(cost=30.5), Budget(seconds=80.0)][rng.integers(4)],
        "max_pulls": [None, None, 9][rng.integers(3)],
        "warm_start": [{}, {"a": [1.0, 2.0, 3.0], "c": [0.5]}][rng.integers(2)],
        "direction": ["maximize", "minimize"][rng.integers(2)],
        "seed": int(rng.integers(4)),
    }
    rare = [rng.choice(RARE) for _ in range(4)]  # each sequence has its own habits
    usual = ["ask"] * 8 + ["tell"] * int(rng.integers(4, 9)) + rare
    return configuration, [(usual[rng.integers(len(usual))], int(rng.integers(100))) for _ in range(length)]


@pytest.mark.parametrize("block", range(6))
def test_long_sequences(block: int) -> None:
    for seed in range(50 * block, 50 * (block + 1)):
        configuration, steps = random_steps(seed, length=70)
        clock = Clock()
        machine = Machine(MemoryStore(clock=clock), clock, configuration)
        for step in steps:
            machine.act(*step)
        check_events(machine)


@pytest.mark.slow
def test_many_long_sequences_in_files(tmp_path: Path) -> None:
    for seed in range(1000, 1300):
        configuration, steps = random_steps(seed, length=150)
        clock = Clock()
        machine = Machine(tmp_path / f"{seed}.db", clock, configuration)
        for step in steps:
            machine.act(*step)
        check_events(machine)
        machine.real.close()


@settings(max_examples=60, deadline=None)
@given(configuration=configurations, steps=actions)
def test_in_memory(configuration: dict[str, Any], steps: list[tuple[str, int]]) -> None:
    clock = Clock()
    machine = Machine(MemoryStore(clock=clock), clock, configuration)
    for step in steps:
        machine.act(*step)
    check_events(machine)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(configuration=configurations, steps=actions)
def test_in_a_file(configuration: dict[str, Any], steps: list[tuple[str, int]]) -> None:
    clock = Clock()
    with tempfile.TemporaryDirectory() as folder:
        machine = Machine(Path(folder) / "run.db", clock, configuration)
        for step in steps:
            machine.act(*step)
        check_events(machine)
        machine.real.close()


def check_events(machine: Machine) -> None:
    """Straight from the events: pull numbers without gaps, each told once, never two pulls of an arm in flight."""
    told = {arm.name: len(machine.model.arms[i].rewards[: arm.warm]) for i, arm in enumerate(machine.model.arms)}
    flying: dict[str, int] = {}
    expected = 1
    for event in machine.real.store.events():
        assert event.id == expected
        expected += 1
        if event.kind == "ask":
            assert event.arm not in flying
            assert event.n == told[event.arm] + 1
            flying[event.arm] = event.id
        elif event.kind == "tell":
            assert event.n == told[event.arm] + 1
            told[event.arm] += 1
            flying.pop(event.arm, None)
        elif event.kind in ("fail", "expire"):
            assert flying.pop(event.arm) == event.pull
        elif event.kind == "finish":
            flying.pop(event.arm, None)
        elif event.kind == "add":
            told[event.arm] = 0
