"""Workers on one store, which a test starts, kills and stops."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import numpy as np

from programs import until


class Crew:
    """Workers that ``program`` forks: it gets the store, then the name of a diary for each of them."""

    def __init__(self, program: str, store: str, folder: Path, lines: int = 8, seed: int = 0) -> None:
        command = [sys.executable, program, store]
        self.parent = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.folder = folder
        self.lines = lines  # of its diary that a worker has at most written before something happens to it
        self.diaries: list[Path] = []
        self.workers: list[tuple[int, Path]] = []
        self._rng = np.random.default_rng(seed)
        self._stopped: dict[int, threading.Timer] = {}  # until they go on

    def start(self) -> None:
        diary = self.folder / f"diary{len(self.diaries)}"
        self.diaries.append(diary)
        assert self.parent.stdin is not None
        assert self.parent.stdout is not None
        self.parent.stdin.write(f"{diary}\n")
        self.parent.stdin.flush()
        self.workers.append((int(self.parent.stdout.readline()), diary))

    def kill(self, i: int) -> None:
        pid, diary = self.workers.pop(i)
        self._wait_for_a_moment(diary)
        self._end(pid)

    def stop(self, i: int, seconds: float) -> None:
        """Stop a worker; it goes on after ``seconds``."""
        pid, diary = self.workers[i]
        self._wait_for_a_moment(diary)
        send(pid, signal.SIGSTOP)
        self._stopped[pid] = threading.Timer(seconds, send, [pid, signal.SIGCONT])
        self._stopped[pid].start()

    @property
    def awake(self) -> list[int]:
        """Which workers are not stopped."""
        is_stopped = {pid: timer.is_alive() for pid, timer in self._stopped.items()}
        return [i for i, (pid, _) in enumerate(self.workers) if not is_stopped.get(pid, False)]

    def _wait_for_a_moment(self, diary: Path) -> None:
        """Until a worker has written some lines; then right after the next one, or at any moment of what it does."""
        lines = int(self._rng.integers(self.lines))
        self.wait_for_lines(lines + 1, [diary])
        if self._rng.random() < 0.5:
            wait_for_a_line(diary)
        else:
            time.sleep(float(self._rng.exponential(0.002)))

    def wait_for_lines(self, count: int, diaries: list[Path]) -> None:
        """Until these diaries have ``count`` lines, or one of them says that its worker has ended."""

        def is_enough() -> bool:
            written = [text(diary) for diary in diaries]
            for each in written:
                assert b"Traceback" not in each, each.decode()
            has_ended = any(each.endswith(b"end\n") for each in written)
            return has_ended or sum(each.count(b"\n") for each in written) >= count

        until(is_enough)

    def _end(self, pid: int) -> None:
        send(pid, signal.SIGKILL)
        until(lambda: is_dead(pid))

    def close(self) -> None:
        for pid, _ in self.workers:
            self._end(pid)
        self.parent.kill()
        self.parent.communicate()
        for timer in self._stopped.values():
            timer.cancel()


def wait_for_a_line(diary: Path) -> None:
    """Until the next line of a diary, without a pause in which its worker goes on; but a stopped one writes none."""
    size, end = diary.stat().st_size, time.monotonic() + 0.02
    while diary.stat().st_size == size and time.monotonic() < end:
        pass


def send(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):  # it was killed, or has ended by itself: the budget is spent
        os.kill(pid, number)


def text(diary: Path) -> bytes:
    return diary.read_bytes() if diary.exists() else b""


def is_dead(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False
