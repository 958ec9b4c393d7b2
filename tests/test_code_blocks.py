"""Blocks of Python and plans on the pages are run, and files that they show are read."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from textwrap import dedent

import pytest

from arm_curves import load_columns
from code_blocks import Block, all_blocks
from risingbandits.allocation.starting.earlier_runs import read_sources

# What a page leaves to its reader, by a line of the block: code that comes before it.
GIVEN = {
    "from risingbandits.allocation import Allocator, RayArms": """
        import ray
        ray.init(num_cpus=6, num_gpus=1, include_dashboard=False)
    """,
}
# Long ones are made short.
SHORTER = {"budget=500": "budget=12", "budget = 60 ": "budget = 12 "}
# With what comes out, in test_ray_tune, test_paper_page and, with frameworks, test_training_page and test_listeners.
ELSEWHERE = re.compile(
    "RisingScheduler|TrendGreedy|(Torch|Lightning|Trainer|Keras|XGBoost|LightGBM|CatBoost)Arm|MlflowListener"
)
RAY = re.compile(r"\bray\b|RayArms")
ARM = "\n[[arms]]\nname = 'a'\ncommand = ['{python}', '{plan}/learn.py']\n"
LEARNER = 'import os\nprint(0.5 if os.environ.get("RATE") == "0.1" else 0.6)\n'


def chosen(language: str) -> list[object]:
    """The blocks of a language that are run here; the guide for contributors has a test of its own, and some others."""
    found = (block for block in all_blocks() if block.language == language and not (block.reason or block.session))
    return [
        pytest.param(block, id=block.name, marks=[pytest.mark.slow] if RAY.search(block.text) else [])
        for block in found
        if block.page.name != "CONTRIBUTING.md" and not ELSEWHERE.search(block.text)
    ]


def run(words: list[str], folder: Path) -> None:
    environment = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0", "HOME": str(folder)}  # Tune writes below HOME
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stdout + done.stderr


def shorter(text: str) -> str:
    for long, short in SHORTER.items():
        text = text.replace(long, short)
    return text


@pytest.mark.parametrize("block", chosen("python"))
def test_python(block: Block, tmp_path: Path) -> None:
    if RAY.search(block.text):
        pytest.importorskip("ray")
    text = shorter(block.text)
    before = [dedent(code) for line, code in GIVEN.items() if line in text.splitlines()]
    (tmp_path / "block.py").write_text("\n".join([*before, text]))
    run([sys.executable, "block.py"], tmp_path)


@pytest.mark.parametrize("block", chosen("toml"))
def test_plan(block: Block, tmp_path: Path) -> None:
    plan = tomllib.loads(block.text)
    head = "" if "budget" in plan else "budget = 6\n"
    tail = "" if {"arms", "matrix"} & set(plan) else ARM
    (tmp_path / "plan.toml").write_text(head + shorter(block.text) + tail)
    (tmp_path / "learn.py").write_text(LEARNER)
    for n, script in enumerate(plan.get("matrix", {}).get("script", ())):
        (tmp_path / script).write_text(f"print({json.dumps({plan['metric']: 0.5 - n / 10})!r})\n")
    run([sys.executable, "-m", "risingbandits", "run", "plan.toml", "--check"], tmp_path)
    run([sys.executable, "-m", "risingbandits", "run", "plan.toml"], tmp_path)


@pytest.mark.parametrize("block", [block for block in all_blocks() if block.reason == "a CSV file"])
def test_file_that_is_shown(block: Block, tmp_path: Path) -> None:
    path = tmp_path / "shown.csv"
    path.write_text(block.text)
    if block.text.startswith("task,"):
        [run] = read_sources([path])
        assert len(run.scores) == 2
    else:
        assert [len(values) for values in load_columns(path).values()] == [4, 3]
