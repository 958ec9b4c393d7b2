"""Plans: arms as commands, a budget and how to spend it, in a TOML file that ``risingbandits run`` reads.

Reading a plan runs nothing. Every mistake that can be seen beforehand is one sentence with the path of the key.
"""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from risingbandits._core.errors import RisingBanditsError, shown
from risingbandits.allocation.budget import Budget
from risingbandits.allocation.commands.placeholders import PLACEHOLDERS, check_placeholders, expand, first_placeholder
from risingbandits.allocation.commands.toml_reader import Table, read_toml

__all__ = ["CommandArm", "Plan", "read_plan"]

_DIRECTIONS = ("maximize", "minimize")
_OBJECTIVES = ("cumulative", "best-arm")
_LONGEST_NAME = 200
_DEFAULT_LEASE = 60.0


@dataclass(frozen=True)
class CommandArm:
    """An arm that is pulled by running a command.

    Attributes
    ----------
    name : str
        Name of the arm.
    command : tuple of str, or str
        Program and arguments, or a text for the shell where ``shell`` is true.
    directory : Path
        Where the command runs.
    environment : dict
        Variables besides those of risingbandits and of the process.
    timeout : float or None
        Seconds after which a pull is ended and has failed.
    max_pulls : int or None
        Pulls after which the arm is finished.
    shell : bool
        Whether ``/bin/sh`` interprets the command.
    """

    name: str
    command: tuple[str, ...] | str
    directory: Path
    environment: dict[str, str]
    timeout: float | None = None
    max_pulls: int | None = None
    shell: bool = False

    def argv(self, values: dict[str, str]) -> list[str]:
        """What is executed, with the placeholders filled in; a command for the shell is left alone."""
        if isinstance(self.command, str):
            return ["/bin/sh", "-c", self.command]
        return [expand(argument, values) for argument in self.command]


@dataclass(frozen=True)
class Plan:
    """What a plan file says. None: the default of `Allocator`."""

    path: Path
    arms: tuple[CommandArm, ...]
    budget: Budget
    store: str
    folder: Path  # where logs and states are: beside the store, or beside the plan if the store is a server
    settings: dict[str, Any]  # further arguments of Allocator, as given
    jobs: int = 1
    lease: float = _DEFAULT_LEASE

    @property
    def logs(self) -> Path:
        """Folder of the output of every pull."""
        return self.folder.with_name(self.folder.name + ".logs")

    @property
    def states(self) -> Path:
        """Folder of what the arms keep between pulls."""
        return self.folder.with_name(self.folder.name + ".state")


def read_plan(path: str | Path, store: str | None = None) -> Plan:
    """The plan in a file; ``store`` is used instead of its own.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "plan.toml"
    ...     _ = path.write_text('budget = 20\\narms = [{name = "small", command = ["echo", "0.5"]}]')
    ...     plan = read_plan(path)
    >>> plan.budget, plan.arms[0].name, plan.arms[0].argv({}), Path(plan.store).name
    (Budget(pulls=20), 'small', ['echo', '0.5'], 'plan.db')
    """
    path = Path(path)
    table = read_toml(path)
    folder = path.absolute().parent
    budget = _budget(table)
    arms = _arms(table, folder)
    settings = {
        "objective": table.choice("objective", _OBJECTIVES),
        "direction": table.choice("direction", _DIRECTIONS),
        "policy": _policy(table),
        "reward_range": table.pair("reward_range"),
        "sigma": _sigma(table),
        "max_arms": table.integer("max_arms"),
        "max_pulls": _max_pulls(table, arms),
        "parallel": table.choice("parallel", ("fill", "wait")),
        "durability": table.choice("durability", ("process", "power")),
        "retries": table.integer("retries"),
        "seed": table.integer("seed", minimum=0),
    }
    written = table.text("store")
    jobs = table.integer("jobs", 1)
    lease = table.number("lease", _DEFAULT_LEASE, above=0)
    table.done()
    place = store if store is not None else written
    if place is None:
        place = str(folder / f"{path.stem}.db")
    elif not _is_server(place) and store is None:
        place = str(folder / place)
    return Plan(
        path=path,
        arms=arms,
        budget=budget,
        store=place,
        folder=folder / path.stem if _is_server(place) else Path(place).absolute(),
        settings={name: value for name, value in settings.items() if value is not None},
        jobs=jobs or 1,
        lease=lease or _DEFAULT_LEASE,
    )


def _is_server(store: str) -> bool:
    return store.startswith(("postgresql://", "postgres://"))


def _budget(table: Table) -> Budget:
    if not table.is_table("budget"):
        pulls = table.integer("budget")
        if pulls is None:
            raise table.mistake("budget", "must be given, such as budget = 100 or budget = {seconds = 3600}.")
        return Budget(pulls=pulls)
    inner = table.table("budget")
    pulls = inner.integer("pulls")
    cost = inner.number("cost", above=0)
    seconds = inner.number("seconds", above=0)
    inner.done()
    amounts = {"pulls": pulls, "cost": cost, "seconds": seconds}
    given = [unit for unit, amount in amounts.items() if amount is not None]
    if len(given) != 1:
        raise table.mistake("budget", f"must be one of {', '.join(amounts)}, got {' and '.join(given) or 'none'}.")
    return Budget(pulls, cost, seconds)


def _policy(table: Table) -> str | None:
    """The text of a policy, checked by making it once."""
    from risingbandits.policies.text import parse_policies

    text = table.text("policy")
    if text is None:
        return None
    try:
        policies = list(parse_policies(text).values())
        for policy in policies:
            policy.validate()
    except RisingBanditsError as error:
        raise table.mistake("policy", f"is {shown(text)}: {error}") from error
    except (TypeError, ValueError, OverflowError) as error:  # a setting of a type that a policy does not expect
        raise table.mistake("policy", f"is {shown(text)}, with a setting that cannot be used ({error}).") from error
    if len(policies) != 1:
        raise table.mistake("policy", f"must be one policy, got {shown(text)}.")
    return text


