"""Ctrl-C while machine code is made: it stops the program, wherever in the compiler it arrives."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import numba
import pytest
from numba.core import event

from programs import PATIENCE, program
from risingbandits._core.compile_wait import compiled_inside
from risingbandits._core.jit import interrupts_between_steps

# SIGINT arrives in the main thread inside one of Python's functions that LLVM calls, where exceptions are lost.
INTERRUPTED_BY_LLVM = """
import signal, threading
from numba.core import codegen

original = codegen.JITCodeLibrary._object_compiled_hook.__func__

def interrupted(library, module, code):
    if threading.current_thread() is threading.main_thread():
        signal.raise_signal(signal.SIGINT)
    original(library, module, code)

codegen.JITCodeLibrary._object_compiled_hook = classmethod(interrupted)
"""


@pytest.fixture(autouse=True)
def default_handler() -> Iterator[None]:
    """As in a program at a terminal, however the tests were started."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_the_command_ends_with_one_line_when_interrupted_in_a_call_of_llvm(tmp_path: Path) -> None:
    script = f"{INTERRUPTED_BY_LLVM}\nfrom risingbandits.cli import main\nmain()"
    arguments = [
        "simulate",
        "--problem",
        "paper-2arms",
        "--horizon",
        "1000000",
        "--runs",
        "1",
        "--policies",
        "round-robin",
    ]
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    environment.pop("NUMBA_DISABLE_JIT", None)
    with program(
        [sys.executable, "-c", script, *arguments, "--out", str(tmp_path / "study")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    ) as process:
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out, err) == (130, "", "Interrupted; no unfinished files were left behind.\n")
    assert os.listdir(tmp_path / "study") == []


class Interrupting(event.Listener):
    """Sends SIGINT in the middle of the first step of the compiler, and counts the steps."""

    def __init__(self) -> None:
        self.steps = 0

    def on_start(self, step: object) -> None:
        self.steps += 1
        if self.steps == 1:
            signal.raise_signal(signal.SIGINT)

    def on_end(self, step: object) -> None:
        pass


def test_compilation_stops_before_its_next_step() -> None:
    double = compiled_inside(interrupts_between_steps, numba.njit(lambda x: x + x))
    with event.install_listener("numba:run_pass", interrupting := Interrupting()), pytest.raises(KeyboardInterrupt):
        double(2)
    assert interrupting.steps <= 2
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert double(2) == 4  # nothing is left half made


def test_an_interrupt_is_held_back_and_handed_over_at_the_end() -> None:
    reached = []

    def compile_and_be_interrupted() -> None:
        with interrupts_between_steps():
            signal.raise_signal(signal.SIGINT)
            reached.append("the end")

    with pytest.raises(KeyboardInterrupt):
        compile_and_be_interrupted()
    assert reached == ["the end"]
    with interrupts_between_steps():
        reached.append("again")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_handler_that_only_takes_note_hears_of_it_once() -> None:
    heard: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        heard.append(number)

    signal.signal(signal.SIGINT, note)
    with interrupts_between_steps():
        signal.raise_signal(signal.SIGINT)
        assert heard == []
    assert heard == [signal.SIGINT]
    assert signal.getsignal(signal.SIGINT) is note


def test_where_no_interrupt_can_arrive_nothing_is_done() -> None:
    def inside() -> None:
        with interrupts_between_steps():
            seen.append(signal.getsignal(signal.SIGINT))

    seen: list[object] = []
    thread = threading.Thread(target=inside)
    thread.start()
    thread.join()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    inside()
    assert seen == [signal.default_int_handler, signal.SIG_IGN]
