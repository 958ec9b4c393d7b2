"""The random numbers of an arm: what Python, NumPy and PyTorch draw in its pulls depends only on its pulls.

Training loops draw from generators that the whole process shares. So an arm has its own states of them, sets them for
the duration of a pull and then restores the previous ones. Whatever else draws in between, above all other arms, makes
no difference, and a checkpoint that holds the states continues seamlessly.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

States = dict[str, Any]  # plain numbers and arrays of them, by the name of the generator


def _torch() -> Any:
    """PyTorch, if it is loaded: otherwise nothing draws from it."""
    return sys.modules.get("torch")


def capture() -> States:
    """The states of all generators now."""
    version, numbers, gauss = random.getstate()
    kind, keys, position, has_gauss, cached = np.random.get_state()  # noqa: NPY002  (what the loops of others draw from)
    assert isinstance(kind, str)  # as it always is without legacy=False
    states: States = {
        "python": [version, np.array(numbers, np.int64), gauss],
        "numpy": [kind, np.array(keys, np.int64), int(position), int(has_gauss), float(cached)],
    }
    if (torch := _torch()) is not None:
        states["torch"] = torch.get_rng_state().numpy().copy()
        if torch.cuda.is_available() and torch.cuda.is_initialized():
            states["cuda"] = [state.numpy().copy() for state in torch.cuda.get_rng_state_all()]
    return states


def restore(states: Mapping[str, Any]) -> None:
    """Set the generators to what `capture` gave; those that had no state then stay as they are."""
    version, numbers, gauss = states["python"]
    random.setstate((int(version), tuple(np.asarray(numbers).tolist()), gauss))
    kind, keys, position, has_gauss, cached = states["numpy"]
    np.random.set_state((kind, np.asarray(keys).astype(np.uint32), position, has_gauss, cached))  # noqa: NPY002
    torch = _torch()
    if torch is not None and "torch" in states:
        torch.set_rng_state(as_tensor(states["torch"]))
        if "cuda" in states and torch.cuda.is_available():
            for number, state in enumerate(states["cuda"][: torch.cuda.device_count()]):
                torch.cuda.set_rng_state(as_tensor(state), number)


def as_tensor(state: Any) -> Any:
    """A state, as an array or as PyTorch gives it back from a file, as a generator of PyTorch takes it."""
    torch = _torch()
    return torch.as_tensor(state, dtype=torch.uint8).clone()


def fresh(seed: int) -> States:
    """The states of generators that begin with ``seed``; all stay as they are."""
    outside = capture()
    try:
        random.seed(seed)
        np.random.seed(seed % 2**32)  # noqa: NPY002
        if (torch := _torch()) is not None:
            torch.manual_seed(seed)
        return capture()
    finally:
        restore(outside)


class Randomness:
    """The states of one arm."""

    def __init__(self, seed: int) -> None:
        self.states = fresh(seed)

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Everything inside draws the arm's numbers; the outside is not affected.

        >>> import random
        >>> mine, before = Randomness(1), random.getstate()
        >>> with mine.inside():
        ...     first = random.random()
        >>> random.getstate() == before, first == random.Random(1).random()
        (True, True)
        """
        outside = capture()
        restore(self.states)
        try:
            yield
        finally:
            self.states = capture()
            restore(outside)
