"""`--json`: every command that prints a table has it, and prints one document with numbers as numbers."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from risingbandits import Allocator
from risingbandits._core.tables import TextTable
from risingbandits.cli import run
from risingbandits.cli.app import app

ROOT = Path(__file__).parents[2]
SMALL = ("--runs", "2", "--horizon", "200")
# How every command is called here, as short as it can be.
CALLS = {
    "demo": ["--runs", "1", "--horizon", "100"],
    "simulate": [*SMALL, "--policies", "round-robin,kl-ucb"],
    "list policies": [],
    "list problems": [],
    "logs check": ["my.csv"],
    "logs replay": ["my.csv", "--budget", "20", "--policies", "round-robin,kl-ucb"],
    "logs import": ["my.csv", "--direction", "maximize"],
    "run": ["plan.toml"],
    "status": ["run.db"],
    "store export": ["run.db"],
    "store check": ["run.db"],
    "prior": ["runs"],
    "lab benchmark": ["--quick", "--benchmarks", "stationary", "--policies", "kl-ucb", "--jobs", "1"],
    "lab paper reproduce": ["rates", "--quick"],
    "lab paper theory": ["paper-2arms", "--horizon", "1000", "--horizons", "1000"],
    "lab paper lower-bounds": ["--runs", "1", "--horizon", "200", "--policies", "round-robin"],
    "lab paper imdb curves": ["--dataset", "digits", "--quick", "--horizon", "200", "--runs", "2"],
    "lab paper imdb run": [
        *("--dataset", "digits", "--quick", "--horizon", "200", "--runs", "2", "--curve-runs", "2", "--arms", "2"),
        *("--policies", "round-robin,commit-ucb"),
    ],
    "lab paper imdb claims": [str(ROOT / "docs" / "imdb" / "printed"), str(ROOT / "docs" / "imdb" / "program")],
}
# The same commands with what changes the document.
OTHER_CALLS = [
    ["simulate", *SMALL, "--policies", "round-robin", "--objective", "best-arm", "--out", "study"],
    ["simulate", *SMALL, "--policies", "round-robin,kl-ucb", "--compare", "kl-ucb, round-robin"],
    ["list", "policies", "commit-ucb"],
    ["list", "policies", "round-robin"],
    ["run", "plan.toml", "--check"],
    ["store", "export", "run.db", "--events"],
    ["store", "check", "run.db", "--copy", "copy.db"],
    ["prior", "runs", "--arms", "small net,unknown"],
    ["status", "run.db", "--events"],
]
NO_TABLE = ("report",)
ALWAYS = [f"store {verb}" for verb in ("create", "ask", "tell", "fail", "renew", "recommend")]  # print only JSON
SLOW = ("demo", "lab paper imdb run")


def commands(group: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """All commands below a group, by the words that call them; a group that does something by itself is one."""
    if not hasattr(group, "commands"):
        yield path, group
        return
    if path and group.invoke_without_command:
        yield path, group
    for name, command in group.commands.items():
        yield from commands(command, f"{path} {name}".strip())


ALL = dict(commands(typer.main.get_command(app)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What commands read: curves, a store with a pull in flight, a folder of runs and a plan."""
    folder = tmp_path_factory.mktemp("json")
    rises = [(0.4 * (1 - 0.9**n), min(0.9, 0.05 * n), 0.3) for n in range(1, 21)]
    rows = [",".join(f"{value:.3f}" for value in row) for row in rises]
    (folder / "my.csv").write_text("\n".join(["small net,large net,1", *rows]) + "\n")
    arms = ["small net", "large net", "third"]
    with Allocator(
        arms, budget=20, policy="round-robin", store=folder / "run.db", remember=folder / "runs"
    ) as allocator:
        for pull in allocator:
            allocator.tell(pull, 0.5)
            if len(allocator.ledger.rewards("third")) == 4:
                break
        allocator.remember()
        allocator.ask()
    commands = "".join(f'[[arms]]\nname = "arm {i}"\ncommand = ["echo", "0.{i}"]\n' for i in (5, 2))
    (folder / "plan.toml").write_text("budget = 4\n" + commands)
    return folder


@pytest.fixture
def here(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    own = shutil.copytree(folder, tmp_path / "own")
    monkeypatch.chdir(own)
    return own


def document(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    """What a command prints with ``--json``: one document, without NaN."""
    code = run([*words, "--json"])
    text = capsys.readouterr()
    assert code == 0, text.err
    return json.loads(text.out, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))


def texts(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Every text in a document with the key that it has."""
    if isinstance(value, dict):
        for name, member in value.items():
            yield from texts(member, name)
    elif isinstance(value, list):
        for member in value:
            yield from texts(member, key)
    elif isinstance(value, str):
        yield key, value


def test_every_command_is_called_here() -> None:
    assert sorted(ALL) == sorted([*CALLS, *ALWAYS, *NO_TABLE])


def parameters() -> list[Any]:
    return [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in sorted(CALLS)]


@pytest.mark.parametrize("name", parameters())
def test_commands_that_print_tables_have_the_option(
    name: str, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(TextTable, "__rich_console__", lambda *_: pytest.fail("with --json nothing is drawn"))
    found = document(capsys, *name.split(), *CALLS[name])
    assert found
    check_texts(found)
    if name != "lab benchmark":  # which says the same as its file
        check_documented(found)


@pytest.mark.parametrize("words", OTHER_CALLS, ids=" ".join)
def test_other_documents(words: list[str], here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = document(capsys, *words)
    check_texts(found)
    check_documented(found)


def check_documented(found: Any) -> None:
    """The page names the keys of documents and of the rows of lists."""
    page = (ROOT / "docs" / "reports.md").read_text()
    keys = found[0] if isinstance(found, list) else found
    assert [key for key in keys if f"`{key}`" not in page] == []


def check_texts(found: Any) -> None:
    """No number is written as text, but where it is a name."""
    names = {
        "arm",
        "run",
        "best_arm",
        "policy",
        "recommended",
        "description",
        "default",
        "command",
        "version",
        "sentences",
        "by_definition",
        "by_program",
        *("risingbandits", "python", "numpy", "numba"),  # versions
    }
    number = re.compile(r"[-+]?[\d,.]+(e[-+]?\d+)?( ?%)?|nan|-|.* ± .*")
    assert [(key, text) for key, text in texts(found) if key not in names and number.fullmatch(text)] == []
