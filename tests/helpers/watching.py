"""`risingbandits watch` in a process of its own, for tests."""

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


@contextmanager
def watching(store: Path, port: int = 0) -> Iterator[int]:
    """Watch ``store``; gives the port. The server must end well when it is interrupted."""
    command = [sys.executable, "-m", "risingbandits", "watch", str(store), "--port", str(port)]
    with program(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            found = re.fullmatch(r"Live at http://127\.0\.0\.1:(\d+)/ \(Ctrl-C to stop\)\n", process.stdout.readline())
            assert found, process.communicate()[1]
            yield int(found[1])
        finally:
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=PATIENCE)
        assert errors.strip() == "Stopped watching; the allocation goes on."
        assert process.returncode == 0
