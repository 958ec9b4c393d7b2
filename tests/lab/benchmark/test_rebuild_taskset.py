"""Losses of TaskSet, from small files of the form they have in machinelearningnuremberg/DPL."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from curves import sources, taskset
from risingbandits._core.errors import RisingBanditsError
from risingbandits.lab.benchmark.curve_tasks import read_arrays

DATA = os.environ.get("RISINGBANDITS_DATA")
OF_THE_SOURCE = ("learning_rate", "beta1", "beta2", "epsilon", "l1", "l2", "linear_decay", "exponential_decay")


def run(settings: dict[str, float], losses: list[float]) -> dict[str, Any]:
    """As the source has it: settings in an order of its own, and other losses before and after."""
    other = {"loss": [-1.0] * len(losses)}
    return {
        "hp": {name: settings[name] for name in OF_THE_SOURCE},
        "train": other,
        "valid": {"loss": losses},
        "test": other,
    }


def write(folder: Path, task: str, runs: list[dict[str, Any]]) -> None:
    (folder / f"FixedTextRNNClassification_imdb_{task}.json").write_text(json.dumps(runs))


def test_order_and_missing_losses(tmp_path: Path) -> None:
    ranks = {name: float(rank) for rank, name in enumerate(taskset.SETTINGS)}
    small = dict.fromkeys(taskset.SETTINGS, 0.1)
    write(tmp_path, "a", [run(ranks, [0.7, float("nan")]), run(small, [0.6, 0.5])])
    write(tmp_path, "b", [run(small, [1e19, 2.0]), run(ranks, [3.0, 4.0])])
    write(tmp_path, "c", [])  # not of the benchmark
    arrays = taskset.convert(tmp_path, ["a", "b"])
    assert arrays["task"].tolist() == ["a", "b"]
    assert arrays["hyper_names"].tolist() == sorted(OF_THE_SOURCE)
    wanted = np.array([[[0.7, np.nan], [0.6, 0.5]], [[1e19, 2], [3, 4]]], np.float32)
    assert arrays["valid_loss"].dtype == arrays["hyper"].dtype == np.float32
    assert np.array_equal(arrays["valid_loss"], wanted, equal_nan=True)
    tenths = [float(np.float32(0.1))] * 8
    assert arrays["hyper"].tolist() == [[list(range(8)), tenths], [tenths, list(range(8))]]


def test_other_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(
        RisingBanditsError, match=r"data/taskset of a copy of .*/DPL, got .* has no Fixed.*avg_bs64\.json"
    ):
        sources.rebuild("taskset", tmp_path / "out", tmp_path)
    settings = dict.fromkeys(taskset.SETTINGS, 0.1)
    write(tmp_path, "a", [run(settings, [1.0])])
    write(tmp_path, "b", [run(settings, [1.0, 2.0])])
    with pytest.raises(RisingBanditsError, match="must have equal numbers of settings and losses"):
        taskset.convert(tmp_path, ["a", "b"])
    for content in ("[", '[{"hp": {}}]', "[3]", json.dumps([run(settings, [1.0]), run(settings, [])])):
        (tmp_path / f"{taskset.PREFIX}a.json").write_text(content)
        with pytest.raises(RisingBanditsError, match=r"a\.json must have a list of runs, each with its settings hp"):
            taskset.convert(tmp_path, ["a"])


@pytest.mark.skipif(DATA is None, reason="RISINGBANDITS_DATA is not set")
def test_published_file_written_as_json_comes_back(tmp_path: Path) -> None:
    published = read_arrays(Path(str(DATA)) / "curves" / "taskset.npz")
    for task, losses, hyper in zip(*(published[key].tolist() for key in ("task", "valid_loss", "hyper")), strict=True):
        pairs = zip(hyper, losses, strict=True)
        write(tmp_path, task, [run(dict(zip(taskset.SETTINGS, of, strict=True)), curve) for of, curve in pairs])
    assert sources.rebuild("taskset", tmp_path / "out", tmp_path) == {"taskset.npz": "as published"}
