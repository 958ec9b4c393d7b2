"""What a change of arms costs: a checkpoint is written after each pull, and read when an arm comes back elsewhere.

    python benchmarks/switch_overhead.py               # about a million parameters, a few minutes
    python benchmarks/switch_overhead.py --quick       # small models, to see that it works

For each framework, medians over pulls, in CPU time with one thread, which other load does not move much: to save, to
load that into an arm that was just made, and a pull of 20 steps, beside 20 steps in the middle of training in one go by
the framework alone; and the size of the checkpoint. Lightning and Transformers go on from a checkpoint of their own in
every pull, which is part of the pull. Run it with .venv-frameworks/bin/python (make test-frameworks makes it).
"""

from __future__ import annotations

import argparse
import logging
import os
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("KERAS_BACKEND", "torch")

import keras
import lightning
import numpy as np
import torch
import transformers
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from risingbandits.allocation import Pull
from risingbandits.integrations import KerasArm, LightningArm, TorchArm, TrainerArm

__all__ = ["MAKERS", "main", "measure"]

STEPS, BATCH, PULLS = 20, 32, 5
_images, _labels = load_digits(return_X_y=True)
IMAGES, LABELS = (
    torch.tensor(_images[: STEPS * BATCH] / 16, dtype=torch.float32),
    torch.tensor(_labels[: STEPS * BATCH]),
)
FEW = slice(0, 100)  # an evaluation that is as short as training allows: it is no part of a change of arms


def _network(width: int) -> Any:
    return nn.Sequential(nn.Linear(64, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10))


def _loader() -> Any:
    return DataLoader(TensorDataset(IMAGES, LABELS), batch_size=BATCH, shuffle=True)


def _accuracy(model: Any) -> Any:
    return (model(IMAGES[FEW]).argmax(1) == LABELS[FEW]).float().mean()


def torch_arm(width: int) -> Any:
    model = _network(width)
    optimizer = torch.optim.Adam(model.parameters())
    return TorchArm(
        model,
        optimizer,
        _loader,
        lambda model, batch: nn.functional.cross_entropy(model(batch[0]), batch[1]),
        _accuracy,
    )


def torch_plain(width: int, pieces: int) -> None:
    arm = torch_arm(width)
    for _ in range(pieces):
        for batch in _loader():
            arm.optimizer.zero_grad()
            arm.train_step(arm.model, batch).backward()
            arm.optimizer.step()
        arm.evaluate(arm.model)


class Module(lightning.LightningModule):  # type: ignore[misc]  # it is not there when types are checked
    def __init__(self, width: int) -> None:
        super().__init__()
        self.network = _network(width)

    def training_step(self, batch: Any, number: int) -> Any:
        return nn.functional.cross_entropy(self.network(batch[0]), batch[1])

    def validation_step(self, batch: Any, number: int) -> None:
        self.log("val_acc", _accuracy(self.network))

    def configure_optimizers(self) -> Any:
        return torch.optim.Adam(self.parameters())


TRAINER = partial(
    lightning.Trainer,
    accelerator="cpu",
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
)


def lightning_data() -> dict[str, Any]:
    few = DataLoader(TensorDataset(IMAGES[FEW], LABELS[FEW]), batch_size=100)
    return {"train_dataloaders": _loader(), "val_dataloaders": few}


def lightning_arm(width: int) -> Any:
    return LightningArm(Module(width), TRAINER, monitor="val_acc", **lightning_data())


def lightning_plain(width: int, pieces: int) -> None:
    TRAINER(max_epochs=pieces).fit(Module(width), **lightning_data())


def trainer(width: int, steps: int, folder: str) -> Any:
    config = transformers.BertConfig(
        vocab_size=17,
        hidden_size=width // 8,
        num_hidden_layers=4,
        num_attention_heads=4,
        intermediate_size=width // 2,
        max_position_embeddings=64,
        num_labels=10,
    )
    words = (IMAGES * 16).long()
    rows = [{"input_ids": one, "labels": int(label)} for one, label in zip(words, LABELS, strict=True)]
    arguments = transformers.TrainingArguments(
        folder,
        per_device_train_batch_size=BATCH,
        lr_scheduler_type="constant",
        report_to=[],
        disable_tqdm=True,
        use_cpu=True,
        max_steps=steps,
        eval_strategy="steps",
        eval_steps=STEPS,
        save_strategy="no",
        logging_strategy="no",
    )
    model = transformers.BertForSequenceClassification(config)
    made = transformers.Trainer(model, arguments, train_dataset=rows, eval_dataset=rows[FEW])
    made.remove_callback(transformers.PrinterCallback)
    return made


