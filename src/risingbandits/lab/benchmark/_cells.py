"""What each policy got on each benchmark, played once and stored under a hash of its inputs.

The key of a cell covers everything that determines its numbers: the policy with its parameters, the source of what
decides and simulates, every problem with its curves, noise, rounds, orders or runs, and the seed. An existing cell is
never played again, and a cell of other inputs is never used.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np

from risingbandits._core.compile_wait import announced
from risingbandits._core.files import write_whole
from risingbandits._core.progress import Advance
from risingbandits.lab.benchmark._policies import LabelledPolicy
from risingbandits.lab.benchmark._problems import Benchmark, Played
from risingbandits.lab.ray_simulations import program_stamp
from risingbandits.simulation._backends import Backend

_FORMAT = 3


@dataclass(frozen=True)
class Cell:
    """A policy on a benchmark: its runs, or why there are none."""

    runs: tuple[Played, ...] = ()
    failure: str = ""
    skipped: bool = False  # the benchmark is not for this policy


@dataclass
class Cells:
    """The cells of a folder; ``played`` counts the runs that were not there yet."""

    folder: Path
    backend: Backend
    advance: Advance = lambda _label, _run: None  # once for each run that was played, found or left out
    played: int = 0

    def of(self, benchmark: Benchmark, policies: Sequence[LabelledPolicy]) -> dict[str, Cell]:
        """By label, the cells of all policies on a benchmark; missing ones are played together and written."""
        cells: dict[str, Cell] = {}
        missing: dict[str, list[LabelledPolicy]] = {}  # by key: policies that are the same need be played once
        for policy in policies:
            found = self._look_up(benchmark, policy)
            if isinstance(found, Cell):
                cells[policy.label] = found
                self._skip(policy, benchmark)
            else:
                missing.setdefault(found, []).append(policy)
        for key, cell in self._play(benchmark, {key: same[0] for key, same in missing.items()}).items():
            if not cell.failure:
                content = {"format": _FORMAT, "key": key, "runs": cell.runs}
                write_whole(self._path(key), (json.dumps(content) + "\n").encode())
            for place, policy in enumerate(missing[key]):
                cells[policy.label] = cell
                if place:
                    self._skip(policy, benchmark)
        return {policy.label: cells[policy.label] for policy in policies}

    def _skip(self, policy: LabelledPolicy, benchmark: Benchmark) -> None:
        for number in range(benchmark.runs):
            self.advance(policy.label, number)

    def _look_up(self, benchmark: Benchmark, policy: LabelledPolicy) -> Cell | str:
        """The cell if there is one, or its key."""
        if not policy.plays(benchmark):
            return Cell(skipped=True)
        digest = hashlib.sha256(f"{_FORMAT};{program_stamp()};{benchmark.digest};".encode())
        try:
            for problem in benchmark.problems:
                own = policy.on(benchmark, problem)
                own._validate()
                files = [source_hash(kind.__module__) for kind in type(own).__mro__]
                digest.update(f"{type(own).__qualname__} {own!r} {files};".encode())
        except Exception as error:
            return _failed(error)
        key = digest.hexdigest()
        kept = self._read(key)
        return key if kept is None else kept

    def _play(self, benchmark: Benchmark, policies: Mapping[str, LabelledPolicy]) -> dict[str, Cell]:
        if not policies:
            return {}
        try:
            return self._play_together(benchmark, policies)
        except Exception as error:
            if len(policies) == 1:
                return dict.fromkeys(policies, _failed(error))
        found: dict[str, Cell] = {}  # find out which one it is, and let the others continue
        for key, policy in policies.items():
            found |= self._play(benchmark, {key: policy})
        return found

    def _play_together(self, benchmark: Benchmark, policies: Mapping[str, LabelledPolicy]) -> dict[str, Cell]:
        runs: dict[str, list[Played | None]] = {key: [None] * benchmark.runs for key in policies}
        begin = partial(_begin, benchmark, dict(policies))
        with announced():
            playing = self.backend.play(begin, dict.fromkeys(policies, range(benchmark.runs)))
            with closing(playing):  # an interrupted caller stops the players at once
                for key, number, run in playing:
                    runs[key][number] = run
                    self.advance(policies[key].label, number)
        self.played += benchmark.runs * len(policies)
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


def _begin(benchmark: Benchmark, policies: Mapping[str, LabelledPolicy], key: str) -> Callable[[int], Played]:
    """What plays a run of a policy by its number, here or in another process."""
    starts: Sequence[int] = benchmark.starts.tolist()
    current = -1
    player: Callable[[int], Played] | None = None

    def play(number: int) -> Played:
        nonlocal current, player
        place = int(np.searchsorted(starts, number, side="right")) - 1
        if player is None or place != current:
            problem = benchmark.problems[place]
            current, player = place, problem.player(policies[key].on(benchmark, problem))
        return player(number - starts[place])

    return play


def _failed(error: Exception) -> Cell:
    sentence = " ".join(str(error).split()) or "no message"
    return Cell(failure=f"{type(error).__name__}: {sentence}"[:500])


@cache  # edits while the benchmark runs do not count
def source_hash(module: str) -> str:
    """A hash of the file of a module: that of a policy may lie outside of this library."""
    file = getattr(sys.modules.get(module), "__file__", None)
    return "" if file is None else hashlib.sha256(Path(file).read_bytes()).hexdigest()
