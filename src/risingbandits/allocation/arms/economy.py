"""Limits on checkpoints: the arm whose last reward is the worst gives up its checkpoints first.

Giving one up changes no decision of the run: a learner without a checkpoint is trained again when it is pulled, which
takes the time of its pulls so far, and then continues as usual. Which one is given up follows from the events alone, so
a resumed run decides the same. The checkpoints of arms in flight, of the arm to keep, and of learners that cannot be
made again are never given up. A checkpoint is renamed before it is removed, so a process that dies leaves a whole
checkpoint or none.
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from risingbandits._core.errors import RisingBanditsError, check_positive_int, shown
from risingbandits.allocation.arms.checkpointed import Checkpointed
from risingbandits.allocation.arms.checkpoints import Checkpoints, finish_giving_up

if TYPE_CHECKING:
    from risingbandits.allocation.allocator import Allocator
    from risingbandits.allocation.ledger import Ledger

log = logging.getLogger("risingbandits")

_UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}


def check_keep(keep: Any, jobs: int) -> tuple[int | None, int | None]:
    """How many arms may have checkpoints, or how many bytes all may take.

    >>> check_keep(5, jobs=2), check_keep("1.5 GB", jobs=2)
    ((5, None), (None, 1500000000))
    >>> check_keep(2, jobs=2)
    Traceback (most recent call last):
        ...
    risingbandits.RisingBanditsError: keep must be at least 3, for 2 pulls at a time and the arm to keep, got 2.
    """
    if isinstance(keep, str):
        parts = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*", keep)
        if parts is not None and parts[2].upper() in _UNITS:
            return None, int(float(parts[1]) * _UNITS[parts[2].upper()])
        raise RisingBanditsError(f"keep must be a number of arms or a size such as '10 GB', got {shown(keep)}.")
    if check_positive_int("keep", keep) < jobs + 1:
        raise RisingBanditsError(
            f"keep must be at least {jobs + 1}, for {jobs} pulls at a time and the arm to keep, got {keep}."
        )
    return int(keep), None


def who_gives_up_first(ledger: Ledger, names: Iterable[str]) -> list[str]:
    """Arms in the order in which they give up their checkpoints: by their last reward, the worst first."""

    def last(name: str) -> tuple[float, int]:
        arm = ledger.arm(name)
        return ((arm.rewards[-1] - ledger.zero) / ledger.span if arm.rewards else -math.inf, arm.index)

    return sorted(names, key=last)


class Economy:
    """Keeps the checkpoints of a run within bounds.

    Parameters
    ----------
    allocator : Allocator
        Whose arms they are.
    folder : path
        Where they are.
    arms : mapping of names to arms
        As the driver has them.
    keep : int or str
        The number of arms that may have checkpoints, or the size of all, such as "10 GB". Arms in flight and the arm to
        keep always have theirs.
    jobs : int
        Pulls at a time.
    """

    def __init__(
        self, allocator: Allocator, folder: Path | None, arms: Mapping[str, Checkpointed], keep: int | str, jobs: int
    ) -> None:
        self.most_arms, self.most_bytes = check_keep(keep, jobs)
        if folder is None:
            raise RisingBanditsError("keep needs a store that is a file, as checkpoints are kept beside it, got none.")
        self.allocator, self.folder, self.arms = allocator, Path(folder), arms
        self.given_up = 0
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
        there = self._there()
        if self.most_arms is not None and len(there) <= self.most_arms:
            return
        sizes = {} if self.most_bytes is None else {name: files.size() for name, files in there.items()}
        if self.most_bytes is not None and sum(sizes.values()) <= self.most_bytes:
            return
        ledger = self.allocator.ledger
        best = ledger.recommend()
        order = who_gives_up_first(ledger, [name for name in there if name != best and self._can_be_made(name)])

        def rename(now: Ledger) -> list[str]:
            given_up = []
            for name in order:
                if self._within(len(there), sum(sizes.values())):
                    break
                if now.arm(name).flight is None:  # of those in flight the last checkpoint stays
                    there.pop(name).give_up()
                    sizes.pop(name, None)
                    given_up.append(name)
            return given_up

        given_up = self.allocator.give_up_checkpoints(rename)
        finish_giving_up(self.folder)
        for name in given_up:
            pulls = len(ledger.arm(name).rewards)
            log.info("%s has given up its checkpoint; if it is resumed, %d pulls are made again", name, pulls)
            self.arms[name].look_again()
        self.given_up += len(given_up)

    def _within(self, arms: int, size: int) -> bool:
        return arms <= self.most_arms if self.most_arms is not None else size <= (self.most_bytes or 0)

    def _there(self) -> dict[str, Checkpoints]:
        """The arms that have checkpoints."""
        finish_giving_up(self.folder)
        every = {name: Checkpoints(self.folder, name) for name in self.allocator.ledger.by_name}
        return {name: files for name, files in every.items() if files.are_there()}

    def _can_be_made(self, name: str) -> bool:
        return name in self.arms and self.arms[name].can_be_made_again
