"""Whatever a command has started ends with its pull, however it has tried to get away; nothing else does."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from programs import until
from risingbandits import Allocator, Execution
from risingbandits._core.platform import locked
from risingbandits._core.processes import begun, ended
from risingbandits.allocation import Outcome, Pull, open_reader
from risingbandits.allocation.arms._checkpointed import Checkpointed
from risingbandits.allocation.arms.base import ArmInUse
from risingbandits.allocation.commands import _command as commands
from risingbandits.allocation.commands._command import Command
from risingbandits.allocation.commands._folders import ArmFolder
from risingbandits.allocation.commands._plan_arms import CommandArm
from risingbandits.cli import run

pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="/proc is needed to find processes")

# A daemon as in the textbooks: a session of its own, a parent that has ended, no files of its parent's.
DAEMON = """\
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.closerange(0, 100)
        with open(sys.argv[1], "w") as file:
            file.write(str(os.getpid()))
        time.sleep(1000)
    os._exit(0)
os.wait()
while not os.path.exists(sys.argv[1]) or not open(sys.argv[1]).read():
    time.sleep(0.01)
"""
WAYS = {
    "session": "setsid sh -c 'echo $$ > \"$0\"; exec sleep 1000' {state}/pid &",
    "no-variables": "env -i setsid sh -c 'echo $$ > \"$0\"; exec sleep 1000' {state}/pid &",
    "daemon": "{python} {plan}/daemon.py {state}/pid",
    "deaf": 'setsid sh -c \'trap "" TERM HUP INT; echo $$ > "$0"; while :; do sleep 1; done\' {state}/pid &',
}
WRITTEN = "\nwhile [ ! -s {state}/pid ]; do sleep 0.01; done; "


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def command(script: str, folder: Path, **settings: object) -> Command:
    (folder / "daemon.py").write_text(DAEMON)
    given = {"directory": folder, "environment": {}, **settings}
    arm = CommandArm("a", ("/bin/sh", "-c", script), **given)  # type: ignore[arg-type]
    made = Command(arm, folder / "logs", folder / "states", folder)
    Checkpointed("a", made, holds=lambda pull: True)
    return made


def noted(made: Command) -> int:
    return int((made.folder.state / "pid").read_text())


@pytest.mark.parametrize("way", WAYS)
def test_nothing_outlives_a_pull(way: str, tmp_path: Path) -> None:
    made = command(WAYS[way] + WRITTEN + "echo 0.5", tmp_path)
    assert made.pull(Pull(1, "a", 1)) == Outcome(0.5)
    assert not alive(noted(made))


@pytest.mark.parametrize("way", WAYS)
def test_nothing_outlives_a_pull_whose_time_is_over(way: str, tmp_path: Path) -> None:
    made = command(WAYS[way] + WRITTEN + "sleep 1000", tmp_path, timeout=1.0)
    with pytest.raises(ValueError, match="not done after 1 s"):
        made.pull(Pull(1, "a", 1))
    assert not alive(noted(made))


def test_what_others_started_meanwhile_is_left_alone(tmp_path: Path) -> None:
    made = command("while [ ! -e go ]; do sleep 0.01; done; echo 0.5", tmp_path)
    thread = threading.Thread(target=made.pull, args=(Pull(1, "a", 1),))
    thread.start()
    until(lambda: made._process)
    with subprocess.Popen(["sleep", "1000"], start_new_session=True) as ours:
        (tmp_path / "go").touch()
        thread.join()
        assert ours.poll() is None
        ours.kill()


def test_a_run_that_waits_for_the_lock_is_left_alone(tmp_path: Path) -> None:
    made = command("while [ ! -e go ]; do sleep 0.01; done; echo 0.5", tmp_path)
    thread = threading.Thread(target=made.pull, args=(Pull(1, "a", 1),))
    thread.start()
    until(lambda: made._process)
    with (
        made.folder.lock_file.open("rb") as lock,
        subprocess.Popen(["sleep", "1000"], pass_fds=(lock.fileno(),), start_new_session=True) as waiting,
    ):
        (tmp_path / "go").touch()
        thread.join()
        assert waiting.poll() is None
        waiting.kill()


def test_orphans_of_a_run_that_was_killed(tmp_path: Path) -> None:
    """A daemon has no lock any more: it is known by the mark, which was noted before the command began."""
    made = command(WAYS["daemon"] + "\necho 0.5", tmp_path)
    program = (
        "import os, sys; from pathlib import Path; sys.path.insert(0, sys.argv[2])\n"
        "from test_descendants import command, Pull, WAYS, WRITTEN\n"
        "made = command(WAYS['daemon'] + WRITTEN + 'kill -9 ' + str(os.getpid()) + '; sleep 1', Path(sys.argv[1]))\n"
        "made.pull(Pull(1, 'a', 1))\n"
    )
    words = [sys.executable, "-c", program, str(tmp_path), str(Path(__file__).parent)]
    subprocess.run(words, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, check=False)
    orphan = noted(made)
    assert alive(orphan)
    os.close(made.folder.lock())
    assert not alive(orphan)


# A process that nothing tells: no variables, no files, a session of its own, and its parent has ended.
STEALTHY = """\
import subprocess, sys
made = subprocess.Popen(["sleep", "1000"], env={}, start_new_session=True, stdin=-3, stdout=-3, stderr=-3)
with open(sys.argv[1], "w") as file:
    file.write(str(made.pid))
made.returncode = 0  # no complaint that it runs
print(0.5)
"""


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_nothing_tells_is_found_by_a_run(jobs: int, tmp_path: Path) -> None:
    """The run takes orphans in. It does not know whose they are, and ends them when nobody can be their parent."""
    (tmp_path / "stealthy.py").write_text(STEALTHY)
    (tmp_path / "plan.toml").write_text(f"""\
