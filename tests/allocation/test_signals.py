"""Ctrl-C while `Allocator.run` pulls arms of its own process: once, pulls finish; twice, they are given back."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from programs import PATIENCE, program, until
from risingbandits import Allocator
from risingbandits.allocation import open_reader

PROGRAM = """\
import sys, time
from pathlib import Path
from risingbandits import Allocator

folder, jobs = Path(sys.argv[1]), int(sys.argv[2])

def wait(pull):
    (folder / f"begun-{pull.arm}-{pull.n}").touch()
    while not (folder / "go").exists():
        time.sleep(0.01)
    return 0.5

with Allocator({"a": wait, "b": wait}, 8, store=folder / "run.db", policy="round-robin") as allocator:
    try:
        allocator.run(jobs=jobs)
    except KeyboardInterrupt:
        print("in flight:", len(allocator.ledger.in_flight), flush=True)
        sys.exit(130)
    print("done", flush=True)
"""


def kinds(folder: Path) -> list[str]:
    with open_reader(folder / "run.db") as history:
        return [event.kind for event in history.events()]


def interrupted(folder: Path, jobs: int, *signals: signal.Signals, go: bool) -> tuple[int, str]:
    """Send signals while ``jobs`` pulls are at work; the exit code and what was printed."""
    (folder / "program.py").write_text(PROGRAM)
    words = [sys.executable, str(folder / "program.py"), str(folder), str(jobs)]
    shown = folder / "shown"
    with shown.open("w") as output, program(words, stdout=output, stderr=subprocess.STDOUT) as process:
        until(lambda: len(list(folder.glob("begun-*"))) == jobs, shown.read_text)
        for number in signals:
            process.send_signal(number)
            if number == signal.SIGINT and number is signals[0]:
                until(lambda: "Interrupted: finishing" in shown.read_text(), shown.read_text)
        if go:
            (folder / "go").touch()
        code = process.wait(PATIENCE)
    return code, shown.read_text()


@pytest.mark.parametrize("jobs", [1, 2])
def test_once(jobs: int, tmp_path: Path) -> None:
    code, shown = interrupted(tmp_path, jobs, signal.SIGINT, go=True)
    assert code == 130
    number = "1 running pull." if jobs == 1 else "2 running pulls."
    assert f"Interrupted: finishing {number} Interrupt again to stop now.\nin flight: 0\n" in shown
    assert kinds(tmp_path) == ["ask"] * jobs + ["tell"] * jobs


@pytest.mark.parametrize("jobs", [1, 2])
def test_twice(jobs: int, tmp_path: Path) -> None:
    code, shown = interrupted(tmp_path, jobs, signal.SIGINT, signal.SIGINT, go=False)
    assert code == 130
    assert shown.endswith("in flight: 0\n")
    assert kinds(tmp_path) == ["ask"] * jobs + ["expire"] * jobs


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_terminated(jobs: int, number: signal.Signals, tmp_path: Path) -> None:
    code, _ = interrupted(tmp_path, jobs, number, go=False)
    assert code == -number
    assert kinds(tmp_path) == ["ask"] * jobs + ["expire"] * jobs


def test_handlers_are_those_of_before(tmp_path: Path) -> None:
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [signal.getsignal(number) for number in numbers]
    Allocator({"a": lambda pull: 0.5}, 3).run(progress=False)
    assert [signal.getsignal(number) for number in numbers] == before
    allocator = Allocator({"a": lambda pull: 0.5}, 3)
    thread = threading.Thread(target=allocator.run, kwargs={"progress": False})
    thread.start()  # elsewhere than in the main thread there are no handlers
    thread.join(PATIENCE)
    assert allocator.spent == 3
