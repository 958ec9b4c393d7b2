"""How an allocation begins: with settings of its own in a new store, or with those that a store holds."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from risingbandits._core.errors import RisingBanditsError, shown
from risingbandits.allocation.ledger import Ledger
from risingbandits.allocation.prior.beliefs import Prior
from risingbandits.allocation.prior.reading import read_prior
from risingbandits.allocation.prior.sources import listed
from risingbandits.allocation.settings import Settings, check_arm_settings, stored_settings
from risingbandits.allocation.stores.base import Store

log = logging.getLogger("risingbandits")


def as_prior(given: Any, settings: Settings, present: Store | None = None) -> Prior | None:
    """A prior as it is, about these arms; or what is read from earlier runs, other than the ``present`` one.

    Earlier runs are those that are ``given`` and those in the memory. A memory that says nothing of the arms is no
    prior, so that the first run with one is as it would be without.
    """
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


def _memory(folder: str) -> list[str]:
    """The folder as a source, if there is one yet."""
    if not os.path.lexists(folder):
        return []
    if not os.path.isdir(folder):
        raise RisingBanditsError(f"memory must be a folder, got {shown(folder)}.")
    return [folder]


def settings_of_arms(arms: Any, given: Any) -> Any:
    """``given`` settings of arms and, for those that have none there, what the arms say of themselves."""
    if not isinstance(arms, Mapping) or not isinstance(given, Mapping | None) or getattr(arms, "lazy", False):
        return given
    found = {name: settings for name, arm in arms.items() if (settings := own_settings(arm))}
    return {**found, **(given or {})} or None


def own_settings(arm: Any) -> dict[str, float | str]:
    """What an arm says of itself in ``settings``, as far as that is in numbers and words."""
    said = getattr(arm, "settings", None)
    found = {}
    for name, value in said.items() if isinstance(said, Mapping) else ():
        with suppress(RisingBanditsError):
            found.update(check_arm_settings("settings", {name: value}))
    return found


def with_prior(
    settings: Settings, given: Mapping[str, Any], stored: Settings | None = None, present: Store | None = None
) -> Settings:
    """The settings with the prior that counts: the one in the store, or in a new store the one that is given.

    Without it the same arguments may stand for another policy, for arms are then opened in another order. What the user
    leaves open is as in the store, whose defaults may have been others.
    """
    if stored is not None:
        if given.get("objective") is None:
            given = {**given, "objective": stored.objective}
            settings = Settings.make(lazy=settings.lazy, **{**given, "prior": None})
        prior = None if stored.prior is None else stored.prior.about(settings.arms)
    else:
        prior = as_prior(given.get("prior"), settings, present)
    if prior is not None:
        settings = Settings.make(lazy=settings.lazy, **{**given, "prior": prior})
    if stored is not None and settings.order is None:
        settings = replace(settings, order=stored.order)
    return settings


def make_or_join(store: Store, settings: Settings, given: Mapping[str, Any]) -> tuple[Settings, Ledger | None]:
    """The settings in a store, which must agree; if this process has made the store, also the ledger it begins with."""
    kept = store.settings()
    if kept is None:
        settings = with_prior(settings, given, present=store)
        text = settings.to_json()
        mine = Settings.from_json(text)  # as all later processes will read them
        ledger = Ledger(mine)  # refuses, before anything is written, what the policy cannot do, as too short a horizon
        kept = store.create(text)
        if kept == text:
            return mine, ledger
    stored = stored_settings(store.name, kept)
    difference = with_prior(settings, given, stored).difference(stored, given.get("policy"))
    if difference is not None:
        raise RisingBanditsError(f"{store.name} holds another allocation: {difference}.")
    if stored.prior is None and given.get("prior") is not None:
        log.warning("%s was begun without a prior, so that none is read now.", store.name)
    return stored, None