def trainer_arm(width: int) -> Any:
    return TrainerArm(trainer(width, STEPS, tempfile.gettempdir()), steps=STEPS)


def trainer_plain(width: int, pieces: int) -> None:
    trainer(width, STEPS * pieces, tempfile.gettempdir()).train()


def keras_model(width: int) -> Any:
    dense = [keras.layers.Dense(width, activation="relu") for _ in range(2)]
    model = keras.Sequential([keras.Input((64,)), *dense, keras.layers.Dense(10)])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adam", loss, metrics=["accuracy"])
    return model


def keras_data() -> dict[str, Any]:
    images, labels = IMAGES.numpy(), LABELS.numpy()
    return {"x": images, "y": labels, "validation_data": (images[FEW], labels[FEW]), "batch_size": BATCH}


def keras_arm(width: int) -> Any:
    return KerasArm(keras_model(width), monitor="val_accuracy", **keras_data())


def keras_plain(width: int, pieces: int) -> None:
    keras_model(width).fit(epochs=pieces, verbose=0, **keras_data())


MAKERS: dict[str, tuple[Callable[[int], Any], Callable[[int, int], None]]] = {
    "TorchArm": (torch_arm, torch_plain),
    "LightningArm": (lightning_arm, lightning_plain),
    "TrainerArm": (trainer_arm, trainer_plain),
    "KerasArm": (keras_arm, keras_plain),
}


def timed(action: Callable[[], Any]) -> float:
    began = time.process_time()
    action()
    return time.process_time() - began


def measure(make: Callable[[int], Any], plain: Callable[[int, int], None], width: int, folder: Path) -> list[float]:
    """CPU seconds of a save, a load, a pull and as many steps without pauses; the size of a checkpoint in MB."""
    arm, saves, loads, pulls = make(width), [], [], []
    for n in range(1, PULLS + 2):
        pulls.append(timed(partial(arm.pull, Pull(n, "a", n))))
        path = folder / f"{type(arm).__name__}-{n}"
        saves.append(timed(partial(arm.save, path)))
        loads.append(timed(partial(make(width).load, path)))
    files = [path] if path.is_file() else [inner for inner in path.rglob("*") if inner.is_file()]
    short, long = (timed(partial(plain, width, pieces)) for pieces in (1, PULLS + 1))
    size = sum(file.stat().st_size for file in files) / 1e6
    # The first pull loads and compiles what later ones find.
    return [statistics.median(times[1:]) for times in (saves, loads, pulls)] + [(long - short) / PULLS, size]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--width", type=int, default=1024)
    parser.add_argument("--quick", action="store_true", help="small models")
    chosen = parser.parse_args(arguments)
    width = 64 if chosen.quick else chosen.width
    warnings.simplefilter("ignore")
    for name in ("lightning.pytorch", "lightning.fabric"):
        logging.getLogger(name).setLevel(logging.ERROR)
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    print("| arm | parameters | save, ms | load, ms | checkpoint, MB | pull, ms | same steps in one go, ms |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, (make, plain) in MAKERS.items():
        arm = make(width)
        model = arm._module if hasattr(arm, "_module") else arm.model
        weights = model.weights if name == "KerasArm" else model.parameters()
        count = sum(int(np.prod(tuple(one.shape))) for one in weights)
        with tempfile.TemporaryDirectory() as folder:
            save, load, pull, alone, size = measure(make, plain, width, Path(folder))
        times = " | ".join(f"{1000 * seconds:,.0f}" for seconds in (save, load))
        print(f"| `{name}` | {count:,} | {times} | {size:.1f} | {1000 * pull:,.0f} | {1000 * alone:,.0f} |", flush=True)


if __name__ == "__main__":
    main()
