"""What is written about the package is true: the example policy works, tables and links are current."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
    *(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")),
]


def test_example_policy_of_the_guide(tmp_path: Path) -> None:
    policy, test = re.findall(r"```python\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL)
    (tmp_path / "last_best.py").write_text(policy)
    (tmp_path / "test_last_best.py").write_text(test.replace("risingbandits.policies.last_best", "last_best"))
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, "-m", "pytest", "-q", "--doctest-modules", "-p", "no:cacheprovider", "."]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 passed" in done.stdout

    # Compiled code of a policy from elsewhere must not spoil the cache for programs that cannot import that policy.
    program = "from risingbandits.policies import RoundRobin; print(RoundRobin().reset(2).recommend())"
    other = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert (other.returncode, other.stdout) == (0, "0\n"), other.stderr


def test_table_of_policies_is_current() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "docs" / "generate.py"), "--check"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("page", PAGES)
def test_no_line_begins_with_a_per_cent_sign(page: str) -> None:
    """MyST takes it for a comment and leaves it out."""
    prose = re.sub(r"^ *```.*?^ *```", "", (ROOT / page).read_text(), flags=re.DOTALL | re.MULTILINE)
    assert not re.findall(r"^\s*%.*", prose, re.MULTILINE)


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", (ROOT / page).read_text()):
        assert (ROOT / page).parent.joinpath(target).exists(), target
