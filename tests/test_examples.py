"""The plans in ``examples/`` run, shortened."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from risingbandits.allocation import open_reader
from risingbandits.allocation.commands._plan_file import read_plan
from risingbandits.cli import run

EXAMPLES = Path(__file__).parent.parent / "examples"
PLANS = sorted(EXAMPLES.rglob("*.toml"))
ASK_TELL = EXAMPLES / "shell" / "ask_tell.sh"


def shortened(plan: Path, tmp_path: Path, budget: int) -> Path:
    """A copy of a plan and the files beside it, with a smaller budget."""
    copy = tmp_path / plan.parent.name
    ours = shutil.ignore_patterns("*.db*", "__pycache__")
    shutil.copytree(plan.parent, copy, ignore=ours)
    text, changed = re.subn(r"(?m)^budget = \d+$", f"budget = {budget}", plan.read_text())
    assert changed == 1
    (copy / plan.name).write_text(text)
    return copy / plan.name


def test_all_are_in_the_readme() -> None:
    page = (EXAMPLES / "README.md").read_text()
    assert len(PLANS) >= 2
    assert all(f"`{path.relative_to(EXAMPLES)}`" in page for path in (*PLANS, ASK_TELL))


def test_a_shell_script_asks_and_tells(tmp_path: Path) -> None:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    words = ["sh", str(ASK_TELL), str(tmp_path / "run.db"), "3"]
    done = subprocess.run(words, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == {"spent": 3, "finished": True, "recommended": "fast"}
    with open_reader(tmp_path / "run.db") as reader:
        rewards = reader.ledger().rewards
        assert [*rewards("fast"), *rewards("slow")] == pytest.approx([0.25, 1 / 3, 0.9 / 7], abs=1e-4)


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: str(plan.parent.name))
def test_they_can_be_read(plan: Path) -> None:
    assert len(read_plan(plan).arms) >= 3


def test_shell(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    plan = shortened(EXAMPLES / "shell" / "plan.toml", tmp_path, 40)
    assert run(["run", str(plan)]) == 0
    assert "Recommended: slow" in capsys.readouterr().out
    with open_reader(plan.with_suffix(".db")) as reader:
        state = reader.ledger()
    for arm, (ceiling, rate) in {"fast": (0.5, 0.6), "slow": (0.9, 0.08), "poor": (0.2, 0.3)}.items():
        expected = [ceiling * (1 - (1 - rate) ** (n + 1)) for n in range(len(state.rewards(arm)))]
        assert state.rewards(arm) == pytest.approx(expected, abs=1e-4)  # what it has learnt was kept


def test_digits(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    plan = shortened(EXAMPLES / "digits" / "plan.toml", tmp_path, 6)
    plan.write_text(f'policy = "round-robin"\n{plan.read_text()}')  # six pulls by the default open few arms
    assert run(["run", str(plan), "--jobs", "2"]) == 0
    assert "The budget is spent." in capsys.readouterr().out
    with open_reader(plan.with_suffix(".db")) as reader:
        state = reader.ledger()
    curves = {arm.name: state.rewards(arm.name) for arm in state.arms}
    assert sum(map(len, curves.values())) == 6
    assert curves["naive-bayes"][0] == pytest.approx(0.87, abs=0.02)


def test_grid(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    plan = shortened(EXAMPLES / "grid" / "plan.toml", tmp_path, 2)
    assert [arm.config for arm in read_plan(plan).arms][:2] == [
        {"rate": 0.0001, "width": 10},
        {"rate": 0.0001, "width": 40},
    ]
    plan.write_text(f'policy = "round-robin"\n{plan.read_text()}')
    assert run(["run", str(plan)]) == 0
    assert "The budget is spent." in capsys.readouterr().out
    with open_reader(plan.with_suffix(".db")) as reader:
        first = [arm.rewards[0] for arm in reader.ledger().arms if arm.rewards]
    assert len(set(first)) == 2  # two networks, not one twice
