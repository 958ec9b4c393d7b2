"""Cells of the regret benchmark: what one policy got on one task, played once and kept under a hash of its causes.

The key of a cell covers all that decides its numbers: the policy with its settings and the text of every file it is
made of, the compiled loop, every problem with its curves, noise, horizon, runs and seed. A cell that is there is never
played again, and a cell of other causes is never taken.
"""

from __future__ import annotations

import ast
import hashlib
import json
import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from risingbandits import Policy, RisingBandit, simulate
from risingbandits._core.files import write_whole
from risingbandits._core.jit import source_stamp
from risingbandits._version import __version__
from risingbandits.arena.synthetic import Problem, Task
from risingbandits.policies.base import Kernels
from risingbandits.problems import _sums
from risingbandits.simulation import engine, run

__all__ = ["Cell", "Cells", "Row", "files_below", "stamp_of"]

_FORMAT = 1
_POLICIES = "risingbandits.policies."


class Row(NamedTuple):
    """One run: what was lost, or is by keeping the arm found, and what that is measured by (J*, or a random arm)."""

    problem: str
    block: str
    side: str
    run: int
    horizon: int
    regret: float
    scale: float


@dataclass(frozen=True)
class Cell:
    """A policy on a task: its rows, or why there are none."""

    rows: tuple[Row, ...] = ()
    failure: str = ""
    skipped: bool = False  # the task is not for this policy


@dataclass
class Cells:
    """The cells of a folder; ``played`` counts the runs that were not there yet."""

    folder: Path
    jobs: int | None = None
    advance: Callable[[str, int], None] = lambda _label, _rounds: None
    played: int = 0
    stamps: dict[tuple[type[Policy], Kernels], str] = field(default_factory=dict)

    def prepare(self, policies: Mapping[str, Policy]) -> None:
        """Stamp the code now, as it was imported: files that are edited while the benchmark runs do not count."""
        for policy in policies.values():
            for n_arms in (2, 8, 15, 50, 200):
                self._stamp(policy, n_arms)

    def of(self, task: Task, policies: Mapping[str, Policy]) -> dict[str, Cell]:
        """The cells of all policies on a task; those that are missing are played together and written."""
        with warnings.catch_warnings():
            if task.change is not None:  # a wrong setting is given on purpose; policies may warn of it
                warnings.simplefilter("ignore", UserWarning)
            cells, missing = self._look_up(task, policies)
            if missing:
                cells |= self._play(task, {label: policies[label] for label in missing})
        for label, key in missing.items():
            cell = cells[label]
            if not cell.failure:
                content = {"format": _FORMAT, "key": key, "rows": cell.rows}
                write_whole(self._path(key), (json.dumps(content) + "\n").encode())
        return {label: cells[label] for label in policies}

    def _look_up(self, task: Task, policies: Mapping[str, Policy]) -> tuple[dict[str, Cell], dict[str, str]]:
        cells: dict[str, Cell] = {}
        digests = {label: hashlib.sha256(f"{_FORMAT};{__version__};{task.runs};".encode()) for label in policies}
        for problem in task.build():
            same_for_all = _digest(problem)
            for label, policy in policies.items():
                if label in cells:
                    continue
                try:
                    resolved = task.policy_for(policy, problem)
                    if resolved is None:
                        cells[label] = Cell(skipped=True)
                        self.advance(label, task.rounds)
                        continue
                    resolved.validate()
                    stamp = self._stamp(resolved, problem.instance.n_arms)
                except Exception as error:
                    cells[label] = _failed(error)
                    self.advance(label, task.rounds)
                    continue
                digests[label].update(f"{resolved!r};{stamp};{same_for_all};".encode())
        missing: dict[str, str] = {}
        for label in policies:
            if label in cells:
                continue
            key = digests[label].hexdigest()
            kept = self._read(key)
            if kept is None:
                missing[label] = key
            else:
                cells[label] = kept
                self.advance(label, task.rounds)
        return cells, missing

    def _play(self, task: Task, policies: Mapping[str, Policy]) -> dict[str, Cell]:
        rows: dict[str, list[Row]] = {label: [] for label in policies}
        failures: dict[str, Cell] = {}
        for problem in task.build():
            resolved: dict[str, Policy] = {}
            for label, policy in policies.items():
                ready = None if label in failures else task.policy_for(policy, problem)
                if ready is not None:
                    resolved[label] = ready
            try:
                found = self._play_together(problem, resolved, task.runs)
            except Exception:  # find out whose it is, and let the others go on
                found = {}
                for label, policy in resolved.items():
                    try:
                        found |= self._play_together(problem, {label: policy}, task.runs)
                    except Exception as error:
                        failures[label] = _failed(error)
            for label, played in found.items():
                rows[label].extend(played)
        return {label: failures.get(label, Cell(tuple(rows[label]))) for label in policies}

    def _play_together(self, problem: Problem, policies: Mapping[str, Policy], runs: int) -> dict[str, list[Row]]:
        if not policies:
            return {}
        instance = problem.instance
        horizon = instance.horizon
        assert horizon is not None
        result = simulate(
            policies,
            instance,
            horizon,
            runs,
            problem.seed,
            self.jobs,
            record_at=1,
            after_end="hold" if problem.finals is None else "stop",
            progress=lambda label, _finished: self.advance(label, horizon),
        )
        self.played += runs * len(policies)
        if problem.finals is not None:
            finals = np.array(problem.finals)
            scale = float(finals.max() - finals.mean())
            regret = {label: finals.max() - finals[arms] for label, arms in result.recommended.items()}
        elif problem.truth is None:
            scale = float(result.oracle[-1])
            regret = result.final_regret
        else:
            sums = problem.truth.mean_sums(horizon)
            scale = float(sums.max() - sums.mean())
            regret = {
                label: sums.max() - problem.truth.mean_sums(pulls).sum(axis=1) for label, pulls in result.pulls.items()
            }
        return {
            label: [
                Row(problem.label, problem.block, problem.side, number, horizon, float(lost), scale)
                for number, lost in enumerate(regret[label])
            ]
            for label in policies
        }

    def _stamp(self, policy: Policy, n_arms: int) -> str:
        kind = type(policy), policy.kernels_for(n_arms)
        if kind not in self.stamps:
            self.stamps[kind] = stamp_of(policy, n_arms)
        return self.stamps[kind]

    def _path(self, key: str) -> Path:
        folder = self.folder / "cells"
        folder.mkdir(parents=True, exist_ok=True)
        return folder / f"{key[:40]}.json"

    def _read(self, key: str) -> Cell | None:
        try:
            content = json.loads(self._path(key).read_text())
            if content["key"] != key or content["format"] != _FORMAT:
                return None
            return Cell(tuple(Row(*row) for row in content["rows"]))
        except (OSError, ValueError, KeyError, TypeError):  # not there, or damaged: played again
            return None


