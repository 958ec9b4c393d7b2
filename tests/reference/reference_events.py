"""The rules of the events of a store as the documentation tells them, read without the allocator.

`Events` takes the rows one by one and complains about the first that may not follow those before it. Decisions are
compared with those of a fresh policy that is told the same history. Only budgets in pulls and the settings that are
read here are known.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from typing import Any, NamedTuple

from risingbandits.policies import Policy


class Row(NamedTuple):
    """An event as the database has it."""

    id: int
    time: float
    kind: str
    arm: str
    pull: int
    n: int
    reward: float | None
    cost: float | None
    text: str
    worker: str

    @property
    def process(self) -> int:
        return int(self.worker.split(":")[1])


def read_store(place: str) -> tuple[dict[str, Any], list[Row]]:
    """The settings and the events."""
    columns = ", ".join(Row._fields)
    found = ["SELECT value FROM {}settings WHERE key = 'settings'", f"SELECT {columns} FROM {{}}events ORDER BY id"]
    if "://" in place:
        import psycopg

        address, _, schema = place.partition("&schema=")
        with psycopg.connect(address) as server:
            settings, events = (server.execute(text.format(f"{schema}.")).fetchall() for text in found)
    else:
        with closing(sqlite3.connect(f"file:{place}?mode=ro", uri=True)) as file:
            settings, events = (file.execute(text.format("")).fetchall() for text in found)
    return json.loads(settings[0][0]), [Row(*event) for event in events]


@dataclass
class Given:
    """A pull that was given out."""

    arm: str
    n: int
    attempt: int
    before: int  # the id of pull n - 1 that counted
    process: int
    deadline: float
    ended: int = 0  # the event that has ended its flight


@dataclass
class Arm:
    """What is known about an arm."""

    told: int = 0
    last_pull: int = 0
    flying: int = 0  # the id of its pull in flight
    attempts: int = 0  # how often its next pull was given out
    failures: int = 0  # how often that has failed
    masked: bool = False
    retired: bool = False


class Moment(NamedTuple):
    """What holds after an event."""

    used: int  # pulls that count or are in flight
    budget: int
    finished: bool  # no pull can follow
    blocked: bool  # no pull can be given out now


class Events:
    """All events so far."""

    def __init__(self, settings: dict[str, Any], policy: Policy) -> None:
        self.lease, self.retries, self.seed = settings["lease"], settings["retries"], settings["seed"]
        low, high = settings["reward_range"]
        self.zero, self.span = (low, high - low) if settings["direction"] == "maximize" else (high, low - high)
        self.budget: int = settings["budget"]["pulls"]
        self.arms: dict[str, Arm] = {name: Arm() for name in settings["arms"]}
        self.fresh = policy
        self.gone: set[int] = set()  # processes that have ended
        self.id, self.time = 0, 0.0
        self.pulls: dict[int, Given] = {}
        self.tells: list[tuple[str, float]] = []
        self.told_by: dict[tuple[str, int], int] = {}  # the event that told pull n of an arm
        self.returned: list[str] = []  # arms whose pull was given back: they go first
        self.failed: str | None = None  # an arm that must be retired now
        self.plans = self.decisions = 0
        self.plan()
        self.moments = [self.moment()]

    def read(self, row: Row) -> None:
        """Take the next row."""
        assert row.id == self.id + 1, "a gap in the events"
        assert row.time >= self.time, "time goes back"
        assert row.process not in self.gone, "a process that has ended goes on"
        self.id, self.time = row.id, row.time
        assert (self.failed is None) == (row.kind != "retire"), "an arm is retired where it has just failed too often"
        getattr(self, f"read_{row.kind}")(row)
        assert len(self.tells) + len(self.in_flight()) <= self.budget, "the budget is exceeded"
        self.moments.append(self.moment())

    # -- events -------------------------------------------------------------------------------------------------

    def read_ask(self, row: Row) -> None:
        arm = self.arms[row.arm]
        assert not arm.flying, "two pulls of one arm in flight"
        assert (row.pull, row.n) == (row.id, arm.told + 1), "a gap in the pull numbers"
        assert all(self.pulls[id].deadline > row.time for id in self.in_flight()), "a lease has ended"
        first = next((name for name in self.returned if self.is_free(name)), None)
        assert row.arm == (first or self.decide()), "the policy decides otherwise"
        if first is not None:
            self.returned.remove(first)
        arm.flying = row.id
        arm.attempts += 1
        self.pulls[row.id] = Given(row.arm, row.n, arm.attempts, arm.last_pull, row.process, row.time + self.lease)

    def read_tell(self, row: Row) -> None:
        arm, pull = self.arms[row.arm], self.pulls[row.pull]
        assert (row.arm, row.n) == (pull.arm, pull.n)
        assert row.n == arm.told + 1, "a gap in the pull numbers, or a pull that counts twice"
        assert row.reward is not None
        if arm.flying:  # this pull, or one that was given out in its place and is void now
            self.pulls[arm.flying].ended = row.id
        if row.arm in self.returned:
            self.returned.remove(row.arm)
        self.arms[row.arm] = Arm(row.n, row.pull, masked=arm.masked, retired=arm.retired)
        self.told_by[row.arm, row.n] = row.id
        self.tells.append((row.arm, row.reward))
        self.tell_policy(row.arm, row.reward)

    def read_fail(self, row: Row) -> None:
        self.give_back(row)
        arm = self.arms[row.arm]
        arm.failures += 1
        if arm.failures >= self.retries and not arm.retired:
            self.failed = row.arm

    def read_expire(self, row: Row) -> None:
        pull = self.pulls[row.pull]
        if row.text == "its lease ended":
            assert row.time >= pull.deadline
        elif row.text == "its process has ended":
            self.gone.add(pull.process)
        else:
            assert row.text == "released"
        self.give_back(row)

    def read_renew(self, row: Row) -> None:
        assert self.arms[row.arm].flying == row.pull
        self.pulls[row.pull].deadline = row.time + self.lease

    def read_retire(self, row: Row) -> None:
        assert row.arm == self.failed
        self.arms[row.arm].retired = True
        self.failed = None

    def read_mask(self, row: Row) -> None:
        assert self.arms[row.arm].masked == (row.kind == "unmask")
        self.arms[row.arm].masked = row.kind == "mask"

    read_unmask = read_mask

    def read_extend(self, row: Row) -> None:
        """A new budget, or new arms: the policy is made anew and told everything again."""
        changes = json.loads(row.text)
        assert changes.keys() <= {"budget", "arms", "said"}
        self.budget = changes.get("budget", {"pulls": self.budget})["pulls"]
        for name in changes.get("arms", {"in": []})["in"]:
            assert name not in self.arms
            self.arms[name] = Arm()
        self.plan()

    def give_back(self, row: Row) -> None:
        arm, pull = self.arms[row.arm], self.pulls[row.pull]
        assert arm.flying == row.pull, "a pull ends that is not in flight"
        assert row.n == pull.n
        arm.flying, pull.ended = 0, row.id
        self.returned.append(row.arm)

    # -- what follows from them ---------------------------------------------------------------------------------

    def in_flight(self) -> list[int]:
        return [arm.flying for arm in self.arms.values() if arm.flying]

    def may_be_pulled(self, name: str) -> bool:
        return not (self.arms[name].masked or self.arms[name].retired)

    def is_free(self, name: str) -> bool:
        return self.may_be_pulled(name) and not self.arms[name].flying

    def moment(self) -> Moment:
        flying = self.in_flight()
        used = len(self.tells) + len(flying)
        spent = len(self.tells) >= self.budget
        finished = spent or (not flying and all(arm.retired for arm in self.arms.values()))
        blocked = used >= self.budget or not any(map(self.is_free, self.arms))
        return Moment(used, self.budget, finished, blocked)

    def plan(self) -> None:
        self.policy = self.fresh.replace().reset(len(self.arms), self.budget, seed=[self.seed, 0, self.plans])
        self.plans += 1
        for name, reward in self.tells:
            self.tell_policy(name, reward)

    def tell_policy(self, name: str, reward: float) -> None:
        self.policy.tell(list(self.arms).index(name), (reward - self.zero) / self.span)

    def decide(self) -> str:
        self.decisions += 1
        available = [self.is_free(name) for name in self.arms]
        return list(self.arms)[self.policy.ask(None if all(available) else available)]
