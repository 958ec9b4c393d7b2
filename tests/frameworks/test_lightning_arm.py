"""`LightningArm`: raised max_epochs and the last checkpoint, equal to training in one go."""

from __future__ import annotations

import warnings
from functools import partial
from pathlib import Path
from typing import Any

import lightning
import pytest
import torch
from torch.nn import functional
from torch.utils.data import DataLoader

from frameworks.digits import TRAIN, VALID, network, tensors
from risingbandits import RisingBanditsError
from risingbandits.allocation import Pull
from risingbandits.integrations import LightningArm
from risingbandits.integrations.frameworks._randomness import Randomness
from risingbandits.testing import check_arm, check_failing_arm, check_killed_arm

TRAINER = partial(
    lightning.Trainer,
    accelerator="cpu",
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
)


class Digits(lightning.LightningModule):
    def __init__(self, schedule: str = "", diverges_after: int = 10**9) -> None:
        super().__init__()
        self.network, self.schedule, self.diverges_after = network(), schedule, diverges_after

    def training_step(self, batch: Any, number: int) -> Any:
        loss = functional.cross_entropy(self.network(batch[0]), batch[1])
        return loss * (float("nan") if self.global_step >= self.diverges_after else 1.0)

    def validation_step(self, batch: Any, number: int) -> None:
        logits = self.network(batch[0])
        self.log("val_loss", functional.cross_entropy(logits, batch[1]))
        self.log("val_acc", (logits.argmax(1) == batch[1]).float().mean())

    def configure_optimizers(self) -> Any:
        optimizer = torch.optim.Adam(self.parameters(), lr=0.01)
        schedulers = {
            "cosine": lambda: torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=10),
            "steps": lambda: torch.optim.lr_scheduler.StepLR(optimizer, step_size=2),
        }
        return [optimizer], [schedulers[self.schedule]()] if self.schedule else []


def loaders() -> dict[str, Any]:
    return {
        "train_dataloaders": DataLoader(tensors(TRAIN), batch_size=64, shuffle=True),
        "val_dataloaders": DataLoader(tensors(VALID), batch_size=300),
    }


def make(
    *, schedule: str = "", diverges_after: int = 10**9, monitor: str = "val_loss", **settings: Any
) -> LightningArm:
    settings = {"mode": "min" if monitor == "val_loss" else "max", **settings}
    return LightningArm(Digits(schedule, diverges_after), TRAINER, monitor=monitor, **loaders(), **settings)


def test_contract() -> None:
    check_arm(partial(make, schedule="steps"), pulls=4)


def test_killed() -> None:
    check_killed_arm(make, pulls=3)


def test_equals_training_in_one_go() -> None:
    """The reference: one Trainer that never stops."""
    found: list[float] = []

    class Note(lightning.Callback):
        def on_validation_epoch_end(self, trainer: Any, module: Any) -> None:
            if not trainer.sanity_checking:
                found.append(float(trainer.callback_metrics["val_loss"]))

    arm = make(schedule="steps", epochs=2, cost="samples")
    outcomes = [arm.pull(Pull(n, "a", n)) for n in (1, 2, 3)]
    module = Digits("steps")
    with Randomness(0).inside():
        TRAINER(max_epochs=6, callbacks=[Note()]).fit(module, **loaders())
    assert [outcome.reward for outcome in outcomes] == found[1::2]
    for mine, expected in zip(arm.module.parameters(), module.parameters(), strict=True):
        assert torch.equal(mine, expected)
    assert [outcome.cost for outcome in outcomes] == [800.0] * 3


def test_checkpoint_is_lightnings_own(tmp_path: Path) -> None:
    arm = make()
    arm.pull(Pull(1, "a", 1))
    arm.save(tmp_path / "saved")
    module = Digits()
    module.load_state_dict(torch.load(tmp_path / "saved" / "checkpoint", weights_only=True)["state_dict"])
    for mine, other in zip(arm.module.parameters(), module.parameters(), strict=True):
        assert torch.equal(mine, other)
    assert sorted(path.name for path in arm.work.iterdir()) == ["after-1.ckpt"]
    arm.pull(Pull(2, "a", 2))
    assert sorted(path.name for path in arm.work.iterdir()) == ["after-2.ckpt"]


def test_a_loaded_arm_has_its_weights_before_its_next_pull(tmp_path: Path) -> None:
    arm = make()
    arm.pull(Pull(1, "a", 1))
    arm.save(tmp_path / "saved")
    loaded = make()
    assert not torch.equal(next(loaded.module.parameters()), next(arm.module.parameters()))
    loaded.load(tmp_path / "saved")
    for mine, expected in zip(loaded.module.parameters(), arm.module.parameters(), strict=True):
        assert torch.equal(mine, expected)
    (tmp_path / "saved" / "checkpoint").unlink()
    with pytest.raises(RisingBanditsError, match="does not exist"):
        make().load(tmp_path / "saved")


def test_schedules() -> None:
    with pytest.warns(UserWarning, match=r"^CosineAnnealingLR\(T_max=10\) is bound to a planned length"):
        make(schedule="cosine").pull(Pull(1, "a", 1))
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*planned length")
        make(schedule="steps").pull(Pull(1, "a", 1))


def test_failures() -> None:
    said = check_failing_arm(partial(make, monitor="val_accuracy"))
    assert "metric must be one of" in said
    assert "got 'val_accuracy', did you mean 'val_acc'?" in said
    said = check_failing_arm(partial(make, diverges_after=7), good_pulls=1)
    assert "the training loss of arm 'fails' is nan" in said


def test_bad_arguments() -> None:
    with pytest.raises(RisingBanditsError, match="module must be a LightningModule, got None"):
        LightningArm(None, TRAINER, monitor="val_acc")
    with pytest.raises(RisingBanditsError, match="trainer must be a function that makes a Trainer"):
        LightningArm(Digits(), TRAINER(max_epochs=1), monitor="val_acc")
    with pytest.raises(RisingBanditsError, match="mode must be one of max, min; got 'maximum'"):
        make(mode="maximum")
    assert make(mode="min").direction == "minimize"


def test_slots_are_devices() -> None:
    arm = make()
    asked = []

    def trainer(**settings: Any) -> Any:
        asked.append(settings)
        return TRAINER(max_epochs=settings["max_epochs"])

    arm.trainer = trainer
    for n, slot in enumerate(("", "cuda:1", "cpu", "corner"), start=1):
        arm.pull(Pull(n, "a", n, slot=slot))
    assert asked == [
        {"max_epochs": 1},
        {"max_epochs": 2, "accelerator": "gpu", "devices": [1]},
        {"max_epochs": 3, "accelerator": "cpu", "devices": 1},
        {"max_epochs": 4},
    ]
