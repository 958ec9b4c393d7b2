"""Logs every pull that counts to Weights & Biases, online or offline; see docs/adapters.md."""

from __future__ import annotations

from typing import Any

from risingbandits._core.errors import RisingBanditsError, shown
from risingbandits.allocation.listeners import Told


class WandbListener:
    """Logs ``<arm>/reward`` and ``<arm>/cost`` by ``<arm>/pull`` to one ``run``, as ``wandb.init(...)`` gives it."""

    def __init__(self, run: Any) -> None:
        if not all(callable(getattr(run, verb, None)) for verb in ("log", "define_metric")):
            raise RisingBanditsError(f"run must be what wandb.init() returns, got {shown(run)}.")
        self.run = run
        self._known: set[str] = set()

    def __call__(self, told: Told) -> None:
        if told.arm not in self._known:
            self._known.add(told.arm)
            for value in ("reward", "cost"):
                self.run.define_metric(f"{told.arm}/{value}", step_metric=f"{told.arm}/pull")
            if told.settings:
                self.run.config.update({told.arm: dict(told.settings)}, allow_val_change=True)
        values = {"reward": told.reward, "cost": told.cost, "pull": told.n}
        self.run.log({f"{told.arm}/{name}": value for name, value in values.items()} | {"spent": told.spent})
