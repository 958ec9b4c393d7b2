"""Interpreted until it pays: equal decisions wherever machine code takes over, and no compiling for a few calls."""

from __future__ import annotations

import math
import os
import pickle
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from risingbandits import Policy, get_policy, policy_names
from risingbandits._core.entry_points import EntryPoint
from risingbandits._core.jit import compiled, is_in_disk_cache, kernel
from risingbandits.policies import UCB1, policy_class
from risingbandits.policies.base import _Calls
from risingbandits.problems import random_problem
from risingbandits.testing.policies import _play

K, ROUNDS = 4, 60

PLAN = """
budget = 6
[[arms]]
name = "a"
command = ["echo", "0.5"]
[[arms]]
name = "b"
command = ["echo", "0.6"]
"""


def new_run(name: str, price: float | None = None) -> Policy:
    """A run for which nothing was paid yet."""
    policy = get_policy(name)._for_problem(random_problem(K, seed=1), 2 * ROUNDS).reset(K, 2 * ROUNDS, seed=5)
    policy._calls = _Calls(*(EntryPoint(one._function, **one._names) for one in policy._calls))
    for call in policy._calls:
        call._price = price
    return policy


@pytest.mark.parametrize("name", [name for name in policy_names() if policy_class(name)._compiles])
def test_switching_is_not_seen(name: str) -> None:
    """Runs that are compiled from the start, after 1, 17 and 40 rounds, and never, draw and decide the same."""
    fast = new_run(name)._calls
    for call in fast:
        call.compile()
    runs = []
    for switch in (0, 1, 17, 40, None):
        policy, rng = new_run(name, price=math.inf), np.random.default_rng(6)
        arms = _play(policy, ROUNDS if switch is None else switch, rng)
        if switch is not None:
            policy._calls = fast
            arms += _play(policy, ROUNDS - switch, rng)
        arms += _play(policy, 20, rng, mask=True)
        generator = None if policy._rng is None else policy._rng.bit_generator.state
        runs.append((arms, policy.recommend(), generator))
    assert all(run == runs[0] for run in runs)


def test_machine_code_takes_over_when_it_has_paid() -> None:
    policy = new_run("ucb1", price=1e6)
    tell = policy._calls.tell
    _play(policy, 3, np.random.default_rng(0))
    assert tell.call is not tell._fast
    tell._spent = 1e9
    _play(policy, 1, np.random.default_rng(0))
    assert tell.call is tell._fast is not None
    assert policy._calls.ask.call is not policy._calls.ask._fast, "each call pays for itself"


def test_policies_of_one_class_share_what_was_paid() -> None:
    one, other = UCB1().reset(2), UCB1(reward_range=(-1.0, 1.0)).reset(5)
    assert one._calls is other._calls
    assert pickle.loads(pickle.dumps(one))._calls is one._calls


@kernel
def _one_over(numbers: Any, by: float) -> float:
    numbers[0] += 1.0
    return 1.0 / by


def test_where_python_raises_machine_code_answers() -> None:
    entry = EntryPoint(_one_over)
    numbers = np.zeros(1)
    assert entry.call(numbers, 2.0) == 0.5
    assert entry.call(numbers, 0.0) == np.inf
    assert numbers.tolist() == [2.0], "what the failed call had changed is put back"


@kernel
def _square(x: float) -> float:
    return x * x


def test_large_work_is_compiled_at_once() -> None:
    entry = EntryPoint(_square)
    assert entry.run(0.0, 3.0) == 9.0
    assert entry.call is not entry._fast
    assert entry.run(1e9, 3.0) == 9.0
    assert entry.call is entry._fast is not None


def test_the_disk_cache_is_asked_for_the_types() -> None:
    function = compiled(_square)
    assert function(3.0) == 9.0
    again = compiled(_square)
    assert is_in_disk_cache(again, (3.0,))
    assert not is_in_disk_cache(again, (3,))
    assert not is_in_disk_cache(_square, (3.0,)), "a kernel alone is not cached"


def test_plain_python_does_not_warn() -> None:
    policy = new_run("commit-ucb")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for reward in (1e300, -1e300, 1e308, 0.0) * 5:
            policy.tell(policy.ask(), reward)


def test_six_pulls_of_a_plan_compile_nothing(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(PLAN)
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    environment.pop("NUMBA_DISABLE_JIT", None)
    watch = (
        "from numba.core import event\n"
        "with event.install_recorder('numba:compile') as record:\n"
        "    try:\n"
        "        import sys; sys.argv = ['risingbandits', 'run', 'plan.toml']\n"
        "        from risingbandits.cli import main; main()\n"
        "    except SystemExit as end:\n"
        "        assert not end.code, end.code\n"
        "print('compiled', len(record.buffer))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", watch], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "compiled 0"
    assert (tmp_path / "plan.db").exists()
    assert not list((tmp_path / "cache").rglob("*.nb?"))
