"""A limit on checkpoints: the arm with the least probability to be the best gives up its checkpoints first.

Giving one up changes no decision of the run: a learner without a checkpoint is trained again when it is pulled. Which
one is given up follows from the events alone, so a resumed run decides the same. The checkpoints of arms in flight, of
the recommended arm, and of learners that cannot be made again are never given up. A checkpoint is renamed before it is
removed, so a process that dies leaves a whole checkpoint or none.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from risingbandits._core.errors import RisingBanditsError, check_positive_int
from risingbandits.allocation.arms._checkpointed import Checkpointed
from risingbandits.allocation.arms._checkpoints import Checkpoints, finish_giving_up

if TYPE_CHECKING:
    from risingbandits.allocation._ledger import Ledger
    from risingbandits.allocation.allocator import Allocator

log = logging.getLogger("risingbandits")


def check_keep(keep: Any, jobs: int) -> int:
    """How many arms may have checkpoints.

    >>> check_keep(2, jobs=2)
    Traceback (most recent call last):
        ...
    risingbandits.RisingBanditsError: keep must be at least 3, for 2 at a time and the recommended arm, got 2.
    """
    if check_positive_int("keep", keep) < jobs + 1:
        raise RisingBanditsError(
            f"keep must be at least {jobs + 1}, for {jobs} at a time and the recommended arm, got {keep}."
        )
    return int(keep)


def who_gives_up_first(ledger: Ledger, names: Iterable[str]) -> list[str]:
    """Arms in the order in which they give up their checkpoints: the lowest p_best first, then the lowest predicted."""
    found = ledger.foreseen()._foresee()

    def hopes(name: str) -> tuple[float, float, int]:
        arm = ledger.arm(name)
        if arm.place < 0 or math.isnan(found.p_best[arm.place]):
            return 0.0, -math.inf, arm.index
        return float(found.p_best[arm.place]), float(found.predicted[arm.place]), arm.index

    return sorted(names, key=hopes)


class Economy:
    """Lets at most ``keep`` arms have checkpoints, besides those that always keep theirs."""

    def __init__(
        self, allocator: Allocator, folder: Path | None, arms: Mapping[str, Checkpointed], keep: int, jobs: int
    ) -> None:
        self.most_arms = check_keep(keep, jobs)
        if folder is None:
            raise RisingBanditsError("keep needs a store that is a file, as checkpoints are kept beside it, got none.")
        self.allocator, self.folder, self.arms = allocator, Path(folder), arms
        self._complained = False

    def tidy(self) -> None:
        """Remove what exceeds the limits; problems with the disk cause one warning."""
        try:
            self._tidy()
        except OSError as error:
            if not self._complained:
                self._complained = True
                log.warning("checkpoints could not be given up: %s; the run goes on.", error)

    def _tidy(self) -> None:
        finish_giving_up(self.folder)
        ledger = self.allocator.ledger
        every = {name: Checkpoints(self.folder, name) for name in ledger.by_name}
        there = {name: files for name, files in every.items() if files.are_there()}
        if len(there) <= self.most_arms:
            return
        best = ledger.recommend()
        can_be_made = {name for name, arm in self.arms.items() if arm.can_be_made_again}
        order = who_gives_up_first(ledger, [name for name in there if name != best and name in can_be_made])

        def rename(now: Ledger) -> list[str]:
            given_up = []
            for name in order:
                if len(there) <= self.most_arms:
                    break
                if now.arm(name).flight is None:  # of those in flight the last checkpoint stays
                    there.pop(name).give_up()
                    given_up.append(name)
            return given_up

        given_up = self.allocator.give_up_checkpoints(rename)
        finish_giving_up(self.folder)
        for name in given_up:
            pulls = len(ledger.arm(name).rewards)
            log.info("%s has given up its checkpoint; if it is resumed, %d pulls are made again", name, pulls)
            self.arms[name].look_again()
