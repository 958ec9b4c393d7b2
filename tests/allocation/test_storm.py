"""A storm: workers of several threads do all they can, some are killed, others stopped for longer than the lease.

What they wrote down is compared with what the store holds, which is read without the allocator.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from contextlib import closing
from pathlib import Path
from time import sleep
from typing import Any, NamedTuple

import numpy as np
import pytest

import storm_worker
from crew import Crew, text
from programs import until
from reference_events import Events, Row, read_store
from risingbandits import Allocator, Pull
from risingbandits.allocation.settings import as_arguments
from risingbandits.policies import get_policy
from storm_worker import LEASE, RANGE, Diary, Thread

ARMS = ["good 1", "good 2", "good 3", "good 4", "bad 1", "bad 2"]
WORKERS = 3
LINES = 100  # of all diaries, at least, for each kill or stop
KINDS = {"ask", "tell", "fail", "expire", "renew", "retire", "mask", "unmask", "extend"}
SILENT = ("fail", "release", "mask", "unmask")  # return nothing
UNKNOWN = object()  # the result of a call during which the worker was killed


def test_a_short_storm(place: str, tmp_path: Path) -> None:
    survive(place, tmp_path, "epsilon-greedy", seed=1, kills=16, stops=8)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2, 3])
@pytest.mark.parametrize("policy", ["epsilon-greedy", "commit-ucb", "auto"])
def test_a_long_storm(policy: str, seed: int, place: str, tmp_path: Path) -> None:
    survive(place, tmp_path, policy, seed, kills=40, stops=15)


def survive(place: str, folder: Path, name: str, seed: int, kills: int, stops: int) -> None:
    policy = get_policy(name)
    rewards: dict[str, Any] = {"direction": "minimize", "reward_range": RANGE}
    rules: dict[str, Any] = {"policy": policy, "seed": seed, "lease": LEASE}
    Allocator(ARMS, 20, store=place, **as_arguments({**rules, **rewards})).close()
    crew = Crew(storm_worker.__file__, place, folder, lines=60, seed=seed)
    rng = np.random.default_rng(seed)
    try:
        for _ in range(WORKERS):
            crew.start()
        for is_kill in rng.permutation([True] * kills + [False] * stops):
            sleep(float(rng.exponential(0.05)))
            until(lambda: len(crew.awake) > 1)
            worker = int(rng.choice(crew.awake))
            if is_kill:
                crew.kill(worker)
                crew.start()
            else:
                crew.stop(worker, float(rng.uniform(1.0, 2.0)) * LEASE)
        crew.wait_for_lines(LINES * (kills + stops), crew.diaries)
    finally:
        crew.close()
    finish(place, folder / "last")
    stored, rows = read_store(place)
    events = Events(stored, policy)
    for row in rows:
        events.read(row)
    assert len(events.tells) == events.budget, "the budget is not spent"
    check_calls(events, rows, [*crew.diaries, folder / "last"])
    assert {row.kind for row in rows} >= KINDS, "the workers have hardly worked"


def finish(place: str, path: Path) -> None:
    """Spend what is left, with what the dead had in flight."""
    with Allocator.open(place) as allocator, closing(Diary(path)) as diary:
        thread = Thread("last", allocator, diary)
        for arm in allocator.arms:
            thread.call("unmask", arm)
        thread.call("extend", None, ["good last"])
        thread.call("extend", int(allocator.spent) + len(allocator.ledger.in_flight) + 20)
        while isinstance(pull := thread.call("ask", 10.0), Pull):
            thread.tell(pull)


class Call(NamedTuple):
    """A call of the allocator, as a diary has it."""

    process: int
    method: str
    values: Any
    result: Any = UNKNOWN

    @property
    def happened(self) -> bool | None:
        """Whether it has changed the store; None if the result does not say so."""
        if isinstance(self.result, dict):  # an error
            return False
        return None if self.result is UNKNOWN or self.method in SILENT else bool(self.result)

    @property
    def key(self) -> tuple[Any, ...]:
        """What is the same in its event."""
        if self.method == "ask":
            id, arm, n, attempt, _, before, *_ = self.result
            return self.process, "ask", id, arm, n, attempt, before
        if self.method == "extend":
            return self.process, "extend", json.dumps(self.values)
        if self.method in ("mask", "unmask"):
            return self.process, self.method, self.values[0]
        # A zero is kept without its sign.
        numbers = [(value + 0.0).hex() for value in self.values[1:]] if self.method == "tell" else []
        return self.process, self.method, self.pull, *numbers

    @property
    def pull(self) -> int:
        """The id of the pull it is about."""
        pull = self.values[0]
        return int(pull if isinstance(pull, int) else pull[0])


def key_of(row: Row, events: Events) -> tuple[Any, ...] | None:
    """What is the same in the call that has caused an event; None if that was an ask or a fail before it."""
    if row.kind == "ask":
        pull = events.pulls[row.id]
        return row.process, "ask", row.id, row.arm, row.n, pull.attempt, pull.before
    if row.kind == "tell":
        assert row.reward is not None
        assert row.cost is not None
        return row.process, "tell", row.pull, row.reward.hex(), row.cost.hex()
    if row.kind == "extend":
        changes = json.loads(row.text)
        values = [changes["budget"]["pulls"]] if "budget" in changes else [None, changes["arms"]["in"]]
        return row.process, "extend", json.dumps(values)
    if row.text == "released":
        return row.process, "release", row.pull
    return (row.process, row.kind, row.pull or row.arm) if row.kind in ("fail", "renew", "mask", "unmask") else None


def read_diary(diary: Path) -> list[list[Call]]:
    """The calls of each thread."""
    lines = [json.loads(line) for line in text(diary).split(b"\n")[:-1]]  # a line that has no end was cut
    threads: dict[str, list[Call]] = {}
    for line in lines[1:]:
        calls = threads.setdefault(line["thread"], [])
        if "call" in line:
            calls.append(Call(lines[0]["worker"], line["call"], line["values"]))
        else:
            calls[-1] = calls[-1]._replace(result=line["result"])
    return list(threads.values())


def check_calls(events: Events, rows: list[Row], diaries: list[Path]) -> None:
    """Each call that was acknowledged has caused one event, and each event was caused by one call."""
    threads = [calls for diary in diaries for calls in read_diary(diary)]
    known = [call for calls in threads for call in calls if call.method != "ask" or call.result is not UNKNOWN]
    stored = Counter(key for row in rows if (key := key_of(row, events)) is not None)
    acknowledged = Counter(call.key for call in known if call.happened)
    possible = Counter(call.key for call in known if call.happened is None)
    lost, unclear = acknowledged - stored, stored - acknowledged - possible
    assert not lost, f"acknowledged and not stored: {lost}"
    assert {key[1] for key in unclear} <= {"ask"}, f"refused, or done by nobody, and stored: {unclear}"
    cut = Counter(calls[-1].process for calls in threads if calls[-1].method == "ask" and calls[-1].result is UNKNOWN)
    assert not Counter(key[0] for key in unclear) - cut, f"pulls that nobody has asked for: {unclear}"
    for calls in threads:
        check_thread(events, stored, calls)


def check_thread(events: Events, stored: Counter[tuple[Any, ...]], calls: list[Call]) -> None:
    """Each call has its effect before the next one of its thread, and one without an effect has a reason."""
    ids = [event_of(call, events) for call in calls]
    known = [id for id in ids if id]
    assert known == sorted(set(known)), "calls of one thread take effect in another order"
    last = 0
    for number, call in enumerate(calls):
        after = next((id for id in ids[number + 1 :] if id), len(events.moments))
        none = call.happened is False or (call.method in SILENT and call.result is None and not stored[call.key])
        assert not none or has_reason(call, events, last, after), f"{call} between events {last} and {after}"
        last = ids[number] or last


def event_of(call: Call, events: Events) -> int:
    """The event that a call has certainly caused, 0 if that is not known."""
    if call.method == "ask" and call.happened:
        return int(call.result[0])
    if call.method == "tell" and call.happened:
        pull = events.pulls[call.pull]
        return events.told_by[pull.arm, pull.n]
    return 0


def has_reason(call: Call, events: Events, last: int, after: int) -> bool:
    """Whether a call may have had no effect at some moment from event ``last`` on and before event ``after``."""
    moments = events.moments[last:after]
    error = call.result["error"] if isinstance(call.result, dict) else ""
    if call.method == "ask" and error:
        return error == "StoreBusy" or (error == "NoArmAvailable" and any(moment.blocked for moment in moments))
    if call.method == "ask":
        return any(moment.finished for moment in moments)
    if call.method == "extend" and error:
        return error == "RisingBanditsError" and any(moment.used > call.values[0] for moment in moments)
    if call.method == "extend":
        return any(moment.budget == call.values[0] for moment in moments)
    if call.method in ("mask", "unmask"):
        return not error
    pull = events.pulls.get(call.pull)
    if pull is None or error:
        return pull is None and error == "RisingBanditsError"
    has_ended = 0 < pull.ended < after
    if call.method != "tell":
        return has_ended
    is_told = events.told_by.get((pull.arm, pull.n), math.inf) < after
    return is_told or (has_ended and any(moment.used >= moment.budget for moment in moments))
