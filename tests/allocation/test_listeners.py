"""on_tell: every pull that counts is heard once, after it is kept, and no listener can spoil a run."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from chain_arm import Chain, expected
from risingbandits import Allocator, Budget, RisingBanditsError
from risingbandits.allocation import Told, open_reader, retell


def rewards_heard(heard: list[Told]) -> dict[str, list[float]]:
    return {arm: [told.reward for told in heard if told.arm == arm] for arm in dict.fromkeys(t.arm for t in heard)}


def test_what_is_heard_is_what_counts() -> None:
    heard: list[Told] = []
    with Allocator(["a", "b"], 5, policy="round-robin", configs={"a": {"lr": 0.1}}, on_tell=heard.append) as one:
        first, second = one.ask(), one.ask()
        assert first is not None
        assert second is not None
        assert one.tell(second, 0.25)
        assert not one.tell(second, 0.75)  # twice: it counts once and is heard once
        one.fail(first, "no luck")
        assert one.tell(first, 0.5, cost=3.0)  # late, and still heard
        with pytest.raises(RisingBanditsError, match="reward"):
            one.tell(first, 7.0)
    assert heard == [Told("b", 1, 0.25, 1.0, 1, 1, {}), Told("a", 1, 0.5, 3.0, 2, 2, {"lr": 0.1})]


@pytest.mark.parametrize("jobs", [1, 3])
def test_run_tells_them_one_at_a_time(jobs: int) -> None:
    heard: list[Told] = []
    names = ["a", "b", "c", "d"]
    arms = {name: Chain(name) for name in names}
    with Allocator(arms, Budget(cost=40.0), policy="round-robin", on_tell=[heard.append]) as allocator:
        allocator.run(jobs=jobs, progress=False)
        kept = {name: allocator.rewards(name) for name in names}
        assert (len(heard), heard[-1].spent) == (allocator.ledger.told, allocator.spent)
    assert rewards_heard(heard) == kept == {name: expected(name, len(kept[name])) for name in names}
    assert sorted(told.told for told in heard) == list(range(1, len(heard) + 1))


def test_one_that_raises_is_named_once_and_loses_nothing(caplog: pytest.LogCaptureFixture) -> None:
    heard: list[Told] = []

    def broken(told: Told) -> None:
        raise OSError("the disk\nis full")

    with Allocator({"a": lambda pull: 0.5}, 4, on_tell=[broken, heard.append]) as allocator:
        allocator.run(progress=False)
        assert allocator.spent == len(heard) == 4
    said = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(said) == 1
    assert said[0].endswith(
        "broken failed with OSError: the disk is full; pull 1 of a still counts, and this warning is not repeated."
    )


def test_it_is_in_the_store_before_it_is_heard_and_a_listener_may_ask(tmp_path: Path) -> None:
    spent: list[float] = []

    def look(told: Told) -> None:
        with open_reader(tmp_path / "run.db") as reader:
            spent.append(reader.ledger().spent)
        assert allocator.recommend() == "a"  # no lock is held that it would need

    with Allocator(["a"], 3, store=tmp_path / "run.db", on_tell=look) as allocator:
        for pull in allocator:
            allocator.tell(pull, 0.5)
    assert spent == [1, 2, 3]


KILLED = """
import os, signal, sys
from risingbandits import Allocator

def listen(told):
    print(told.told, flush=True)
    if told.told == 3:
        os.kill(os.getpid(), signal.SIGKILL)

with Allocator(["a", "b"], 6, policy="round-robin", store=sys.argv[1], on_tell=listen) as allocator:
    for pull in allocator:
        allocator.tell(pull, pull.n / 10)
"""


def test_a_resumed_run_repeats_nothing(tmp_path: Path) -> None:
    store = tmp_path / "run.db"
    done = [subprocess.run([sys.executable, "-c", KILLED, store], capture_output=True, text=True) for _ in range(2)]
    assert [process.returncode for process in done] == [-signal.SIGKILL, 0], done[1].stderr
    assert [process.stdout.split() for process in done] == [["1", "2", "3"], ["4", "5", "6"]]
    again: list[Told] = []
    assert retell(store, again.append) == 6
    assert [(told.arm, told.n, told.told) for told in again] == [
        (arm, n, 2 * n - (arm == "a")) for n in (1, 2, 3) for arm in "ab"
    ]
    assert retell(store, again.append, after=4) == 6
    assert [told.told for told in again[6:]] == [5, 6]


def test_retell_hears_what_was_heard(tmp_path: Path) -> None:
    heard: list[Told] = []
    settings = {"a": {"lr": 0.1}, "b": {"lr": 0.2}}
    with Allocator(
        ["a", "b"], Budget(cost=1.0), store=tmp_path / "run.db", configs=settings, on_tell=heard.append
    ) as allocator:
        for pull in allocator:
            allocator.tell(pull, 0.5, cost=0.1)
    again: list[Told] = []
    assert retell(tmp_path / "run.db", again.append) == 10
    assert again == heard


def test_a_child_process_hears_its_own(tmp_path: Path) -> None:
    """A fork while a listener is at work in another thread is what the lock must survive; here it is held by us."""
    diary = tmp_path / "diary"

    def write(told: Told) -> None:
        with diary.open("a") as file:
            file.write(f"{told.told}\n")
        if told.told == 1 and os.fork() == 0:
            code = 1
            try:
                pull = allocator.ask()
                assert pull is not None
                code = 0 if allocator.tell(pull, 0.5) else 1
            finally:
                os._exit(code)

    with Allocator(["a", "b"], 4, store=tmp_path / "run.db", on_tell=write) as allocator:
        pull = allocator.ask()
        assert pull is not None
        allocator.tell(pull, 0.5)
        assert os.waitstatus_to_exitcode(os.wait()[1]) == 0
    assert diary.read_text() == "1\n2\n"


@pytest.mark.parametrize("wrong", ["tensorboard", 3, [print, None], {"a": print}])
def test_what_is_no_listener(wrong: object) -> None:
    with pytest.raises(RisingBanditsError, match="on_tell must be a function of a Told, or several, got"):
        Allocator(["a"], 1, on_tell=wrong)  # type: ignore[arg-type]


def test_an_opened_store(tmp_path: Path) -> None:
    heard: list[Told] = []
    Allocator(["a"], 2, store=tmp_path / "run.db").close()
    with Allocator.open(tmp_path / "run.db", {"a": lambda pull: 0.5}, on_tell=heard.append) as allocator:
        allocator.run(progress=False)
    assert len(heard) == 2
