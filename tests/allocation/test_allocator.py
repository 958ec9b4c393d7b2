"""What an allocator does, case by case; random sequences of everything are in test_properties.py."""

from __future__ import annotations

import asyncio
import logging
import math
import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from programs import PATIENCE
from risingbandits import (
    Allocator,
    Budget,
    Execution,
    NoArmAvailable,
    Pull,
    RisingBanditsError,
    get_policy,
    policy_names,
)
from risingbandits.allocation.settings import as_arguments
from risingbandits.allocation.stores._memory import MemoryStore
from risingbandits.policies import EpsilonGreedy


def curve(pull: Pull) -> float:
    """Two arms: one is level, one overtakes it."""
    return 0.4 if pull.arm == "a" else pull.n / (pull.n + 10)


def asked(allocator: Allocator) -> Pull:
    pull = allocator.ask()
    assert pull is not None
    return pull


# -- decisions ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["commit-ucb", "red-ucb", "beta-ts", "epsilon-greedy", "r-sr", "exp3"])
def test_decides_like_its_policy(name: str) -> None:
    """One pull at a time the allocator is its policy, batches and draws included."""
    rewards = np.random.default_rng(1).random((3, 300))
    allocator = Allocator(["a", "b", "c"], 300, policy=get_policy(name), seed=7)
    policy = get_policy(name).reset(3, 300, seed=[7, 0, 0])
    for pull in allocator:
        arm = policy.ask()
        assert pull.arm == "abc"[arm]
        reward = float(rewards[arm, pull.n - 1])
        policy.tell(arm, reward)
        allocator.tell(pull, reward)
    assert allocator.recommend() == "abc"[policy.recommend()]


@pytest.mark.parametrize("name", ["commit-ucb", "beta-ts", "exp3", "corral", "r-sr"])
def test_a_resumed_run_decides_like_an_uninterrupted_one(name: str, place: str) -> None:
    """Killed between ask and tell, after fails, and reopened: the same pulls in the same order."""
    rng = np.random.default_rng(3)
    plain = [(pull.arm, pull.n) for pull in _play(Allocator(["a", "b", "c"], 60, policy=name, seed=5))]
    resumed = []
    allocator = Allocator(["a", "b", "c"], 60, policy=name, seed=5, store=place, execution=Execution(retries=99))
    while (pull := allocator.ask()) is not None:
        event = rng.integers(4)
        if event == 0:
            allocator.fail(pull, "a bad day")
        elif event == 1:
            allocator.release(pull)
        else:
            allocator.tell(pull, _noisy(pull))
            resumed.append((pull.arm, pull.n))
        if event == 2:
            allocator.close()
            allocator = Allocator.open(place)
    allocator.close()
    assert resumed == plain


