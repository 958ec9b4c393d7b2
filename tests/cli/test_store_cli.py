"""``status`` and ``store``: what a store holds, and asking and telling from a shell."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from arm_curves import load_columns
from risingbandits.allocation import Allocator, open_reader
from risingbandits.allocation.events import Event
from risingbandits.cli import run

REWARDS = {"a, b": [0.1, 0.2, 0.30000000000000004], 'c"d': [0.5, 0.4], "never": []}


def outcome(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    code = run([str(argument) for argument in arguments])
    text = capsys.readouterr()
    return code, text.out, text.err


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Path]:
    """Three pulls of one arm, two of another, one failure, and one pull in flight."""
    path = tmp_path / "run.db"
    with Allocator(list(REWARDS), budget=20, policy="round-robin", store=path) as allocator:
        allocator.mask("never")
        for _ in range(5):
            pull = allocator.ask()
            assert pull is not None
            allocator.tell(pull, REWARDS[pull.arm][pull.n - 1], cost=1.5)
        pull = allocator.ask()
        assert pull is not None
        allocator.fail(pull, "no\nluck\x1b[31m")
        assert allocator.ask() is not None
        yield path


def test_log(capsys: pytest.CaptureFixture[str], store: Path) -> None:
    code, out, err = outcome(capsys, "status", "--events", store)
    lines = out.splitlines()
    assert (code, err) == (0, "")
    with open_reader(store) as reader:
        events = list(reader.events())
    assert len(lines) == len(events) == 14
    assert [line.split()[0] for line in lines] == [str(event.id) for event in events]
    assert lines[2].endswith("  tell    a, b 1  reward 0.1  cost 1.5")
    assert lines[12].endswith("  no luck [31m")


def test_show(capsys: pytest.CaptureFixture[str], store: Path) -> None:
    code, out, err = outcome(capsys, "status", store)
    assert (code, err) == (0, "")
    assert "RoundRobin(), 5 of 20 pulls spent, 1 in flight" in out
    assert f":{os.getpid()}" in out
    assert 'Spent 5 of 20 pulls. Recommended: c"d' in out


def test_curves_can_be_read_again(capsys: pytest.CaptureFixture[str], store: Path, tmp_path: Path) -> None:
    path = tmp_path / "curves.csv"
    code, out, err = outcome(capsys, "store", "export", store, "-o", path)
    assert (code, out, err) == (0, f"Written: {path}\n", "")
    assert load_columns(path) == {name: rewards for name, rewards in REWARDS.items() if rewards}
    assert outcome(capsys, "store", "export", store)[1] == path.read_text()
    assert outcome(capsys, "logs", "replay", path, "--budget", "4", "--policies", "round-robin")[0] == 0
    arguments = ("simulate", "--curves", path, "--runs", "2", "--policies", "round-robin", "--noise", "none")
    code, _, err = outcome(capsys, *arguments)
    assert code == 0
    assert err.startswith('risingbandits: c"d falls after pull 1: regret is against the best single arm')
    assert err.count("\n") == 1


def test_other_exports(capsys: pytest.CaptureFixture[str], store: Path, tmp_path: Path) -> None:
    with open_reader(store) as reader:
        events = list(reader.events())
    assert outcome(capsys, "store", "export", store, "-o", tmp_path / "x.json")[0] == 0
    content = json.loads((tmp_path / "x.json").read_text())
    assert content["curves"] == {name: rewards for name, rewards in REWARDS.items() if rewards}
    assert (content["spent"], content["recommended"]) == (5, 'c"d')
    assert content["settings"]["budget"] == {"pulls": 20}
    assert outcome(capsys, "store", "export", store, "--events", "-o", tmp_path / "e.json")[0] == 0
    assert [Event(**entry) for entry in json.loads((tmp_path / "e.json").read_text())] == events
    assert outcome(capsys, "store", "export", store, "--events", "-o", tmp_path / "e.csv")[0] == 0
    with (tmp_path / "e.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [[row["id"], row["kind"], row["arm"], row["text"]] for row in rows] == [
        [str(event.id), event.kind, event.arm, event.text] for event in events
    ]
    assert [float(row["reward"]) for row in rows if row["reward"]] == [e.reward for e in events if e.reward is not None]


def test_names_that_are_numbers(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with Allocator(["0.1", "0.01"], budget=2, policy="round-robin", store=tmp_path / "x.db") as allocator:
        for pull in allocator:
            allocator.tell(pull, 0.5)
    assert outcome(capsys, "store", "export", tmp_path / "x.db", "-o", tmp_path / "x.csv")[0] == 0
    assert load_columns(tmp_path / "x.csv") == {"arm 0.1": [0.5], "arm 0.01": [0.5]}


# -- asking and telling, each command in a process of its own ---------------------------------------------------------


def answer(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, dict[str, Any]]:
    code, out, err = outcome(capsys, "store", *arguments)
    assert (code in (0, 1, 3), err) == (True, "")
    return code, json.loads(out)


def test_asked_and_told_by_commands(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    place = tmp_path / "run.db"
    create = ("create", place, "small", "large", "--budget", "4", "--policy", "round-robin", "--range", "-1,1")
    known = {"spent": 0, "finished": False, "recommended": None}
    made = {"store": str(place), "arms": ["small", "large"], "policy": "RoundRobin()", **known}
    assert answer(capsys, *create) == answer(capsys, *create) == (0, made)
    _, first = answer(capsys, "ask", place)
    _, second = answer(capsys, "ask", place)
    assert [(pull["arm"], pull["n"], pull["attempt"]) for pull in (first, second)] == [("small", 1, 1), ("large", 1, 1)]
    code, said = answer(capsys, "ask", place, "--wait", "0.1")
    assert code == 3, "both are in flight, though the processes that asked have ended"
    assert said["reason"].startswith("all arms that may be pulled are in flight")
    assert answer(capsys, "renew", place, str(first["id"]))[1]["held"]
    told = ("tell", place, str(first["id"]), "--reward", "-0.5", "--cost", "2")
    assert [answer(capsys, *told)[1]["counts"] for _ in range(2)] == [True, False]
    assert not answer(capsys, "renew", place, str(first["id"]))[1]["held"]
    answer(capsys, "fail", place, str(second["id"]), "--reason", "no memory", "--no-retry")
    _, third = answer(capsys, "ask", place)
    assert (third["arm"], third["n"]) == ("small", 2)
    assert answer(capsys, "tell", place, str(third["id"]), "--finished")[1]["finished"]
    assert answer(capsys, "ask", place) == (1, {"spent": 1, "finished": True, "recommended": "small"})
    assert answer(capsys, "recommend", place)[1]["recommended"] == "small"
    with open_reader(place) as reader:
        reasons = [event.text for event in reader.events() if event.kind in ("fail", "retire")]
    assert reasons == ["no memory", "failed once: no memory"]


def test_a_range_may_be_unknown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = str(tmp_path / "run.db")
    assert run(["store", "create", place, "small", "large", "--budget", "4", "--range", "unknown"]) == 0
    capsys.readouterr()
    with Allocator.open(place) as allocator:
        assert allocator.settings.reward_range is None
