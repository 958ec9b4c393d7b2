"""The page "A paper with this library": its script runs, prints what the page shows, and finds what the page says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from code_blocks import ROOT, blocks

PAGE = ROOT / "docs" / "paper-with-this-library.md"
SCRIPT = next(block.text for block in blocks(PAGE) if block.language == "python" and not block.session)
PRINTED = next(block.text for block in blocks(PAGE) if block.language == "text")
# What the prose says of the runs, computed after the script from what it leaves.
FACTS = """
from scipy.stats import binomtest
trend, commit = result.final_regret["trend-greedy"], result.final_regret["commit-ucb"]
found = result.compare("trend-greedy", "commit-ucb")
stuck = result.pulls["trend-greedy"][:, 0] < 0.1 * T
pulls = np.arange(1, 2_000)
print(f"{np.corrcoef(trend, commit)[0, 1]:.2f} {binomtest(found.less, found.runs - found.equal).pvalue:.2f}")
print(stuck.sum(), round(trend[stuck].mean()), round(trend[~stuck].mean()), np.argmax(late(pulls) > early(pulls)) + 1)
"""


def printed(folder: Path, program: str) -> str:
    (folder / "study.py").write_text(program)
    done = subprocess.run([sys.executable, "study.py"], cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_script_finds_what_the_page_says(tmp_path: Path) -> None:
    assert len(SCRIPT.splitlines()) <= 60
    assert printed(tmp_path, SCRIPT + FACTS) == PRINTED + "-0.25 0.67\n7 2673 452 843\n"
    table = (tmp_path / "table.tex").read_text()
    assert re.search(r"^no trend & .* & early \(not best\): \d\d\.\d \\% \\\\$", table, re.MULTILINE)
    assert len(re.findall(r"\\\\$", table, re.MULTILINE)) == 5
    assert b"/Type3" not in (tmp_path / "regret.pdf").read_bytes()  # fonts that publishers refuse
    box = re.search(rb"MediaBox \[ 0 0 ([\d.]+) ([\d.]+) \]", (tmp_path / "regret.pdf").read_bytes())
    assert box is not None
    assert float(box[1]) == pytest.approx(72 * 3.3)


def test_its_policy_keeps_the_contract(tmp_path: Path) -> None:
    policy, found, _ = SCRIPT.partition("\nT = 10_000\n")
    assert found
    (tmp_path / "trend.py").write_text(policy)
    checks = "check_policy(TrendGreedy())\ncheck_policy(TrendGreedy(ahead=0))\nprint('kept')\n"
    program = "from risingbandits.testing import check_policy\nfrom trend import TrendGreedy\n"
    assert printed(tmp_path, program + checks) == "kept\n"
