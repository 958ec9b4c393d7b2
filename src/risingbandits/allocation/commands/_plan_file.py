"""Plans: arms as commands, a budget and how to spend it, in a TOML file that ``risingbandits run`` reads.

Reading a plan runs nothing. Every mistake that can be seen beforehand is reported in one sentence with the path of the
key.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from risingbandits._core.errors import RisingBanditsError, check_finite, check_positive_int, check_range, shown
from risingbandits.allocation.arms._slots import Places, check_slots
from risingbandits.allocation.budget import Budget, check_pulls
from risingbandits.allocation.commands._matrix import read_matrix
from risingbandits.allocation.commands._placeholders import names_in, names_its_slot, visible_devices
from risingbandits.allocation.commands._plan_arms import CommandArm, read_arms
from risingbandits.allocation.commands._toml import check_text, read_table, read_toml
from risingbandits.allocation.settings import BY_ARM, SETTINGS, Check, check_arms_exist
from risingbandits.allocation.starting.earlier_runs import LogSource
from risingbandits.allocation.stores.base import is_server
from risingbandits.logs.curves import direction_by_name

_DEFAULT_LEASE = 60.0


@dataclass(frozen=True)
class Plan:
    """What a plan file says. None: the default of `Allocator`."""

    path: Path
    arms: tuple[CommandArm, ...]
    budget: Budget
    store: str
    folder: Path  # the store, or where it would be if it were no server: logs and states lie beside
    logs: Path  # folder of the output of every pull
    states: Path  # folder of what the arms keep between pulls
    settings: dict[str, Any]  # further arguments of Allocator, as given
    jobs: int = 1
    slots: dict[str, int] | None = None  # how many pulls at a time are made on each
    lease: float = _DEFAULT_LEASE
    inferred: str = ""  # the direction that the name of its metric says, and why


def read_plan(path: str | Path) -> Plan:
    """The plan in a file.

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
    if re.match(r"postgres(ql)?:/", str(path)):  # not shown: it may hold a password
        raise RisingBanditsError("the plan must be a TOML file, got the address of a store.")
    folder = path.absolute().parent
    here = f"{path}, "
    values = read_table(here, read_toml(path), _PLAN)
    for key, like in (("budget", "budget = 100 or budget = {seconds = 3600}"), ("arms", '[[arms]] and name = "a"')):
        if key not in values and not (key == "arms" and "matrix" in values):
            raise RisingBanditsError(f"{here}{key} must be given, such as {like}.")
    arms = read_arms(here, values, folder)
    for name in BY_ARM:
        check_arms_exist(f"{here}{name}", values.get(name), [arm.name for arm in arms])
    settings = {name: values[name] for name in SETTINGS if name in values and name not in ("arms", "budget", "lease")}
    if own := {arm.name: arm.max_pulls for arm in arms if arm.max_pulls is not None}:
        common = values.get("max_pulls")  # one number for all arms, or one for each that has its own
        others = common if isinstance(common, dict) else dict.fromkeys((arm.name for arm in arms), common)
        settings["max_pulls"] = {arm: limit for arm, limit in {**others, **own}.items() if limit is not None}
    if "prior" in settings:
        there = [_beside(folder, source) for source in settings["prior"]]
        settings["prior"] = [LogSource(source, values["metric"]) for source in there] if "metric" in values else there
    if "remember" in settings:
        settings["remember"] = _beside(folder, settings["remember"])
    inferred = ""
    if (
        "metric" in values
        and "direction" not in settings
        and (named := direction_by_name(values["metric"])) is not None
    ):
        settings["direction"] = named[0]
        inferred = f"{values['metric']}: {named[0]} ({named[1]})."
    if any(arm.config for arm in arms):
        settings["configs"] = {arm.name: arm.config for arm in arms if arm.config}
    store = values.get("store", f"{path.stem}.db")
    beside = folder / (path.stem if is_server(store) else store)
    return Plan(
        path=path,
        arms=arms,
        budget=values["budget"],
        store=store if is_server(store) else str(beside),
        folder=beside,
        logs=beside.with_name(beside.name + ".logs"),
        states=beside.with_name(beside.name + ".state"),
        settings=settings,
        jobs=_jobs(here, values, arms),
        slots=values.get("slots"),
        lease=values.get("lease", _DEFAULT_LEASE),
        inferred=inferred,
    )


def _beside(folder: Path, where: str) -> str:
    """A path is relative to the plan's folder; an address stays as it is."""
    return where if "://" in where else str(folder / Path(where).expanduser())


# -- what is allowed ------------------------------------------------------------------------------------------------


def _budget(where: str, value: Any) -> Budget:
    if not isinstance(value, dict):
        return Budget(pulls=check_pulls(where, value))
    amounts = read_table(f"{where}.", value, {"pulls": check_pulls, "cost": _positive, "seconds": _positive})
    if len(amounts) != 1:
        given = " and ".join(amounts) or "none"
        raise RisingBanditsError(f"{where} must be one of pulls, cost, seconds, got {given}.")
    return Budget(**amounts)


def _reward_range(where: str, value: Any) -> tuple[float, float] | str | None:
    return None if value == "unknown" else value if value == "auto" else check_range(where, value)


def check_sources(where: str, value: Any) -> list[str]:
    """Where earlier runs are read from: one string or a list of them."""
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not texts:
        raise RisingBanditsError(f'{where} must be files of earlier runs, such as ["last.db"], got {shown(value)}.')
    return [check_text(where, text) for text in texts]


_positive: Check = partial(check_finite, above=0)
_PLAN: dict[str, Check | None] = {
    **{name: setting.check for name, setting in SETTINGS.items() if setting.in_plan},
    "arms": None,  # see read_arms
    "budget": _budget,
    "defaults": None,
    "jobs": check_positive_int,
    "matrix": read_matrix,
    "metric": check_text,
    "prior": check_sources,
    "remember": check_text,
    "reward_range": _reward_range,
    "slots": check_slots,
    "store": check_text,
}


def _jobs(here: str, values: dict[str, Any], arms: tuple[CommandArm, ...]) -> int:
    """Commands at a time: as many as there are places on the slots, or fewer."""
    slots = values.get("slots")
    uses = next((arm.name for arm in arms if any("slot" in names_in(text) for text in arm.texts())), None)
    if slots is None and uses is not None:
        raise RisingBanditsError(f"{here}slots must be given, because the command of {uses} has {{slot}}.")
    try:
        if slots and not all(names_its_slot(arm.texts()) for arm in arms):
            for slot in slots:
                visible_devices(slot, os.environ)  # a GPU that there is not
        return Places(slots).jobs(values.get("jobs"))
    except RisingBanditsError as error:
        raise RisingBanditsError(f"{here}{error}") from error
