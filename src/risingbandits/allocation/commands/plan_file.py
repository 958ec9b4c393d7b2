"""Plans: arms as commands, a budget and how to spend it, in a TOML file that ``risingbandits run`` reads.

Reading a plan runs nothing. Every mistake that can be seen beforehand is one sentence with the path of the key.
"""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from risingbandits._core.errors import (
    RisingBanditsError,
    check_finite,
    check_flag,
    check_positive_int,
    check_range,
    shown,
)
from risingbandits.allocation.budget import Budget, check_pulls
from risingbandits.allocation.commands import output
from risingbandits.allocation.commands.placeholders import PLACEHOLDERS, check_placeholders, expand, first_placeholder
from risingbandits.allocation.commands.toml_reader import check_text, key_path, read_table, read_toml
from risingbandits.allocation.settings import (
    BY_ARM,
    SETTINGS,
    Check,
    check_arm_name,
    check_arm_settings,
    check_arms_exist,
)

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
    max_output : int
        Bytes of standard output, and of standard error, that are kept of each pull.
    settings : dict
        What the arm is, in numbers and words, for the table of arms and for priors.
    """

    name: str
    command: tuple[str, ...] | str
    directory: Path
    environment: dict[str, str]
    timeout: float | None = None
    max_pulls: int | None = None
    shell: bool = False
    max_output: int = output.DEFAULT
    settings: dict[str, float | str] = field(default_factory=dict)

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
    folder = path.absolute().parent
    here = f"{path}, "
    values = read_table(here, read_toml(path), _PLAN)
    for key, like in (("budget", "budget = 100 or budget = {seconds = 3600}"), ("arms", '[[arms]] and name = "a"')):
        if key not in values:
            raise RisingBanditsError(f"{here}{key} must be given, such as {like}.")
    arms = _arms(here, values, folder)
    for name in BY_ARM:
        check_arms_exist(f"{here}{name}", values.get(name), [arm.name for arm in arms])
    settings = {name: values[name] for name in SETTINGS if name in values and name not in ("arms", "budget", "lease")}
    limits = _max_pulls(values.get("max_pulls"), arms)
    if limits is not None:
        settings["max_pulls"] = limits
    for name in ("prior", "warm_start"):
        if isinstance(settings.get(name), list):
            settings[name] = [s if "://" in s else str(folder / Path(s).expanduser()) for s in settings[name]]
    if "memory" in settings:
        settings["memory"] = str(folder / Path(settings["memory"]).expanduser())
    if any(arm.settings for arm in arms):
        settings["arm_settings"] = {arm.name: arm.settings for arm in arms if arm.settings}
    place = store if store is not None else values.get("store", f"{path.stem}.db")
    if store is None and not _is_server(place):
        place = str(folder / place)
    return Plan(
        path=path,
        arms=arms,
        budget=values["budget"],
        store=place,
        folder=folder / path.stem if _is_server(place) else Path(place).absolute(),
        settings=settings,
        jobs=values.get("jobs", 1),
        lease=values.get("lease", _DEFAULT_LEASE),
    )


def _is_server(store: str) -> bool:
    return store.startswith(("postgresql://", "postgres://"))


# -- what is allowed ------------------------------------------------------------------------------------------------


def _budget(where: str, value: Any) -> Budget:
    if not isinstance(value, dict):
        return Budget(pulls=check_pulls(where, value))
    amounts = read_table(f"{where}.", value, {"pulls": check_pulls, "cost": _positive, "seconds": _positive})
    if len(amounts) != 1:
        given = " and ".join(amounts) or "none"
        raise RisingBanditsError(f"{where} must be one of pulls, cost, seconds, got {given}.")
    return Budget(**amounts)


def _reward_range(where: str, value: Any) -> tuple[float, float] | None:
    return None if value == "unknown" else check_range(where, value)


def _warm_start(where: str, value: Any) -> Any:
    """Rewards of arms, or files of earlier runs."""
    known = SETTINGS["warm_start"].check
    return check_sources(where, value) if isinstance(value, str | list) else known(where, value)


def check_sources(where: str, value: Any) -> list[str]:
    """Where earlier runs are read from: one text or a list of them."""
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not texts:
        raise RisingBanditsError(f'{where} must be files of earlier runs, such as ["last.db"], got {shown(value)}.')
    return [check_text(where, text) for text in texts]


def _arms_list(where: str, value: Any) -> list[Any]:
    if not isinstance(value, list) or not value:
        raise RisingBanditsError(f"{where} must be one table or more, each headed [[arms]], got {shown(value)}.")
    return value


def _arm_name(where: str, value: Any) -> str:
    if check_arm_name(value, where) != value.strip():
        raise RisingBanditsError(f"{where} must have no blanks around it, got {shown(value)}.")
    return str(value)


def _environment(where: str, value: Any) -> dict[str, str]:
    """Texts by the names of variables; numbers are taken as they are written in Python."""
    ours = {variable for variable, _ in PLACEHOLDERS.values()}
    found = {}
    for name, written in read_table(f"{where}.", value, None).items():
        path = key_path(f"{where}.", name)
        text = str(written) if isinstance(written, int | float) and not isinstance(written, bool) else written
        if not isinstance(text, str) or "\0" in text:
            raise RisingBanditsError(f"{path} must be a text, got {shown(written)}.")
        if not name or "=" in name or "\0" in name:
            raise RisingBanditsError(f"{path} must have a name without '='.")
        if name in ours:
            raise RisingBanditsError(f"{path} is set by risingbandits itself.")
        check_placeholders(path, text)
        found[name] = text
    return found


_positive: Check = partial(check_finite, above=0)
_DEFAULTS: dict[str, Check] = {
    "command": lambda where, value: value,  # see _command: what is allowed depends on shell
    "directory": check_text,
    "environment": _environment,
    "max_output": partial(check_positive_int, minimum=output.LEAST),
    "shell": check_flag,
    "timeout": _positive,
}
_ARM: dict[str, Check] = {
    **_DEFAULTS,
    "name": _arm_name,
    "max_pulls": check_positive_int,
    "settings": check_arm_settings,
}
_PLAN: dict[str, Check] = {
    **{name: setting.check for name, setting in SETTINGS.items() if setting.in_plan},
    "arms": _arms_list,
    "budget": _budget,
    "defaults": lambda where, value: read_table(f"{where}.", value, _DEFAULTS),
    "jobs": check_positive_int,
    "memory": check_text,
    "prior": check_sources,
    "reward_range": _reward_range,
    "store": check_text,
    "warm_start": _warm_start,
}


def _max_pulls(common: Any, arms: tuple[CommandArm, ...]) -> int | dict[str, int] | None:
    """One number for all arms, or one for each that has its own."""
    own = {arm.name: arm.max_pulls for arm in arms if arm.max_pulls is not None}
    if not own or isinstance(common, dict):
        return {**common, **own} if isinstance(common, dict) else common
    return own if common is None else {arm.name: own.get(arm.name, common) for arm in arms}


# -- arms -----------------------------------------------------------------------------------------------------------


def _arms(here: str, values: dict[str, Any], folder: Path) -> tuple[CommandArm, ...]:
    everyone = CommandArm(name="", command=(), directory=folder, environment={})
    common = _arm(f"{here}defaults.", values.get("defaults", {}), everyone, folder)
    arms: list[CommandArm] = []
    for number, entry in enumerate(values["arms"]):
        where = f"{here}arms[{number}]."
        arm = _arm(where, {"name": None} | read_table(where, entry, _ARM), common, folder)
        _arm_name(f"{where}name", arm.name)
        if not arm.command:
            raise RisingBanditsError(f'{where}command must be given, such as command = ["python3", "learn.py"].')
        for other, known in enumerate(arms):
            if arm.name.casefold() == known.name.casefold():
                difference = "" if arm.name == known.name else " but for upper and lower case"
                raise RisingBanditsError(f"{where}name is {arm.name!r}, which is that of arms[{other}]{difference}.")
        if not arm.shell:
            _check_program(f"{where}command[0]", arm, folder)
        arms.append(arm)
    return tuple(arms)


def _arm(where: str, said: dict[str, Any], common: CommandArm, folder: Path) -> CommandArm:
    """An arm as a table says it; what the table does not say is as in ``common``."""
    shell = said.get("shell", common.shell)
    changes: dict[str, Any] = {**said, "environment": {**common.environment, **said.get("environment", {})}}
    if "command" in said:
        changes["command"] = _command(f"{where}command", said["command"], shell)
    elif shell != common.shell:
        changes["command"] = ()
    if "directory" in said:
        changes["directory"] = folder / said["directory"]
        if not os.path.isdir(changes["directory"]):  # Path.is_dir raises for names that are too long
            raise RisingBanditsError(f"{where}directory must be a folder that exists, got {shown(said['directory'])}.")
    return replace(common, **changes)


def _command(where: str, value: Any, shell: bool) -> tuple[str, ...] | str:
    if shell:
        if not isinstance(value, str) or not value.strip() or "\0" in value:
            raise RisingBanditsError(
                f"{where} must be a text for the shell, because shell is true, got {shown(value)}."
            )
        used = first_placeholder(value)
        if used is not None:
            # Put into a text that a shell reads, a name such as "a; rm -r ." would be run.
            variable = PLACEHOLDERS[used][0]
            raise RisingBanditsError(f'{where} has {{{used}}}, but in a shell it must be "${variable}", in quotes.')
        return value
    like = '["python3", "learn.py"]'
    if isinstance(value, str):
        raise RisingBanditsError(
            f"{where} must be a list such as {like}, got a text; shell = true runs texts in a shell."
        )
    if (
        not isinstance(value, list)
        or not value
        or not all(isinstance(part, str) and "\0" not in part for part in value)
    ):
        raise RisingBanditsError(f"{where} must be a list of texts such as {like}, got {shown(value)}.")
    for number, part in enumerate(value):
        check_placeholders(f"{where}[{number}]", part)
    return tuple(value)


def _check_program(where: str, arm: CommandArm, folder: Path) -> None:
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
        raise RisingBanditsError(f"{where} must be a program that can be run, {program!r} is not found.")
