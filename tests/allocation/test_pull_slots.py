"""Slots: each pull at work has a place of its own, whatever ends the pull before it, and knows which."""

from __future__ import annotations

import math
import threading
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from risingbandits import Allocator, Execution, Pull, RisingBanditsError
from risingbandits.allocation import open_reader
from risingbandits.allocation._snapshot import pack, unpack
from risingbandits.allocation.arms._slots import Places
from risingbandits.allocation.arms.base import ArmInUse
from risingbandits.allocation.commands._placeholders import visible_devices
from risingbandits.allocation.commands._plan_file import read_plan
from risingbandits.cli import run

SLOTS = {"left": 2, "right": 1}


@given(st.lists(st.sampled_from(["begin", "end first", "end last"]), max_size=30))
def test_never_more_than_there_is_room_for(steps: list[str]) -> None:
    """A free slot is one of those with the fewest pulls that has room, by counting."""
    places = Places(SLOTS)
    running: list[Pull] = []
    for number, step in enumerate(steps):
        if step == "begin" and len(running) < places.jobs():
            chosen = places.free(running)
            there = {slot: sum(pull.slot == slot for pull in running) for slot in SLOTS}
            allowed = [slot for slot in SLOTS if there[slot] < SLOTS[slot]]
            assert chosen in allowed
            assert there[chosen] == min(there[slot] for slot in allowed)
            running.append(Pull(number, "a", 1, slot=chosen))
        elif step != "begin" and running:
            running.pop(0 if step == "end first" else -1)
    assert all(count <= SLOTS[slot] for slot, count in Counter(pull.slot for pull in running).items())


class Watcher:
    """Arms that note which pulls are at work on a slot at the same time, and end in every way that there is."""

    def __init__(self, ends: bool = False) -> None:
        self.lock, self.now, self.most = threading.Lock(), Counter[str](), Counter[str]()
        self.ends, self.pulls = ends, 0

    def __call__(self, pull: Pull) -> float:
        with self.lock:
            self.now[pull.slot] += 1
            self.pulls += 1
            number = self.pulls
            self.most[pull.slot] = max(self.most[pull.slot], self.now[pull.slot])
        try:
            threading.Event().wait(0.002)
            if self.ends and number % 5 == 1:
                raise OSError("lost")
            if self.ends and number % 5 == 2:
                raise ArmInUse("not now")
            return math.nan if self.ends and number % 5 == 3 else 0.5  # 7 is refused
        finally:
            with self.lock:
                self.now[pull.slot] -= 1


@pytest.mark.parametrize("ends", [False, True])
def test_one_pull_for_each_place(ends: bool) -> None:
    watcher = Watcher(ends)
    allocator = Allocator(dict.fromkeys("abcde", watcher), 60, policy="round-robin", execution=Execution(retries=1000))
    allocator.run(progress=False, slots=SLOTS)
    assert allocator.spent == 60
    assert set(watcher.most) == set(SLOTS)
    assert all(watcher.most[slot] <= most for slot, most in SLOTS.items())
    assert not +watcher.now


def test_as_many_jobs_as_places() -> None:
    meeting = threading.Barrier(3, timeout=60)
    slots = []

    def together(pull: Pull) -> float:
        slots.append(pull.slot)
        meeting.wait()
        return 0.5

    Allocator(dict.fromkeys("abc", together), 3, policy="round-robin").run(progress=False, slots=SLOTS)
    assert sorted(slots) == ["left", "left", "right"]


class Noting:
    """An arm that notes its slots."""

    restores_itself = True

    def __init__(self) -> None:
        self.seen: list[str] = []

    def pull(self, pull: Pull) -> float:
        self.seen.append(pull.slot)
        return 0.5


def test_fewer_jobs_than_places() -> None:
    arm = Noting()
    allocator = Allocator({"a": arm}, 3)
    allocator.run(jobs=1, progress=False, slots=["x", "y"])
    assert arm.seen == ["x"] * 3
    assert [event.text for event in allocator.store.events() if event.kind == "ask"] == ["x"] * 3


def test_without_slots_nothing_is_said() -> None:
    arm = Noting()
    Allocator({"a": arm}, 2).run(progress=False)
    assert arm.seen == ["", ""]
    assert repr(Allocator(["a"], 3).ask()) == "Pull(id=1, arm='a', n=1, attempt=1)"


def test_a_slot_is_kept_in_store_and_snapshot(tmp_path: Path) -> None:
    with Allocator(["a", "b"], 9, store=tmp_path / "run.db") as allocator:
        pull = allocator.ask(slot="cuda:1")
        other = allocator.ask()
        assert pull is not None
        assert other is not None
        assert (pull.slot, other.slot) == ("cuda:1", "")
        again = unpack(pack(allocator.ledger), allocator.settings)
        assert again is not None
        assert [flight.pull for flight in again.in_flight.values()] == [pull, other]
        with pytest.raises(
            RisingBanditsError, match=r"slot must be a printable string of 1 to 200 characters, got 'a\\nb'"
        ):
            allocator.ask(slot="a\nb")
    with open_reader(tmp_path / "run.db") as reader:
        assert [flight.slot for flight in reader.ledger().in_flight.values()] == ["cuda:1", ""]


