"""What is read before a run starts: the settings of `Allocator` with its prior and its warm start."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Mapping
from typing import Any

from risingbandits._core.errors import RisingBanditsError, shown
from risingbandits.allocation.prior.history import is_history, read_history
from risingbandits.allocation.prior.memory import shelf_at
from risingbandits.allocation.prior.shelves import Shelf
from risingbandits.allocation.prior.sources import listed
from risingbandits.allocation.settings import Settings
from risingbandits.allocation.starting.prior import Prior
from risingbandits.allocation.stores.base import Store, is_server

log = logging.getLogger("risingbandits")


def bare_settings(given: Mapping[str, Any], lazy: bool = False) -> Settings:
    """The settings without what is read from earlier runs; see `with_prior`."""
    warm_start = given.get("warm_start")
    if warm_start is not None and is_history(warm_start):
        warm_start = None
    return Settings.make(lazy=lazy, **{**given, "prior": None, "warm_start": warm_start})


def history_of(sources: Any, settings: Settings, present: Store | None, arms: Iterable[str] | None = None) -> Any:
    return read_history(
        sources,
        settings.arms if arms is None else arms,
        settings.configs,
        direction=settings.direction,
        present=present,
    )


def with_prior(
    settings: Settings, given: Mapping[str, Any], stored: Settings | None = None, present: Store | None = None
) -> Settings:
    """The settings with the prior that counts: the one in the store, or in a new store the one that is given.

    A warm start from earlier runs is read for a new store only, too.

    Without it the same arguments may mean another policy, because arms are then opened in another order. What the user
    leaves open is as in the store.
    """
    lazy = settings.lazy and not settings.learns  # as the arms are
    if (sources := given.get("warm_start")) is not None and is_history(sources):
        given = {**given, "warm_start": None if stored is not None else history_of(sources, settings, present)}
        settings = Settings.make(lazy=lazy, **{**given, "prior": None})
    if stored is not None:
        if given.get("objective") is None:
            given = {**given, "objective": stored.objective}
            settings = Settings.make(lazy=lazy, **{**given, "prior": None})
        prior = None if stored.prior is None else stored.prior.about(settings.arms)
        learns = stored.learns
    else:
        prior, learns = as_prior(given.get("prior"), settings, present), settings.learns
    if prior is not None or learns != settings.learns:
        settings = Settings.make(lazy=lazy, learns=learns, **{**given, "prior": prior})
    if stored is not None:
        left_open = [name for name in ("order", *stored.options) if given.get(name) is None]
        settings = settings.changed(**{name: stored.value(name) for name in left_open})
    return settings


def as_prior(given: Any, settings: Settings, present: Store | None = None) -> Prior | None:
    """A prior as it is, about these arms; or what is read from earlier runs, other than the ``present`` one.

    Earlier runs are those that are ``given`` and those in the memory. A memory that says nothing about the arms gives
    no prior, so the first run with a memory is as without. Nor is there a prior for arms that are made when first
    pulled: it is not known beforehand what they will be, and their names are only numbers.
    """
    if settings.lazy and not settings.learns:
        if given is not None:
            log.warning(
                "prior is not used: arms that are made when they are first pulled have no settings until then; "
                "for Optuna's trials, add the earlier ones to the study (study.add_trials), so that its sampler learns."
            )
        return None
    if isinstance(given, Prior):
        return given.about(settings.arms)
    sources = [] if given is None else listed(given)
    remembered = [] if settings.memory is None else _memory(settings.memory)
    if given is None and not remembered:
        return None
    from risingbandits.allocation.prior.reading import read_prior

    prior = read_prior(
        [*sources, *remembered],
        settings.arms,
        settings.configs,
        direction=settings.direction,
        present=present,
        seed=settings.seed,
        quietly=given is None,
    )
    return prior if given is not None or prior.beliefs else None


def _memory(memory: str) -> list[Shelf]:
    """The memory as a source, if there is one yet."""
    if not is_server(memory) and os.path.lexists(memory) and not os.path.isdir(memory):
        raise RisingBanditsError(f"memory must be a folder or an address postgresql://..., got {shown(memory)}.")
    shelf = shelf_at(memory)
    return [shelf] if shelf.exists() else []
