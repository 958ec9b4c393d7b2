"""Around compiling: the line for those who wait, collections put off, and loops with no more than they need."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from numba.core import event

from risingbandits import Policy, RisingBandit, get_problem
from risingbandits._core import compile_wait
from risingbandits.cli import app
from risingbandits.policies import UCB1, RoundRobin
from risingbandits.problems import Beta
from risingbandits.simulation._engine import Runner, compiled_loop, curve_pull

SCRIPT = "from risingbandits import simulate; simulate('commit-ucb', 'paper-2arms', horizon=50, jobs=1)"


@pytest.mark.slow
def test_simulate_says_once_that_it_compiles_and_nothing_when_it_does_not(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    environment.pop("NUMBA_DISABLE_JIT", None)
    soon = "compile_wait._PATIENCE = 0.1; compile_wait._PAUSE = 60.0"
    shortly = f"from risingbandits._core import compile_wait; {soon}; {SCRIPT}"
    said = [
        subprocess.run([sys.executable, "-c", shortly], env=environment, capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    assert said[0].stderr.splitlines() == [compile_wait.MESSAGE]
    assert said[1].stderr == ""
    assert said[0].stdout == said[1].stdout == ""


def compile_twice(**arguments: object) -> None:
    """What Numba tells when two calls of `simulate` compile, in threads of theirs."""
    for _ in range(2):
        with compile_wait.announced():
            thread = threading.Thread(target=event.start_event, args=("numba:run_pass",))
            thread.start()
            thread.join()


def test_a_command_says_once_that_it_compiles_and_a_program_for_each_call(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(compile_wait, "_PATIENCE", 1e-9)
    monkeypatch.setattr(compile_wait, "_PAUSE", 60.0)
    monkeypatch.setattr(app, "app", compile_twice)
    for _ in range(2):
        app.run([])
        assert capsys.readouterr().err.splitlines() == [compile_wait.MESSAGE]
    compile_twice()
    assert capsys.readouterr().err.splitlines() == [compile_wait.MESSAGE] * 2


class Function:
    """What Numba makes, as far as it matters here."""

    def __init__(self) -> None:
        self.collecting: bool | None = None

    def _compile_for_args(self) -> None:
        self.collecting = gc.isenabled()


@pytest.mark.parametrize("enabled", [True, False])
def test_collections_are_put_off_and_then_as_before(enabled: bool) -> None:
    function = Function()
    made = compile_wait.compiled_inside(compile_wait.no_collections, function)
    if not enabled:
        gc.disable()
    try:
        made._compile_for_args()
        assert gc.isenabled() == enabled
    finally:
        gc.enable()
    assert made is function
    assert function.collecting is False


@pytest.mark.parametrize("policy", [RoundRobin(), UCB1()])
@pytest.mark.parametrize("noise", [None, Beta(b=4.0)])
def test_loops_with_less_of_the_problem_play_the_same(policy: Policy, noise: Beta | None) -> None:
    problem: RisingBandit = get_problem("paper-2arms")
    if noise is not None:
        problem = problem.with_noise(noise)
    rounds = np.arange(1, 301)
    small = Runner(policy, problem, 300, rounds)
    whole = Runner(policy, problem, 300, rounds, loop=compiled_loop(policy.kernels, small.state.__class__, curve_pull))
    without_table = Runner(policy, problem, 300, rounds, loop=whole.loop)
    without_table.arms.state = without_table.arms.state._replace(table=np.empty((2, 0)))
    runs = [runner.play(np.random.SeedSequence(3)) for runner in (small, whole, without_table)]
    assert small.loop is not whole.loop
    for run in runs[1:]:
        assert run.gained.tobytes() == runs[0].gained.tobytes()
        assert run.pulls.tolist() == runs[0].pulls.tolist()