def _sigma(table: Table) -> str | float | None:
    if not table.is_text("sigma"):
        return table.number("sigma", above=0)
    return table.choice("sigma", ("auto", "smooth"))


def _max_pulls(table: Table, arms: tuple[CommandArm, ...]) -> int | dict[str, int] | None:
    """One number for all arms, or one for each that has its own."""
    common = table.integer("max_pulls")
    own = {arm.name: arm.max_pulls for arm in arms if arm.max_pulls is not None}
    if not own:
        return common
    return own if common is None else {arm.name: own.get(arm.name, common) for arm in arms}


def _arms(table: Table, folder: Path) -> tuple[CommandArm, ...]:
    entries = table.tables("arms")
    if not entries:
        raise table.mistake("arms", "must have at least one arm, headed [[arms]], got none.")
    common = table.table("defaults")
    shared = _Shared.read(common, folder, None)
    common.done()
    arms: list[CommandArm] = []
    for entry in entries:
        arm = _arm(entry, folder, shared)
        for number, other in enumerate(arms):
            if arm.name.casefold() == other.name.casefold():
                difference = "" if arm.name == other.name else " but for upper and lower case"
                raise entry.mistake("name", f"is {arm.name!r}, which is that of arms[{number}]{difference}.")
        arms.append(arm)
    return tuple(arms)


@dataclass(frozen=True)
class _Shared:
    """What may be said for one arm or for all."""

    directory: Path
    environment: dict[str, str]
    timeout: float | None
    shell: bool
    command: tuple[str, ...] | str | None

    @classmethod
    def read(cls, table: Table, folder: Path, base: _Shared | None) -> _Shared:
        written = table.text("directory")
        directory = (base.directory if base else folder) if written is None else folder / written
        if not os.path.isdir(directory):  # Path.is_dir raises for names that are too long
            raise table.mistake("directory", f"must be a folder that exists, got {shown(written)}.")
        environment = table.texts("environment")
        for name, value in environment.items():
            check_placeholders(table.where(f"environment.{name}"), value)
            if name.startswith("RISINGBANDITS_") and name in {variable for variable, _ in PLACEHOLDERS.values()}:
                raise table.mistake(f"environment.{name}", "is set by risingbandits itself.")
        shell = table.flag("shell", base.shell if base else False)
        return cls(
            directory=directory,
            environment={**(base.environment if base else {}), **environment},
            timeout=table.number("timeout", base.timeout if base else None, above=0),
            shell=shell,
            command=_command(table, shell, base.command if base and base.shell == shell else None),
        )


def _arm(table: Table, folder: Path, defaults: _Shared) -> CommandArm:
    name = _name(table)
    shared = _Shared.read(table, folder, defaults)
    if shared.command is None:
        raise table.mistake("command", 'must be given, such as command = ["python3", "learn.py"].')
    max_pulls = table.integer("max_pulls")
    table.done()
    arm = CommandArm(
        name=name,
        command=shared.command,
        directory=shared.directory,
        environment=shared.environment,
        timeout=shared.timeout,
        max_pulls=max_pulls,
        shell=shared.shell,
    )
    if not arm.shell:
        _check_program(table, arm, folder)
    return arm


def _name(table: Table) -> str:
    name = table.take("name")
    if not isinstance(name, str) or not name or name != name.strip() or not name.isprintable():
        raise table.mistake("name", f"must be a text in one line without blanks around it, got {shown(name)}.")
    if len(name) > _LONGEST_NAME:
        raise table.mistake("name", f"must have at most {_LONGEST_NAME} characters, has {len(name)}.")
    return name


def _command(table: Table, shell: bool, default: tuple[str, ...] | str | None) -> tuple[str, ...] | str | None:
    value = table.take("command")
    if value is None:
        return default
    if shell:
        if not isinstance(value, str) or not value.strip() or "\0" in value:
            raise table.mistake("command", f"must be a text for the shell, because shell is true, got {shown(value)}.")
        used = first_placeholder(value)
        if used is not None:
            # Put into a text that a shell reads, a name such as "a; rm -r ." would be run.
            variable = PLACEHOLDERS[used][0]
            raise table.mistake("command", f'has {{{used}}}, but in a shell it must be "${variable}", in quotes.')
        return value
    if isinstance(value, str):
        raise table.mistake(
            "command",
            'must be a list such as ["python3", "learn.py"], got a text; shell = true runs texts in a shell.',
        )
    if (
        not isinstance(value, list)
        or not value
        or not all(isinstance(part, str) and "\0" not in part for part in value)
    ):
        raise table.mistake("command", f'must be a list of texts such as ["python3", "learn.py"], got {shown(value)}.')
    for number, part in enumerate(value):
        check_placeholders(f"{table.where('command')}[{number}]", part)
    return tuple(value)


def _check_program(table: Table, arm: CommandArm, folder: Path) -> None:
    """The program must be there now: better one sentence at once than an arm that fails at every pull."""
    known = {"plan": str(folder), "python": sys.executable, "arm": arm.name}
    program = expand(arm.command[0], known)
    if first_placeholder(program) is not None:
        return  # differs from pull to pull
    if os.sep in program:
        path = arm.directory / program
        found = os.path.isfile(path) and os.access(path, os.X_OK)
    else:
        search = arm.environment.get("PATH", os.environ.get("PATH", os.defpath))
        found = bool(program) and shutil.which(program, path=search) is not None
    if not found:
        raise table.mistake("command[0]", f"must be a program that can be run, {program!r} is not found.")
