"""A Lightning module as an arm: `LightningArm`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from risingbandits._core.errors import RisingBanditsError, check_positive_int, missing, shown
from risingbandits._core.files import remove
from risingbandits.allocation.pull import Pull
from risingbandits.integrations.frameworks._pytorch import FolderArm, planned_schedule, run_piece
from risingbandits.integrations.frameworks._training import check_loss, direction_of, rows_of, warn_of_schedule

try:
    from lightning.pytorch import Callback, LightningModule
except ImportError:
    raise missing("Lightning", "LightningArm", "lightning") from None


class LightningArm(FolderArm):
    """A LightningModule; a pull is some more epochs, from the checkpoint of the last one, with ``max_epochs`` raised.

    Parameters
    ----------
    module : LightningModule
        What learns.
    trainer : function
        Makes a Trainer; called in each pull as ``trainer(max_epochs=...)``, also with ``accelerator`` and ``devices``
        if the slot of the pull names a device, such as "cuda:1". ``functools.partial(lightning.Trainer, ...)`` will do;
        add ``logger=False, enable_checkpointing=False`` if nothing else should be written.
    train_dataloaders, val_dataloaders, datamodule
        What ``Trainer.fit`` takes.
    monitor : str
        The name of the metric that the module logs, "val_acc".
    mode : {"max", "min"}, optional
        Whether higher or lower is better; None: by the name of the metric.
    epochs : int
        Epochs per pull.
    cost : None, "samples" or "steps"
        What a pull reports as its cost; None leaves it to the allocator's budget.
    seed : int
        Seed of the random numbers in training; call ``lightning.seed_everything`` before you make the module.

    Notes
    -----
    A new Trainer is made for each pull, so its callbacks must be new too, or keep their state in checkpoints as
    Lightning's own do.
    """

    def __init__(
        self,
        module: Any,
        trainer: Callable[..., Any],
        *,
        train_dataloaders: Any = None,
        val_dataloaders: Any = None,
        datamodule: Any = None,
        monitor: str,
        mode: str | None = None,
        epochs: int = 1,
        cost: str | None = None,
        seed: int = 0,
    ) -> None:
        if not isinstance(module, LightningModule):
            raise RisingBanditsError(f"module must be a LightningModule, got {shown(module)}.")
        if not callable(trainer):
            raise RisingBanditsError(f"trainer must be a function that makes a Trainer, got {shown(trainer)}.")
        self.module, self.trainer = module, trainer
        self.data = {"datamodule": datamodule}
        if datamodule is None:
            self.data = {"train_dataloaders": train_dataloaders, "val_dataloaders": val_dataloaders}
        self.epochs = check_positive_int("epochs", epochs)
        self._warned = False
        super().__init__(monitor, direction_of(mode), cost, ("samples", "steps"), seed)

    @property
    def _module(self) -> Any:
        return self.module

    def _trained_further(self, pull: Pull) -> Any:
        trainer = self.trainer(max_epochs=(self.pulls + 1) * self.epochs, **_places(pull.slot))
        watch = _Watch(self)
        trainer.callbacks.append(watch)
        path = None if self.last is None else str(self.last)
        run_piece(lambda: trainer.fit(self.module, ckpt_path=path, **self.data), pull.arm)
        if getattr(trainer, "interrupted", False):
            raise RisingBanditsError(f"training of arm {pull.arm!r} was interrupted.")
        check_loss(float(watch.losses), pull.arm)
        written = self.work / f"after-{self.pulls + 1}.ckpt"
        remove(written)
        trainer.save_checkpoint(written)
        self._keep_last(written)
        return {name: value for name, value in trainer.callback_metrics.items() if value.numel() == 1}


class _Watch(Callback):
    """Sums the losses and the training samples, and checks the schedules before the first step."""

    def __init__(self, arm: LightningArm) -> None:
        self.arm = arm
        self.losses: Any = 0.0

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        for config in () if self.arm._warned else trainer.lr_scheduler_configs:
            if found := planned_schedule(config.scheduler):
                warn_of_schedule(found)
        self.arm._warned = True

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        loss = outputs.get("loss") if isinstance(outputs, dict) else outputs
        if loss is not None:
            self.losses = self.losses + loss.detach()
        if self.arm.cost in ("samples", "steps"):
            self.arm._spent += rows_of(batch) if self.arm.cost == "samples" else 1


def _places(slot: str) -> dict[str, Any]:
    """Where the Trainer is to train, by the name of a slot."""
    found = re.fullmatch(r"(?:cuda|gpu):(\d+)", slot)
    if found:
        return {"accelerator": "gpu", "devices": [int(found.group(1))]}
    return {"accelerator": slot, "devices": 1} if slot in ("cpu", "mps") else {}
