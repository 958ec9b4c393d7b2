"""Every command that the README and the documentation show is run, long ones made short."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from code_blocks import PAGES, ROOT, SHELL, Block, all_blocks
from forked_commands import ForkedCommands, forked_commands
from risingbandits import Allocator
from risingbandits.allocation.settings import as_arguments
from short_commands import short, write_inputs

PROGRAMS = ("risingbandits", "python", "make", "pip", "ray", "sbatch", "srun", "kubectl", "ssh")

ENVIRONMENT = {
    **os.environ,
    "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
    "RAY_USAGE_STATS_ENABLED": "0",
}

# What a test cannot run: programs that need a cluster, a registry or files of others, `make test` itself, what writes
# into the repository, a page that is served until it is stopped, and what other tests run: `make docs` (test_docs_site)
# and `make demo`, which installs; its command is run here without make.
EXCEPT = re.compile(
    r"(make (test|test-(all|frameworks|peers|interpreted|mutations|matrix)|docs|demo|bench|release|clean)"
    r"|(pip|ray|sbatch|srun|kubectl|ssh) .*|python benchmarks/curves.*|python tools/figures\.py .+"
    r"|risingbandits status --live .+)$"
)

# Whose blocks test_documentation runs.
GUIDE = ("CONTRIBUTING.md",)
# These start a cluster of their own, take long even when short, or are a longer form of one that is run anyway, here,
# in test_benchmark or in test_reproduce; `demo` is run as `make demo` does.
SLOW = re.compile(
    r".*--backend ray|python |risingbandits demo$|risingbandits lab benchmark (--objective both|--benchmarks)"
    r"|risingbandits lab paper (reproduce|imdb (curves|run .*--seed))"
)


# In a sentence, the name of a command without its arguments.
NAME = re.compile(r"risingbandits ((logs|store|prior|lab|lab paper) [\w-]+|status --\w+)$")


def commands() -> Iterator[str]:
    """The commands on all pages: lines of code blocks, and commands with arguments inside sentences."""
    for block in all_blocks():
        if block.language in SHELL and not block.reason:
            yield from block.commands()
    # The one tells of commands that are gone, the other lists those of other pages with all their options.
    for page in (page for page in PAGES if page.name not in ("CHANGELOG.md", "measured.md")):
        prose = re.sub(r"^ *```.*?^ *```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
        for code in re.findall(r"`((?:risingbandits|python) [^`]+ [^`]+)`", prose):
            if not NAME.match(code):
                yield " ".join(code.split())


def runnable() -> list[str]:
    """The commands that a test can run, each once."""
    shown = {command for command in commands() if command.split(" ")[0] in PROGRAMS}
    return sorted(command for command in shown if not EXCEPT.match(command))


def parameters() -> list[object]:
    return [pytest.param(command, marks=[pytest.mark.slow] if SLOW.match(command) else []) for command in runnable()]


@pytest.fixture(scope="module")
def forked() -> Iterator[ForkedCommands]:
    """Runs commands of ours without importing everything each time."""
    with forked_commands(ENVIRONMENT) as commands:
        yield commands


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the pages take for granted: curves, logs, a plan, a store and a finished study."""
    folder = tmp_path_factory.mktemp("workplace")
    write_inputs(folder)
    (folder / "benchmarks").symlink_to(ROOT / "benchmarks")
    shutil.copytree(ROOT / "examples", folder / "examples")
    for part in ("reproduction", "imdb"):
        shutil.copytree(ROOT / "docs" / part, folder / "docs" / part)
    with Allocator(
        ["small net", "large net"], budget=20, store=folder / "run.db", remember=folder / "runs"
    ) as allocator:
        for pull in allocator:
            allocator.tell(pull, 0.5)
    settings: dict[str, Any] = {"reward_range": (0, 1), "reclaim": False}
    with Allocator(["small", "large"], budget=60, store=folder / "run2.db", **as_arguments(settings)) as allocator:
        allocator.ask()
        allocator.tell(allocator.ask(), 0.5)  # type: ignore[arg-type]
    run(["risingbandits", "run", "plan.toml"], folder)
    run(["risingbandits", "simulate", "--runs", "2", "--horizon", "400", "--out", "study"], folder)
    return folder


def run(words: list[str], folder: Path) -> None:
    """Run a command where its program is found, and see it succeed."""
    done = subprocess.run(words, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr


def test_commands_are_found() -> None:
    found = runnable()
    assert "risingbandits run plan.toml" in found
    assert len(found) > 30


@pytest.mark.parametrize("block", all_blocks(), ids=lambda block: block.name)
def test_a_block_is_run_or_says_why_not(block: Block) -> None:
    """Sessions are run by doctest, commands here, Python and plans in test_code_blocks; Sphinx reads directives."""
    if block.directive:
        return
    if block.session:
        run_by_doctest = block.page.name == "README.md" or block.page.parent.name == "docs"
        assert bool(block.reason) != ((run_by_doctest or block.page.name in GUIDE) and "+SKIP" not in block.text)
    elif block.language in SHELL:
        left = [command for command in block.commands() if command not in runnable()]
        assert bool(block.reason) == bool(left), f"no test runs {left}" if left else "it is run: take the comment away"
    else:
        assert bool(block.reason) != (block.language in ("python", "toml")), "run it, or say why not"


@pytest.mark.parametrize("command", parameters())
def test_command_of_the_documentation(command: str, workplace: Path, forked: ForkedCommands, tmp_path: Path) -> None:
    if re.match(r"risingbandits lab paper imdb (curves|run)", command):  # by default all write to one folder
        if "digits" not in command and not os.environ.get("RISINGBANDITS_DATA"):
            pytest.skip("RISINGBANDITS_DATA is not set: no movie reviews")
        check(short(command), tmp_path, forked)
        return
    if "optuna_peers" in command and not os.environ.get("RISINGBANDITS_DATA"):
        pytest.skip("RISINGBANDITS_DATA is not set: no real curves to play on")
    own = shutil.copytree(workplace, tmp_path / "own", symlinks=True)  # commands write, some over what others read
    check(short(command), own, forked)


def test_a_command_that_fails_is_noticed(forked: ForkedCommands, tmp_path: Path) -> None:
    done = forked(["status", "missing.db"], tmp_path)
    assert done.code == 2
    assert "missing.db" in done.shown


def check(words: list[str], folder: Path, forked: ForkedCommands) -> None:
    """Run a command, by a fork if it is ours and starts no cluster, and see it succeed."""
    if words[0] != "risingbandits" or "ray" in words:
        run(words, folder)
        return
    done = forked(words[1:], folder)
    assert done.code == 0, done.shown


def test_command_of_the_demo(tmp_path: Path) -> None:
    (line,) = re.findall(r"@\$\(BIN\)/(risingbandits .*)", (ROOT / "Makefile").read_text())
    run(short(line), tmp_path)