@pytest.mark.parametrize("name", ["beta-ts", "commit-ucb"])
@pytest.mark.parametrize("where", ["append", "commit"])
def test_an_interrupt_leaves_the_store_and_the_decisions_as_they_were(
    name: str, where: str, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C, or a full disk, in the middle of an ask or a tell."""
    plain = [(pull.arm, pull.n) for pull in _play(Allocator(["a", "b", "c"], 30, policy=name, seed=5))]
    with Allocator(["a", "b", "c"], 30, policy=name, seed=5, store=place) as allocator:
        rng = np.random.default_rng(3)
        original = getattr(allocator.store, where)

        def interrupted(*values: Any) -> None:
            if rng.random() < 0.3:
                raise KeyboardInterrupt
            original(*values)

        monkeypatch.setattr(allocator.store, where, interrupted)
        pulls: list[tuple[str, int]] = []
        pull = None
        while not allocator.finished:
            try:
                pull = pull or allocator.ask()
                assert pull is not None
                assert allocator.tell(pull, _noisy(pull))
            except KeyboardInterrupt:
                continue
            pulls.append((pull.arm, pull.n))
            pull = None
        assert pulls == plain
        assert [event.kind for event in allocator.store.events()] == ["ask", "tell"] * 30


def _noisy(pull: Pull) -> float:
    return float(np.random.default_rng([pull.n, ord(pull.arm)]).random())


def _play(allocator: Allocator) -> list[Pull]:
    pulls = []
    for pull in allocator:
        allocator.tell(pull, _noisy(pull))
        pulls.append(pull)
    return pulls


@pytest.mark.parametrize("name", policy_names())
def test_every_policy_serves_with_arms_in_flight(name: str) -> None:
    rng = np.random.default_rng(2)
    if name == "oracle":
        with pytest.raises(RisingBanditsError):
            Allocator(["a", "b", "c", "d"], 80, policy=name)
        return
    allocator = Allocator(["a", "b", "c", "d"], 80, policy=name)
    flying: list[Pull] = []
    while not allocator.finished:
        if len(flying) < 3 and rng.random() < 0.7:
            try:
                pull = allocator.ask()
            except NoArmAvailable:
                pull = None
            if pull is not None:
                flying.append(pull)
                continue
        if flying:
            pull = flying.pop(int(rng.integers(len(flying))))
            allocator.tell(pull, float(rng.random()))
    assert allocator.spent == 80
    text = str(allocator.explain())
    assert len(text.splitlines()) >= 7, text  # a title, a header, four arms, the recommendation


# -- pulls ----------------------------------------------------------------------------------------------------------


def test_a_failed_pull_comes_first_whatever_the_policy_would_draw() -> None:
    allocator = Allocator(list("abcdef"), 100, policy=EpsilonGreedy(epsilon=1.0), seed=3)
    for _ in range(20):
        pull = asked(allocator)
        allocator.fail(pull, "out of memory")
        again = asked(allocator)
        assert (again.arm, again.n, again.attempt) == (pull.arm, pull.n, 2)
        allocator.tell(again, 0.5)


def test_a_late_tell_cannot_overdraw_the_budget() -> None:
    allocator = Allocator(["a", "b"], 1)
    pull = asked(allocator)
    allocator.mask(pull.arm)
    allocator.release(pull)
    other = asked(allocator)
    assert other.arm != pull.arm
    assert not allocator.tell(pull, 0.3), "its share of the budget is with another pull"
    assert allocator.tell(other, 0.3)
    assert (allocator.spent, allocator.ask()) == (1, None)


def test_renewed_leases_last() -> None:
    now = [0.0]
    allocator = Allocator(["a"], 10, store=MemoryStore(clock=lambda: now[0]), execution=Execution(lease=10.0))
    pull = asked(allocator)
    for now[0] in (9.0, 18.0, 27.0):
        assert allocator.renew(pull)
        with pytest.raises(NoArmAvailable, match="in flight"):
            allocator.ask()
    now[0] = 37.0
    assert asked(allocator).attempt == 2
    assert not allocator.renew(pull)


def test_no_arm_free() -> None:
    allocator = Allocator(["a", "b"], 3)
    one, _two = asked(allocator), asked(allocator)
    with pytest.raises(NoArmAvailable, match="all arms that may be pulled are in flight"):
        allocator.ask()
    with pytest.raises(NoArmAvailable):
        allocator.ask(wait=0.01)
    allocator.tell(one, 0.5)
    asked(allocator)
    with pytest.raises(NoArmAvailable, match="the last 2 pulls of the budget are in flight"):
        allocator.ask()


def test_waiting_ends_with_a_tell_of_another_thread() -> None:
    allocator = Allocator(["a"], 2)
    pull = asked(allocator)
    threading.Timer(0.05, lambda: allocator.tell(pull, 0.5)).start()
    again = allocator.ask(wait=math.inf)
    assert again is not None
    assert again.n == 2


# -- budgets --------------------------------------------------------------------------------------------------------


def test_a_budget_in_cost_is_kept() -> None:
    allocator = Allocator(["a", "b"], Budget(cost=1.0))
    for pull in allocator:
        allocator.tell(pull, curve(pull), cost=0.1)
    assert allocator.spent == 1.0
    assert allocator.ledger.told == 10
    assert allocator.remaining == 0


def test_the_horizon_follows_the_costs() -> None:
    allocator = Allocator(["a", "b"], Budget(cost=100.0), policy="round-robin")
    for i in range(50):
        allocator.tell(asked(allocator), 0.5, cost=0.5 if i < 20 else 2.0)
    policy = allocator.ledger.policy
    assert policy.horizon is not None
    assert abs(policy.horizon - allocator.ledger.horizon()) <= 0.1 * policy.horizon
    assert allocator.ledger.horizon() == 50 + int(30.0 / (70.0 / 50.0))


def test_a_refused_reward_changes_nothing(place: str) -> None:
    with Allocator(["a", "b"], 5, store=place, reward_range=(0.0, 10.0)) as allocator:
        pull = asked(allocator)
        for wrong in (11.0, -1e-9, math.nan, math.inf, "0.5", None):
            with pytest.raises(RisingBanditsError, match="reward must"):
                allocator.tell(pull, wrong)  # type: ignore[arg-type]
        with pytest.raises(RisingBanditsError, match=r"reward must lie in reward_range \(0, 10\), got 11.0"):
            allocator.tell(pull, 11.0)
        for cost in (-1.0, math.nan, "1"):
            with pytest.raises(RisingBanditsError, match="cost must"):
                allocator.tell(pull, 1.0, cost)  # type: ignore[arg-type]
        for wrong_pull in (99, 0, -1, True, "x", None, Pull(pull.id, "b", 7), 2**70):
            with pytest.raises(RisingBanditsError):
                allocator.tell(wrong_pull, 1.0)  # type: ignore[arg-type]
        assert allocator.tell(pull, 10.0)
        assert [event.kind for event in allocator.store.events()] == ["ask", "tell"]


# -- arms -----------------------------------------------------------------------------------------------------------


def test_numbers_are_drawn_where_some_arms_may_be_left_out() -> None:
    shuffled, same = (Allocator([f"arm{i}" for i in range(50)], 40, seed=3).ledger.numbered for _ in range(2))
    assert [arm.name for arm in shuffled] == [arm.name for arm in same] != [f"arm{i}" for i in range(50)]
    assert sorted(arm.index for arm in shuffled) == list(range(50))
    in_order = Allocator([f"arm{i}" for i in range(50)], 60, seed=3, policy="round-robin").ledger.numbered
    assert [arm.index for arm in in_order] == list(range(50))


# -- settings -------------------------------------------------------------------------------------------------------


def test_wrong_settings_leave_nothing_behind(tmp_path: Path) -> None:
    for change in (
        {"budget": 0},
        {"objective": "best"},
        {"max_pulls": {"z": 3}},
    ):
        with pytest.raises(RisingBanditsError):
            Allocator(**as_arguments({"arms": ["a", "b"], "budget": 10, "store": tmp_path / "x.db", **change}))
    assert list(tmp_path.iterdir()) == []


# -- views and loops ------------------------------------------------------------------------------------------------


def test_explain_says_why_and_changes_nothing() -> None:
    allocator = Allocator(["good", "bad", "gone"], 50, policy="beta-ts", seed=1)
    allocator.retire("gone", "too dear")
    flying = asked(allocator)
    for _ in range(3):
        table = allocator.explain()
    assert table[flying.arm].status == "in flight"
    assert table[flying.arm].why == "pull 1 runs"
    assert table["gone"].why == "too dear"
    following = [row.arm for row in table.rows if row.why.startswith("next")]
    assert following == [asked(allocator).arm]
    lines = str(table).splitlines()
    assert lines[1].split() == ["arm", "pulls", "status", "why"], "columns without numbers are left out"
    assert lines[-1] == f"next: {following[0]}, never pulled"


def test_asyncio() -> None:
    allocator = Allocator(["a", "b", "c"], 30)

    async def worker() -> int:
        pulls = 0
        while (pull := await allocator.aask(wait=10.0)) is not None:
            await asyncio.sleep(0)
            if pull.n == 2 and pull.attempt == 1:
                allocator.fail(pull, "once")
                continue
            assert allocator.tell(pull, curve(pull))
            pulls += 1
        return pulls

    async def main() -> list[int]:
        return await asyncio.gather(*(worker() for _ in range(5)))

    assert sum(asyncio.run(main())) == 30

    async def impatient() -> None:
        busy = Allocator(["a"], 3)
        await busy.aask()
        await busy.aask()

    with pytest.raises(NoArmAvailable):
        asyncio.run(impatient())


def test_logging(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="risingbandits"):
        allocator = Allocator(["a"], 3, execution=Execution(retries=1))
        pull = asked(allocator)
        allocator.tell(pull, 0.5)
        allocator.fail(asked(allocator), "no disk")
    text = caplog.text
    for said in ("ask: Pull(id=1, arm='a'", "reward 0.5", "fail a: no disk", "a is retired: it failed once"):
        assert said in text


def test_a_fork_is_a_worker_of_its_own(place: str, tmp_path: Path) -> None:
    """A child uses the parent's allocator with a connection of its own, and its pulls are its own."""
    with Allocator(["a", "b"], 10, store=place) as allocator:
        pull = asked(allocator)
        child = os.fork()
        if child == 0:
            try:
                mine = asked(allocator)
                (tmp_path / "child").write_text(mine.arm)
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        assert (tmp_path / "child").read_text() != pull.arm
        again = allocator.ask(wait=PATIENCE)  # dead processes are looked for from time to time
        assert again is not None
        assert (again.arm, again.attempt) == ((tmp_path / "child").read_text(), 2), "the child has ended"
        assert allocator.tell(pull, 0.5)


def test_a_pull_of_another_store_is_refused_whether_it_is_in_flight_or_told(place: str) -> None:
    with Allocator(["a", "b"], 10, store=place, policy="round-robin") as allocator:
        first, second = allocator.ask(), allocator.ask()
        assert first is not None
        assert second is not None
        allocator.tell(first, 0.5)
        assert allocator.tell(first, 0.5) is False, "its own pull, told again"
        for foreign in (first._replace(arm="b"), first._replace(n=2), second._replace(arm="a"), second._replace(n=7)):
            for use in (lambda pull: allocator.tell(pull, 0.5), allocator.fail, allocator.release, allocator.renew):
                with pytest.raises(RisingBanditsError, match=r"is not from .*, where that pull is"):
                    use(foreign)
        assert allocator.spent == 1
        assert list(allocator.ledger.in_flight) == [second.id]


@pytest.mark.parametrize("reopened", [False, True])
def test_a_budget_in_cost_that_is_never_spent_is_an_error(tmp_path: Path, reopened: bool) -> None:
    store = tmp_path / "run.db"
    allocator = Allocator(["a", "b"], Budget(cost=5.0), store=store, policy="round-robin")
    for i in range(1500):
        pull = allocator.ask()
        assert pull is not None
        allocator.tell(pull, 0.5, cost=0.001 if i == 499 else 0.0)
    if reopened:
        allocator.close()
        allocator = Allocator.open(store)
    with pytest.raises(RisingBanditsError, match=r"the last 1,000 pulls cost nothing, so a budget in cost would never"):
        allocator.ask()
    allocator.close()
