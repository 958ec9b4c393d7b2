"""`risingbandits status --live` in a process of its own, for tests."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from programs import PATIENCE, program

__all__ = ["watching"]

_PROGRAM = """\
import sys
from risingbandits.cli import main
from risingbandits.reports import _live_page as live_page
live_page._PORT = int(sys.argv.pop())  # the one that a page of an earlier process knows, or 0 for any
main()
"""


@contextmanager
def watching(store: Path, port: int = 0) -> Iterator[int]:
    """Watch ``store``; gives the port. The server must end well when it is interrupted."""
    command = [sys.executable, "-c", _PROGRAM, "status", "--live", str(store), str(port)]
    with program(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            found = re.fullmatch(r"Live at http://127\.0\.0\.1:(\d+)/ \(Ctrl-C to stop\)\n", process.stdout.readline())
            assert found, process.communicate()[1]
            yield int(found[1])
        finally:
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=PATIENCE)
        assert errors.strip() == "Stopped watching; the run goes on."
        assert process.returncode == 0
