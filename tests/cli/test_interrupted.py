"""Ctrl-C at any moment of a command: one line, code 130, no traceback, no half-written file."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from programs import PATIENCE, program
from risingbandits.cli._interrupts import LOST, SENTENCE

READY = "print('ready', flush=True)\n"
MAIN = f"""\
import risingbandits.cli as cli
listen = cli.listen
cli.listen = lambda: [listen(), {READY.strip()}]  # the moments before are those in which Python itself starts
cli.main()
"""
WORDS = ["simulate", "--runs", "100000", "--policies", "round-robin", "--out", "study"]
MOMENTS = (0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2, 1.4, 1.7, 2.0, 2.5, 3.0, 4.0)


def interrupted(
    script: str, folder: Path, words: list[str], moment: float = 0.0, cache: Path | None = None
) -> tuple[int, str, str]:
    """Exit code and output of a program that is interrupted so many seconds after it has said that it is ready."""
    environment = {key: value for key, value in os.environ.items() if key != "NUMBA_DISABLE_JIT"}
    if cache is not None:
        environment["NUMBA_CACHE_DIR"] = str(cache)
    command = [sys.executable, "-c", script, *words]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with program(command, cwd=folder, env=environment, **pipes) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(moment)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    return process.returncode, out, err


def check(folder: Path, moment: float, cache: Path | None) -> None:
    code, out, err = interrupted(MAIN, folder, WORDS, moment, cache)
    assert (code, out) == (130, ""), err
    assert err.splitlines()[-1] == SENTENCE
    assert "Traceback" not in err
    assert "ignored" not in err
    assert not (folder / "study").exists() or os.listdir(folder / "study") == []


AGAIN = """\
import os, signal, time
import risingbandits.cli as cli

def heard():
    os.kill(os.getpid(), signal.SIGINT)
    return True

cli.heard = heard
cli.run = lambda: [print("ready", flush=True), time.sleep(60)]
cli.main()
"""


def test_again_while_the_first_one_is_dealt_with(tmp_path: Path) -> None:
    assert interrupted(AGAIN, tmp_path, []) == (130, "", f"{SENTENCE}\n")


@pytest.mark.parametrize("moment", [0.0, 0.1, 0.4, 1.0])
def test_at_some_moments(tmp_path: Path, moment: float) -> None:
    check(tmp_path, moment, None)


def test_while_code_is_compiled(tmp_path: Path) -> None:
    check(tmp_path, 2.0, tmp_path / "cache")


@pytest.mark.slow
@pytest.mark.parametrize("cold", [True, False])
@pytest.mark.parametrize("moment", MOMENTS)
def test_at_many_moments(tmp_path: Path, moment: float, cold: bool) -> None:
    check(tmp_path, moment, tmp_path / "cache" if cold else None)


@pytest.mark.parametrize(
    "words", [["--help"], ["list", "policies"], ["run", "none.toml"], ["run", "none.toml", "--for", "1h"]]
)
def test_while_commands_are_loaded(tmp_path: Path, words: list[str]) -> None:
    """Any command, stopped in the import of one of its modules."""
    hook = f"""\
import importlib.abc, sys, time
from risingbandits.cli import main
class Slow(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "typer":
            {READY.strip()}
            time.sleep(60)
sys.meta_path.insert(0, Slow())
main()
"""
    assert interrupted(hook, tmp_path, words) == (130, "", f"{SENTENCE}\n")


def test_an_interrupt_that_python_ignores(tmp_path: Path) -> None:
    """In a destructor, as in a callback of a weak reference or of C code, exceptions are only printed."""
    script = f"""\
import time
import risingbandits.cli as cli
class Waiting:
    def __del__(self):
        {READY.strip()}
        time.sleep(60)
cli.run = lambda: [Waiting() and None, time.sleep(60)]
cli.main()
"""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with program([sys.executable, "-c", script], cwd=tmp_path, **pipes) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        assert process.stderr.readline() == f"{LOST}\n"
        time.sleep(1.0)  # it is said inside what loses interrupts
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=PATIENCE) == ("", f"{SENTENCE}\n")
    assert process.returncode == 130


def test_an_interrupt_that_becomes_another_exception(tmp_path: Path) -> None:
    script = f"""\
import time
import risingbandits.cli as cli
def run():
    try:
        {READY.strip()}
        time.sleep(60)
    except KeyboardInterrupt:
        raise ImportError("a part is missing") from None
cli.run = run
cli.main()
"""
    assert interrupted(script, tmp_path, []) == (130, "", f"{SENTENCE}\n")


def test_other_errors_are_shown(tmp_path: Path) -> None:
    script = "import risingbandits.cli as cli\ncli.run = lambda: 1 // 0\ncli.main()\n"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.endswith("ZeroDivisionError: integer division or modulo by zero\n")


def test_threads_that_do_not_end_are_not_waited_for(tmp_path: Path) -> None:
    script = f"""\
import threading, time
import risingbandits.cli as cli
def run():
    threading.Thread(target=time.sleep, args=(10_000,)).start()
    {READY.strip()}
    time.sleep(10_000)
cli.run = run
cli.main()
"""
    assert interrupted(script, tmp_path, []) == (130, "", f"{SENTENCE}\n")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1])
def test_a_run_for_a_time_that_has_not_begun_leaves_with_code_0(tmp_path: Path, number: signal.Signals) -> None:
    script = f"import risingbandits.cli as cli, time\ncli.run = lambda: [{READY.strip()}, time.sleep(60)]\ncli.main()\n"
    command = [sys.executable, "-c", script, "run", "plan.toml", "--for", "1h"]
    with program(command, cwd=tmp_path, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        assert process.wait(PATIENCE) == 0
