"""Blocks of runs that are played once and kept: a study that was interrupted goes on where it stopped.

A block is some consecutive runs of one policy on one problem. Its file is named by a hash of all that decides its
numbers: the policy with its settings, the byte code of its kernels and the text of the files around them, the problem,
horizon, seed, runs and checkpoints. A block that is there is never played again; one of other causes is never taken.
"""

from __future__ import annotations

import hashlib
import inspect
import io
import os
import re
import zipfile
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numba
import numpy as np

from risingbandits._core.files import write_whole
from risingbandits._core.jit import source_stamp
from risingbandits._core.types import Floats, Ints
from risingbandits._version import __version__
from risingbandits.policies import Policy
from risingbandits.policies.base import Kernels
from risingbandits.problems import RisingBandit
from risingbandits.problems._sums import fill_sums
from risingbandits.simulation import Result, engine, simulate
from risingbandits.simulation.backends.base import Backend, Threads
from risingbandits.simulation.run import checkpoint_rounds

__all__ = ["BLOCK_RUNS", "Blocks", "Panel", "Progress", "remove_leftovers"]

BLOCK_RUNS = 10
_FORMAT = 1
_DECIDING = ("_core", "policies", "problems", "simulation/engine.py", "simulation/run.py")  # below the package

Progress = Callable[[int], AbstractContextManager[Callable[[str, int], None]]]


@dataclass(frozen=True)
class Panel:
    """A problem and the policies that play it.

    Attributes
    ----------
    name : str
        For files and tables.
    title : str
        Above the figure.
    problem : RisingBandit
        The problem.
    policies : dict of label -> Policy
        Who plays.
    horizon, runs, seed, checkpoints : int
        As for `simulate`.
    """

    name: str
    title: str
    problem: RisingBandit
    policies: dict[str, Policy]
    horizon: int
    runs: int
    seed: int
    checkpoints: int


class _Block(NamedTuple):
    panel: Panel
    label: str
    first: int
    runs: int


class _Played(NamedTuple):
    regret: Floats
    pulls: Ints
    recommended: Ints


@dataclass
class Blocks:
    """The blocks of a folder.

    Parameters
    ----------
    folder : path
        Where they are kept; made when needed.
    jobs : int, optional
        Threads; by default one per core.
    progress : callable, optional
        Gets the number of runs to be played and gives a context whose value is told ``(panel and policy, runs)``.
    backend : Backend, optional
        Where they are played instead of threads. The files are written by this process alone.

    Attributes
    ----------
    played : int
        Runs that were not there yet.
    """

    folder: Path
    jobs: int | None = None
    progress: Progress | None = None
    backend: Backend | None = None
    played: int = 0

    def play(self, panels: Sequence[Panel]) -> dict[str, Result]:
        """The results of all panels by name, equal in every bit to those of one `simulate` call for each."""
        self.folder.mkdir(parents=True, exist_ok=True)
        blocks = [
            _Block(panel, label, first, min(BLOCK_RUNS, panel.runs - first))
            for panel in panels
            for label in panel.policies
            for first in range(0, panel.runs, BLOCK_RUNS)
        ]
        causes = {(panel.name, label): _cause(panel, label) for panel in panels for label in panel.policies}
        keys = {(b.panel.name, b.label, b.first): _key(causes[b.panel.name, b.label], b.first, b.runs) for b in blocks}
        found: dict[tuple[str, str, int], _Played] = {}
        missing = []
        for block in blocks:
            place = block.panel.name, block.label, block.first
            kept = self._read(keys[place])
            if kept is None:
                missing.append(block)
            else:
                found[place] = kept
        if missing:
            for block, played in self._play_missing(missing, keys):
                found[block.panel.name, block.label, block.first] = played
        return {panel.name: _whole(panel, found) for panel in panels}

    def _play_missing(
        self, missing: Sequence[_Block], keys: dict[tuple[str, str, int], str]
    ) -> list[tuple[_Block, _Played]]:
        for panel in {id(block.panel): block.panel for block in missing}.values():
            panel.problem.environment(panel.horizon)  # built once, before the threads start
        items: dict[tuple[str, str], list[int]] = {}
        for number, block in enumerate(missing):
            items.setdefault((block.panel.name, block.label), []).append(number)
        done = []
        total = sum(block.runs for block in missing)
        shown = nullcontext(_silent) if self.progress is None else self.progress(total)
        backend = Threads(self.jobs) if self.backend is None else self.backend
        playing = backend.play(_Begin(tuple(missing)), items)
        with shown as advance, closing(playing):
            for (name, label), number, played in playing:
                block = missing[number]
                self._write(keys[name, label, block.first], played)  # here: on a cluster the folder is elsewhere
                done.append((block, played))
                self.played += block.runs
                advance(f"{name}: {label}", block.runs)
        return done

    def _path(self, key: str) -> Path:
        return self.folder / f"{key[:40]}.npz"

    def _write(self, key: str, played: _Played) -> None:
        buffer = io.BytesIO()
        np.savez_compressed(buffer, key=np.array(key), **played._asdict())
        write_whole(self._path(key), buffer.getvalue())

    def _read(self, key: str) -> _Played | None:
        try:
            with np.load(io.BytesIO(self._path(key).read_bytes()), allow_pickle=False) as file:
                if str(file["key"]) != key:
                    return None
                return _Played(file["regret"], file["pulls"], file["recommended"])
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):  # not there, or damaged: played again
            return None


