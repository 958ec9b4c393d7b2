"""Logs written by the libraries themselves are read as they were logged."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from frameworks.digits import IMAGES, LABELS, TRAIN, VALID, network, tensors
from risingbandits import RisingBanditsError, load_curves
from risingbandits.logs import read_runs


def test_hugging_face(tmp_path: Path) -> None:
    from frameworks.test_trainer_arm import trainer

    logged = {}
    for name, schedule in (("constant", "constant"), ("planned", "cosine")):
        made = trainer(
            tmp_path / name,
            max_steps=24,
            eval_strategy="steps",
            eval_steps=4,
            logging_steps=4,
            save_steps=8,
            lr_scheduler_type=schedule,
        )
        made.train()
        logged[name] = [entry["eval_accuracy"] for entry in made.state.log_history if "eval_accuracy" in entry]
    assert len(list(tmp_path.rglob("trainer_state.json"))) == 6, "a checkpoint for every eight steps"
    curves = load_curves(tmp_path, "eval_accuracy")
    assert {name: values.tolist() for name, values in curves.values.items()} == logged
    assert (curves.direction, curves.step) == ("maximize", 4.0)
    assert load_curves(tmp_path, "eval_loss").direction == "minimize"


def test_lightning(tmp_path: Path) -> None:
    import lightning

    class Net(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.net, self.seen = network(), list[float]()

        def training_step(self, batch: Any, number: int) -> Any:
            loss = torch.nn.functional.cross_entropy(self.net(batch[0]), batch[1])
            self.log("train_loss", loss)
            return loss

        def validation_step(self, batch: Any, number: int) -> None:
            accuracy = (self.net(batch[0]).argmax(-1) == batch[1]).float().mean()
            self.log("val_acc", accuracy)
            if not self.trainer.sanity_checking:
                self.seen.append(float(accuracy))

        def configure_optimizers(self) -> Any:
            return torch.optim.Adam(self.parameters(), 0.01)

    logged = {}
    for version in range(2):
        logger = lightning.pytorch.loggers.CSVLogger(tmp_path, name="nets", version=version)
        fitted = lightning.Trainer(
            max_epochs=3 + version, logger=logger, log_every_n_steps=2, accelerator="cpu",
            enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
        )  # fmt: skip
        model = Net()
        loaders = [torch.utils.data.DataLoader(tensors(part), 300) for part in (TRAIN, VALID)]
        fitted.fit(model, *loaders)
        logged[f"nets/version_{version}"] = pytest.approx(model.seen)
    found = read_runs(tmp_path)
    assert {run.name: run.metrics["val_acc"].values.tolist() for run in found.runs} == logged
    assert "train_loss" in found.metrics


def test_keras(tmp_path: Path) -> None:
    import keras

    logged = {}
    for width in (4, 16):
        keras.utils.set_random_seed(0)
        model = keras.Sequential([keras.layers.Dense(width, "relu"), keras.layers.Dense(10)])
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile("adam", loss, metrics=["accuracy"])
        history = model.fit(
            IMAGES[TRAIN], LABELS[TRAIN], validation_data=(IMAGES[VALID], LABELS[VALID]), epochs=4, verbose=0,
            callbacks=[keras.callbacks.CSVLogger(str(tmp_path / f"width {width}.log"))],
        )  # fmt: skip
        logged[f"width {width}"] = pytest.approx(history.history["val_loss"])
    curves = load_curves(tmp_path, "val_loss")
    assert {name: values.tolist() for name, values in curves.values.items()} == logged
    assert curves.direction == "minimize"


def test_mlflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    from mlflow.tracking import MlflowClient

    client = MlflowClient(str(tmp_path / "mlruns"))
    experiment = client.create_experiment("nets")
    for name, rate in (("calm fox", 0.1), ("wild fox", 0.5)):
        run = client.create_run(experiment, run_name=name).info.run_id
        client.log_param(run, "lr", rate)
        for step in range(5):
            client.log_metric(
                run, "eval/loss", math.nan if step == 3 else rate / (step + 1), timestamp=60_000 * step, step=step
            )
        client.set_terminated(run)
        told = client.get_metric_history(run, "eval/loss")
        [read] = [one for one in read_runs(tmp_path / "mlruns").runs if one.name == name]
        assert read.settings == {"lr": rate}
        assert read.metrics["eval/loss"].steps.tolist() == [metric.step for metric in told]
        assert repr(read.metrics["eval/loss"].values.tolist()) == repr([metric.value for metric in told])


def test_torch_writes_event_files(tmp_path: Path) -> None:
    from torch.utils.tensorboard import SummaryWriter

    values = [1.0 - 1.0 / (n + 1) for n in range(50)]
    with SummaryWriter(str(tmp_path / "net")) as writer:
        for step, value in enumerate(values):
            writer.add_scalar("eval/acc", value, step)
            writer.add_scalar("new", value, step, new_style=True)
        writer.add_text("notes", "no number")
    [run] = read_runs(tmp_path).runs
    for tag in ("eval/acc", "new"):
        assert run.metrics[tag].values.tolist() == pytest.approx(values)
        assert run.metrics[tag].steps.tolist() == list(range(50))


@pytest.fixture(scope="module")
def wandb_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs that were logged without a server, longer than a block of the file."""
    import wandb

    folder = tmp_path_factory.mktemp("wandb")
    for name, rate in (("brave sun", 0.1), ("calm sea", 0.01)):
        with wandb.init(
            mode="offline", dir=folder, project="nets", name=name, config={"lr": rate, "opt": {"name": "adam"}}
        ) as run:
            for step in range(400):
                run.log(
                    {
                        "val": {"acc": 1 - rate / (step + 1)},
                        "loss": math.nan if step == 399 else rate,
                        "text": "a" * 100,
                    }
                )
            run.log({"long": "b" * 70_000})  # a record of three blocks
    wandb.teardown()  # its service writes the file, and has done so when it has ended
    return folder


def test_wandb(wandb_folder: Path) -> None:
    found = read_runs(wandb_folder)
    assert {run.name: run.settings for run in found.runs} == {
        "brave sun": {"lr": 0.1, "opt/name": "adam"},
        "calm sea": {"lr": 0.01, "opt/name": "adam"},
    }
    for run, rate in zip(sorted(found.runs, key=lambda run: run.name), (0.1, 0.01), strict=True):
        assert run.kind == "Weights & Biases"
        assert run.metrics["val/acc"].values.tolist() == [1 - rate / (step + 1) for step in range(400)]
        assert run.metrics["val/acc"].seconds is not None
        assert math.isnan(run.metrics["loss"].values[-1])


def test_damaged_files_of_wandb(wandb_folder: Path, tmp_path: Path) -> None:
    content = next(wandb_folder.rglob("*.wandb")).read_bytes()
    rng = np.random.default_rng(0)
    path = tmp_path / "run.wandb"
    for _ in range(40):
        damaged = bytearray(content)
        damaged[rng.integers(7, len(damaged) - 70_000)] ^= int(rng.integers(1, 256))
        path.write_bytes(damaged)
        with pytest.raises(RisingBanditsError, match=r"is damaged: no record starts at byte \d+\.$"):
            read_runs(path)
    path.write_bytes(content[: len(content) // 2])  # its writer was killed
    assert 100 < len(read_runs(path).runs[0].metrics["val/acc"].values) < 400
