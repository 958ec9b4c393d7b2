"""What Linux or POSIX alone has is used only where its absence is foreseen; runs and commands work without it.

No macOS takes part: a scan finds names that macOS does not have, and a program runs a plan as if on macOS, without
those names and without /proc. What only a macOS can show, such as how its file systems lock, is not tested.
"""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from risingbandits import Pull, RisingBanditsError
from risingbandits._core import platform, processes
from risingbandits.allocation.commands._command import command_arms
from risingbandits.allocation.commands._plan_file import read_plan

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "risingbandits"
# By the "Availability" notes of Python's documentation. waitid and its constants: on macOS from Python 3.13 on.
NOT_ON_MACOS = {
    "os": """
        O_DIRECT O_NOATIME O_PATH O_RSYNC O_TMPFILE P_ALL P_PGID P_PID P_PIDFD WEXITED WNOWAIT WSTOPPED copy_file_range
        eventfd eventfd_read eventfd_write fdatasync getrandom getresgid getresuid getxattr listxattr memfd_create
        pidfd_open pipe2 posix_fadvise posix_fallocate removexattr sched_getaffinity sched_getparam sched_getscheduler
        sched_rr_get_interval sched_setaffinity sched_setparam sched_setscheduler setns setresgid setresuid setxattr
        splice timerfd_create unshare waitid
    """,
    "select": "EPOLLERR EPOLLIN EPOLLOUT epoll devpoll",
    "signal": "SIGCLD SIGPOLL SIGPWR SIGRTMAX SIGRTMIN SIGSTKFLT pidfd_send_signal sigtimedwait sigwaitinfo",
    "socket": "AF_ALG AF_CAN AF_NETLINK AF_PACKET AF_VSOCK SO_BINDTODEVICE SO_MARK SO_PASSCRED SO_PEERCRED",
    "time": "CLOCK_BOOTTIME CLOCK_HIGHRES CLOCK_PROF CLOCK_TAI pthread_getcpuclockid",
}
# Where they are used all the same: behind a look at the platform or at whether the system has them.
GUARDED = {
    "_core/processes.py": {"os.waitid", "os.P_PID", "os.WEXITED", "os.WNOWAIT", "time.CLOCK_BOOTTIME"},
}
# By the same notes, what Windows does not have: behind the two modules of the core that have fall-backs for it.
NOT_ON_WINDOWS = """
    fcntl.flock os.O_CLOEXEC os.O_DIRECTORY os.WNOHANG os.fork os.getsid os.killpg os.pread os.pwrite
    os.register_at_fork os.setsid os.sysconf os.waitpid signal.SIGHUP signal.SIGKILL signal.SIGUSR1 signal.SIGUSR2
    signal.pthread_kill signal.pthread_sigmask time.clock_gettime
"""
BEHIND = {"_core/platform.py", "_core/processes.py"}
# The command line looks whether there is a mask; crashes are tested by kills.
ALSO = {"testing/lost_arms.py": {"signal.SIGKILL"}}
FOREIGN = {f"{module}.{name}" for module, names in NOT_ON_MACOS.items() for name in names.split()}

AS_IF_ON_MACOS = """
import os, select, signal, socket, sys, time

import matplotlib, numba, numpy, rich.console, scipy.stats, typer  # which ask for the platform themselves

removed = 0
for full in sys.argv[1].split():
    module, _, name = full.partition(".")
    if hasattr(sys.modules[module], name):
        delattr(sys.modules[module], name)
        removed += 1
assert removed > 20, removed
looked = []


def no_proc(event, arguments):
    if event in ("open", "os.listdir", "os.scandir") and str(arguments[0]).startswith("/proc"):
        looked.append(arguments[0])
        raise FileNotFoundError(2, "No such file or directory", arguments[0])


def no_link(path, *rest, read=os.readlink, **named):
    no_proc("open", [path])
    return read(path, *rest, **named)


sys.addaudithook(no_proc)
os.readlink = no_link
sys.platform = "darwin"
from risingbandits.cli import main

sys.argv = ["risingbandits", *sys.argv[2:]]
try:
    main()
finally:
    assert looked or sys.argv[1] != "run", "nothing looked for /proc"
"""

PLAN = """
budget = 6
policy = "round-robin"

[[arms]]
name = "leaves a process behind"
command = ["sh", "-c", "sleep 600 & echo 0.25"]

[[arms]]
name = "plain"
command = ["sh", "-c", "echo 0.5"]
"""


