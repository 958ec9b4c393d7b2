"""The same arms in threads and in processes of this machine: pull n is always the n-th step of its learner."""

from __future__ import annotations

import functools
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from chain_arm import Chain, UnsavedChain, expected
from programs import program, until
from risingbandits import Allocator, Execution, RisingBanditsError
from risingbandits.allocation import Outcome, ProcessArms, open_reader
from risingbandits.allocation.pull import Pull


def chains(names: str, diary: Path | None = None, kind: type[Chain] = Chain, **settings: Any) -> dict[str, Any]:
    return {name: (lambda name=name: kind(name, diary, **settings)) for name in names}


def check(allocator: Allocator, budget: int) -> None:
    assert allocator.spent == budget
    for name in allocator.arms:
        assert allocator.rewards(name) == expected(name, len(allocator.rewards(name)))


def begun(diary: Path) -> list[list[str]]:
    """Arm, n, attempt, id and process of all pulls that have begun."""
    return [line.split()[1:] for line in diary.read_text().splitlines() if line.startswith("begin")]


@pytest.mark.parametrize("backend", ["threads", "processes"])
def test_the_same_arms_everywhere(backend: str, tmp_path: Path) -> None:
    diary = tmp_path / "diary"
    with Allocator(chains("abc", diary), 18, store=tmp_path / "run.db", policy="round-robin") as allocator:
        allocator.run(jobs=3, progress=False, backend=backend)
        check(allocator, 18)
        pulls = [(arm, n) for arm in "abc" for n in range(1, 1 + len(allocator.rewards(arm)))]
    assert sorted((arm, int(n)) for arm, n, *_ in begun(diary)) == pulls  # none twice
    assert len({process for *_, process in begun(diary)}) == (1 if backend == "threads" else 3)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Chain, pytest.param(UnsavedChain, marks=pytest.mark.slow)])
def test_more_arms_than_processes(kind: type[Chain], tmp_path: Path) -> None:
    diary = tmp_path / "diary"
    arms = ProcessArms(chains("abc", diary, kind), processes=2)
    with Allocator(list("abc"), 6, store=tmp_path / "run.db", policy="round-robin") as allocator, arms:
        allocator.run(jobs=1, progress=False, arms=arms)
        check(allocator, 6)
    made = begun(diary)
    assert len({process for *_, process in made}) > 3
    assert len(made) == 6 if kind is Chain else len(made) > 6  # what cannot be saved is trained again


def test_a_process_that_dies_fails_its_pull(tmp_path: Path) -> None:
    diary = tmp_path / "diary"
    with Allocator(chains("a", diary, dies_at=3), 5, store=tmp_path / "run.db", policy="round-robin") as allocator:
        allocator.run(progress=False, backend="processes")
        check(allocator, 5)
        failed = [event.text for event in allocator.store.events() if event.kind == "fail"]
    assert failed == ["the process of arm 'a' was lost: it ended with code 1."]
    assert [line[1:3] for line in begun(diary)] == [
        ["1", "1"],
        ["2", "1"],
        ["3", "1"],
        ["3", "2"],
        ["4", "1"],
        ["5", "1"],
    ]


class Odd:
    """Raises what cannot be sent when it is first tried, gives what is no reward when it is tried again."""

    def pull(self, pull: Pull) -> Any:
        if pull.attempt == 1:
            raise Unsendable(threading.Lock())
        return threading.Lock() if pull.attempt == 2 else Outcome(0.5, 2.0)


class Unsendable(Exception): ...


def test_what_a_learner_raises_is_heard_here() -> None:
    with Allocator({"a": Odd}, 1, execution=Execution(retries=5)) as allocator:
        allocator.run(progress=False, backend="processes")
        failed = [event.text for event in allocator.store.events() if event.kind == "fail"]
        assert allocator.ledger.arm("a").cost == 2.0
    assert failed[0].startswith("RuntimeError: Unsendable: <unlocked")
    assert failed[1].startswith("TypeError: a pull must give a number or an Outcome, got <unlocked")


