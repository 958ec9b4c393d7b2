"""One pull by a command: what it is given, what it reports, where its files are and how it ends."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from programs import PATIENCE, until
from risingbandits import RisingBanditsError
from risingbandits._core.platform import worker_name
from risingbandits._core.processes import Trace, end_all
from risingbandits.allocation import Outcome, Pull
from risingbandits.allocation.arms._checkpointed import Checkpointed
from risingbandits.allocation.arms.base import ArmInUse
from risingbandits.allocation.commands import _folders as folders
from risingbandits.allocation.commands._command import Command
from risingbandits.allocation.commands._folders import ArmFolder
from risingbandits.allocation.commands._plan_arms import CommandArm
from risingbandits.allocation.pull import CannotGoOn, Saved, folder_name


def sh(script: str, tmp_path: Path, name: str = "a", **settings: object) -> CommandArm:
    arm = {"directory": tmp_path, "environment": {}, **settings}
    return CommandArm(name, ("/bin/sh", "-c", script), **arm)  # type: ignore[arg-type]


class Pulling:
    """A pull of a command arm in a thread."""

    def __init__(self, config: CommandArm, tmp_path: Path, n: int, attempt: int, last: Saved | None = None) -> None:
        self.arm = Command(config, tmp_path / "logs", tmp_path / "states", tmp_path)
        Checkpointed(config.name, self.arm, holds=lambda pull: True)
        id = 10 * n + attempt
        self.pull = Pull(id, config.name, n, attempt, before=0 if last is None else last.id, last=last, best=last)
        self.folder, self.stop = self.arm.folder, self.arm.stop
        self.out = self.arm.logs / f"{n}-{attempt}.out"
        self.err = self.out.with_suffix(".err")
        self._future = ThreadPoolExecutor(1).submit(self.arm.pull, self.pull)

    def result(self) -> Outcome:
        return self._future.result(PATIENCE)


def begin(arm: CommandArm, tmp_path: Path, n: int = 1, attempt: int = 1, last: Saved | None = None) -> Pulling:
    """A pull that has begun: its command runs and is noted in the lock, or it has ended already."""
    command = Pulling(arm, tmp_path, n, attempt, last)
    lock = command.folder.path / "lock"
    until(lambda: command._future.done() or (lock.exists() and b'"group"' in lock.read_bytes()))
    return command


def done(arm: CommandArm, tmp_path: Path, n: int = 1, attempt: int = 1, last: Saved | None = None) -> Pulling:
    command = begin(arm, tmp_path, n, attempt, last)
    command._future.exception(PATIENCE)
    return command


def alive(pid: int) -> bool:
    """Whether a process runs; one that only waits to be reaped does not."""
    try:
        os.kill(pid, 0)
        status = Path(f"/proc/{pid}/stat")
        return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


def test_reward_and_files(tmp_path: Path) -> None:
    command = done(sh("echo training; echo oops >&2; echo 0.25", tmp_path, "small net"), tmp_path, 3, 2)
    assert command.result() == Outcome(0.25)
    assert command.out == tmp_path / "logs" / "small%20net" / "3-2.out"
    assert command.out.read_text() == "training\n0.25\n"
    assert command.err.read_text() == "oops\n"


def test_every_placeholder_is_also_a_variable(tmp_path: Path) -> None:
    names = ("arm", "n", "attempt", "state", "checkpoint", "previous", "plan", "python")
    variables = "ARM PULL ATTEMPT STATE CHECKPOINT PREVIOUS PLAN PYTHON"
    seen_by = f"[os.environ['RISINGBANDITS_' + x] for x in '{variables}'.split()]"
    script = f"import os, sys; print(sys.argv[1:]); print({seen_by}); print(1)"
    arm = CommandArm(
        "a b",
        ("{python}", "-c", script, *(f"{{{name}}}" for name in names)),
        directory=tmp_path,
        environment={},
    )
    command = done(arm, tmp_path, 4, 2)
    given, seen, _ = command.out.read_text().splitlines()
    folder = tmp_path / "states" / "a%20b"
    files = [folder / name for name in ("state", "checkpoint-4-42", "checkpoint-3-0")]
    expected = ["a b", "4", "2", *files, tmp_path, sys.executable]
    assert given == seen == repr([str(value) for value in expected])


@pytest.fixture
def typed() -> Iterator[None]:
    """Input of this process that waits to be read."""
    before = os.dup(0)
    reading, writing = os.pipe()
    os.write(writing, b"typed\n")
    os.close(writing)
    os.dup2(reading, 0)
    os.close(reading)
    yield
    os.dup2(before, 0)
    os.close(before)


@pytest.mark.usefixtures("typed")
def test_directory_environment_and_no_input(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    arm = sh('cat; echo "$OWN $PWD"; echo 1', tmp_path, directory=tmp_path / "here", environment={"OWN": "{arm}-{n}"})
    command = done(arm, tmp_path)
    assert command.out.read_text() == f"a-1 {tmp_path / 'here'}\n1\n"


def test_no_shell_looks_at_arguments(tmp_path: Path) -> None:
    name = "$(touch x); `touch x`; \"'; touch x"
    arm = CommandArm(name, ("/bin/echo", "{arm}", "$HOME", "*"), directory=tmp_path, environment={})
    command = done(arm, tmp_path)
    assert command.out.read_text() == f"{name} $HOME *\n"
    assert not (tmp_path / "x").exists()


def test_a_shell_where_it_is_wanted(tmp_path: Path) -> None:
    arm = CommandArm("a'b", 'echo "$RISINGBANDITS_ARM" | cat; echo 2', tmp_path, {}, shell=True)
    assert done(arm, tmp_path).out.read_text() == "a'b\n2\n"


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("exit 0", r"^nothing printed: the last line of the output must be the reward; output in .*1-1\.out\.$"),
        ("echo 1; exit 3", r"^exit code 3; output in .*1-1\.err\.$"),
        ("echo 'no data' >&2; exit 1", r"^exit code 1 \('no data'\); output in "),
        ("printf '\\033[31mred' >&2; exit 1", r"^exit code 1 \('\\x1b\[31mred'\); output in "),
        ("echo 1; kill -9 $$", r"^ended by SIGKILL; output in "),
    ],
)
def test_failures_have_reasons(tmp_path: Path, script: str, reason: str) -> None:
    with pytest.raises(RisingBanditsError, match=reason):
        done(sh(script, tmp_path), tmp_path).result()


def test_what_cannot_be_started_says_why(tmp_path: Path) -> None:
    arm = CommandArm("a", ("./none",), directory=tmp_path, environment={})
    with pytest.raises(RisingBanditsError, match=r"^arm 'a' cannot be started: .*No such file or directory.*\.$"):
        begin(arm, tmp_path).result()
    assert done(sh("echo 1", tmp_path), tmp_path).result() == Outcome(1.0)  # the lock was let go


def test_a_command_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    command = begin(sh("sleep 1000 & echo $! > child; echo $$ > self; wait", tmp_path), tmp_path)
    until(lambda: (tmp_path / "self").exists() and (tmp_path / "self").read_text().strip())
    pids = [int((tmp_path / name).read_text()) for name in ("self", "child")]
    command.stop()
    until(lambda: not any(map(alive, pids)))
    with pytest.raises(RisingBanditsError, match=r"^ended by SIGTERM; "):
        command.result()


def test_nothing_of_a_pull_outlives_it(tmp_path: Path) -> None:
    command = done(sh("sleep 1000 & echo $! > child; echo 1", tmp_path), tmp_path)
    assert command.result() == Outcome(1.0)
    pid = int((tmp_path / "child").read_text())
    until(lambda: not alive(pid))
    until(lambda: _free(command.folder))


def _free(folder: ArmFolder) -> bool:
    try:
        os.close(folder.lock())
    except ArmInUse:
        return False
    return True


# -- folders of arms ----------------------------------------------------------------------------------------------


NAMES = ("../x", "..", ".", "/etc/passwd", "a/../../b", "~", "a\\b", "ä", "x" * 200, "ä" * 200, " ")


@pytest.mark.parametrize("name", NAMES)
def test_no_name_leaves_the_folder(tmp_path: Path, name: str) -> None:
    folder = folder_name(name)
    assert (tmp_path / folder).resolve().parent == tmp_path.resolve()
    assert len(folder.encode()) <= 120
    command = done(sh("echo 1", tmp_path, name), tmp_path)
    assert command.out.resolve().is_relative_to((tmp_path / "logs").resolve())
    assert [path.name for path in (tmp_path / "logs").iterdir()] == [folder]
    assert [path.name for path in (tmp_path / "states").iterdir()] == [folder]


@given(first=st.text(min_size=1, max_size=200), second=st.text(min_size=1, max_size=200))
def test_different_arms_have_different_folders(first: str, second: str) -> None:
    names = [name.encode(errors="replace").decode() for name in (first, second)]
    folders = [folder_name(name) for name in names]
    assert (folders[0] == folders[1]) == (names[0] == names[1])
    assert all("/" not in folder and not folder.startswith(".") and len(folder) <= 120 for folder in folders)


def test_checkpoints_hold_what_the_last_counted_pull_left(tmp_path: Path) -> None:
    step = 'echo "$(cat {previous} 2>/dev/null)x" > {checkpoint}; cat {checkpoint} >&2; echo 1'
    arm, last = sh(step, tmp_path), None
    for n in (1, 2, 3):
        for attempt in (1, 2):  # a pull that is repeated starts from where the first attempt did
            command = done(arm, tmp_path, n, attempt, last)
            assert command.err.read_text() == "x" * n + "\n"
        command.arm.told(command.pull)
        last = Saved(n, command.pull.id, 1.0, command.result().checkpoint)
    assert sorted(path.name for path in command.folder.path.iterdir()) == ["checkpoint-3-32", "lock", "state"]


def test_a_repeated_pull_does_not_see_what_the_failed_attempt_left(tmp_path: Path) -> None:
    arm = sh("test ! -e {checkpoint} && mkdir {checkpoint} && echo x > {checkpoint}/file && echo 1", tmp_path)
    for attempt in (1, 2):
        assert done(arm, tmp_path, 1, attempt).result() == Outcome(1.0, checkpoint="2")


def test_a_lost_checkpoint_is_made_again_from_the_best_one_or_from_the_first_pull(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    arm = sh('echo "$(cat {previous} 2>/dev/null)x" > {checkpoint}; cat {checkpoint} >&2; echo 1', tmp_path)
    best = done(arm, tmp_path, 1)
    saved = Saved(1, best.pull.id, 1.0, best.result().checkpoint)
    lost = Saved(3, 31, 0.5, "4")
    again = Pulling(arm, tmp_path, 4, 1, lost)
    again._future.exception(PATIENCE)
    assert again.err.read_text() == "xxxx\n"
    assert "checkpoint-3-31, the checkpoint of pull 3, is missing: 3 pulls are made again" in caplog.text
    (best.folder.path / "checkpoint-3-31").write_text("cut")
    again.pull = again.pull._replace(id=99, best=saved)
    done(arm, tmp_path, 1)
    assert again.arm.pull(again.pull) == Outcome(1.0, checkpoint="5")
    assert "checkpoint-3-31, the checkpoint of pull 3, is not as it was saved: 2 pulls are made again" in caplog.text


def test_a_folder_changed_in_place_is_left_alone_by_who_has_lost_the_pull(tmp_path: Path) -> None:
    ours, arm = [True], sh("echo x >> {state}/seen; echo 1", tmp_path)
    command = Command(arm, tmp_path / "logs", tmp_path / "states", tmp_path)
    Checkpointed("a", command, holds=lambda pull: ours[0])
    assert command.pull(Pull(1, "a", 1)) == Outcome(1.0)
    ours[0] = False
    with pytest.raises(ArmInUse, match="pull 2 of arm 'a' was given to another worker"):
        command.pull(Pull(2, "a", 2))
    assert (command.folder.state / "seen").read_text() == "x\n"


@pytest.mark.parametrize("script", ["echo {state}; echo 1", "echo $RISINGBANDITS_STATE; echo 1"])
def test_a_folder_changed_in_place_needs_a_store_that_can_be_read(script: str, tmp_path: Path) -> None:
    command = Command(sh(script, tmp_path), tmp_path / "logs", tmp_path / "states", tmp_path)
    with pytest.raises(CannotGoOn, match=r"^arm 'a' must use \{checkpoint\} and \{previous\}, not \{state\}"):
        command.pull(Pull(1, "a", 1))
    assert not (tmp_path / "logs").exists()


def test_the_state_folder_is_kept(tmp_path: Path) -> None:
    arm = sh('echo x >> "$RISINGBANDITS_STATE/seen"; wc -l < "$RISINGBANDITS_STATE/seen"', tmp_path)
    assert [done(arm, tmp_path, n).result().reward for n in (1, 2, 3)] == [1, 2, 3]


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """An arm that is in use is hardly waited for."""
    monkeypatch.setattr(folders, "_PATIENCE", 0.1)


@pytest.mark.usefixtures("impatient")
def test_no_two_commands_work_on_one_arm(tmp_path: Path) -> None:
    command = begin(sh("while [ ! -e go ]; do sleep 0.02; done; echo 1", tmp_path), tmp_path)
    with pytest.raises(ArmInUse, match="a command of arm 'a' is still running"):
        begin(sh("echo 2", tmp_path), tmp_path, 1, 2).result()
    (tmp_path / "go").touch()
    assert command.result() == Outcome(1.0)


def test_there_is_a_whole_note_at_every_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that is killed while it signs leaves the note that it made when it took the lock."""
    folder = ArmFolder(tmp_path, "a")
    handle = folder.lock("mark")
    before = (folder.path / "lock").read_bytes()
    assert json.loads(before) == {"run": worker_name(), "mark": "mark"}

    def killed(*arguments: object) -> int:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", killed)
        with pytest.raises(KeyboardInterrupt):
            folder.sign(handle, "mark", os.getpid())
    assert (folder.path / "lock").read_bytes() == before
    folder.sign(handle, "mark", os.getpid())
    after = (folder.path / "lock").read_bytes()
    noted = {"run": worker_name(), "mark": "mark", "group": os.getpid(), "command": worker_name()}
    assert json.loads(after) == noted
    assert len(after) == len(before)
    os.close(handle)