def used(path: Path) -> set[str]:
    """The names like ``os.waitid`` that a file uses."""
    tree = ast.parse(path.read_text())
    found = {
        f"{node.value.id}.{node.attr}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in NOT_ON_MACOS:
            found |= {f"{node.module}.{name.name}" for name in node.names}
    return found


def test_linux_only_names_are_used_where_their_absence_is_foreseen() -> None:
    found = {path.relative_to(SOURCE).as_posix(): used(path) & FOREIGN for path in SOURCE.rglob("*.py")}
    assert {place: names for place, names in found.items() if names} == GUARDED


def test_names_that_windows_does_not_have_are_behind_two_modules() -> None:
    names = set(NOT_ON_WINDOWS.split())
    found = {path.relative_to(SOURCE).as_posix(): path for path in SOURCE.rglob("*.py")}
    used_here = {name: used(path) & names for name, path in found.items() if name not in BEHIND and "lab/" not in name}
    assert {place: names for place, names in used_here.items() if names} == {
        **ALSO,
        "cli/_interrupts.py": {"signal.pthread_sigmask"},
    }
    other = [name for name, path in found.items() if name not in BEHIND and re.search('["(f]/proc', path.read_text())]
    assert other == []


NOWHERE_SPECIAL = """
import os, signal, subprocess, sys, time, types

import numba, numpy, rich.console, typer, typer.testing  # which ask for the platform themselves

for module in (os, signal):  # Python's own means to start and reap a process are those of this system
    setattr(subprocess, module.__name__, types.SimpleNamespace(**vars(module)))
sys.modules |= dict.fromkeys(["fcntl", "resource", "pwd", "grp", "termios"])
for full in sys.argv[2].split():
    module, _, name = full.partition(".")
    if module != "fcntl" and hasattr(sys.modules[module], name):
        delattr(sys.modules[module], name)


def no_proc(event, arguments):
    if event in ("open", "os.listdir", "os.scandir") and str(arguments[0]).startswith("/proc"):
        raise FileNotFoundError(2, "No such file or directory", arguments[0])


sys.addaudithook(no_proc)
import runpy

runpy.run_path(sys.argv[1], run_name="__main__")
"""
STATE = """
budget = 1

[[arms]]
name = "first"
command = ["sh", "-c", "echo 0.5 > {state}/x; echo 0.25"]
"""
# Beyond what the scan knows: whole modules, and names that no module of the package may need.
BLOCKED = """
    signal.ITIMER_REAL signal.SIGALRM signal.SIGCONT signal.SIGQUIT signal.SIGSTOP signal.SIGTSTP signal.getitimer
    signal.pause signal.setitimer os.chown os.fchmod os.forkpty os.getpgid os.getuid os.geteuid os.mkfifo os.nice
    os.setpgid os.setpriority os.statvfs os.wait os.wait3 os.wait4
"""


def test_everything_works_without_what_systems_differ_in(tmp_path: Path) -> None:
    names = " ".join([*NOT_ON_WINDOWS.split(), *BLOCKED.split(), *(FOREIGN - {"os.O_TMPFILE"})])  # which tempfile knows
    program = [sys.executable, "-c", NOWHERE_SPECIAL, str(ROOT / "tools" / "any_system.py"), names]
    done = subprocess.run(program, capture_output=True, text=True, timeout=300, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    said = [line.partition(":")[0] for line in done.stdout.splitlines() if line.endswith(": as expected")]
    assert said == ["durable allocation", "commands", "their rewards", "replay", "simulation"]


def test_a_command_that_changes_its_state_needs_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "plan.toml").write_text(STATE)
    monkeypatch.setattr(platform, "_fcntl", None)
    with pytest.raises(RisingBanditsError, match=r"not \{state\}, where files have no locks, as on Windows"):
        command_arms(read_plan(tmp_path / "plan.toml"))["first"].pull(Pull(1, "first", 1))


PSUTIL = """
class Error(Exception): pass
def pids(): return [{pid}]
def pid_exists(pid): return pid == {pid}
class Process:
    def __init__(self, pid):
        if pid != {pid}: raise Error
    def as_dict(self, names): return dict(status="running", ppid=1, create_time=5.0)
    def cmdline(self): return ["sleep", "60"]
    def environ(self): return dict(RISINGBANDITS_MARK="m")
"""


def test_psutil_finds_what_a_command_started_where_there_is_no_proc(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a stand-in that knows one process, which it takes for the command's by its mark alone."""
    child = subprocess.Popen(["sleep", "60"], start_new_session=True)
    try:
        (tmp_path / "psutil.py").write_text(PSUTIL.format(pid=child.pid))
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, "psutil", raising=False)  # Ray brings its own
        for module in (platform, processes):
            monkeypatch.setattr(module, "_PROC", tmp_path / "proc")
        platform.psutil.cache_clear()
        assert processes.alive(processes.Trace("other", tmp_path / "lock")) == []
        trace = processes.Trace("m", tmp_path / "lock")
        assert processes.alive(trace) == [f"{child.pid} (sleep 60)"]
        processes.end_all(trace, 0.0)
        assert child.wait(10) == -platform.KILL
    finally:
        platform.psutil.cache_clear()
        child.kill()
        child.wait()


def test_the_scan_sees_names(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import os\nfrom select import epoll\nos.sched_getaffinity(0)\n")
    assert used(tmp_path / "a.py") & FOREIGN == {"select.epoll", "os.sched_getaffinity"}


@pytest.mark.skipif(shutil.which("ps") is None, reason="there is no ps, which systems without waitid need")
def test_a_plan_runs_without_what_linux_alone_has(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(PLAN)
    program = [sys.executable, "-c", AS_IF_ON_MACOS, " ".join(sorted(FOREIGN))]
    done = subprocess.run([*program, "run", "plan.toml"], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    shown = subprocess.run(
        [*program, "store", "export", "plan.db"], cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert shown.stdout.splitlines()[0] == "leaves a process behind,plain"
    assert shown.stdout.splitlines()[1:] == ["0.25,0.5"] * 3