def test_functions_of_the_pull_and_settings_of_the_allocator(tmp_path: Path) -> None:
    arms: dict[str, Any] = {"a": lambda pull: pull.n / 10, "b": functools.partial(Chain, "b")}
    with Allocator(arms, 8, store=tmp_path / "run.db", policy="round-robin", warm_start={"a": [0.1]}) as allocator:
        allocator.run(progress=False, backend="processes", keep=2)
        assert allocator.rewards("a") == [0.1, 0.2, 0.3, 0.4, 0.5]
        assert allocator.rewards("b") == expected("b", 4)


@pytest.mark.slow
def test_bounded_checkpoints_of_learners_elsewhere(tmp_path: Path) -> None:
    """What was given up is not written again by a process that still has it; a later run trains it again."""
    store, folder, diary = tmp_path / "run.db", tmp_path / "run.db.state", tmp_path / "diary"
    for budget in (8, 12):
        with Allocator(list("abcd"), budget, store=store, policy="round-robin") as allocator:
            with ProcessArms(chains("abcd", diary), processes=4) as arms:
                allocator.run(progress=False, arms=arms, keep=2)
            check(allocator, budget)
        assert len({path.parent for path in folder.glob("?/checkpoint-*")}) == 2
    assert len(begun(diary)) > 12


LONG = """
import sys
from pathlib import Path
from chain_arm import Chain
from risingbandits import Allocator

store, diary = sys.argv[1], Path(sys.argv[2])
with Allocator({"a": lambda: Chain("a", diary, seconds=600.0)}, 2, store=store) as allocator:
    allocator.run(progress=False, backend="processes")
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_they_end_with_the_program(number: signal.Signals, tmp_path: Path) -> None:
    store, diary = tmp_path / "run.db", tmp_path / "diary"
    helpers = str(Path(__file__).parents[1] / "helpers")
    with program(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {helpers!r})\n{LONG}", str(store), str(diary)],
        stderr=subprocess.DEVNULL,
    ) as process:
        until(lambda: diary.exists() and diary.read_text().startswith("begin") and diary.read_text().endswith("\n"))
        child = begun(diary)[0][-1]
        assert int(child) != process.pid
        process.send_signal(number)
        assert process.wait(60) == -number
    until(lambda: not Path(f"/proc/{child}").exists())
    with open_reader(store) as reader:
        kinds = [event.kind for event in reader.events()]
    assert kinds == (["ask", "expire"] if number == signal.SIGTERM else ["ask"])


def test_bad_arguments(tmp_path: Path) -> None:
    lock = threading.Lock()
    make = functools.partial(Chain, "a")
    cases: list[tuple[Any, dict[str, Any], str]] = [
        ({"a": Chain("a")}, {"backend": "processes"}, "arm 'a' must be a function that makes it for backend='proc"),
        ({"a": make}, {"backend": "process"}, "backend must be one of threads, processes, ray; got 'process', did you"),
        (["a"], {"backend": "processes"}, "arms must be functions that make learners for run, got only names"),
        ({"a": lambda: lock}, {"backend": "processes"}, "what makes arm 'a' cannot be sent to a process: "),
        (["a"], {"backend": "ray", "arms": ProcessArms({"a": make})}, "backend must be left out for ProcessArms"),
    ]
    for arms, settings, said in cases:
        with (
            Allocator(arms, 1, execution=Execution(retries=1)) as allocator,
            pytest.raises(RisingBanditsError, match=said),
        ):
            allocator.run(progress=False, **settings)
    with pytest.raises(RisingBanditsError, match="arms must map names to functions that make learners"):
        ProcessArms({"a": Chain("a")})  # type: ignore[dict-item]
    with pytest.raises(RisingBanditsError, match="processes must be an integer >= 1, got 0"):
        ProcessArms({"a": make}, processes=0)
