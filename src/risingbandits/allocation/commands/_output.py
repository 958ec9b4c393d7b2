"""What a command prints, in a file that stays small: the start and the end are kept, the middle is left out.

The command writes straight to the file, never through a pipe, so that nothing is lost and nothing blocks or breaks if
the run that started it is killed. When the command has ended, a file that is too large is cut, and says at the cut how
much is left out. A command that prints `_TOO_MUCH` times the limit is ended.
The last line that it prints is its reward.
"""

from __future__ import annotations

import json
import math
import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from risingbandits._core.errors import RisingBanditsError, shown
from risingbandits._core.files import whole
from risingbandits.allocation.arms.base import Outcome

DEFAULT = 16 * 2**20  # bytes
LEAST = 4 * 2**16  # so that the end, half of it, has more than the longest last line
_TOO_MUCH = 64
FINISHED = 100  # exit code of a command that has nothing left to do after this pull, or had nothing to do in it
LONGEST_LINE = 65_536  # bytes that the last line may have
_BLANKS = b" \t\r\n\v\f"


class Output(NamedTuple):
    """A file that a command prints to; at most about ``limit`` bytes of it are kept."""

    path: Path
    limit: int

    @property
    def is_too_much(self) -> bool:
        """Whether the command has printed so much that it must be ended."""
        return self.path.stat().st_size > _TOO_MUCH * self.limit

    def close(self) -> None:
        """Make the file small: the command has ended. On a full disk it stays as it is."""
        with suppress(OSError), self.path.open("rb") as printed:
            size = os.fstat(printed.fileno()).st_size
            if size <= self.limit:
                return
            head = self.limit // 2
            with whole(self.path) as temporary, temporary.open("wb") as kept:
                kept.write(printed.read(head))
                kept.write(f"\n... {size - self.limit:,} bytes left out ...\n".encode())
                printed.seek(size - (self.limit - head))
                shutil.copyfileobj(printed, kept)


def read_reward(path: Path, code: int = 0, metric: str = "reward") -> Outcome:
    """The reward on the last line of a file: a number, or a JSON object with "reward" and optionally "cost".

    The object may call the reward by the plan's ``metric``.
    The word "finished", alone or after a number, or as a key of the object, says that there is no further pull. So does
    the exit code `FINISHED`, with which there may be no reward.
    """
    if code == FINISHED:
        with suppress(RisingBanditsError):
            return read_reward(path, metric=metric)._replace(finished=True)
        return Outcome(finished=True)
    line, whole = last_line(path)
    if not whole:
        # What is left of a long line may well be a number, but another one.
        raise RisingBanditsError(
            f"the last line of the output must be the reward, in at most {LONGEST_LINE:,} bytes, "
            f"got a longer one that ends in {shown(line[-20:])}; output in {path}."
        )
    if not line:
        raise RisingBanditsError(f"nothing printed: the last line of the output must be the reward; output in {path}.")
    *number, word = line.split()
    if word == "finished" and not number:
        return Outcome(finished=True)
    try:
        finished = word == "finished"
        return Outcome(_number(float(line.removesuffix(word) if finished else line)), finished=finished)
    except ValueError:
        pass
    try:
        value = json.loads(line)
        if not isinstance(value, dict):
            raise ValueError(line)
        cost, finished = value.get("cost"), value.get("finished") is True
        name = metric if metric in value else "reward"
        if finished and name not in value:
            return Outcome(finished=True)
        reward, cost = _number(value[name]), None if cost is None else _number(cost, minimum=0.0)
        return Outcome(reward, cost, finished=finished)
    except (ValueError, KeyError, RecursionError, OverflowError):
        raise RisingBanditsError(
            f'the last line of the output must be a finite number or {{"{metric}": 0.5, "cost": 2}} with a cost >= 0, '
            f'or "finished", got {shown(line)}; output in {path}.'
        ) from None


def last_line(path: Path) -> tuple[str, bool]:
    """The last line that is not blank, empty if there is none, and whether that is all of it."""
    try:
        with path.open("rb") as file:
            text, first = b"", file.seek(0, os.SEEK_END)
            while first > 0 and not text:  # the blanks at its end may be many
                end, first = first, max(0, first - LONGEST_LINE)
                file.seek(first)
                text = file.read(end - first).rstrip(_BLANKS)
            end = first + len(text)
            # One byte more than a line may have: that before the line is the end of another.
            first = max(0, end - LONGEST_LINE - 1)
            file.seek(first)
            lines = file.read(end - first).decode("utf-8", errors="replace").splitlines()
    except OSError:
        return "", True
    number = next((number for number in reversed(range(len(lines))) if lines[number].strip()), 0)
    return lines[number].strip() if lines else "", number > 0 or end <= LONGEST_LINE


def _number(value: object, minimum: float = -math.inf) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or value < minimum or not math.isfinite(value):
        raise ValueError(value)
    return float(value)