# -- commands --------------------------------------------------------------------------------------------------------

PRINTS = """printf '%s %s\\n' \\"$RISINGBANDITS_SLOT\\" \\"${CUDA_VISIBLE_DEVICES-all}\\" >> seen; echo 0.5"""


def seen_by(folder: Path, slots: str, more: str = "", command: str = PRINTS) -> list[str]:
    """What commands of a run have seen: their slot, and which GPUs."""
    arms = "".join(f'[[arms]]\nname = "{name}"\n' for name in "abc")
    defaults = f'[defaults]\nshell = true\ncommand = "{command}"\n{more}\n'
    (folder / "plan.toml").write_text(f'budget = 6\npolicy = "round-robin"\nslots = {slots}\n{defaults}{arms}')
    assert run(["run", str(folder / "plan.toml")]) == 0
    return sorted(set((folder / "seen").read_text().splitlines()))


def test_commands_have_their_slot(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert seen_by(tmp_path, '["left", "right"]') == ["left all", "right all"]
    capsys.readouterr()
    assert run(["status", "--events", str(tmp_path / "plan.db")]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if "  ask  " in line]
    assert len(lines) == 6
    assert {line.split()[-1] for line in lines} == {"left", "right"}


def test_a_command_that_does_not_name_its_slot_sees_one_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,5")
    (tmp_path / "look").write_text('echo "$CUDA_VISIBLE_DEVICES" >> seen; echo 0.5')
    assert seen_by(tmp_path, '["cuda:0", "cuda:1"]', command=". ./look") == ["3", "5"]


def test_a_command_that_names_its_slot_sees_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert seen_by(tmp_path, '{ "cuda:1" = 2 }') == ["cuda:1 all"]


def test_what_the_plan_says_of_gpus_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    (tmp_path / "look").write_text('echo "$CUDA_VISIBLE_DEVICES" >> seen; echo 0.5')
    own = "environment = { CUDA_VISIBLE_DEVICES = 9 }"
    assert seen_by(tmp_path, '["cuda:0"]', own, ". ./look") == ["9"]


def test_a_gpu_that_there_is_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,5")
    text = 'budget = 6\nslots = ["cuda:2"]\n[[arms]]\nname = "a"\ncommand = ["echo", "1"]\n'
    (tmp_path / "plan.toml").write_text(text)
    for more in (["--check"], []):
        assert run(["run", str(tmp_path / "plan.toml"), *more]) == 2
        sentence = "plan.toml, slots must be GPUs that CUDA_VISIBLE_DEVICES='3,5' leaves visible, got cuda:2."
        assert sentence in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["plan.toml"]
    assert visible_devices("cuda:1", {"CUDA_VISIBLE_DEVICES": " 3, 5"}) == {"CUDA_VISIBLE_DEVICES": "5"}


def test_a_slot_is_free_again_after_a_timeout_and_a_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The only slot, of an arm whose first attempt hangs, whose second one fails, and whose third one is good."""
    text = "case {attempt} in 1) sleep 600;; 2) exit 3;; *) echo 0.5;; esac"
    arm = f'[[arms]]\nname = "a"\ntimeout = 1\ncommand = ["sh", "-c", "{text}"]\n'
    (tmp_path / "plan.toml").write_text(f'budget = 1\nslots = ["only"]\n{arm}')
    assert run(["run", str(tmp_path / "plan.toml")]) == 0
    capsys.readouterr()
    with open_reader(tmp_path / "plan.db") as reader:
        seen = [(event.kind, event.text if event.kind == "ask" else "") for event in reader.events()]
    assert seen == [("ask", "only"), ("fail", ""), ("ask", "only"), ("fail", ""), ("ask", "only"), ("tell", "")]


def plan_with(folder: Path, head: str, command: str = '["echo", "1"]') -> Path:
    """A plan with one arm."""
    (folder / "plan.toml").write_text(f'budget = 6\n{head}\n[[arms]]\nname = "a"\ncommand = {command}\n')
    return folder / "plan.toml"


def test_jobs_of_a_plan(tmp_path: Path) -> None:
    assert read_plan(plan_with(tmp_path, 'slots = { "cuda:0" = 2, "cuda:1" = 2 }')).jobs == 4
    assert read_plan(plan_with(tmp_path, 'slots = ["x", "y", "z"]\njobs = 2')).jobs == 2