@pytest.mark.usefixtures("impatient")
def test_a_damaged_note_in_a_lock_is_no_reason_to_end_anything(tmp_path: Path) -> None:
    command = begin(sh("while [ ! -e go ]; do sleep 0.02; done; echo 1", tmp_path), tmp_path)
    for note in ("", "{", "3", "[]", '{"group": "x"}', '{"group": 1, "run": 1, "command": 2}', '{"group": null}'):
        (command.folder.path / "lock").write_text(note)
        with pytest.raises(ArmInUse):
            command.folder.lock()
    (tmp_path / "go").touch()
    assert command.result() == Outcome(1.0)


UNSIGNED = """
import os, sys
from pathlib import Path
from test_command import ArmFolder, Pulling, sh

folder = Path(sys.argv[1])
sign = ArmFolder.sign
ArmFolder.sign = lambda *given: sign(*given) if len(given) == 3 else os._exit(0)  # with the command's number
script = "env -i sh -c 'sleep 1000 & echo $! > child; echo $$ > self; wait'"  # without the mark
Pulling(sh(script, folder), folder, 1, 1).result()
"""


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="/proc is needed to find such processes")
def test_the_command_of_a_run_that_was_killed_before_it_signed(tmp_path: Path) -> None:
    """The note has the name of a run that is gone, and no command; what it started is found by the lock it took."""
    environment = {**os.environ, "PYTHONPATH": ":".join([str(Path(__file__).parent), *sys.path])}
    subprocess.run([sys.executable, "-c", UNSIGNED, tmp_path], env=environment, check=True)
    until(lambda: (tmp_path / "self").exists() and (tmp_path / "self").read_text().strip())
    pids = [int((tmp_path / name).read_text()) for name in ("self", "child")]
    assert all(map(alive, pids))
    os.close(ArmFolder(tmp_path / "states", "a").lock())
    until(lambda: not any(map(alive, pids)))


