"""Earlier runs as a warm start: earlier curves of the same arms become their first rewards."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from itertools import takewhile
from math import isfinite
from pathlib import Path
from typing import Any

from risingbandits._core.errors import RisingBanditsError, shown
from risingbandits.allocation.prior.sources import is_study, read_sources
from risingbandits.allocation.prior.tasks import ArmSettings, EarlierTask, known_settings
from risingbandits.allocation.stores.base import Store

log = logging.getLogger("risingbandits")


def is_history(warm_start: Any) -> bool:
    """Whether a warm start is read from earlier runs; otherwise it has the rewards of each arm.

    >>> is_history({"a": [0.1, 0.2]}), is_history({"may": {"a": [0.1, 0.2]}}), is_history("may.db")
    (False, True, True)
    """
    if isinstance(warm_start, Mapping):
        values = warm_start.values()
        return bool(warm_start) and all(isinstance(value, Mapping) or is_study(value) for value in values)
    return True


def read_history(
    sources: Any,
    arms: Iterable[str],
    settings: Mapping[str, ArmSettings] | None = None,
    *,
    direction: str = "maximize",
    present: str | Path | Store | None = None,
) -> dict[str, list[float]]:
    """The rewards that arms have had in earlier runs; see docs/allocator.md.

    Parameters
    ----------
    sources : path, pattern, "postgresql://...", Store, EarlierTask, Optuna study, mapping, or a list of these
        As for `read_prior`, except scores, which are not rewards.
    arms : names
        An arm of an earlier run is the same if it has the same name and, if both are known, the same settings; a trial
        of a study, if it has the same settings or, if an arm's are not known, the same name.
    settings : mapping of names to settings, or None
        Numbers and strings by setting name.
    direction : {"maximize", "minimize"}
        Direction of this run, and of CSV files and mappings; stores, studies and memories must agree.
    present : path, address, Store or None
        The store of this run, which is not an earlier one.

    Returns
    -------
    dict
        For each arm that was found, the longest of its curves, up to where training diverged.

    Examples
    --------
    >>> read_history({"may": {"a": [0.1, 0.2], "b": [0.5]}, "june": {"a": [0.3]}}, ["a", "c"])
    {'a': [0.1, 0.2]}
    """
    found = read_sources(sources, direction, present, what="warm_start")
    if found.scores:
        raise RisingBanditsError(
            f"warm_start must have rewards of earlier pulls, got scores, {shown(found.scores[0])}."
        )
    for task in found.tasks:
        if task.direction != direction:
            raise RisingBanditsError(
                f"warm_start must be from runs whose direction is {direction!r}, got {task.name}, where it is "
                f"{task.direction!r}."
            )
    today = {arm: known_settings(f"settings of {arm}", given) for arm, given in (settings or {}).items()}
    history = {}
    for arm in arms:
        curves = [curve for task in found.tasks for curve in _curves(task, arm, today.get(arm) or {})]
        if longest := max(curves, key=len, default=[]):
            history[arm] = longest
    if not history:
        log.warning("the earlier runs have no rewards of the arms of this one.")
    return history


def _curves(task: EarlierTask, arm: str, settings: ArmSettings) -> list[list[float]]:
    """The curves that an arm has in a task."""
    same = [arm] if arm in task.curves else []
    if task.named or not settings:
        other = [name for name in same if _differs(task.settings.get(name, {}), settings)]
        if other:
            log.warning("%s in %s is another arm, because its settings differ.", arm, task.name)
        same = [name for name in same if name not in other]
    else:
        same = [name for name in task.curves if task.settings.get(name) == settings]
    return [list(takewhile(isfinite, (float(value) for value in task.curves[name]))) for name in same]


def _differs(one: ArmSettings, other: ArmSettings) -> bool:
    return any(one[name] != other[name] for name in one.keys() & other.keys())
