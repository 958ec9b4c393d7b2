"""Option: the configs of arms, from the start or as they get known."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from risingbandits.allocation.events import Event
from risingbandits.allocation.options import Option

if TYPE_CHECKING:
    from risingbandits.allocation.ledger import Ledger
    from risingbandits.allocation.settings import Settings


class Configs(Option):
    """What arms are. The event "config" holds the config of an arm that got known late, as JSON."""

    key = "configs"
    kinds = frozenset({"config"})

    @classmethod
    def of(cls, settings: Settings, before: Configs | None) -> Configs:
        """Any run: an arm may get its config when it is made."""
        return before or cls()

    def known(self, ledger: Ledger) -> dict[str, Any]:
        """The config of each arm, if the run began with some.

        Where arms get their configs in their first pulls, those of arms without pulls say nothing.
        """
        if not ledger.settings.configs:
            return {}
        return {"configs": [arm.config for arm in ledger.numbered]}

    def apply(self, ledger: Ledger, event: Event) -> None:
        """Give an arm its config."""
        ledger.arm(event.arm).config = json.loads(event.text)
        ledger.inform()