def test_what_another_run_started_under_the_lock_is_left_alone(tmp_path: Path) -> None:
    """As a worker finds it that wakes up after its own command has ended."""
    command = begin(sh("echo $$ > self; while [ ! -e go ]; do sleep 0.02; done; echo 1", tmp_path), tmp_path)
    until(lambda: (tmp_path / "self").exists() and (tmp_path / "self").read_text().strip())
    other = Trace("another", command.folder.lock_file, run=os.getppid())
    assert end_all(other, 0.1) == []
    (tmp_path / "go").touch()
    assert command.result() == Outcome(1.0)


def test_a_file_system_without_locks_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(handle: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", none)
    with pytest.raises(RisingBanditsError, match=r"file system with locks \(flock\), and here they fail: No locks"):
        begin(sh("echo 1", tmp_path), tmp_path).result()


def test_signals_after_the_end_reach_nobody(tmp_path: Path) -> None:
    command = done(sh("echo 1", tmp_path), tmp_path)
    command.stop()
    command.stop()
    assert command.result() == Outcome(1.0)


def test_a_command_that_cannot_be_noted_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    children = []

    sign = ArmFolder.sign

    def full(self: ArmFolder, handle: int, mark: str, child: int | None = None) -> None:
        if child is None:
            return sign(self, handle, mark)
        children.append(child)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(ArmFolder, "sign", full)
    with pytest.raises(RisingBanditsError, match=r"cannot be started: .*No space left on device"):
        begin(sh("sleep 1000", tmp_path), tmp_path).result()
    assert not any(map(alive, children))


def test_a_full_disk_is_not_the_fault_of_a_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command says only that it has failed; whether the disk is full, a write finds out."""

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    command = Checkpointed("a", Command(sh("exit 3", tmp_path), tmp_path, tmp_path, tmp_path), holds=lambda pull: True)
    with pytest.raises(RisingBanditsError, match="exit code 3") as failed:
        command.pull(Pull(1, "a", 1))
    assert not isinstance(failed.value, CannotGoOn)
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(CannotGoOn, match="pull 1 of arm 'a' could not be made: No space left on device"):
        command.pull(Pull(2, "a", 1, attempt=2))
