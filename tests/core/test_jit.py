"""Compilation: an unchanged tree hits the cache in a second process, an edited kernel is never served stale."""

from __future__ import annotations

import os
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from risingbandits import RisingBanditsError, get_problem
from risingbandits._core.jit import compiled, instructions, interpreted, kernel, source_stamp
from risingbandits.policies import REdUCB, RoundRobin
from risingbandits.simulation._engine import Runner, compiled_loop

HELPER = """
from risingbandits._core.jit import kernel

OFFSET = {offset}

@kernel
def preferred(n_arms):
    return ({preferred}) + OFFSET
"""

POLICY = """
from typing import NamedTuple
from risingbandits import Policy, get_problem
from risingbandits._core.jit import kernel
from risingbandits.policies import Kernels
from risingbandits.simulation._engine import Runner
from other_file import preferred
import numpy as np

class State(NamedTuple):
    n_arms: int

@kernel
def select(state, t, available, rng):
    return preferred(state.n_arms)

@kernel
def update(state, t, arm, reward, rng):
    pass

class Mine(Policy):
    name = "mine"
    summary = "a test"
    kernels = Kernels(select=select, update=update)

    def __init__(self):
        pass

    def _new_state(self, n_arms, horizon, capacity):
        return State(n_arms)
"""

SCRIPT = """
import numpy as np
from mine import Mine
from risingbandits import get_problem
from risingbandits.simulation._engine import Runner
runner = Runner(Mine(), get_problem("paper-15arms"), 50, np.array([50]))
run = runner.play(np.random.SeedSequence(0))
policy = Mine().reset(15)
stats = runner.loop.stats
print(run.pulls.argmax(), policy.ask(), sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
"""


class Project:
    """A user's project: a policy in one file that calls a kernel in another, run in processes of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {**os.environ, "PYTHONPATH": str(folder), "NUMBA_CACHE_DIR": str(folder / "cache")}
        self.environment.pop("NUMBA_DISABLE_JIT", None)
        (folder / "mine.py").write_text(POLICY)
        (folder / "script.py").write_text(SCRIPT)
        self.write(preferred="0", offset=0)

    def write(self, preferred: str, offset: int) -> None:
        (self.folder / "other_file.py").write_text(HELPER.format(preferred=preferred, offset=offset))

    def run(self, **environment: str) -> list[int]:
        done = subprocess.run(
            [sys.executable, "script.py"],
            cwd=self.folder,
            env={**self.environment, **environment},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return [int(number) for number in done.stdout.split()]

    def cache_files(self) -> int:
        return len(list((self.folder / "cache").rglob("*.nb?")))


def test_second_process_hits_and_an_edit_is_seen(tmp_path: Path) -> None:
    project = Project(tmp_path)
    assert project.run() == [0, 0, 0, 1]
    files = project.cache_files()
    assert project.run() == [0, 0, 1, 0]
    assert project.cache_files() == files, "a cache hit must not leave files behind"
    project.write(preferred="n_arms - 1", offset=0)  # only the helper's file changes
    assert project.run() == [14, 14, 0, 1]
    project.write(preferred="n_arms - 1", offset=-2)
    assert project.run() == [12, 12, 0, 1]
    project.write(preferred="0", offset=0)  # back to the first text: its code is still there
    assert project.run() == [0, 0, 1, 0]
    assert project.run(NUMBA_BOUNDSCHECK="1") == [0, 0, 0, 1], "code with other flags must not be shared"


def test_package_works_where_compilation_is_disabled(tmp_path: Path) -> None:
    script = (
        "import numpy as np\n"
        "from risingbandits import simulate\nfrom risingbandits.policies import REdUCB\n"
        "print(simulate(REdUCB(), 'paper-15arms', horizon=300, runs=1, jobs=1).pulls['red-ucb'][0].tolist())\n"
    )
    outputs = [
        subprocess.run(
            [sys.executable, "-W", "ignore", "-c", script],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for environment in ({}, {"NUMBA_DISABLE_JIT": "1"})
    ]
    assert outputs[0] == outputs[1] != ""


def test_stamps_tell_functions_constants_and_classes_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    def one() -> int:
        return 1

    def two() -> int:
        return 1

    assert source_stamp(one) != source_stamp(two)
    assert source_stamp(one) == source_stamp(one)
    assert source_stamp(one, int) != source_stamp(one, float)
    stamps = {source_stamp(p.kernels.select) for p in (REdUCB, RoundRobin)}
    assert len(stamps) == 2
    monkeypatch.setattr(sys.modules[__name__], "_FACTOR", 2.0)
    before = source_stamp(_twice_and_one)  # which reaches the constant through another kernel
    monkeypatch.setattr(sys.modules[__name__], "_FACTOR", 3.0)
    assert source_stamp(_twice_and_one) != before


def test_kernels_that_allocate_do_not_compile() -> None:
    @kernel
    def allocates(n: int) -> float:
        return float(np.zeros(n).sum())

    with pytest.raises(RisingBanditsError, match=r"kernel .*cannot be compiled"):
        compiled(allocates)(3)
    assert interpreted(allocates)(3) == 0.0


def test_loops_are_shared_by_policies_of_one_class() -> None:
    problem = get_problem("paper-2arms")
    runners = [Runner(REdUCB(eps=eps, sigma=0.1), problem, 10, np.array([10])) for eps in (0.1, 0.2)]
    assert runners[0].loop is runners[1].loop
    assert runners[0].loop is compiled_loop(
        REdUCB(sigma=0.1)._kernels_for(2), runners[0].state.__class__, runners[0].arms.pull
    )


_FACTOR = 2.0


@kernel
def _twice(x: float) -> float:
    return _FACTOR * x


@kernel
def _twice_and_one(x: float) -> float:
    return _twice(x) + 1.0


def test_kernels_can_be_called_from_python_before_and_after_compiled_code_has_called_them() -> None:
    """Their own machine code has no way in from Python: a direct call would end the process."""
    assert _twice(1.5) == 3.0
    assert compiled(_twice_and_one)(2.0) == 5.0
    assert (_twice(2.0), _twice(3), _twice_and_one(2.0)) == (4.0, 6.0, 5.0)


_kernels: Any = types.ModuleType("kernels_of_a_test")
_kernels.twice = _twice


def _twice_by_its_module(x: float) -> float:
    return float(_kernels.twice(x))


def test_kernels_that_are_called_by_their_module_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = interpreted(_twice_by_its_module)
    assert slow.__globals__["_kernels"].twice is not _twice
    assert isinstance(slow.__globals__["_kernels"].twice, types.FunctionType)
    assert slow(2.0) == 4.0
    assert instructions(_twice_by_its_module) > len(_twice_by_its_module.__code__.co_code) // 2
    before = source_stamp(_twice_by_its_module)
    monkeypatch.setattr(sys.modules[__name__], "_FACTOR", 3.0)
    assert source_stamp(_twice_by_its_module) != before
