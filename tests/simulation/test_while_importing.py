"""Simulations at the top of a module that is being imported: no thread may wait for that module."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

CONTRIBUTING = Path(__file__).parents[2] / "CONTRIBUTING.md"
WHO_PLAYS = """
import threading
from risingbandits.simulation._backends import Threads
main = threading.main_thread()
here = {here for _, _, here in Threads(2).play(lambda _: lambda _: threading.current_thread() is main, {"a": [1, 2]})}
"""


def imported(folder: Path, code: str) -> str:
    """What a process prints that imports the module ``mine`` in ``folder`` and runs ``code``."""
    path = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache"), "PYTHONPATH": path}
    environment.pop("NUMBA_DISABLE_JIT", None)
    command = [sys.executable, "-c", f"import mine; {code}"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=300).stdout


def test_a_module_may_play_its_own_policy_while_it_is_imported(tmp_path: Path) -> None:
    """Compiled in the first process and read from the cache in the second: Numba imports the module in both."""
    example = re.search(r"```python\n(.*?class LastBest.*?)```", CONTRIBUTING.read_text(), re.DOTALL)
    assert example is not None
    play = "simulate([LastBest(), 'round-robin'], 'paper-2arms', horizon=50, runs=4, jobs=2).regret['last-best']"
    module = f"{example[1]}\n\nfrom risingbandits import simulate\n\nREGRET = {play}.tolist()\n"
    (tmp_path / "mine.py").write_text(module)
    first, second = (imported(tmp_path, "print(mine.REGRET)") for _ in range(2))
    in_threads = imported(tmp_path, f"from mine import *; print({play}.tolist())")
    assert first == second == in_threads


@pytest.mark.parametrize(("own", "here"), [("class Own: pass", True), ("from math import log", False)])
def test_only_modules_with_something_of_their_own_do_without_threads(tmp_path: Path, own: str, here: bool) -> None:
    (tmp_path / "mine.py").write_text(f"{own}\n{WHO_PLAYS}")
    assert imported(tmp_path, "print(mine.here)").strip() == str({here})
