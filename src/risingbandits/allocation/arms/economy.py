"""Limits on checkpoints: the arm that is least likely to be resumed gives up its checkpoint first.

Giving one up changes no decision of the run: a learner without a checkpoint is trained again when it is pulled, which
takes the time of its pulls so far, and then continues as usual. Which one is given up follows from the events alone, so
a resumed run decides the same. The checkpoints of arms in flight, of the arm to keep, and of learners that cannot be
made again are never given up. A checkpoint is renamed before it is removed, so a process that dies leaves a whole
checkpoint or none.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from risingbandits._core.errors import RisingBanditsError, check_positive_int, shown
from risingbandits._core.files import remove
from risingbandits.allocation.arms.checkpointed import Checkpointed, Checkpoints, folder_name
from risingbandits.allocation.next_pulls import rounds_until_pulled

if TYPE_CHECKING:
    from risingbandits.allocation.allocator import Allocator
    from risingbandits.allocation.ledger import Ledger

log = logging.getLogger("risingbandits")

_UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}
_GIVEN_UP = "given-up-"  # and a random name, while it is removed


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
    """Arms in the order in which they give up their checkpoints: by what that would cost, as the policy sees it.

    The price of an arm is its pulls, which would have to be made again, divided by the rounds until the policy would
    pull it if it played on by itself; 0 if it would not. Among equals the one with the lowest last reward is first.
    """
    soon = rounds_until_pulled(ledger)

    def price(name: str) -> tuple[float, float, int]:
        arm = ledger.arm(name)
        last = (arm.rewards[-1] - ledger.zero) / ledger.span if arm.rewards else 0.0
        return (len(arm.rewards) / soon[name] if name in soon else 0.0, last, arm.index)

    return sorted(names, key=price)


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
        sizes = {} if self.most_bytes is None else {name: _size(files.path) for name, files in there.items()}
        if self.most_bytes is not None and sum(sizes.values()) <= self.most_bytes:
            return
        ledger = self.allocator.ledger
        best = ledger.recommend() if ledger.told else ""
        order = who_gives_up_first(ledger, [name for name in there if name != best and self._can_be_made(name)])

        def rename(now: Ledger) -> dict[str, Path]:
            doomed: dict[str, Path] = {}
            for name in order:
                if self._within(len(there), sum(sizes.values())):
                    break
                if now.arm(name).flight is None:  # of those in flight the last checkpoint stays
                    doomed[name] = make_way(there.pop(name).path)
                    sizes.pop(name, None)
            return doomed

        doomed = self.allocator.while_nobody_asks(rename)
        for name, path in doomed.items():
            remove(path)
            pulls = len(ledger.arm(name).rewards)
            log.info("%s has given up its checkpoint; if it is resumed, %d pulls are made again", name, pulls)
            self.arms[name].look_again()
        self.given_up += len(doomed)

    def _within(self, arms: int, size: int) -> bool:
        return arms <= self.most_arms if self.most_arms is not None else size <= (self.most_bytes or 0)

    def _there(self) -> dict[str, Checkpoints]:
        """The arms that have checkpoints; removals that a dead process left unfinished are completed."""
        if not self.folder.is_dir():
            return {}
        by_folder = {folder_name(name): name for name in self.allocator.ledger.by_name}
        found = {}
        for path in sorted(self.folder.iterdir()):
            if path.name.startswith(_GIVEN_UP):
                remove(path)
            elif path.name in by_folder and any(inner.name.startswith("checkpoint-") for inner in path.iterdir()):
                found[by_folder[path.name]] = Checkpoints(self.folder, by_folder[path.name])
        return found

    def _can_be_made(self, name: str) -> bool:
        return name in self.arms and self.arms[name].can_be_made_again


def make_way(path: Path) -> Path:
    """Rename the folder of an arm before it is removed, atomically: no process finds half a checkpoint."""
    doomed = path.with_name(f"{_GIVEN_UP}{uuid4().hex}")
    with suppress(FileNotFoundError):  # another process was faster
        path.rename(doomed)
    return doomed


def _size(path: Path) -> int:
    """Bytes in a folder; files that vanish meanwhile count as 0."""
    total = 0
    for inner in path.rglob("*"):
        try:
            total += inner.stat().st_size if inner.is_file() else 0
        except FileNotFoundError:
            continue
    return total
