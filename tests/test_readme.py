"""The README is short, and its first example can be pasted into a plain prompt."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def test_at_most_700_words_of_prose_and_six_rows() -> None:
    without_code = re.sub(r"```.*?```|<!--.*?-->", "", README, flags=re.DOTALL)
    lines = without_code.splitlines()
    prose = re.sub(r"\]\([^)]*\)", "]", "\n".join(line for line in lines if not line.startswith("|")))
    assert len(prose.split()) <= 700
    assert len([line for line in lines if line.startswith("| ")]) - 2 <= 6  # the header and the line below it


def test_example_pastes_into_a_prompt(tmp_path: Path) -> None:
    example = re.search(r"```python\n(.*?)```", README, re.DOTALL)
    assert example is not None
    assert ">>>" not in example[1]
    done = subprocess.run(
        [sys.executable, "-i", "-q"], input=example[1], cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    assert "Traceback" not in done.stderr, done.stderr
    recommended, score, *explained = done.stdout.splitlines()
    assert recommended == "network 128"  # as the README says
    assert float(score) > 0.87
    assert any(line.startswith("linear 0.1") for line in explained)
