"""Without Numba and Matplotlib everything works, slower and without figures, with equal results."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import risingbandits as rb
from risingbandits._core.compile_wait import WITHOUT_NUMBA

BLOCKED = "raise ImportError('blocked')\n"
PROGRAM = """
import json, sys
import risingbandits as rb
from risingbandits.allocation import EarlierTask

result = rb.simulate(["red-ucb", "commit-ucb", "auto"], "paper-2arms", horizon=200, runs=2, seed=1)
allocator = rb.Allocator(["a", "b"], budget=40, seed=3)
for pull in allocator:
    allocator.tell(pull, reward=0.5 * pull.n / (pull.n + 3) if pull.arm == "a" else 0.3)
known = {f"net {i}": {"lr": i / 9.0} for i in range(9)}
earlier = EarlierTask("may", {arm: [config["lr"]] * 3 for arm, config in known.items()}, known)
today = {"low": {"lr": 0.2}, "high": {"lr": 0.8}}
prior = rb.Allocator(list(today), budget=9, configs=today, prior=earlier).settings.prior
try:
    result.plot()
    figure = "drawn"
except rb.RisingBanditsError as error:
    figure = str(error)
regret = {name: values.tolist() for name, values in result.regret.items()}
print(json.dumps({"regret": regret, "spent": allocator.spent, "kept": allocator.recommend(), "figure": figure,
                  "numba": "numba" in sys.modules, "prior": [prior.of(arm).mean > 0.0 for arm in today]}))
"""


# Opens the store of a run that was killed; the default for cumulative reward takes longer than that for the best arm.
OPENED = """
import os, sys, time
sys.modules["numba"] = None
import risingbandits as rb

arms = [f"arm {k}" for k in range(20)]
begun = time.process_time()
allocator = rb.Allocator(arms, 8000, objective="cumulative", store=sys.argv[1])
if sys.argv[2] == "make":
    for _ in range(6000):
        pull = allocator.ask()
        allocator.tell(pull, (1 + arms.index(pull.arm)) / 21 * (1 - 0.99**pull.n))
    os._exit(0)
print(allocator.spent, time.process_time() - begun)
"""


@pytest.fixture(scope="module")
def without(tmp_path_factory: pytest.TempPathFactory) -> subprocess.CompletedProcess[str]:
    """The program where Numba, Matplotlib and SciPy cannot be imported."""
    folder = tmp_path_factory.mktemp("blocked")
    for library in ("numba", "matplotlib", "scipy"):
        (folder / f"{library}.py").write_text(BLOCKED)
    path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": path}
    return subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True)


def test_results_are_equal_without_a_compiler(without: subprocess.CompletedProcess[str]) -> None:
    found = json.loads(without.stdout)
    result = rb.simulate(["red-ucb", "commit-ucb", "auto"], "paper-2arms", horizon=200, runs=2, seed=1)
    assert found["regret"] == {name: values.tolist() for name, values in result.regret.items()}
    assert (found["spent"], found["kept"], found["numba"]) == (40, "a", False)
    assert found["prior"] == [False, True]


@pytest.mark.slow
def test_a_store_of_6000_pulls_opens_in_seconds_without_a_compiler(tmp_path: Path) -> None:
    for what in ("make", "open"):
        program = [sys.executable, "-c", OPENED, str(tmp_path / "run.db"), what]
        done = subprocess.run(program, capture_output=True, text=True, check=True, timeout=300)
    spent, seconds = done.stdout.split()
    assert (float(spent), float(seconds) <= 3.0) == (6000.0, True)  # CPU


def test_what_is_missing_is_said_once(without: subprocess.CompletedProcess[str]) -> None:
    assert without.stderr.splitlines() == [WITHOUT_NUMBA]
    figure = json.loads(without.stdout)["figure"]
    assert figure.startswith("Matplotlib is needed for figures: pip install 'risingbandits[plot]'")


def test_the_core_requires_few_libraries() -> None:
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    named = {line.partition(">=")[0] for line in project["dependencies"]}
    assert named <= {"numpy", "typer", "rich"}
