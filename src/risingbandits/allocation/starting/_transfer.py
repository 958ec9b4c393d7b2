"""Options: the configs of arms, from the start or as they get known, and what earlier runs say about the arms."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from risingbandits._core.stats import rank_correlation
from risingbandits.allocation._options import Option
from risingbandits.allocation.events import Event
from risingbandits.policies._config_process import scores_at_equal_resource
from risingbandits.policies.objectives import Objective

if TYPE_CHECKING:
    from risingbandits.allocation._ledger import Ledger
    from risingbandits.allocation.settings import Settings


class Configs(Option):
    """What arms are. The event "config" holds the config of an arm that got known when it was made, as JSON."""

    key = "configs"
    kinds = frozenset({"config"})

    def known(self, ledger: Ledger) -> dict[str, Any]:
        """The config of each arm, empty where it is not known (yet).

        If rewards are summed, configs that arms get in their first pulls say nothing: only those of others count.
        """
        if not ledger.settings.configs and Objective.get(ledger.settings.objective).sums_rewards:
            return {}
        configs = [arm.config for arm in ledger.numbered]
        return {"configs": configs} if any(configs) else {}

    def apply(self, ledger: Ledger, event: Event) -> None:
        """Give an arm its config."""
        ledger.arm(event.arm).config = json.loads(event.text)
        ledger.inform()


class Transfer(Option):
    """Beliefs about arms from a prior, as read when the run was created; arms that it does not know are average."""

    key = "transfer"

    def __init__(self, settings: Settings) -> None:
        assert settings.prior is not None
        self.prior = settings.prior

    @classmethod
    def of(cls, settings: Settings, before: Transfer | None) -> Transfer | None:
        """Where there is a prior; it may speak of fewer arms than before, or of more."""
        return None if settings.prior is None else cls(settings)

    def known(self, ledger: Ledger) -> dict[str, Any]:
        """Mean and deviation of the normal score of each arm."""
        beliefs = [self.prior.of(arm.name) for arm in ledger.numbered]
        means = np.array([belief.mean for belief in beliefs])
        return {"means": means, "deviations": np.array([belief.deviation for belief in beliefs])}

    def sentence(self, ledger: Ledger) -> str:
        """Where the prior is from, and how far the arms that were started agree with it or that it is not used."""
        prior = self.prior
        said = f"prior from {prior.tasks} task{'' if prior.tasks == 1 else 's'}" if prior.tasks else "prior from scores"
        if prior.agreement is not None:
            said += f", agreement among them {prior.agreement:.2g}"
        if not ledger.policy._informed:
            known = ledger.known()
            enough = "" if known is None or ledger.counts(known) else ", which has enough rounds per arm without"
            return f"{said}, not used by policy {ledger.policy.name}{enough}"
        told = [arm for arm in ledger.arms if arm.rewards]
        sign = np.sign(ledger.span)
        agreement = rank_correlation(
            np.array([prior.of(arm.name).mean for arm in told]),
            scores_at_equal_resource([sign * np.array(arm.rewards) for arm in told]),
        )
        return said if agreement is None else f"{said}, with this run {agreement:.2g}"
