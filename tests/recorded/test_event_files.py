"""TensorBoard's event files, written by the real library."""

from __future__ import annotations

import math
import struct
from pathlib import Path

import numpy as np
import pytest
from tensorboardX import SummaryWriter

from risingbandits import RisingBanditsError
from risingbandits.recorded import read_runs
from risingbandits.recorded.event_files import is_event_file, scalars


def written(folder: Path, values: dict[str, list[float]], first: int = 0) -> Path:
    """An event file with these values at steps first, first + 1, ..."""
    before = set(folder.glob("*")) if folder.exists() else set()
    with SummaryWriter(str(folder), filename_suffix=f".{len(before)}") as writer:
        for tag, own in values.items():
            for step, value in enumerate(own, start=first):
                writer.add_scalar(tag, value, step, walltime=1000.0 + 60.0 * step)
        writer.add_text("a/text", "not a number", 0)
        writer.add_histogram("weights", np.arange(100.0), 0)
    [path] = set(folder.glob("*")) - before
    return path


def test_numbers_come_back_with_steps_and_times(tmp_path: Path) -> None:
    path = written(tmp_path / "run", {"eval/acc": [0.25, 0.5, 0.625], "loss": [2.0, math.nan, -1.5e30]})
    found = list(scalars(path))
    assert [each[:3] for each in found[:3]] == [
        ("eval/acc", 0.0, 0.25),
        ("eval/acc", 1.0, 0.5),
        ("eval/acc", 2.0, 0.625),
    ]
    assert [each[3] for each in found[:3]] == [1000.0, 1060.0, 1120.0]
    assert {each[0] for each in found} == {"eval/acc", "loss"}, "texts and histograms are no numbers"
    assert math.isnan(found[4][2])
    assert found[5][2] == np.float32(-1.5e30)


def test_a_folder_of_runs(tmp_path: Path) -> None:
    written(tmp_path / "small" / "v1", {"acc": [0.1, 0.2]})
    written(tmp_path / "large", {"acc": [0.3, 0.4, 0.5]})
    found = read_runs(tmp_path)
    assert {run.name: run.metrics["acc"].values.tolist() for run in found.runs} == {
        "large": pytest.approx([0.3, 0.4, 0.5]),
        "small/v1": pytest.approx([0.1, 0.2]),
    }
    assert [run.kind for run in found.runs] == ["TensorBoard"] * 2
    seconds = found.runs[0].metrics["acc"].seconds
    assert seconds is not None
    assert np.diff(seconds).tolist() == [60.0, 60.0]


def test_a_run_that_was_resumed_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    written(tmp_path / "run", {"acc": [0.1, 0.2, 0.3, 0.4]})
    written(tmp_path / "run", {"acc": [0.35, 0.5]}, first=2)
    found = read_runs(tmp_path / "run")
    assert found.runs[0].metrics["acc"].values.tolist() == pytest.approx([0.1, 0.2, 0.35, 0.5])
    assert found.notes == ["run went back by 2 values, as after a restart; what it wrote last counts."]


def test_the_end_of_a_file_that_is_being_written_may_be_missing(tmp_path: Path) -> None:
    path = written(tmp_path / "run", {"acc": [0.25, 0.5, 0.75]})
    content = path.read_bytes()
    seen = set()
    for length in range(len(content) - 400, len(content)):
        path.write_bytes(content[:length])
        seen.add(len(list(scalars(path))))
    assert seen <= {0, 1, 2, 3}
    assert max(seen) == 3


def test_damage_is_said(tmp_path: Path) -> None:
    path = written(tmp_path / "run", {"acc": [0.25, 0.5, 0.75]})
    content = path.read_bytes()
    rng = np.random.default_rng(3)
    for _ in range(300):
        damaged = bytearray(content)
        damaged[rng.integers(len(damaged))] ^= int(rng.integers(1, 256))
        path.write_bytes(damaged)
        with pytest.raises(RisingBanditsError, match=r"is damaged: .*\.$"):
            list(scalars(path))


def test_other_files_are_none() -> None:
    assert not is_event_file(b"")
    assert not is_event_file(b"step,value\n1,2\n3,4\n")
    assert not is_event_file(struct.pack("<Q", 24) + b"\0\0\0\0")
