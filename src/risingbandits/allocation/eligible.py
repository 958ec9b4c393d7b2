"""Which arms a policy may choose now, counted as they change."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt


class EligibleArms:
    """One flag per arm: cheap to set (bytes of Python), free to hand to a policy (the same bytes for NumPy).

    >>> arms = EligibleArms([True, True, False])
    >>> arms.put(0, False)
    >>> arms.count, arms.mask()
    (1, array([False,  True, False]))
    """

    __slots__ = ("_array", "_bytes", "count")

    def __init__(self, flags: Iterable[bool]) -> None:
        self._bytes = bytearray(flags)
        self._array: npt.NDArray[np.bool_] = np.frombuffer(self._bytes, dtype=np.bool_)
        self.count = sum(self._bytes)

    def put(self, place: int, flag: bool) -> None:
        """Set one flag."""
        if self._bytes[place] != flag:
            self._bytes[place] = flag
            self.count += 1 if flag else -1

    def mask(self) -> npt.NDArray[np.bool_] | None:
        """For ``Policy.ask``: None if all are set, because policies start a batch only then."""
        return None if self.count == len(self._bytes) else self._array
