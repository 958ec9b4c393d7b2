"""Completion: what the shell is offered, and the script that asks for it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from risingbandits.cli import _options as options
from risingbandits.cli.app import app
from risingbandits.policies import policy_names


def offered(folder: Path, *words: str) -> list[str]:
    """What bash is told when the last of these words is begun."""
    asked = {"COMP_WORDS": " ".join(("risingbandits", *words)), "COMP_CWORD": str(len(words))}
    environment = {**os.environ, **asked, "_RISINGBANDITS_COMPLETE": "complete_bash"}
    command = [sys.executable, "-m", "risingbandits"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["sim"], ["simulate"]),
        (["simulate", "--obj"], ["--objective"]),
        (["simulate", "--objective", ""], ["best-arm", "cumulative"]),
        (["simulate", "--problem", "paper-"], ["paper-15arms", "paper-2arms"]),
        (["simulate", "--policies", "round-robin,red"], ["round-robin,red-ucb"]),
        (["list", "policies", "round"], ["round-robin"]),
        (["status", ""], []),  # the shell offers files by itself
    ],
    ids=lambda value: " ".join(value),
)
def test_what_bash_is_offered(words: list[str], expected: list[str], tmp_path: Path) -> None:
    assert offered(tmp_path, *words) == expected


def test_all_policies_are_offered() -> None:
    assert options.complete_policies("") == policy_names()
    assert options.complete_policies("red-ucb(eps=0.1,") == []
    assert "round-robin,round-robin" not in options.complete_policies("round-robin,")


def test_every_option_for_policies_is_completed() -> None:
    """An option of that name that is not would be the only one."""

    def parameters(command: object, path: str) -> list[tuple[str, object]]:
        below = getattr(command, "commands", {})
        own = [(f"{path} --{each.name}", each) for each in command.params if each.name == "policies"]  # type: ignore[attr-defined]
        return own + [found for name, one in below.items() for found in parameters(one, f"{path} {name}".strip())]

    command = typer.main.get_command(app)
    found = parameters(command, "")
    assert len(found) == 5
    for name, parameter in found:
        context = typer.Context(command)
        items = parameter.shell_complete(context, "red-u")  # type: ignore[attr-defined]
        assert [item.value for item in items] == ["red-ucb"], name