budget = 6
jobs = {jobs}
policy = "round-robin"
defaults.command = ["python3", "stealthy.py", "{{state}}/pid-{{n}}"]
arms = [{{name = "a"}}, {{name = "b"}}]
""")
    words = [sys.executable, "-m", "risingbandits", "run", str(tmp_path / "plan.toml")]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    pids = [int(file.read_text()) for file in tmp_path.glob("plan.db.state/*/state/pid-*")]
    assert len(pids) == 6
    assert not any(map(alive, pids))


# Two commands that end before anybody looks at what either has left.
AT_ONCE = """\
import os, subprocess, sys
from pathlib import Path
from risingbandits._core.processes import Trace, adopt_orphans, begun, end_all
assert adopt_orphans()
places = [f"{sys.argv[1]}/pid-{number}" for number in range(2)]
made = [subprocess.Popen(["python3", "stealthy.py", place], start_new_session=True, stdout=-3) for place in places]
starts = [begun(command.pid) for command in made]
for command in made:
    os.waitid(os.P_PID, command.pid, os.WEXITED | os.WNOWAIT)
trace = Trace("none", Path("none"), made[0].pid, starts[0])
sys.exit(len(end_all(trace, 60.0)))
"""


def test_two_commands_that_end_at_once_leave_nothing(tmp_path: Path) -> None:
    (tmp_path / "stealthy.py").write_text(STEALTHY)
    subprocess.run([sys.executable, "-c", AT_ONCE, str(tmp_path)], cwd=tmp_path, check=True)
    pids = [int(file.read_text()) for file in tmp_path.glob("pid-*")]
    assert len(pids) == 2
    assert not any(map(alive, pids))


def test_a_run_ends_only_what_its_commands_have_started(tmp_path: Path) -> None:
    """Not what the shell has left to it, in whose place it is."""
    (tmp_path / "plan.toml").write_text('budget = 1\narms = [{name = "a", command = ["echo", "1"]}]\n')
    script = 'setsid sleep 1000 & echo $! > pid; exec "$0" -m risingbandits run plan.toml'
    subprocess.run(["sh", "-c", script, sys.executable], cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    pid = int((tmp_path / "pid").read_text())
    assert alive(pid)
    os.kill(pid, signal.SIGKILL)


# -- what dies slowly, or not at all --------------------------------------------------------------------------------


def test_the_next_attempt_waits_for_what_was_killed(tmp_path: Path) -> None:
    """Something still holds the arm's files, and lets them go after a while."""
    made = command("echo 0.5", tmp_path)
    made.folder.path.mkdir(parents=True)
    handle = os.open(made.folder.lock_file, os.O_RDWR | os.O_CREAT)
    assert locked(handle)
    threading.Timer(0.3, os.close, (handle,)).start()
    assert made.pull(Pull(1, "a", 1, 2)) == Outcome(0.5)


def test_a_timeout_costs_one_attempt_whatever_was_started(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text("""\
budget = 1
retries = 2
[[arms]]
name = "a"
timeout = 2
command = ["sh", "-c", "if [ {attempt} = 1 ]; then setsid sleep 1000 & sleep 1000; fi; echo 0.5"]
""")
    assert run(["run", str(tmp_path / "plan.toml")]) == 0
    with open_reader(tmp_path / "plan.db") as reader:
        failures = [event.text for event in reader.events() if event.kind == "fail"]
    assert [text.partition(";")[0] for text in failures] == ["not done after 2 s"]


@pytest.fixture
def immortal(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing can be ended, as where a process waits for a disk that does not answer."""
    with monkeypatch.context() as patch:
        patch.setattr(commands, "end_group", lambda group, number: None)
        patch.setattr(commands, "end_all", lambda trace, seconds: [f"{trace.session} (stuck)"])
        patch.setattr(commands, "_GRACE", 0.1)
        yield


@pytest.mark.usefixtures("immortal")
def test_what_never_ends_is_named_and_no_fault_of_the_arm(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    made = command("while [ ! -e go ]; do sleep 0.01; done", tmp_path, timeout=0.1)
    with caplog.at_level(logging.WARNING), pytest.raises(ArmInUse, match=r"killed, but process \d+ does not end\.$"):
        made.pull(Pull(1, "a", 1))
    (tmp_path / "go").touch()
    assert [record.getMessage().split(": ")[0] for record in caplog.records] == [
        "a has started processes that were killed and do not end"
    ]
    until(lambda: _free(made.folder))


def _free(folder: ArmFolder) -> bool:
    with folder.lock_file.open("rb") as file:
        return locked(file.fileno())


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_arm_in_use_is_not_blamed(jobs: int) -> None:
    tries = []

    def busy(pull: Pull) -> float:
        tries.append(pull)
        if len(tries) < 5:
            raise ArmInUse("not now.")
        return 0.5

    allocator = Allocator({"a": busy}, 1, execution=Execution(retries=1))
    allocator.run(jobs=jobs, progress=False)
    assert [pull.n for pull in tries] == [1] * 5
    assert allocator.rewards("a") == [0.5]


def test_a_command_that_has_ended_at_once_has_begun() -> None:
    """Its start still tells which processes may be its own; with another, all that run would be looked into."""
    with subprocess.Popen(["true"]) as command:
        os.waitid(os.P_PID, command.pid, os.WEXITED | os.WNOWAIT)
        start = begun(command.pid)
        ended(command.pid)
    assert start > 0
