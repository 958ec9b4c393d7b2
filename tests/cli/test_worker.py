"""``risingbandits run --for``: pulls while there is time, gives back the rest and leaves with code 0."""

from __future__ import annotations

import math
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from programs import PATIENCE, program, until
from risingbandits.allocation import Event, open_reader
from risingbandits.cli import _run_plan as run_plan
from risingbandits.cli import run

# Every command says that it runs and then waits until it is let go.
PLAN = """\
budget = 6
jobs = 2
policy = "round-robin"
lease = 3600
[defaults]
shell = true
command = '''
echo $$ > "$RISINGBANDITS_STATE/pid-$RISINGBANDITS_PULL-$RISINGBANDITS_ATTEMPT"
while [ ! -e "$RISINGBANDITS_PLAN/go" ]; do sleep 0.02; done
echo 1'''
[[arms]]
name = "a"
[[arms]]
name = "b"
"""


@pytest.fixture
def plan(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "plan.toml"
    path.write_text(PLAN)
    yield path
    (tmp_path / "go").touch()


@contextmanager
def started(where: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "risingbandits", "run", str(where), *(options or ("--for", "unlimited"))]
    with (where.parent / "shown").open("a") as output, program(command, stdout=output, stderr=output) as process:
        yield process


def events(folder: Path, *kinds: str) -> list[Event]:
    with open_reader(folder / "plan.db") as reader:
        return [event for event in reader.events() if event.kind in kinds]


def pids(folder: Path, attempt: int) -> list[int]:
    files = folder.glob(f"plan.db.state/*/state/pid-1-{attempt}")
    return [int(text) for file in files if (text := file.read_text().strip())]


def both_wait(folder: Path, attempt: int = 1) -> list[int]:
    until(lambda: len(pids(folder, attempt)) == 2, (folder / "shown").read_text)
    return pids(folder, attempt)


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def goes_on(folder: Path, where: Path) -> None:
    """The pulls that were given back are there at once for the next worker, though the lease is an hour."""
    with started(where, "--for", "1h") as process:
        both_wait(folder, attempt=2)
        (folder / "go").touch()
        assert process.wait(PATIENCE) == 0
    assert len(events(folder, "tell")) == 6
    assert events(folder, "fail") == []


def test_the_time_is_over(plan: Path, tmp_path: Path) -> None:
    with started(plan, "--for", "00:00:08") as process:
        running = both_wait(tmp_path)
        assert process.wait(PATIENCE) == 0
    assert all(map(gone, running))
    assert [event.text for event in events(tmp_path, "expire")] == ["stopped"] * 2
    assert (
        "No time is left for another pull. Run the same command again to continue." in (tmp_path / "shown").read_text()
    )
    goes_on(tmp_path, plan)


def test_terminated(plan: Path, tmp_path: Path) -> None:
    with started(plan) as process:
        running = both_wait(tmp_path)
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
    assert all(map(gone, running))
    assert "Stopped by SIGTERM. Run the same command again to continue." in (tmp_path / "shown").read_text()
    goes_on(tmp_path, plan)


def test_warned(plan: Path, tmp_path: Path) -> None:
    """What runs may finish, however often the warning comes; nothing is begun any more."""
    with started(plan, "--for", "1h") as process:
        both_wait(tmp_path)
        for _ in range(2):
            process.send_signal(signal.SIGUSR1)
            until(lambda: "Interrupted: finishing 2 running pulls." in (tmp_path / "shown").read_text())
        (tmp_path / "go").touch()
        assert process.wait(PATIENCE) == 0
    assert sorted((event.arm, event.n) for event in events(tmp_path, "tell")) == [("a", 1), ("b", 1)]
    assert len(events(tmp_path, "ask")) == 2
    with started(plan) as process:
        assert process.wait(PATIENCE) == 0
    assert len(events(tmp_path, "tell")) == 6


def test_warned_and_then_terminated(plan: Path, tmp_path: Path) -> None:
    """As Slurm does it: a warning some time before the end, SIGTERM at the end."""
    with started(plan) as process:
        both_wait(tmp_path)
        process.send_signal(signal.SIGUSR1)
        until(lambda: "Interrupted: finishing" in (tmp_path / "shown").read_text())
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
    assert len(events(tmp_path, "expire")) == 2
    goes_on(tmp_path, plan)


def test_an_array_of_workers(plan: Path, tmp_path: Path) -> None:
    (tmp_path / "go").touch()
    plan.write_text(PLAN.replace("budget = 6", "budget = 30"))
    with started(plan, "--jobs", "1") as first, started(plan, "--jobs", "1") as second, started(plan) as third:
        assert [process.wait(PATIENCE) for process in (first, second, third)] == [0, 0, 0]
    told = [(event.arm, event.n) for event in events(tmp_path, "tell")]
    assert len(told) == len(set(told)) == 30
    assert events(tmp_path, "fail") == []


def test_exit_codes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "plan.toml"
    path.write_text('budget = 2\narms = [{name = "a", command = ["false"]}]\n')
    assert run(["run", str(path), "--for", "1h"]) == 1
    assert run(["run", str(tmp_path / "none.toml")]) == 2
    assert run(["run", str(path), "--jobs", "0"]) == 2
    assert run(["run", str(path), "--for", "soon"]) == 2
    assert capsys.readouterr().err.splitlines()[-1] == (
        "risingbandits: for must be a time > 0 such as 55m, 1h30m, 3300 (seconds) or 00:55:00, got 'soon'."
    )


def test_slurm_says_how_long(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("SLURM_JOB_END_TIME", raising=False)
    assert run_plan._seconds(None) == math.inf
    monkeypatch.setenv("SLURM_JOB_END_TIME", "4102444800")  # the year 2100
    assert 0 < run_plan._seconds(None) < math.inf
    assert run_plan._seconds("55m") == 3300
    monkeypatch.setenv("SLURM_JOB_END_TIME", "1000000")  # it is over: nothing is begun
    path = tmp_path / "plan.toml"
    path.write_text('budget = 2\narms = [{name = "a", command = ["echo", "1"]}]\n')
    assert run(["run", str(path)]) == 0
    assert events(tmp_path, "ask") == []
