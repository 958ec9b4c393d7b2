"""``risingbandits run``: plans are carried out, survive being stopped in every way, and go on where they stopped."""

from __future__ import annotations

import math
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import pytest

from programs import PATIENCE, program, until
from risingbandits.allocation import Event, open_reader
from risingbandits.cli import _run_plan as run_plan
from risingbandits.cli import run

LEARNERS = """\
[defaults]
command = ["sh", "-c", "awk -v n={n} -v c=$C -v r=$R 'BEGIN {print c * n / (n + r)}'"]
[[arms]]
name = "fast"
environment = { C = 0.5, R = 1 }
[[arms]]
name = "slow"
environment = { C = 0.9, R = 6 }
[[arms]]
name = "poor"
environment = { C = 0.2, R = 2 }
"""
# Every command says that it runs and then waits until it is let go.
WAITING = """\
[defaults]
command = ["sh", "-c", "echo $$ > {state}/pid-{n}-{attempt}; while [ ! -e {plan}/go ]; do sleep 0.02; done; echo 0.5"]
[[arms]]
name = "a"
[[arms]]
name = "../b"
"""


def outcome(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    code = run([str(argument) for argument in arguments])
    text = capsys.readouterr()
    return code, text.out, text.err


def write(tmp_path: Path, text: str, head: str = "budget = 12\n") -> Path:
    path = tmp_path / "plan.toml"
    path.write_text(head + text)
    return path


def events(store: Path) -> list[Event]:
    with open_reader(store) as reader:
        return list(reader.events())


def kinds(store: Path, kind: str) -> list[tuple[str, int]]:
    return [(event.arm, event.n) for event in events(store) if event.kind == kind] if store.exists() else []


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@contextmanager
def started(plan: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    """The command in a process of its own, which never outlives the test."""
    command = [sys.executable, "-m", "risingbandits", "run", str(plan), *options]
    with (
        (plan.parent / "shown").open("a") as output,
        program(command, stdout=output, stderr=subprocess.STDOUT) as process,
    ):
        yield process


@pytest.fixture
def waiting(tmp_path: Path) -> Iterator[Path]:
    """A plan whose commands wait for the file "go", which ends them at the end of the test at the latest."""
    yield write(tmp_path, WAITING, "budget = 6\njobs = 2\nlease = 3600\n")
    (tmp_path / "go").touch()


def pids(tmp_path: Path, attempt: int) -> list[int]:
    """The commands that wait in their first pull, of both arms."""
    files = [tmp_path / "plan.db.state" / arm / "state" / f"pid-1-{attempt}" for arm in ("a", "%2E.%2Fb")]
    return [int(file.read_text()) for file in files if file.exists() and file.read_text().strip()]


def both_wait(tmp_path: Path, attempt: int = 1) -> list[int]:
    until(lambda: len(pids(tmp_path, attempt)) == 2, (tmp_path / "shown").read_text)
    return pids(tmp_path, attempt)


# -- in the ordinary case -------------------------------------------------------------------------------------------


def test_a_plan_is_carried_out(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    plan = write(tmp_path, LEARNERS, "budget = 30\njobs = 2\n")
    code, out, err = outcome(capsys, "run", plan)
    store = tmp_path / "plan.db"
    assert code == 0
    assert "The budget is spent. Recommended: slow" in out
    assert out.rstrip().endswith(f"Store: {store}\nOutput of every pull: {store}.logs")
    tells = [event for event in events(store) if event.kind == "tell"]
    assert len(tells) == 30
    for event in tells:
        ceiling, rate = {"fast": (0.5, 1), "slow": (0.9, 6), "poor": (0.2, 2)}[event.arm]
        assert event.reward == pytest.approx(ceiling * event.n / (event.n + rate), rel=1e-5)
        assert f"{event.arm} {event.n}: {event.reward:g}  (" in err
        assert (tmp_path / "plan.db.logs" / event.arm / f"{event.n}-1.out").read_text().strip() == f"{event.reward:g}"
    assert len(err.splitlines()) == 30

    # Once more: nothing is left to do.
    code, again, err = outcome(capsys, "run", plan)
    assert (code, again, err) == (0, out, "")
    assert len(kinds(store, "ask")) == 30


def test_a_table_on_a_terminal(tmp_path: Path) -> None:
    text = '[[arms]]\nname = "flaky"\ncommand = ["sh", "-c", "test {attempt} = 2 && echo 0.5"]\n'
    plan = write(tmp_path, text, "budget = 3\n")
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "risingbandits", "run", str(plan)]
    with program(command, stdout=subprocess.PIPE, stderr=theirs) as process:
        os.close(theirs)
        shown = b""
        with suppress(OSError):  # the other end is closed when the command has ended
            while part := os.read(ours, 65_536):
                shown += part
        os.close(ours)
        out = process.communicate()[0]
    assert process.returncode == 0
    assert "The budget is spent. Recommended: flaky" in out
    screen = shown.decode()
    assert "fail flaky: exit code 1" in " ".join(screen.split())
    assert "of 3 pulls spent" in " ".join(screen.split())
    assert "Traceback" not in screen


def test_costs_and_directions(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = """\
[[arms]]
name = "cheap"
command = ["echo", '{"reward": 6, "cost": 0.5}']
[[arms]]
name = "dear"
command = ["echo", '{"reward": 8, "cost": 2}']
"""
    head = 'budget = { cost = 10 }\ndirection = "minimize"\nreward_range = [0, 10]\npolicy = "ucb1"\n'
    code, out, _ = outcome(capsys, "run", write(tmp_path, text, head))
    assert code == 0
    assert "Recommended: cheap" in out
    costs = [event.cost or 0.0 for event in events(tmp_path / "plan.db") if event.kind == "tell"]
    assert sum(costs[:-1]) < 10 <= sum(costs)


def test_seconds_are_those_of_the_commands(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = '[[arms]]\nname = "a"\ncommand = ["sh", "-c", "sleep 0.05; echo 0.5"]\n'
    assert outcome(capsys, "run", write(tmp_path, text, "budget = { seconds = 0.2 }\n"))[0] == 0
    costs = [event.cost or 0.0 for event in events(tmp_path / "plan.db") if event.kind == "tell"]
    assert 1 <= len(costs) <= 4
    assert all(cost >= 0.05 for cost in costs)


def test_failures_are_repeated_then_the_arm_is_retired(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = """\
[[arms]]
name = "flaky"
command = ["sh", "-c", "if [ {attempt} = 1 ]; then echo not yet >&2; exit 1; fi; echo 0.5"]
[[arms]]
name = "broken"
command = ["sh", "-c", "echo x; exit 3"]
[[arms]]
name = "diverged"
command = ["echo", "nan"]
"""
    code, out, err = outcome(capsys, "run", write(tmp_path, text, 'budget = 4\nretries = 2\npolicy = "round-robin"\n'))
    assert code == 0
    store = tmp_path / "plan.db"
    assert kinds(store, "tell") == [("flaky", n) for n in (1, 2, 3, 4)]
    assert sorted(kinds(store, "fail")) == [("broken", 1)] * 2 + [("diverged", 1)] * 2 + [
        ("flaky", n) for n in (1, 2, 3, 4)
    ]
    assert "fail flaky: exit code 1 ('not yet'); output in " in err
    assert "failed 2 times in a row: exit code 3" in err
    assert "the last line of the output must be a finite number" in err
    assert "Recommended: flaky" in out
    assert "Traceback" not in err


def test_without_any_arm_left_the_exit_code_tells(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = '[[arms]]\nname = "a"\ncommand = ["false"]\n'
    code, out, _ = outcome(capsys, "run", write(tmp_path, text))
    assert code == 1
    assert "No arm is left that can be pulled." in out
    assert outcome(capsys, "run", tmp_path / "plan.toml", "--for", "1h")[0] == 1


def test_a_pull_that_takes_too_long_has_failed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = """\
[[arms]]
name = "a"
timeout = 1.5
command = ["sh", "-c", "if [ {attempt} = 1 ]; then sleep 1000; fi; echo 1"]
"""
    # On a busy machine a further attempt may be too slow as well.
    code, _, err = outcome(capsys, "run", write(tmp_path, text, "budget = 1\nretries = 100\n"))
    assert code == 0
    assert "fail a: not done after 1.5 s; output in " in err
    assert kinds(tmp_path / "plan.db", "tell") == [("a", 1)]


def test_finished_arms_end_a_run_before_the_budget(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, _ = outcome(capsys, "run", write(tmp_path, LEARNERS, "budget = 12\nmax_pulls = 2\n"))
    assert code == 0
    assert "Spent 6 of 12 pulls. No arm is left that can be pulled. Recommended: " in out


def test_fresh_keeps_the_old_run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    plan = write(tmp_path, LEARNERS, "budget = 4\n")
    assert outcome(capsys, "run", plan, "--fresh")[0] == 0
    first = events(tmp_path / "plan.db")
    assert outcome(capsys, "run", plan)[0] == 0
    plan = write(tmp_path, LEARNERS, "budget = 5\n")
    code, out, _ = outcome(capsys, "run", plan, "--fresh")
    assert code == 0
    assert out.startswith(f"The earlier run is now in {tmp_path / 'plan.db.1'}\n")
    assert outcome(capsys, "run", plan, "--fresh")[0] == 0
    assert events(tmp_path / "plan.db.1") == first
    assert [len(kinds(tmp_path / name, "tell")) for name in ("plan.db.1", "plan.db.2", "plan.db")] == [4, 5, 5]
    assert len(list((tmp_path / "plan.db.1.logs").rglob("*.out"))) == 4


# -- stopped and resumed ----------------------------------------------------------------------------------------------


def test_interrupt_finishes_what_runs(waiting: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with started(waiting) as process:
        both_wait(tmp_path)
        process.send_signal(signal.SIGINT)
        until(lambda: "finishing 2 running pulls" in (tmp_path / "shown").read_text())
        (tmp_path / "go").touch()
        assert process.wait(PATIENCE) == 130
    store = tmp_path / "plan.db"
    assert sorted(kinds(store, "tell")) == [("../b", 1), ("a", 1)]
    assert [event.kind for event in events(store)].count("ask") == 2
    assert "Run the same command again to continue." in (tmp_path / "shown").read_text()
    assert outcome(capsys, "run", waiting)[0] == 0
    assert len(kinds(store, "tell")) == 6


@pytest.mark.parametrize(
    ("signals", "options", "code"),
    [
        ((signal.SIGINT, signal.SIGINT), [], 130),
        ((signal.SIGTERM,), [], 143),
        ((signal.SIGHUP,), [], 129),
        ((signal.SIGTERM,), ["--for", "unlimited"], 0),
    ],
)
def test_stop_gives_pulls_back(
    waiting: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    signals: tuple[signal.Signals, ...],
    options: list[str],
    code: int,
) -> None:
    with started(waiting, *options) as process:
        running = both_wait(tmp_path)
        for number in signals:
            process.send_signal(number)
            if len(signals) > 1:
                until(lambda: "finishing 2 running pulls" in (tmp_path / "shown").read_text())
        assert process.wait(PATIENCE) == code
    until(lambda: not any(map(alive, running)))
    store = tmp_path / "plan.db"
    assert sorted(kinds(store, "expire")) == [("../b", 1), ("a", 1)]
    assert kinds(store, "fail") == kinds(store, "tell") == []
    (tmp_path / "go").touch()
    assert outcome(capsys, "run", waiting)[0] == 0
    check_whole(store, 6)


def test_kill_is_survived(waiting: Path, tmp_path: Path) -> None:
    """The commands of a run that was killed live on; the next run ends them before it repeats their pulls."""
    with started(waiting) as process:
        orphans = both_wait(tmp_path)
        process.kill()
        process.wait(PATIENCE)
    assert all(map(alive, orphans))
    with started(waiting) as process:
        both_wait(tmp_path, attempt=2)
        assert not any(map(alive, orphans))
        (tmp_path / "go").touch()
        assert process.wait(PATIENCE) == 0
    check_whole(tmp_path / "plan.db", 6)


def test_decisions_after_kills_are_those_of_an_uninterrupted_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "whole").mkdir()
    (tmp_path / "pieces").mkdir()
    assert outcome(capsys, "run", write(tmp_path / "whole", LEARNERS, "budget = 40\n"))[0] == 0
    plan = write(tmp_path / "pieces", LEARNERS, "budget = 40\n")
    store = tmp_path / "pieces" / "plan.db"
    for told in (7, 19):
        with started(plan) as process:
            until(partial(lambda least: len(kinds(store, "tell")) >= least, told))
            process.kill()
            process.wait(PATIENCE)
    assert outcome(capsys, "run", plan)[0] == 0
    assert kinds(store, "tell") == kinds(tmp_path / "whole" / "plan.db", "tell")
    check_whole(store, 40)


def test_two_runs_share_a_store(tmp_path: Path) -> None:
    plan = write(tmp_path, LEARNERS, "budget = 30\n")
    with started(plan) as first, started(plan) as second:
        assert first.wait(PATIENCE) == second.wait(PATIENCE) == 0
    check_whole(tmp_path / "plan.db", 30)


def test_fresh_is_refused_while_the_plan_runs(
    waiting: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with started(waiting) as process:
        both_wait(tmp_path)
        code, _, err = outcome(capsys, "run", waiting, "--fresh")
        assert (code, err) == (2, f"risingbandits: {waiting} is being run by another process, which must end first.\n")
        (tmp_path / "go").touch()
        assert process.wait(PATIENCE) == 0


# -- for a limited time ----------------------------------------------------------------------------------------------


def goes_on(folder: Path, where: Path) -> None:
    """The pulls that were given back are there at once for the next worker, though the lease is an hour."""
    with started(where, "--for", "1h") as process:
        both_wait(folder, attempt=2)
        (folder / "go").touch()
        assert process.wait(PATIENCE) == 0
    assert len(kinds(folder / "plan.db", "tell")) == 6
    assert kinds(folder / "plan.db", "fail") == []


def test_the_time_is_over(waiting: Path, tmp_path: Path) -> None:
    with started(waiting, "--for", "00:00:08") as process:
        running = both_wait(tmp_path)
        assert process.wait(PATIENCE) == 0
    until(lambda: not any(map(alive, running)))
    assert [event.text for event in events(tmp_path / "plan.db") if event.kind == "expire"] == ["stopped"] * 2
    assert (
        "No time is left for another pull. Run the same command again to continue." in (tmp_path / "shown").read_text()
    )
    goes_on(tmp_path, waiting)


def test_warned(waiting: Path, tmp_path: Path) -> None:
    """What runs may finish, however often the warning comes; nothing is begun any more."""
    with started(waiting, "--for", "1h") as process:
        both_wait(tmp_path)
        for _ in range(2):
            process.send_signal(signal.SIGUSR1)
            until(lambda: "Interrupted: finishing 2 running pulls." in (tmp_path / "shown").read_text())
        (tmp_path / "go").touch()
        assert process.wait(PATIENCE) == 0
    assert sorted(kinds(tmp_path / "plan.db", "tell")) == [("../b", 1), ("a", 1)]
    assert len(kinds(tmp_path / "plan.db", "ask")) == 2
    with started(waiting, "--for", "unlimited") as process:
        assert process.wait(PATIENCE) == 0
    assert len(kinds(tmp_path / "plan.db", "tell")) == 6


def test_warned_and_then_terminated(waiting: Path, tmp_path: Path) -> None:
    """As Slurm does it: a warning some time before the end, SIGTERM at the end."""
    with started(waiting, "--for", "unlimited") as process:
        both_wait(tmp_path)
        process.send_signal(signal.SIGUSR1)
        until(lambda: "Interrupted: finishing" in (tmp_path / "shown").read_text())
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
    assert len(kinds(tmp_path / "plan.db", "expire")) == 2
    goes_on(tmp_path, waiting)


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
    assert kinds(tmp_path / "plan.db", "ask") == []


def check_whole(store: Path, budget: int) -> None:
    """The budget is spent exactly, every pull is told once, in order, and no arm was ever pulled twice at a time."""
    told: dict[str, int] = {}
    flying: dict[str, int] = {}
    for event in events(store):
        if event.kind == "ask":
            assert event.arm not in flying
            flying[event.arm] = event.pull
            assert event.n == told.get(event.arm, 0) + 1
        elif event.kind in ("tell", "fail", "expire"):
            assert flying.pop(event.arm) == event.pull
            if event.kind == "tell":
                told[event.arm] = event.n
    assert flying == {}
    assert sum(told.values()) == budget


def test_checkpoints_without_their_store_are_refused_and_put_aside(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    plan = tmp_path / "plan.toml"
    command = '["sh", "-c", "echo x > {checkpoint}; echo 0.5"]'
    plan.write_text(f'budget = 2\n[[arms]]\nname = "a"\ncommand = {command}\n')
    assert outcome(capsys, "run", plan)[0] == 0
    for file in tmp_path.glob("plan.db*"):
        if file.is_file():
            file.unlink()
    for words in (["--check"], []):
        code, _, err = outcome(capsys, "run", plan, *words)
        assert code == 2
        assert "plan.db.state holds checkpoints of another store: move it away" in err
        assert not (tmp_path / "plan.db").exists()
    assert outcome(capsys, "run", plan, "--fresh")[0] == 0
    assert list((tmp_path / "plan.db.1.state" / "a").glob("checkpoint-*"))
