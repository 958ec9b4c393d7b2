"""Rewards and costs come back from every store and document as they were told, bit for bit."""

from __future__ import annotations

import csv
import io
import itertools
import json
import struct
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from risingbandits import Allocator
from risingbandits._core.files import json_text
from risingbandits.allocation._snapshot import pack, unpack
from risingbandits.allocation.starting._memory import read_entry, remember
from risingbandits.allocation.starting.earlier_runs import store_task
from risingbandits.allocation.starting.prior import Belief, Prior
from risingbandits.allocation.status._status import status_dict
from risingbandits.allocation.stores import reader as exports
from risingbandits.allocation.stores._memory import MemoryStore
from risingbandits.allocation.stores.reader import StoreReader, open_reader
from risingbandits.cli import run
from servers import PostgresServer

LARGEST, LEAST = sys.float_info.max, 5e-324
ODD = [0.0, -0.0, LEAST, -LEAST, LARGEST, -LARGEST, sys.float_info.min, 1.0, -3.0, 2.0**53, 2.0**63, 1e300, 0.1, 1 / 3]
NUMBERS = st.sampled_from(ODD) | st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**20), 10**20)
TOLD = st.lists(st.tuples(NUMBERS, NUMBERS.map(abs) | st.just(-0.0)), min_size=1, max_size=5)
ALL = [(value, abs(value)) for value in ODD]
WARM = [LEAST, -LARGEST, 1 / 3]
# A policy that computes nothing: sums of the largest numbers overflow.
SETTINGS: dict[str, Any] = {
    "arms": ["a"],
    "budget": 20,
    "policy": "round-robin",
    "reward_range": None,
    "warm_start": {"a": WARM},
}
Told = list[tuple[float, float]]
_SCHEMAS = itertools.count(1)


def bits(values: Any) -> list[bytes]:
    """As bytes, which tell even the two zeros apart."""
    return [struct.pack("<d", value) for value in values]


def test_minus_zero_is_kept_as_zero(place: str) -> None:
    """SQLite has no other zero, and a checksum over the one that was told would not fit."""
    with Allocator(["a"], 10, store=place, policy="round-robin", warm_start={"a": [-0.0]}) as allocator:
        minus_zeros: list[Any] = [-0.0, np.float64(-0.0), np.float32(-0.0)]
        for told in minus_zeros:
            pull = allocator.ask()
            assert pull is not None
            assert allocator.tell(pull, told, told)
    with Allocator.open(place) as allocator:
        assert bits(allocator.rewards("a")) == bits([0.0] * 4)


@given(told=TOLD)
@example(told=ALL)
def test_in_memory(told: Told) -> None:
    with Allocator(**SETTINGS, store=MemoryStore()) as allocator:
        tell(allocator, told)
        check(StoreReader(allocator.store), told)


@given(told=TOLD)
@example(told=ALL)
@settings(max_examples=30)
def test_in_a_file(told: Told) -> None:
    with TemporaryDirectory() as folder:
        check_store(f"{folder}/run.db", told)
        assert run(["store", "check", f"{folder}/run.db"]) == 0


@given(told=TOLD)
@example(told=ALL)
@settings(max_examples=10)
def test_on_a_server(told: Told, postgres: PostgresServer) -> None:
    check_store(f"{postgres.address}&schema=exact_{next(_SCHEMAS)}", told)


def test_on_a_server_that_rounds_for_others(postgres: PostgresServer) -> None:
    options = "&options=-c%20extra_float_digits%3D0"
    check_store(f"{postgres.address}{options}&schema=exact_{next(_SCHEMAS)}", ALL)


def test_in_a_plan(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text('budget = 2\narms = [{name = "a", command = ["echo", "-0.000"]}]')
    assert run(["run", str(tmp_path / "plan.toml")]) == 0
    assert run(["store", "check", str(tmp_path / "plan.db")]) == 0


def test_what_is_believed_of_an_arm_that_is_opened(place: str) -> None:
    prior = Prior({"a": Belief(-0.0, 1.0, "score")})
    with Allocator(["a"], 10, store=place, prior=prior) as allocator:
        assert allocator.ask() is not None
    with Allocator.open(place) as allocator:
        assert allocator.settings.prior == prior


def check_store(place: str, told: Told) -> None:
    with Allocator(**SETTINGS, store=place) as allocator:
        tell(allocator, told)
    with Allocator.open(place) as allocator:
        assert bits(allocator.rewards("a")) == bits(rewards_of(told))
    with open_reader(place) as reader:
        check(reader, told)
    assert bits(store_task(place).curves["a"]) == bits(rewards_of(told))


def tell(allocator: Allocator, told: Told) -> None:
    for reward, cost in told:
        pull = allocator.ask()
        assert pull is not None
        assert allocator.tell(pull, reward, cost)


def rewards_of(told: Told) -> list[float]:
    return [*WARM, *(reward + 0.0 for reward, _ in told)]


def check(reader: StoreReader, told: Told) -> None:
    """The same rewards and costs are in the events, in the ledger and its snapshot, and in all documents."""
    rewards = bits(rewards_of(told))
    pairs = [bits((reward + 0.0, cost + 0.0)) for reward, cost in told]
    ledger = reader.ledger()
    copy = unpack(pack(ledger), reader.settings)
    assert copy is not None
    for found in (ledger, copy):
        assert bits(found.rewards("a")) == rewards
    assert [bits((event.reward, event.cost)) for event in reader.events() if event.kind == "tell"] == pairs
    for events in (
        json.loads(exports.events_json(reader)),
        json.loads(json_text([event._asdict() for event in reader.events()])),  # log --json
        list(csv.DictReader(io.StringIO(exports.events_csv(reader)))),
    ):
        tells = [event for event in events if event["kind"] == "tell"]
        assert [bits((float(event["reward"]), float(event["cost"]))) for event in tells] == pairs
    curves = json.loads(exports.curves_json(reader))
    assert bits(curves["curves"]["a"]) == rewards
    assert bits(curves["settings"]["warm_start"]["a"]) == bits(WARM)
    _, *rows = csv.reader(io.StringIO(exports.curves_csv(reader)))
    assert bits(float(cell) for (cell,) in rows) == rewards
    with np.errstate(over="ignore", invalid="ignore"):  # of levels
        status = json.loads(json_text(status_dict(ledger)))  # show --json
    assert bits([status["arms"][0]["last"]]) == rewards[-1:]
    with TemporaryDirectory() as folder:
        task = read_entry(remember(folder, reader._store, reader.settings.to_json()))
        assert bits(task.curves["a"]) == rewards
