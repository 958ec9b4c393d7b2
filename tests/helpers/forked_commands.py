"""Commands in processes of their own that need not import everything again: forks of one that has.

A command as a user would start it takes a second before it begins, most of it to import; tests that start a hundred
would take minutes. Those of how a command starts, of signals and of compiling start programs of their own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, NamedTuple

__all__ = ["Done", "ForkedCommands", "forked_commands"]

_IMPORTED = (
    "matplotlib.figure",
    "numba",
    "risingbandits.allocation",
    "risingbandits.lab.benchmark",
    "risingbandits.cli.app",
    "risingbandits.policies",
    "risingbandits.logs",
    "risingbandits.reports",
    "risingbandits.simulation",
)  # what most commands import when they need it


class Done(NamedTuple):
    """How a command has ended, and what it has printed, complaints included."""

    code: int
    shown: str


class ForkedCommands:
    """Runs commands one after another, each in a fork of ``process``."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def __call__(self, words: Sequence[str], folder: Path) -> Done:
        """Run ``risingbandits`` with ``words`` in ``folder``."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([list(words), str(folder)]) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, "the process that forks has ended"
        return Done(*json.loads(answer))


@contextmanager
def forked_commands(environment: dict[str, str]) -> Iterator[ForkedCommands]:
    """What runs commands until the end of the block."""
    words = [sys.executable, __file__]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment) as process:
        yield ForkedCommands(process)
        process.kill()


def _serve() -> None:
    for name in _IMPORTED:
        import_module(name)
    from risingbandits import cli

    for line in sys.stdin:
        words, folder = json.loads(line)
        with TemporaryFile() as output:
            child = os.fork()
            if child == 0:
                _become(cli, words, folder, output.fileno())
            _, status = os.waitpid(child, 0)
            output.seek(0)
            shown = output.read().decode(errors="replace")
        print(json.dumps([os.waitstatus_to_exitcode(status), shown]), flush=True)


def _become(cli: Any, words: list[str], folder: str, output: int) -> None:
    """The command, in a child, which never returns."""
    code = 1
    try:
        os.setsid()
        os.chdir(folder)
        for handle, target in ((os.open(os.devnull, os.O_RDONLY), 0), (output, 1), (output, 2)):
            os.dup2(handle, target)
        sys.argv = ["risingbandits", *words]
        code = cli.run(words)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    _serve()
