"""The settings of `Allocator` with what is read from earlier runs, which happens once, before a run starts."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from risingbandits.allocation.settings import Settings
from risingbandits.allocation.starting.prior import Prior

log = logging.getLogger("risingbandits")


def bare_settings(given: Mapping[str, Any], lazy: bool = False) -> Settings:
    """The settings without what is read from earlier runs; see `with_prior`."""
    return Settings.make(lazy=lazy, **{**given, "prior": None})


def with_prior(settings: Settings, given: Mapping[str, Any], stored: Settings | None = None) -> Settings:
    """The settings with the prior that counts: the one in the store, or in a new store the one that is given.

    Without it the same arguments may mean another policy, because arms are then opened in another order. What the user
    leaves open is as in the store.
    """
    lazy = settings.lazy and not settings.learns  # as the arms are
    if stored is not None:
        if given.get("objective") is None:
            given = {**given, "objective": stored.objective}
            settings = Settings.make(lazy=lazy, **{**given, "prior": None})
        prior = None if stored.prior is None else stored.prior.about(settings.arms)
        learns = stored.learns
    else:
        prior, learns = as_prior(given.get("prior"), settings), settings.learns
    if prior is not None or learns != settings.learns:
        settings = Settings.make(lazy=lazy, learns=learns, **{**given, "prior": prior})
    if stored is not None:
        left_open = [name for name in ("order", *stored.options) if given.get(name) is None]
        settings = settings.changed(**{name: stored.value(name) for name in left_open})
    return settings


def as_prior(given: Any, settings: Settings) -> Prior | None:
    """A prior as it is, about these arms, or what is read from earlier runs; None if they say nothing about the arms.

    Nor is there a prior for arms that are made when first pulled: it is not known beforehand what they will be, and
    their names are only numbers.
    """
    if given is None:
        return None
    if settings.lazy and not settings.learns:
        log.warning(
            "prior is not used: arms that are made when they are first pulled have no settings until then; "
            "for Optuna's trials, add the earlier ones to the study (study.add_trials), so that its sampler learns."
        )
        return None
    if isinstance(given, Prior):
        return given.about(settings.arms)
    from risingbandits.allocation.starting.earlier_runs import Reading, read_sources
    from risingbandits.allocation.starting.prior import look_back

    sources = read_sources(given, Reading(otherwise=settings.direction), settings.remember)
    prior = look_back(sources, settings.arms, settings.configs, settings.seed).prior
    if prior.beliefs:
        return prior
    if sources.runs or sources.scores:  # otherwise this is the first run of a folder
        log.warning("the earlier runs say nothing about the arms of this one.")
    return None
