"""Listeners that log every pull that counts: to Weights & Biases, MLflow or TensorBoard; see docs/adapters.md."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from risingbandits._core.errors import RisingBanditsError, missing, shown
from risingbandits.allocation.listeners import Told
from risingbandits.allocation.pull import folder_name


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
            if told.config:
                self.run.config.update({told.arm: dict(told.config)}, allow_val_change=True)
        values = {"reward": told.reward, "cost": told.cost, "pull": told.n}
        self.run.log({f"{told.arm}/{name}": value for name, value in values.items()} | {"spent": told.spent})


class MlflowListener:
    """Logs ``reward`` and ``cost`` by the number of the pull to ``experiment``, a run for each arm with its config.

    A later process with the same ``group`` continues the runs of this one.
    """

    def __init__(self, experiment: str, group: str = "", tracking_uri: str | None = None) -> None:
        try:
            from mlflow.entities import Metric, Param
            from mlflow.tracking import MlflowClient
        except ImportError:
            raise missing("MLflow", "MlflowListener", "mlflow") from None
        self._metric, self._param = Metric, Param
        self.client, self.group = MlflowClient(tracking_uri), group or experiment
        known = self.client.get_experiment_by_name(experiment)
        self.experiment: str = self.client.create_experiment(experiment) if known is None else known.experiment_id
        runs = self.client.search_runs([self.experiment], max_results=50_000)
        ours = [run for run in runs if run.data.tags.get("risingbandits.group") == self.group]
        self.runs: dict[str, str] = {run.data.tags["risingbandits.arm"]: run.info.run_id for run in ours}

    def __call__(self, told: Told) -> None:
        if told.arm not in self.runs:
            tags = {"risingbandits.group": self.group, "risingbandits.arm": told.arm}
            run = self.client.create_run(self.experiment, tags=tags, run_name=told.arm).info.run_id
            settings = [self._param(name, str(value)) for name, value in told.config.items()]
            self.client.log_batch(run, params=settings)
            self.runs[told.arm] = run
        now = int(1000 * time.time())
        metrics = [self._metric(name, getattr(told, name), now, told.n) for name in ("reward", "cost")]
        self.client.log_batch(self.runs[told.arm], metrics)


def _writer_class() -> Any:
    for module in ("tensorboardX", "torch.utils.tensorboard"):
        try:
            return __import__(module, fromlist=["SummaryWriter"]).SummaryWriter
        except ImportError:
            pass
    raise missing("tensorboardX or PyTorch's TensorBoard", "TensorBoardListener", "tensorboard")


class TensorBoardListener:
    """Logs ``reward`` and ``cost`` by the number of the pull, each arm as a run of its own below ``folder``."""

    def __init__(self, folder: str | Path) -> None:
        self.folder, self._class = Path(folder), _writer_class()
        self._writers: dict[str, Any] = {}

    def __call__(self, told: Told) -> None:
        if told.arm not in self._writers:
            self._writers[told.arm] = self._class(str(self.folder / folder_name(told.arm)))
        writer = self._writers[told.arm]
        writer.add_scalar("reward", told.reward, told.n)
        writer.add_scalar("cost", told.cost, told.n)
        writer.flush()  # a process that is killed afterwards has logged it

    def close(self) -> None:
        """Close the files; a later pull opens another one beside them."""
        for arm in list(self._writers):
            self._writers.pop(arm).close()
