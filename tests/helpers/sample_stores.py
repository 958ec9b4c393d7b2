"""Small stores of allocations for the tests of reports and live views."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from risingbandits.allocation.allocator import Allocator
from risingbandits.allocation.pull import Pull

#: Names that say something in HTML, in a script, in Plotly's labels and in its templates.
WICKED = ("<script>alert(1)</script>", "<b>bold</b> & co", 'x"><img src=x onerror=alert(2)>', "%{x} $5$ </script>")


def reward_of(pull: Pull, arms: Sequence[str]) -> float:
    """A rising reward without noise: later arms rise higher and slower."""
    place = list(arms).index(pull.arm)
    return (0.4 + 0.5 * place / len(arms)) * (1 - math.exp(-pull.n / (3.0 + 5.0 * place)))


def make_store(
    path: Path,
    arms: Sequence[str] = WICKED,
    pulls: int = 60,
    budget: int = 60,
    tried: int | None = None,
    **settings: Any,
) -> Path:
    """A store with ``pulls`` told pulls of a budget of ``budget``, two of them after a failure.

    All are of the first ``tried`` arms.
    """
    with Allocator(list(arms), budget=budget, store=path, **{"policy": "commit-ucb", **settings}) as allocator:
        for arm in arms[tried:] if tried is not None else ():
            allocator.mask(arm)
        for number in range(pulls):
            pull = allocator.ask()
            assert pull is not None
            if number in (2, 5):
                allocator.fail(pull, f"{WICKED[0]} broke down")
                pull = allocator.ask()
                assert pull is not None
            allocator.tell(pull, reward_of(pull, arms))
    return path
