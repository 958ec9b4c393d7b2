"""The arms of a plan: the tables ``[[arms]]`` and ``[matrix]``, with ``[defaults]``."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from risingbandits._core.errors import RisingBanditsError, check_finite, check_flag, check_positive_int, shown
from risingbandits.allocation.commands import _output as output
from risingbandits.allocation.commands._matrix import Matrix, check_used, written_values
from risingbandits.allocation.commands._placeholders import (
    PLACEHOLDERS,
    check_placeholders,
    expand,
    first_placeholder,
    names_in,
)
from risingbandits.allocation.commands._toml import check_text, key_path, read_table
from risingbandits.allocation.settings import Check, check_arm_name, check_config


@dataclass(frozen=True)
class CommandArm:
    """An arm that is pulled by running a command."""

    name: str
    command: tuple[str, ...] | str  #: program and arguments, or a string for the shell if ``shell`` is true
    directory: Path  #: where it runs
    environment: dict[str, str]  #: variables besides those of risingbandits and of the process
    timeout: float | None = None  #: seconds after which a pull is killed and counts as failed
    max_pulls: int | None = None  #: pulls after which the arm is finished
    shell: bool = False  #: whether ``/bin/sh`` interprets the command
    max_output: int = output.DEFAULT  #: bytes of standard output, and of standard error, that are kept of each pull
    config: dict[str, float | str] = field(default_factory=dict)  #: its hyperparameters
    values: dict[str, str] = field(default_factory=dict)  #: of the names of the plan's matrix
    strict: bool = False  #: whether the plan has a matrix, so that every name in braces is known
    metric: str = "reward"  #: what the last line may call the reward

    def argv(self, values: dict[str, str]) -> list[str]:
        """What is executed, with the placeholders filled in; a command for the shell is left alone."""
        if isinstance(self.command, str):
            return ["/bin/sh", "-c", self.command]
        return [self.filled(argument, values) for argument in self.command]

    def filled(self, text: str, values: dict[str, str]) -> str:
        """A string of the plan with the placeholders filled in."""
        return expand(text, {**self.values, **values}, self.strict)

    def as_text(self) -> str:
        """The command as a shell would be given it, with its values of the matrix.

        >>> CommandArm("a", ("learn", "{lr}", "{n}"), Path(), {}, values={"lr": "0.1"}).as_text()
        "learn 0.1 '{n}'"
        """
        return self.command if isinstance(self.command, str) else shlex.join(self.argv({}))

    def texts(self) -> list[str]:
        """Where names in braces may stand."""
        return [*([self.command] if isinstance(self.command, str) else self.command), *self.environment.values()]

    @property
    def uses_state(self) -> bool:
        """Whether its command names the folder that it changes in place."""
        return any("state" in names_in(text) or "RISINGBANDITS_STATE" in text for text in self.texts())


# -- what is allowed ------------------------------------------------------------------------------------------------


def _arm_name(where: str, value: Any) -> str:
    if check_arm_name(value, where) != value.strip():
        raise RisingBanditsError(f"{where} must have no blanks around it, got {shown(value)}.")
    return str(value)


def _environment(where: str, value: Any) -> dict[str, str]:
    """Strings by variable name; numbers are written as in Python."""
    ours = {variable for variable, _ in PLACEHOLDERS.values()}
    found = {}
    for name, written in read_table(f"{where}.", value, None).items():
        path = key_path(f"{where}.", name)
        text = str(written) if isinstance(written, int | float) and not isinstance(written, bool) else written
        if not isinstance(text, str) or "\0" in text:
            raise RisingBanditsError(f"{path} must be a string, got {shown(written)}.")
        if not name or "=" in name or "\0" in name:
            raise RisingBanditsError(f"{path} must have a name without '='.")
        if name in ours:
            raise RisingBanditsError(f"{path} is set by risingbandits itself.")
        found[name] = text
    return found


_DEFAULTS: dict[str, Check | None] = {
    "command": None,  # see _command: what is allowed depends on shell
    "directory": check_text,
    "environment": _environment,
    "max_output": partial(check_positive_int, minimum=output.LEAST),
    "shell": check_flag,
    "timeout": partial(check_finite, above=0),
}
_ARM: dict[str, Check | None] = {
    **_DEFAULTS,
    "name": _arm_name,
    "max_pulls": check_positive_int,
    "config": check_config,
}


# -- arms -----------------------------------------------------------------------------------------------------------


def read_arms(here: str, values: dict[str, Any], folder: Path) -> tuple[CommandArm, ...]:
    """The arms that are listed one by one, then those of the matrix."""
    matrix: Matrix = values.get("matrix", Matrix())
    metric = values.get("metric", "reward")
    everyone = CommandArm("", (), folder, {}, strict=bool(matrix.keys), metric=metric)
    where = f"{here}defaults."
    common = _arm(where, read_table(where, values.get("defaults", {}), _DEFAULTS), everyone, folder, matrix.keys)
    listed = values.get("arms", ())
    if "arms" in values and not (isinstance(listed, list) and listed):
        raise RisingBanditsError(f"{here}arms must be one table or more, each headed [[arms]], got {shown(listed)}.")
    arms: dict[str, tuple[CommandArm, str]] = {}  # by their names in lower case, and where they stand
    for number, entry in enumerate(listed):
        place = f"arms[{number}]"
        where = f"{here}{place}."
        arm = _arm(where, {"name": None} | read_table(where, entry, _ARM), common, folder, matrix.keys)
        _arm_name(f"{where}name", arm.name)
        own = replace(arm, values=written_values(entry.get("config", {}), matrix.keys)) if matrix.keys else arm
        for name in matrix.keys:
            if name not in own.values and any(name in names_in(text) for text in own.texts()):
                raise RisingBanditsError(
                    f"{here}{place} has no {{{name}}}: give it config = {{ {name} = ... }}, or a command of its own."
                )
        _add(arms, own, here, place, folder)
    if matrix.arms:
        check_used(f"{here}matrix", matrix.keys, common.texts())
    for name, chosen in matrix.arms:
        _arm_name(f"{here}matrix.name", name)
        config = check_config(f"{here}matrix", chosen)
        own = replace(common, name=name, config=config, values=written_values(chosen))
        _add(arms, own, here, "matrix", folder)
    return tuple(arm for arm, _ in arms.values())


def _add(arms: dict[str, tuple[CommandArm, str]], arm: CommandArm, here: str, place: str, folder: Path) -> None:
    """Add an arm that can be run and has a unique name."""
    where = f"{here}{place}."
    if not arm.command:
        place = "defaults" if place == "matrix" else place
        raise RisingBanditsError(f'{here}{place}.command must be given, such as command = ["python3", "learn.py"].')
    if arm.name.casefold() in arms:
        known, other = arms[arm.name.casefold()]
        difference = "" if arm.name == known.name else " but for upper and lower case"
        raise RisingBanditsError(f"{where}name is {arm.name!r}, which is that of {other}{difference}.")
    if not arm.shell:
        _check_program(f"{where}command[0]", arm, folder)
    arms[arm.name.casefold()] = arm, place


def _arm(where: str, said: dict[str, Any], common: CommandArm, folder: Path, lists: tuple[str, ...]) -> CommandArm:
    """An arm from a table; what the table omits is as in ``common``; ``lists`` are those of a matrix."""
    shell = said.get("shell", common.shell)
    changes: dict[str, Any] = {**said, "environment": {**common.environment, **said.get("environment", {})}}
    for name, text in said.get("environment", {}).items():
        check_placeholders(key_path(f"{where}environment.", name), text, lists)
    if "command" in said:
        changes["command"] = _command(f"{where}command", said["command"], shell, lists)
    elif shell != common.shell:
        changes["command"] = ()
    if "directory" in said:
        changes["directory"] = folder / said["directory"]
        if not os.path.isdir(changes["directory"]):  # Path.is_dir raises for names that are too long
            raise RisingBanditsError(f"{where}directory must be a folder that exists, got {shown(said['directory'])}.")
    return replace(common, **changes)


def _command(where: str, value: Any, shell: bool, lists: tuple[str, ...]) -> tuple[str, ...] | str:
    if shell:
        if not isinstance(value, str) or not value.strip() or "\0" in value:
            raise RisingBanditsError(
                f"{where} must be a string for the shell, because shell is true, got {shown(value)}."
            )
        used = first_placeholder(value, lists)
        if used is not None:
            # In a string that a shell reads, a name such as "a; rm -r ." would be run.
            variable = PLACEHOLDERS[used][0] if used in PLACEHOLDERS else used.upper().replace("-", "_")
            first = "" if used in PLACEHOLDERS else f', with environment = {{ {variable} = "{{{used}}}" }}'
            raise RisingBanditsError(
                f'{where} has {{{used}}}, but in a shell it must be "${variable}", in quotes{first}.'
            )
        return value
    like = '["python3", "learn.py"]'
    if isinstance(value, str):
        raise RisingBanditsError(
            f"{where} must be a list such as {like}, got a string; shell = true runs strings in a shell."
        )
    if not value or not isinstance(value, list) or any(not isinstance(part, str) or "\0" in part for part in value):
        raise RisingBanditsError(f"{where} must be a list of strings such as {like}, got {shown(value)}.")
    for number, part in enumerate(value):
        check_placeholders(f"{where}[{number}]", part, lists)
    return tuple(value)


def _check_program(where: str, arm: CommandArm, folder: Path) -> None:
    """The program must exist now: better one error at once than an arm that fails at every pull."""
    program = arm.filled(arm.command[0], {"plan": str(folder), "python": sys.executable, "arm": arm.name})
    if first_placeholder(program) is not None:
        return  # differs from pull to pull
    if os.sep in program:
        path = arm.directory / program
        found = os.path.isfile(path) and os.access(path, os.X_OK)
    else:
        search = arm.environment.get("PATH", os.environ.get("PATH", os.defpath))
        found = bool(program) and shutil.which(program, path=search) is not None
    if not found:
        raise RisingBanditsError(f"{where} must be a program that can be run, but {program!r} is not found.")