def _silent(_label: str, _runs: int) -> None:
    """Tell nobody."""


@dataclass(frozen=True)
class _Begin:
    """Blocks to be played, here or in another process, by their number."""

    blocks: tuple[_Block, ...]

    def __call__(self, _panel_and_label: tuple[str, str]) -> Callable[[int], _Played]:
        return lambda number: _simulated(self.blocks[number])


def _simulated(block: _Block) -> _Played:
    panel, label = block.panel, block.label
    result = simulate(
        {label: panel.policies[label]},
        panel.problem,
        panel.horizon,
        block.runs,
        panel.seed,
        jobs=1,
        checkpoints=panel.checkpoints,
        first_run=block.first,
    )
    return _Played(result.regret[label], result.pulls[label], result.recommended[label])


def _whole(panel: Panel, found: dict[tuple[str, str, int], _Played]) -> Result:
    rounds = checkpoint_rounds(panel.checkpoints, panel.horizon)
    joined: dict[str, dict[str, np.ndarray]] = {kind: {} for kind in _Played._fields}
    for label in panel.policies:
        blocks = [found[panel.name, label, first] for first in range(0, panel.runs, BLOCK_RUNS)]
        for kind in _Played._fields:
            joined[kind][label] = np.concatenate([getattr(block, kind) for block in blocks])
    return Result(
        problem=panel.problem.name or repr(panel.problem),
        horizon=panel.horizon,
        seed=panel.seed,
        settings={
            label: repr(policy.for_problem(panel.problem, panel.horizon)) for label, policy in panel.policies.items()
        },
        checkpoints=rounds,
        oracle=panel.problem.oracle_prefix(rounds, panel.horizon),
        final_means=panel.problem.means(panel.horizon),
        **joined,
    )


def _cause(panel: Panel, label: str) -> str:
    """All that decides the runs of a policy on a panel, as text."""
    policy = panel.policies[label].for_problem(panel.problem, panel.horizon)
    policy.validate()
    parts = (
        _FORMAT,
        __version__,
        np.__version__,
        numba.__version__,
        _package_stamp(),
        _file_stamp(inspect.getfile(type(policy))),
        _code_stamp(policy.kernels_for(panel.problem.n_arms)),
        f"{type(policy).__module__}.{policy!r}",
        _instance_stamp(panel.problem),
        panel.horizon,
        panel.seed,
        checkpoint_rounds(panel.checkpoints, panel.horizon).tolist(),
    )
    return repr(parts)


def _key(cause: str, first: int, runs: int) -> str:
    return hashlib.sha256(f"{cause};{first};{runs}".encode()).hexdigest()


@cache
def _code_stamp(kernels: Kernels) -> tuple[str, ...]:
    """Stamps of the byte code of kernels, as loaded, and of what they are played with."""
    return tuple(source_stamp(kernel) for kernel in (*kernels, engine.loop, fill_sums))


@cache
def _package_stamp() -> str:
    """A hash of the files that decide what a simulation gives."""
    package = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for name in _DECIDING:
        path = package / name
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            digest.update(f"{file.relative_to(package).as_posix()};".encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()


@cache
def _file_stamp(path: str) -> str:
    """A hash of the file of a policy, which may lie outside these folders."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def _instance_stamp(problem: RisingBandit) -> str:
    digest = hashlib.sha256()
    for name, value in problem.environment(1)._asdict().items():
        digest.update(f"{name};".encode())
        digest.update(np.ascontiguousarray(value).tobytes() if isinstance(value, np.ndarray) else repr(value).encode())
    return digest.hexdigest()


def remove_leftovers(folder: Path) -> None:
    """Remove temporary files of programs that were killed while they wrote; those of living ones stay."""
    for path in sorted(folder.rglob("*.tmp")):
        number = re.fullmatch(r".+\.(\d+)\.tmp", path.name)
        if number and not _alive(int(number[1])):
            path.unlink(missing_ok=True)


def _alive(process: int) -> bool:
    if process == os.getpid():
        return False  # nothing is being written yet, so it is from an earlier process of the same number
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True
