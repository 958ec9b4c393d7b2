"""`KerasArm`, with PyTorch as the backend: fit in pieces is fit in one go."""

from __future__ import annotations

import warnings
from functools import partial
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest

from frameworks.digits import IMAGES, LABELS, TRAIN, VALID
from risingbandits import RisingBanditsError
from risingbandits.allocation import Pull
from risingbandits.integrations import KerasArm
from risingbandits.integrations.frameworks._randomness import Randomness
from risingbandits.testing import check_arm, check_failing_arm, check_killed_arm

VALIDATION = (IMAGES[VALID], LABELS[VALID])


def model(rate: Any = 0.01) -> Any:
    keras.utils.set_random_seed(0)
    made = keras.Sequential(
        [
            keras.Input((64,)),
            keras.layers.Dense(16, activation="relu"),
            keras.layers.BatchNormalization(),
            keras.layers.Dropout(0.2),
            keras.layers.Dense(10),
        ]
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    made.compile(keras.optimizers.Adam(rate), loss, metrics=["accuracy"])
    return made


def make(*, rate: Any = 0.01, monitor: str = "val_loss", **settings: Any) -> KerasArm:
    settings = {"mode": "min" if monitor == "val_loss" else "max", "batch_size": 64, **settings}
    data = IMAGES[TRAIN], LABELS[TRAIN]
    return KerasArm(model(rate), *data, validation_data=VALIDATION, monitor=monitor, **settings)


def test_contract() -> None:
    check_arm(make, pulls=4)


def test_killed() -> None:
    check_killed_arm(make, pulls=3)


def test_equals_fit_in_one_go() -> None:
    arm = make(epochs=2, cost="samples")
    outcomes = [arm.pull(Pull(n, "a", n)) for n in (1, 2, 3)]
    plain = model()
    with Randomness(0).inside():
        history = plain.fit(
            IMAGES[TRAIN], LABELS[TRAIN], batch_size=64, epochs=6, validation_data=VALIDATION, verbose=0
        ).history
    assert [outcome.reward for outcome in outcomes] == history["val_loss"][1::2]
    for mine, expected in zip(arm.model.get_weights(), plain.get_weights(), strict=True):
        assert np.array_equal(mine, expected)
    assert [outcome.cost for outcome in outcomes] == [800.0] * 3
    assert make(cost="steps").pull(Pull(1, "a", 1)).cost == 7


def test_checkpoint_holds_no_code_and_fits_only_its_model(tmp_path: Path) -> None:
    arm = make()
    arm.pull(Pull(1, "a", 1))
    arm.save(tmp_path / "saved")
    with np.load(tmp_path / "saved", allow_pickle=False) as file:
        assert {file[name].dtype.kind for name in file.files} <= set("biufU")
    other = keras.Sequential([keras.Input((64,)), keras.layers.Dense(10)])
    other.compile("adam", "mse")
    with pytest.raises(RisingBanditsError, match=r"is not a checkpoint of this KerasArm \(ValueError: its variables"):
        KerasArm(other, IMAGES, LABELS, monitor="loss", mode="min").load(tmp_path / "saved")


def test_schedules() -> None:
    with pytest.warns(UserWarning, match=r"^CosineDecay\(decay_steps=100\) is bound to a planned length"):
        make(rate=keras.optimizers.schedules.CosineDecay(0.01, 100))
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*planned length")
        arm = make(rate=keras.optimizers.schedules.ExponentialDecay(0.01, 7, 0.5))
    arm.pull(Pull(1, "a", 1))


class Breaks(keras.callbacks.Callback):
    """A loss that is none in the second epoch."""

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        if epoch >= 1:
            logs["loss"] = float("nan")


def test_failures() -> None:
    said = check_failing_arm(partial(make, monitor="val_acuracy"))
    assert "metric must be one of" in said
    assert "got 'val_acuracy', did you mean 'val_accuracy'?" in said
    said = check_failing_arm(partial(make, callbacks=[Breaks()]), good_pulls=1)
    assert "the training loss of arm 'fails' is nan" in said


def test_bad_arguments() -> None:
    with pytest.raises(RisingBanditsError, match=r"model must be a compiled keras\.Model"):
        KerasArm(keras.Sequential([keras.layers.Dense(3)]), IMAGES, LABELS, monitor="loss")
    with pytest.raises(RisingBanditsError, match="mode must be one of max, min; got 'auto'"):
        make(mode="auto")
    with pytest.raises(RisingBanditsError, match="cost must be 'steps' if x is not an array"):
        KerasArm(model(), [1, 2], monitor="loss", cost="samples")
