"""The order in which arms are opened: at random, or as they are given."""

from __future__ import annotations

from risingbandits._core.jit import rare_kernel
from risingbandits._core.types import Ints, Rng

ORDERS = ("random", "given")


@rare_kernel
def shuffle(order: Ints, first: int, last: int, rng: Rng) -> None:
    """Draw places ``first`` .. ``last`` - 1 at random from all from ``first`` on; nothing without a generator."""
    if rng is not None:
        size = order.shape[0]
        for place in range(first, last):
            other = place + int(rng.random() * (size - place))
            order[place], order[other] = order[other], order[place]
