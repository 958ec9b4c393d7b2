"""Workers that stop for longer than their lease and go on later: what they do then changes nothing that counts.

One of two workers stops, the other one takes over its pull, and at some moment the first one goes on. A pull that is
told late still counts if nobody else has told it; either way the rewards that count spell the last checkpoint.

A command that works in {state} has no checkpoints, and a pull that is repeated finds what the attempt before it did.
But once the command of another worker has begun, a worker that has lost the pull changes the folder no more: what
commands have written is in the order of the pulls and, for one pull, in the order in which it was given out.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from stop_campaign import Parent, Stop, campaign, drawn

KINDS = ["objects", "commands", "states", "processes"]
FEW = {
    "objects": [
        Stop("asked", "later"),
        Stop("load", "told"),
        Stop("make", "making"),
        Stop("save", "told"),
        Stop("written", "making", others_next=True),
        Stop("tell", "told"),
        Stop("tell", "lapsed"),
        Stop("told", "later"),
    ],
    "commands": [
        Stop("asked", "later"),
        Stop("tidy", "told"),
        Stop("make", "lapsed"),
        Stop("save", "making", first="inner"),
        Stop("save", "told", first="worker"),
        Stop("tell", "told"),
        Stop("tell", "making"),
        Stop("told", "later"),
    ],
    "states": [
        Stop("asked", "told"),
        Stop("asked", "making"),
        Stop("asked", "lapsed"),
        Stop("looked", "told"),
        Stop("make", "told", first="worker"),
        Stop("save", "making", first="inner"),
        Stop("tell", "told"),
        Stop("tell", "making"),
    ],
    "forks": [
        Stop("asked", "later"),
        Stop("load", "told"),
        Stop("make", "making"),
        Stop("save", "told", first="inner"),
        Stop("save", "making", first="worker"),
        Stop("tell", "told"),
        Stop("written", "lapsed"),
        Stop("told", "later"),
    ],
}


@pytest.fixture(scope="module")
def parent() -> Iterator[Parent]:
    made = Parent()
    yield made
    made.close()


@pytest.mark.parametrize("kind", FEW)
def test_8_stops(kind: str, parent: Parent, tmp_path: Path) -> None:
    with campaign(parent, kind, tmp_path, lease=0.1) as made:
        for stop in FEW[kind]:
            made.make(stop)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_100_stops(kind: str, parent: Parent, tmp_path: Path) -> None:
    with campaign(parent, kind, tmp_path, lease=0.3) as made:
        for stop in drawn(kind, 100):
            made.make(stop)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_stops_at_any_moment(kind: str, parent: Parent, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    with campaign(parent, kind, tmp_path, lease=0.3) as made:
        for _ in range(30):
            made.stop_anywhere(made.workers[int(rng.integers(2))], float(rng.exponential(0.01)))
