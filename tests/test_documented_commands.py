"""Every command that the README and the documentation show is run, long ones made short."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), ROOT / "benchmarks" / "README.md"]
PROGRAMS = ("risingbandits", "python", "make", "pip", "ray", "sbatch", "srun", "kubectl", "docker", "ssh")

# What cannot run in a test: these programs need a cluster or a registry, or are what runs the tests.
EXCEPT = re.compile(r"(make (test|test-all)|(pip|ray|sbatch|srun|kubectl|docker|ssh|initdb|createdb|pg_ctl) .*)$")

# How long ones are made short: words that are added at the end; an option given twice counts as given last.
SHORTER = {
    "risingbandits demo": "--runs 1 --horizon 500",
    "risingbandits simulate": "--runs 2 --horizon 400",
    "risingbandits reproduce": "--quick",
    "risingbandits imdb": "--quick --horizon 400 --runs 1",
    "risingbandits lower-bounds": "--quick",
}


def commands() -> Iterator[tuple[str, str]]:
    """Pages and the commands on them: lines of code blocks, and commands with arguments inside sentences."""
    for page in PAGES:
        text = page.read_text()
        blocks = re.findall(r"^```(?:|console|sh|bash)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
        lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
        prose = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
        lines += [" ".join(code.split()) for code in re.findall(r"`((?:risingbandits|python|make) [^`]+)`", prose)]
        for line in lines:
            command = re.sub(r"\s+#.*", "", line).strip().removeprefix("$ ")
            if command.split(" ")[0] in PROGRAMS:
                yield page.name, command


def runnable() -> list[str]:
    """The commands that a test can run, each once."""
    return sorted({command for _page, command in commands() if not EXCEPT.match(command)})


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the pages take for granted: curves, a plan, a store and a finished study."""
    folder = tmp_path_factory.mktemp("workplace")
    rows = ["small net,large net", *(f"{0.4 * (1 - 0.9**n):.3f},{min(0.9, 0.05 * n):.3f}" for n in range(1, 31))]
    for name in ("my.csv", "curves.csv", "path"):
        (folder / name).write_text("\n".join(rows) + "\n")
    (folder / "benchmarks").symlink_to(ROOT / "benchmarks")
    shutil.copytree(ROOT / "examples", folder / "examples")
    shutil.copy(ROOT / "examples" / "shell.toml", folder / "plan.toml")
    return folder


def short(command: str) -> list[str]:
    """The words of a command, with those that make it short."""
    words = shlex.split(command)
    if words[0] == "python":
        added = QUICK_BENCHMARKS.get(Path(words[1]).name, "--quick")
        return [sys.executable, *words[1:], *added.split()]
    added = next((more for start, more in SHORTER.items() if f"{command} ".startswith(f"{start} ")), "")
    return [*words, *added.split()]


@pytest.mark.parametrize("command", runnable())
def test_command_of_the_documentation(command: str, workplace: Path) -> None:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        short(command), cwd=workplace, env={**os.environ, "PATH": path}, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
