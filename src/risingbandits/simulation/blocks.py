"""All runs of all policies, wherever they are played, in order."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import TypeVar

from risingbandits._core.progress import Advance
from risingbandits.simulation.backends.base import Backend, Begin

__all__ = ["in_blocks"]

T = TypeVar("T")


def in_blocks(
    labels: Sequence[str],
    begin: Begin[str, T],
    runs: range,
    backend: Backend,
    progress: Advance | None = None,
) -> dict[str, list[T]]:
    """``begin(label)(run)`` for all labels and runs; the outcomes in the order of the runs."""
    outcomes: dict[str, dict[int, T]] = {label: {} for label in labels}
    playing = backend.play(begin, dict.fromkeys(labels, runs))
    with closing(playing):  # an interrupted caller stops the players at once
        for label, run, outcome in playing:
            outcomes[label][run] = outcome
            if progress is not None:
                progress(label, len(outcomes[label]))
    return {label: [own[run] for run in runs] for label, own in outcomes.items()}
