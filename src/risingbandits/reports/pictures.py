"""Which arms a picture names when there are more than it can hold, and how it writes a share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from risingbandits._core.types import Floats

__all__ = ["MOST_ARMS", "MOST_CURVES", "most_pulled", "percent"]

MOST_ARMS = 20  # shown one by one; the others together
MOST_CURVES = 7  # in colour, one colour each; the others grey


def most_pulled(shares: Floats, names: Sequence[str], best: int | None) -> tuple[Floats, list[str]]:
    """The columns of the most pulled arms (and of the best one) in their own order, then the others together.

    >>> shares, names = most_pulled(np.full((1, 30), 1.0), [str(arm) for arm in range(30)], best=25)
    >>> names[-2:], shares[0, -1]
    (['25', '10 others'], np.float64(10.0))
    """
    if shares.shape[1] <= MOST_ARMS:
        return shares, list(names)
    highest = shares.max(axis=0)
    if best is not None:
        highest[best] = np.inf
    order = np.argsort(-highest, kind="stable")
    shown, others = np.sort(order[:MOST_ARMS]), order[MOST_ARMS:]
    together = shares[:, others].sum(axis=1, keepdims=True)
    return np.hstack([shares[:, shown], together]), [*(names[arm] for arm in shown), f"{others.size:,} others"]


def percent(share: float) -> str:
    """A share in percent for a small cell.

    >>> percent(0.0), percent(0.2), percent(99.6)
    ('0', '<1', '100')
    """
    return "<1" if 0 < share < 0.5 else f"{share:.0f}"
