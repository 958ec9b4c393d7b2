"""The plan of a store: which commands its arms are."""

from __future__ import annotations

import os
from pathlib import Path

from risingbandits._core.errors import RisingBanditsError
from risingbandits.allocation.commands.plan_file import Plan, read_plan


def find_plan(where: str, store: str | None = None) -> Plan:
    """The plan at a path that ends in .toml; otherwise ``where`` is a store, and the plan is the one that names it.

    A store holds the names of its arms and not their commands. Plans are looked for in its folder, ``plan.toml`` first
    where the store is ``plan.db``, and for a store on a server in the current folder.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "plan.toml"
    ...     _ = path.write_text('budget = 20\\narms = [{name = "small", command = ["echo", "0.5"]}]')
    ...     find_plan(f"{folder}/plan.db").path.name
    'plan.toml'
    """
    if where.endswith(".toml"):
        return read_plan(where, store)
    if store is not None:
        raise RisingBanditsError("store must not be given beside another store; give the plan and the store.")
    on_server = "://" in where
    folder = Path.cwd() if on_server else Path(where).absolute().parent
    own = folder / f"{Path(where).stem}.toml"
    try:
        others = sorted(path for path in folder.glob("*.toml") if path != own)
    except OSError:
        others = []
    if not on_server and own.is_file() and _names(plan := read_plan(own), where):
        return plan
    for path in others:
        try:
            plan = read_plan(path)
        except RisingBanditsError:
            continue  # another kind of file
        if _names(plan, where):
            return plan
    what = "this store" if on_server else where  # an address may hold a password
    raise RisingBanditsError(
        f"the commands of the arms are in a plan, but no plan in {folder} has {what} as its store: give the plan "
        "instead, such as plan.toml."
    )


def _names(plan: Plan, store: str) -> bool:
    if "://" in store or "://" in plan.store:
        return plan.store == store
    return os.path.realpath(plan.store) == os.path.realpath(store)
