"""Runs in parallel threads, handed out in blocks: few enough to reuse buffers, enough to keep all threads busy."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TypeVar

from risingbandits.errors import check_positive_int

__all__ = ["Advance", "in_blocks"]

Advance = Callable[[str, int], None]  # told (label, finished runs), by one thread at a time
T = TypeVar("T")

_BLOCKS_PER_JOB = 4


def in_blocks(
    labels: Sequence[str],
    begin: Callable[[str], Callable[[int], T]],
    runs: range,
    jobs: int | None,
    progress: Advance | None = None,
) -> dict[str, list[T]]:
    """``begin(label)(run)`` for all labels and runs, in threads; the outcomes in the order of the runs.

    Runs are handed out in blocks, and ``begin`` is called once per block: its buffers are the block's own.
    """
    jobs = check_positive_int("jobs", (os.cpu_count() or 1) if jobs is None else jobs)
    stop, lock = threading.Event(), threading.Lock()
    done = dict.fromkeys(labels, 0)

    def play(label: str, block: range) -> list[T]:
        if stop.is_set():
            return []
        one = begin(label)
        outcomes = []
        for run in block:
            if stop.is_set():
                break
            outcomes.append(one(run))
            if progress is not None:
                with lock:
                    done[label] += 1
                    progress(label, done[label])
        return outcomes

    size = max(1, -(-len(runs) // (jobs * _BLOCKS_PER_JOB)))
    blocks = [(label, runs[first : first + size]) for label in labels for first in range(0, len(runs), size)]
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        waiting = {pool.submit(play, *block): block for block in blocks}
        try:
            for future in as_completed(waiting):
                future.result()
        except BaseException:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    outcome: dict[str, list[T]] = {label: [] for label in labels}
    for future, (label, _) in waiting.items():
        outcome[label].extend(future.result())
    return outcome
