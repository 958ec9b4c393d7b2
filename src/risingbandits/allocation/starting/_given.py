"""The settings of `Allocator` with what is read from earlier runs, which happens once, before a run starts."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from risingbandits.allocation.settings import Settings
from risingbandits.allocation.starting.prior import Prior

log = logging.getLogger("risingbandits")


def with_prior(settings: Settings, given: Mapping[str, Any], stored: Settings | None = None) -> Settings:
    """The settings with the prior that counts: the one in the store, or in a new store the one that is given.

    What the user leaves open is as in the store.
    """
    if stored is not None:
        if given.get("objective") is None:
            given = {**given, "objective": stored.objective}
            settings = Settings.make(**{**given, "prior": None})
        prior = None if stored.prior is None else stored.prior.about(settings.arms)
    elif given.get("made_late"):  # it is not known yet what the arms will be, and their names are only numbers
        prior = None
        if given.get("prior") is not None:
            log.warning(
                "prior is not used: arms that are made when they are first pulled have no configs until then; "
                "for Optuna's trials, add the earlier ones to the study (study.add_trials), so that its sampler learns."
            )
    else:
        prior = as_prior(given.get("prior"), settings)
    return settings if prior is None else replace(settings, prior=prior)


def as_prior(given: Any, settings: Settings) -> Prior | None:
    """A prior as it is, about these arms, or what is read from earlier runs; None if they say nothing about these."""
    if given is None:
        return None
    if isinstance(given, Prior):
        return given.about(settings.arms)
    from risingbandits.allocation.starting.earlier_runs import Reading, read_sources
    from risingbandits.allocation.starting.prior import look_back

    sources = read_sources(given, Reading(otherwise=settings.direction), settings.remember)
    prior = look_back(sources, settings.arms, settings.configs, settings.seed).prior
    if prior.beliefs:
        return prior
    if sources:  # otherwise this is the first run of a folder
        log.warning("the earlier runs say nothing about the arms of this one.")
    return None
