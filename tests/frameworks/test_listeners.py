"""Ready listeners, each with its library: what they have logged is what counts, also after a resumed run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from risingbandits import Allocator, RisingBanditsError
from risingbandits.integrations import MlflowListener, TensorBoardListener, WandbListener
from risingbandits.logs import read_runs

ROOT = Path(__file__).parents[2]
ARMS = {"a b": lambda pull: pull.n / (pull.n + 1), "c/d": lambda pull: 0.5}
SETTINGS: dict[str, dict[str, float | str]] = {"a b": {"lr": 0.1}, "c/d": {"lr": 0.25, "opt": "adam"}}


def run_twice(make: Any, store: Path, close: Any = lambda listener: None) -> dict[str, list[float]]:
    """Six pulls, then six more by another allocator with another listener; the rewards."""
    for budget in (6, 12):
        listener = make()
        with Allocator(
            ARMS, budget, store=store, policy="round-robin", configs=SETTINGS, on_tell=listener
        ) as allocator:
            allocator.run(progress=False)
            close(listener)
            found = {name: allocator.rewards(name) for name in ARMS}
    assert [len(rewards) for rewards in found.values()] == [6, 6]
    return found


def test_tensorboard(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    told = run_twice(lambda: TensorBoardListener(tmp_path / "log"), tmp_path / "run.db", TensorBoardListener.close)
    for name, folder in (("a b", "a%20b"), ("c/d", "c%2Fd")):
        read = EventAccumulator(str(tmp_path / "log" / folder)).Reload()
        for tag, expected in (("reward", told[name]), ("cost", [1.0] * 6)):
            assert [scalar.step for scalar in read.Scalars(tag)] == [1, 2, 3, 4, 5, 6]
            assert [scalar.value for scalar in read.Scalars(tag)] == pytest.approx(expected)
    ours = {run.name: run.metrics["reward"].values.tolist() for run in read_runs([tmp_path / "log"]).runs}
    assert ours == {"a%20b": pytest.approx(told["a b"]), "c%2Fd": pytest.approx(told["c/d"])}


@pytest.fixture
def mlflow_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # a database needs more than MLflow's skinny package
    monkeypatch.setenv("MLFLOW_TRACKING_URI", str(tmp_path / "mlruns"))
    return str(tmp_path / "mlruns")


def test_mlflow(tmp_path: Path, mlflow_folder: str) -> None:
    from mlflow.tracking import MlflowClient

    MlflowListener("arms", "of another run", mlflow_folder)
    told = run_twice(lambda: MlflowListener("arms", "it's mine", mlflow_folder), tmp_path / "run.db")
    client = MlflowClient(mlflow_folder)
    runs = client.search_runs([client.get_experiment_by_name("arms").experiment_id])
    assert sorted(run.info.run_name for run in runs) == ["a b", "c/d"]
    for run in runs:
        history = sorted(client.get_metric_history(run.info.run_id, "reward"), key=lambda metric: metric.step)
        assert [metric.step for metric in history] == [1, 2, 3, 4, 5, 6]
        assert [metric.value for metric in history] == told[run.info.run_name]
        assert run.data.params == {name: str(value) for name, value in SETTINGS[run.info.run_name].items()}


def test_wandb(tmp_path: Path) -> None:
    import wandb

    with wandb.init(mode="offline", dir=tmp_path, project="arms") as run:
        told = run_twice(lambda: WandbListener(run), tmp_path / "run.db")
        assert dict(run.config) == SETTINGS
    wandb.teardown()  # its service writes the file, and has done so when it has ended
    [logged] = [run.metrics for run in read_runs(tmp_path).runs]  # tests/frameworks/test_readers.py has the reader
    for name, rewards in told.items():
        assert logged[f"{name}/pull"].values.tolist() == [1, 2, 3, 4, 5, 6]
        assert logged[f"{name}/reward"].values.tolist() == rewards
    assert logged["spent"].values.tolist() == list(range(1, 13))


def test_what_is_no_run() -> None:
    with pytest.raises(RisingBanditsError, match=r"run must be what wandb.init\(\) returns, got 'offline'"):
        WandbListener("offline")


def test_the_block_of_the_page(tmp_path: Path, mlflow_folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    [block] = re.findall(r"```python\n(import wandb\n.*?)```", (ROOT / "docs" / "adapters.md").read_text(), re.DOTALL)
    exec(compile(block, "adapters.md", "exec"), {})
    assert {run.name for run in read_runs([tmp_path / "runs"]).runs} == {"steady", "late"}
