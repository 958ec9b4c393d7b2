"""What the package says about wrong input, compared with the files in tests/texts; see `helpers/texts.py`."""

from __future__ import annotations

import math
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import risingbandits as rb
from risingbandits import RisingBanditsError, allocation, policies, problems
from risingbandits.allocation.commands._plan_file import read_plan
from risingbandits.cli import run
from risingbandits.lab.paper import pairs
from risingbandits.lab.related import triggers
from risingbandits.theory import complexity, estimators, lower_bounds, upper_bounds
from texts import agree, cases

pytestmark = pytest.mark.texts
NAMES: dict[str, Any] = {"np": np, "inf": math.inf, "nan": math.nan}
for _package in (
    rb,
    allocation,
    policies,
    problems,
    triggers,
    complexity,
    estimators,
    lower_bounds,
    upper_bounds,
    pairs,
):
    NAMES |= {name: getattr(_package, name) for name in dir(_package) if not name.startswith("_")}


@cases("arguments")
def test_a_wrong_argument(given: str, said: str) -> None:
    with pytest.raises(RisingBanditsError) as error:
        eval(given, dict(NAMES))
    agree("arguments", given, said, str(error.value))


@cases("plans")
def test_a_mistake_in_a_plan(given: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(given)
    with pytest.raises(RisingBanditsError) as error:
        read_plan(path)
    agree("plans", given, said, str(error.value).removeprefix(f"{path}, "))


@cases("commands")
def test_a_mistake_in_a_command(
    given: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One sentence on standard error, nothing on standard output, code 2."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "damaged.csv").write_text("small,large\n0.3,0.1\nx,0.3\n")
    (tmp_path / "short.csv").write_text("small,large\n0.3,0.1\n0.4,0.2\n")
    server = 'store = "postgresql://user:secret@host/base"'
    (tmp_path / "server.toml").write_text(f'budget = 1\n{server}\narms = [{{name = "a", command = ["echo"]}}]\n')
    (tmp_path / "slots.toml").write_text('budget = 1\nslots = ["x"]\narms = [{name = "a", command = ["echo"]}]\n')
    if "run.db" in given:
        with rb.Allocator(["a", "c"], 4, store="run.db") as allocator:
            allocator.ask()
    assert run(shlex.split(given)) == 2
    text = capsys.readouterr()
    assert text.out == ""
    assert text.err.startswith("risingbandits: ")
    assert text.err.count("\n") == 1
    agree("commands", given, said, text.err.removeprefix("risingbandits: ").replace(f"{tmp_path}/", "").rstrip())
