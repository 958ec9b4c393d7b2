"""Cells of the arena: what one entrant got in one row, played once and stored under a hash of its inputs.

The key of a cell covers everything that determines its numbers: the policy with its settings and source files, the
compiled loop, every problem with its curves, noise, rounds, orders or runs, and the seed. An existing cell is never
played again, and a cell of other inputs is never used.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

from risingbandits._core.compile_wait import announced
from risingbandits._core.files import write_whole
from risingbandits._version import __version__
from risingbandits.lab.benchmark._entrants import Entrant
from risingbandits.lab.benchmark._rows import Played, Row
from risingbandits.lab.benchmark._stamps import Stamps
from risingbandits.simulation._backends import Backend

_FORMAT = 2


@dataclass(frozen=True)
class Cell:
    """An entrant in a row: its runs, or why there are none."""

    runs: tuple[Played, ...] = ()
    failure: str = ""
    skipped: bool = False  # the row is not for this policy


Progress = Callable[[str, int], None]
"""Told the label and how many of its runs have been played, found or left out."""


@dataclass
class Cells:
    """The cells of a folder; ``played`` counts the runs that were not there yet."""

    folder: Path
    backend: Backend
    advance: Progress = lambda _label, _runs: None
    played: int = 0
    stamps: Stamps = field(default_factory=Stamps)

    def of(self, row: Row, entrants: Sequence[Entrant]) -> dict[Entrant, Cell]:
        """The cells of all entrants in a row; those that are missing are played together and written."""
        cells: dict[Entrant, Cell] = {}
        missing: dict[str, list[Entrant]] = {}  # by key: policies that are the same need be played once
        for entrant in entrants:
            found = self._look_up(row, entrant)
            if isinstance(found, Cell):
                cells[entrant] = found
                self.advance(entrant.label, row.runs)
            else:
                missing.setdefault(found, []).append(entrant)
        for key, cell in self._play(row, {key: same[0] for key, same in missing.items()}).items():
            if not cell.failure:
                content = {"format": _FORMAT, "key": key, "runs": cell.runs}
                write_whole(self._path(key), (json.dumps(content) + "\n").encode())
            for place, entrant in enumerate(missing[key]):
                cells[entrant] = cell
                if place:
                    self.advance(entrant.label, row.runs)
        return {entrant: cells[entrant] for entrant in entrants}

    def _look_up(self, row: Row, entrant: Entrant) -> Cell | str:
        """The cell if there is one, or its key."""
        if not entrant.plays(row):
            return Cell(skipped=True)
        digest = hashlib.sha256(f"{_FORMAT};{__version__};{row.digest};".encode())
        try:
            for problem in row.problems:
                policy = entrant.policy_for(row, problem)
                policy.validate()
                digest.update(f"{policy!r};{self.stamps.of(policy, problem.n_arms, problem.horizon)};".encode())
        except Exception as error:
            return _failed(error)
        key = digest.hexdigest()
        kept = self._read(key)
        return key if kept is None else kept

    def _play(self, row: Row, entrants: Mapping[str, Entrant]) -> dict[str, Cell]:
        if not entrants:
            return {}
        try:
            return self._play_together(row, entrants)
        except Exception as error:
            if len(entrants) == 1:
                return dict.fromkeys(entrants, _failed(error))
        found: dict[str, Cell] = {}  # find out which one it is, and let the others continue
        for key, entrant in entrants.items():
            found |= self._play(row, {key: entrant})
        return found

    def _play_together(self, row: Row, entrants: Mapping[str, Entrant]) -> dict[str, Cell]:
        runs: dict[str, list[Played | None]] = {key: [None] * row.runs for key in entrants}
        with announced():
            playing = self.backend.play(partial(_begin, row, dict(entrants)), dict.fromkeys(entrants, range(row.runs)))
            with closing(playing):  # an interrupted caller stops the players at once
                for key, number, run in playing:
                    runs[key][number] = run
                    self.advance(entrants[key].label, 1)
        self.played += row.runs * len(entrants)
        return {key: Cell(tuple(run for run in own if run is not None)) for key, own in runs.items()}

    def _path(self, key: str) -> Path:
        folder = self.folder / "cells"
        folder.mkdir(parents=True, exist_ok=True)
        return folder / f"{key[:40]}.json"

    def _read(self, key: str) -> Cell | None:
        try:
            content = json.loads(self._path(key).read_text())
            if content["key"] != key or content["format"] != _FORMAT:
                return None
            return Cell(tuple(Played(*run) for run in content["runs"]))
        except (OSError, ValueError, KeyError, TypeError):  # not there, or damaged: played again
            return None


def _begin(row: Row, entrants: Mapping[str, Entrant], key: str) -> Callable[[int], Played]:
    """What plays a run of an entrant by its number, here or in another process."""
    starts: Sequence[int] = row.starts.tolist()
    current = -1
    player: Callable[[int], Played] | None = None

    def play(number: int) -> Played:
        nonlocal current, player
        place = int(np.searchsorted(starts, number, side="right")) - 1
        if player is None or place != current:
            policy = entrants[key].policy_for(row, row.problems[place])
            current, player = place, row.problems[place].player(policy)
        return player(number - starts[place])

    return play


def _failed(error: Exception) -> Cell:
    sentence = " ".join(str(error).split()) or "no message"
    return Cell(failure=f"{type(error).__name__}: {sentence}"[:500])
