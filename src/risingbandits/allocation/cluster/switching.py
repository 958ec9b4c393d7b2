"""Whether processes that make room for one another take more time than the pulls that they are started for."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable

_LEAST = 5  # processes that went, before anything is said


class Switching:
    """Adds up what is lost if there are more arms than room for their processes, and reports it once.

    Parameters
    ----------
    say : callable
        Is given the sentence.

    Examples
    --------
    >>> switching = Switching(lambda sentence: print(sentence.partition(",")[0]))
    >>> for _ in range(5):
    ...     switching.pulled(waited=3.0, seconds=0.05)
    ...     switching.made_room(arms=40, there=2)
    Processes that make room for one another cost more than the pulls: 15 s against 0.25 s so far
    """

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._lock = threading.Lock()
        self._waited = self._seconds = 0.0
        self._went = 0
        self._said = False

    def pulled(self, waited: float, seconds: float) -> None:
        """A pull took ``seconds``, after waiting ``waited`` seconds for its process."""
        with self._lock:
            self._waited += waited
            self._seconds += seconds

    def made_room(self, arms: int, there: int) -> None:
        """The process of an arm left; of the ``arms`` that were pulled, ``there`` have one now."""
        with self._lock:
            self._went += 1
            if self._said or self._went < _LEAST or self._waited <= self._seconds:
                return
            self._said = True
        share = max(1, there) / arms
        digit = 10.0 ** math.floor(math.log10(share))
        share = digit * math.floor(share / digit + 1e-9)  # not rounded up, or they would not fit
        self._say(
            f"Processes that make room for one another cost more than the pulls: {self._waited:.3g} s against "
            f"{self._seconds:.3g} s so far, because there is room for {there} of {arms} arms. Give each less, such as "
            f'resources={{"CPU": {share:.1g}}}, let max_arms open fewer arms, or make pulls longer.'
        )