def stamp_of(policy: Policy, n_arms: int) -> str:
    """A hash of the code that decides how the policy plays ``n_arms`` arms: compiled kernels and Python files."""
    digest = hashlib.sha256(f"{type(policy).__module__}.{type(policy).__qualname__};".encode())
    for kernel in (*policy.kernels_for(n_arms), engine.loop, _sums.fill_sums):
        digest.update(f"{source_stamp(kernel)};".encode())
    files = {Path(str(module.__file__)) for module in (engine, run)}
    for kind in type(policy).__mro__:
        if kind not in (object, Policy):
            files |= files_below(kind.__module__)
    for path in sorted(files):
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]


@cache
def files_below(module: str) -> frozenset[Path]:
    """The file of a module and those of the policy modules that it imports, directly or not."""
    found: dict[str, Path] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        origin = getattr(sys.modules.get(name), "__file__", None)
        if name in found or origin is None:
            continue
        found[name] = Path(origin)
        for node in ast.parse(found[name].read_bytes()).body:  # not what functions import when called
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
            else:
                continue
            waiting.extend(other for other in names if other.startswith(_POLICIES) and other in sys.modules)
    return frozenset(found.values())


def _digest(problem: Problem) -> str:
    """A hash of the problem: curves, noise, horizon, seed, and the means that count."""
    digest = hashlib.sha256()
    digest.update(
        repr((problem.label, problem.block, problem.side, problem.seed, problem.sigma, problem.finals)).encode()
    )
    for instance in (problem.instance, problem.truth):
        if isinstance(instance, RisingBandit):
            digest.update(f"{instance.horizon};".encode())
            for name, value in instance.environment(1)._asdict().items():
                content = np.ascontiguousarray(value).tobytes() if isinstance(value, np.ndarray) else repr(value)
                digest.update(name.encode())
                digest.update(content if isinstance(content, bytes) else content.encode())
    return digest.hexdigest()


def _failed(error: Exception) -> Cell:
    sentence = " ".join(str(error).split()) or "no message"
    return Cell(failure=f"{type(error).__name__}: {sentence}"[:500])
