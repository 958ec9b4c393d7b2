"""Packages that add policies, problems, commands and backends by an entry point, and those that fail to."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

MODULE = """
from contextlib import contextmanager
import typer
from risingbandits import get_problem
from risingbandits.policies import ListedPolicy, ListedProblem, Plugin, RoundRobin, register
from risingbandits.simulation._backends import Threads

commands = typer.Typer()

@commands.callback(invoke_without_command=True)
def hello():
    print("hello")

@register
class Mine(RoundRobin):
    '''Takes turns.'''
    name = "mine"

@contextmanager
def one_thread(jobs):
    print(jobs)
    yield Threads(1)

HORIZONS = {"short-v1": 10, "short-v2": 20, "plain": 30}

def short(name):
    return get_problem("paper-2arms").with_horizon(HORIZONS[name])

PLUGIN = Plugin(
    policies={"mine": ListedPolicy("other_package", "Mine", "cumulative")},
    problems={name: ListedProblem("other_package:short", f"{name} and easy") for name in HORIZONS},
    commands={"hello": "other_package:commands"},
    backends={"one-thread": "other_package:one_thread"},
)
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Where a package with a plugin is installed, and one whose plugin cannot be loaded."""
    (tmp_path / "other_package.py").write_text(MODULE)
    for name, where in (("other_package", "other_package:PLUGIN"), ("broken_package", "no_such_module:PLUGIN")):
        folder = tmp_path / f"{name}-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (folder / "entry_points.txt").write_text(f"[risingbandits.plugins]\n{name} = {where}\n")
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}


def run(environment: dict[str, str], *words: str) -> tuple[int, str, str]:
    done = subprocess.run([sys.executable, *words], env=environment, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def test_policies_of_other_packages_are_known_by_name(environment: dict[str, str]) -> None:
    program = (
        "import risingbandits as rb; print(rb.get_policy('mine'), rb.get_policy('Mine'), 'mine' in rb.policy_names(), "
        "'mine' in rb.policy_names('best-arm'), rb.get_policy('rest-sure'))"
    )
    code, out, err = run(environment, "-c", program)
    assert (code, out) == (0, "Mine() Mine() True False RestSure()\n"), err
    said = "the plugin no_such_module:PLUGIN cannot be loaded: ModuleNotFoundError: No module named 'no_such_module'"
    assert err.count(said) == 1


def test_a_policy_of_the_package_needs_no_plugin(environment: dict[str, str]) -> None:
    program = "import sys, risingbandits as rb; print(rb.get_policy('kl-ucb'), 'other_package' in sys.modules)"
    assert run(environment, "-c", program) == (0, "KLUCB() False\n", "")


def test_problems_of_other_packages_are_known_by_name(environment: dict[str, str]) -> None:
    program = (
        "import risingbandits as rb; from risingbandits.problems import problem_description\n"
        "print([rb.get_problem(name).horizon for name in ('short', 'short-v1', 'plain', 'lower-bound-beta-a')])\n"
        "print(rb.problem_names()[-2:], problem_description('short'))\nrb.get_problem('shor')"
    )
    code, out, err = run(environment, "-c", program)
    assert (code, out) == (1, "[20, 10, 30, 50000]\n('short', 'plain') short-v2 and easy\n"), err
    assert "RisingBanditsError: problem must be one of" in err
    assert err.endswith("did you mean 'short'?\n")
    program = "import sys, risingbandits as rb; rb.get_problem('paper-2arms'); print('other_package' in sys.modules)"
    assert run(environment, "-c", program) == (0, "False\n", "")


def test_commands_of_other_packages_are_groups_of_the_command_line(environment: dict[str, str]) -> None:
    code, out, _ = run(environment, "-m", "risingbandits", "hello")
    assert (code, out) == (0, "hello\n")
    assert run(environment, "-m", "risingbandits", "lab", "benchmark", "--help")[0] == 0


def test_backends_of_other_packages_play_simulations(environment: dict[str, str]) -> None:
    program = (
        "import risingbandits as rb; near, far = (rb.simulate('ucb1', 'paper-2arms', horizon=50, jobs=3, **where) "
        "for where in ({}, {'backend': 'one-thread'})); print(near.final_regret == far.final_regret)"
    )
    code, out, err = run(environment, "-c", program)
    assert (code, out) == (0, "3\nTrue\n"), err
    code, _, err = run(environment, "-c", "import risingbandits as rb; rb.simulate('ucb1', 'paper-2arms', backend='x')")
    assert code == 1
    assert "backend must be one of local, one-thread, ray; got 'x'" in err
