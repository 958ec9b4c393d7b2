"""Names of processes."""

from __future__ import annotations

import os
import subprocess
import sys

from risingbandits._core.platform import is_gone, worker_name


def test_this_process_lives() -> None:
    assert not is_gone(worker_name())


def test_a_process_that_ended_is_gone() -> None:
    code = "from risingbandits._core.platform import worker_name; print(worker_name())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert is_gone(done.stdout.strip())


def test_one_that_ended_and_waits_to_be_reaped_is_gone() -> None:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    host, _, start, namespace, boot = worker_name().split(":")
    assert is_gone(f"{host}:{child}:{int(start) + 1}:{namespace}:{boot}")
    os.waitpid(child, 0)


def test_its_number_used_by_another_is_gone_and_elsewhere_is_unknown() -> None:
    host, pid, start, namespace, boot = worker_name().split(":")
    here = f"{namespace}:{boot}"
    assert is_gone(f"{host}:{pid}:{int(start) - 1}:{here}"), "another process has its number"
    assert not is_gone(f"elsewhere:{2**22 + 1}:{start}:{here}"), "another host"
    assert not is_gone(f"{host}:{2**22 + 1}:{start}:1:{boot}"), "another container"
    for strange in ("", "x", f"{host}:x:y:{here}", "::::", f"{host}:{10**30}::0:{boot}", f"{host}:{pid}:1:{namespace}"):
        assert not is_gone(strange)
