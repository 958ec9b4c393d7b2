"""Logs every pull that counts to MLflow; see docs/adapters.md."""

from __future__ import annotations

import time

from risingbandits._core.errors import missing
from risingbandits.allocation.listeners import Told

try:
    from mlflow.entities import Metric, Param
    from mlflow.tracking import MlflowClient
except ImportError:
    raise missing("MLflow", "MlflowListener", "mlflow") from None


class MlflowListener:
    """Logs ``reward`` and ``cost`` by the number of the pull to ``experiment``, a run for each arm with its settings.

    A later process with the same ``group`` continues the runs of this one.
    """

    def __init__(self, experiment: str, group: str = "", tracking_uri: str | None = None) -> None:
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
            settings = [Param(name, str(value)) for name, value in told.settings.items()]
            self.client.log_batch(run, params=settings)
            self.runs[told.arm] = run
        now = int(1000 * time.time())
        metrics = [Metric("reward", told.reward, now, told.n), Metric("cost", told.cost, now, told.n)]
        self.client.log_batch(self.runs[told.arm], metrics)
