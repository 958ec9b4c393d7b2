"""What Linux alone has is used only where its absence is foreseen, and commands run without it.

No macOS takes part: a scan finds names that macOS does not have, and a program runs a plan as if on macOS, without
those names and without /proc. What only a macOS can show, such as how its file systems lock, is not tested.
"""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

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
    "allocation/commands/command.py": {"os.waitid", "os.P_PID", "os.WEXITED", "os.WNOWAIT"},
    "_core/processes.py": {"time.CLOCK_BOOTTIME"},
}
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


def test_the_scan_sees_names(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import os\nfrom select import epoll\nos.sched_getaffinity(0)\n")
    assert used(tmp_path / "a.py") & FOREIGN == {"select.epoll", "os.sched_getaffinity"}


@pytest.mark.skipif(shutil.which("ps") is None, reason="there is no ps, which systems without waitid need")
def test_a_plan_runs_without_what_linux_alone_has(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(PLAN)
    program = [sys.executable, "-c", AS_IF_ON_MACOS, " ".join(sorted(FOREIGN))]
    done = subprocess.run([*program, "run", "plan.toml"], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    shown = subprocess.run([*program, "export", "plan.db"], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert shown.stdout.splitlines()[0] == "leaves a process behind,plain"
    assert shown.stdout.splitlines()[1:] == ["0.25,0.5"] * 3
