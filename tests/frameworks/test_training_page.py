"""The programs of docs/training-loops.md run as they stand, and what is new in them is short."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from code_blocks import ROOT, Block, blocks

PROGRAMS = [block for block in blocks(ROOT / "docs" / "training-loops.md") if block.language == "python"]


def test_there_is_one_for_each_arm() -> None:
    names = ["TorchArm", "LightningArm", "TrainerArm", "KerasArm", "XGBoostArm", "LightGBMArm", "CatBoostArm"]
    assert [name for program in PROGRAMS for name in names if name in program.text] == names


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda block: block.name)
def test_program_of_the_page(program: Block, tmp_path: Path) -> None:
    _, new = program.text.split("# What is new:\n")
    assert len([line for line in new.splitlines() if line.strip()]) <= 15
    (tmp_path / "program.py").write_text(program.text)
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "program.py"], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=500
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^(width|depth|leaves) \d+", done.stdout, re.MULTILINE), done.stdout
    assert "planned length" not in done.stderr
    assert list(tmp_path.glob("*.db.state/*/checkpoint-*")) != []
