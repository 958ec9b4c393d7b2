"""How an allocation starts: with its own settings in a new store, or with those in an existing one."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from risingbandits._core.errors import RisingBanditsError, shown
from risingbandits.allocation.growth import Given, declared_changes
from risingbandits.allocation.ledger import Ledger
from risingbandits.allocation.prior.beliefs import Prior
from risingbandits.allocation.prior.history import is_history, read_history
from risingbandits.allocation.prior.memory import shelf_at
from risingbandits.allocation.prior.reading import read_prior
from risingbandits.allocation.prior.shelves import Shelf
from risingbandits.allocation.prior.sources import listed
from risingbandits.allocation.settings import Settings, check_arm_settings, stored_settings
from risingbandits.allocation.stores.base import Store, is_server

if TYPE_CHECKING:
    from risingbandits.allocation.session import Session

log = logging.getLogger("risingbandits")


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
    prior = read_prior(
        [*sources, *remembered],
        settings.arms,
        settings.arm_settings,
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


def settings_of_arms(arms: Any, given: Any) -> Any:
    """``given`` settings of arms and, for those without any, their own ``settings`` attribute."""
    if not isinstance(arms, Mapping) or not isinstance(given, Mapping | None) or getattr(arms, "lazy", False):
        return given
    found = {name: settings for name, arm in arms.items() if (settings := own_settings(arm))}
    return {**found, **(given or {})} or None


def own_settings(arm: Any) -> dict[str, float | str]:
    """The ``settings`` attribute of an arm, if it has numbers and strings."""
    said = getattr(arm, "settings", None)
    found = {}
    for name, value in said.items() if isinstance(said, Mapping) else ():
        with suppress(RisingBanditsError):
            found.update(check_arm_settings("settings", {name: value}))
    return found


def bare_settings(given: Mapping[str, Any], lazy: bool = False) -> Settings:
    """The settings without what is read from earlier runs; see `with_prior`."""
    warm_start = given.get("warm_start")
    return Settings.make(
        lazy=lazy, **{**given, "prior": None, "warm_start": None if is_history(warm_start) else warm_start}
    )


def _history(sources: Any, settings: Settings, present: Store | None, arms: Iterable[str] | None = None) -> Any:
    return read_history(
        sources,
        settings.arms if arms is None else arms,
        settings.arm_settings,
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
    if is_history(sources := given.get("warm_start")):
        given = {**given, "warm_start": None if stored is not None else _history(sources, settings, present)}
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
        left_open = [name for name in ("parallel", "costs", "order") if given.get(name) is None]
        settings = replace(settings, **{name: getattr(stored, name) for name in left_open})
    return settings


class Joined(NamedTuple):
    """A store that was created or joined."""

    settings: Settings  #: those that it was made with
    ledger: Ledger | None  #: that it begins with, if this process has made it
    given: Given | None = None  #: otherwise what was given, for `take_over`


def make_or_join(store: Store, settings: Settings, given: Mapping[str, Any]) -> Joined:
    """Create a store with these settings, or find out which it has."""
    kept = store.settings()
    if kept is None:
        settings = with_prior(settings, given, present=store)
        text = settings.to_json()
        mine = Settings.from_json(text)  # as all later processes will read them
        ledger = Ledger(mine)  # refuses, before anything is written, what the policy cannot do, as too short a horizon
        kept = store.create(text)
        if kept == text:
            return Joined(mine, ledger)
    stored = stored_settings(store.name, kept)
    if stored.prior is None and given.get("prior") is not None:
        log.warning("%s was created without a prior, so none is read now.", store.name)
    return Joined(stored, None, as_given(store, settings, given, stored))


def as_given(store: Store, settings: Settings, given: Mapping[str, Any], stored: Settings) -> Given:
    """What is given to continue with a store."""
    found = with_prior(settings, given, stored)
    sources = given.get("warm_start")
    later = partial(_history, sources, found, store) if is_history(sources) else None
    return Given(found, given.get("policy"), later)


def take_over(session: Session, given: Given) -> str:
    """Apply what is ``given`` differently than before; returns its description."""

    def changes(ledger: Ledger) -> dict[str, Any]:
        return changes_taken_over(session.store.name, ledger, given)

    return session.extend(changes) if changes(session.ledger()) else ""


def changes_taken_over(store: str, ledger: Ledger, given: Given) -> dict[str, Any]:
    """What a program that opens a store with what is ``given`` changes; errors name the store."""
    try:
        return declared_changes(ledger, given)
    except RisingBanditsError as error:
        raise RisingBanditsError(f"{store} holds another allocation: {error}") from error
