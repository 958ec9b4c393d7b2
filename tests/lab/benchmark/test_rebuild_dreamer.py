"""Returns on the control suite, from small files of the form they have in danijar/dreamerv3."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from curves import dreamer, sources
from risingbandits._core.errors import RisingBanditsError
from risingbandits.lab.benchmark.curve_tasks import read_arrays

DATA = os.environ.get("RISINGBANDITS_DATA")


def run(task: str, seed: int | str, steps: list[int], values: list[Any]) -> dict[str, Any]:
    return {"task": task, "method": "as named", "seed": seed, "xs": steps, "ys": values}


def write(folder: Path, name: str, runs: list[dict[str, Any]]) -> None:
    (folder / f"{name}.json.gz").write_bytes(gzip.compress(json.dumps(runs).encode()))


def small(folder: Path) -> None:
    write(folder, "dmc_vision-sac", [run("dmc_quadruped_walk", "0", [20], [4.5])])
    write(
        folder,
        "dmc_proprio-ppo_fixhp",
        [
            run("dmc_hopper_hop", "1", [10, 20], [1.5, None]),
            run("dmc_hopper_hop", 0, [10, 20, 30], [1, 2, 3]),
            run("dmc_cheetah_run", "10", [1], [9]),
            run("dmc_cheetah_run", "9", [2], [8]),
            run("dmc_quadruped_walk", "0", [1], [1]),  # of the other suite only
        ],
    )
    write(folder, "dmc_proprio-d4pg", [run("dmc_walker_stand", "0", list(range(10)), list(range(10)))])
    write(folder, "atari100k-dreamerv3", [run("dmc_walker_stand", "0", [1], [1])])


def test_order_tasks_and_thinning(tmp_path: Path) -> None:
    small(tmp_path)
    arrays = dreamer.convert(tmp_path, records=4)
    assert arrays["task"].tolist() == [
        "dmc_proprio/dmc_walker_stand",
        "dmc_proprio/dmc_cheetah_run",
        "dmc_proprio/dmc_cheetah_run",
        "dmc_proprio/dmc_hopper_hop",
        "dmc_proprio/dmc_hopper_hop",
        "dmc_vision/dmc_quadruped_walk",
    ]
    assert arrays["method"].tolist() == ["d4pg", *["ppo_fixhp"] * 4, "sac"]
    assert arrays["seed"].tolist() == [0, 9, 10, 0, 1, 0]
    assert arrays["offset"].tolist() == [0, 4, 5, 6, 9, 11, 12]
    assert arrays["step"].tolist() == [1, 4, 6, 9, 2, 1, 10, 20, 30, 10, 20, 20]
    wanted = [1, 4, 6, 9, 8, 9, 1, 2, 3, 1.5, np.nan, 4.5]
    assert np.array_equal(arrays["value"], np.array(wanted, np.float32), equal_nan=True)
    assert {name: values.dtype for name, values in arrays.items() if values.dtype.kind != "U"} == {
        "offset": np.int64,
        "step": np.int64,
        "value": np.float32,
        "seed": np.int16,
    }


def test_other_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(
        RisingBanditsError, match=r"scores of a copy of danijar/dreamerv3, .* no dmc_proprio-\*\.json\.gz"
    ):
        sources.rebuild("dreamer", tmp_path / "out", tmp_path)
    small(tmp_path)
    runs = [run("dmc_hopper_hop", "0", [1, 2], [1])]  # fewer values than steps
    for content in (
        b"{",
        gzip.compress(b"{"),
        gzip.compress(b'[{"task": "x"}, 3]'),
        gzip.compress(json.dumps(runs).encode()),
    ):
        (tmp_path / "dmc_vision-sac.json.gz").write_bytes(content)
        with pytest.raises(RisingBanditsError, match=r"dmc_vision-sac\.json\.gz must have a compressed list of runs"):
            dreamer.convert(tmp_path)


@pytest.mark.skipif(DATA is None, reason="RISINGBANDITS_DATA is not set")
def test_published_file_written_as_json_comes_back(tmp_path: Path) -> None:
    """Logs that were thinned have 500 records, and keep them."""
    published = read_arrays(Path(str(DATA)) / "curves" / "dreamer.npz")
    files: dict[str, list[dict[str, Any]]] = {}
    offset = published["offset"].tolist()
    for number, (name, method, seed) in enumerate(
        zip(*(published[key].tolist() for key in ("task", "method", "seed")), strict=True)
    ):
        suite, task = name.split("/")
        own = slice(offset[number], offset[number + 1])
        steps, values = published["step"][own].tolist(), published["value"][own].tolist()
        files.setdefault(f"{suite}-{method}", []).append(run(task, str(seed), steps, values))
    for name, runs in files.items():
        write(tmp_path, name, runs)
    assert sources.rebuild("dreamer", tmp_path / "out", tmp_path) == {"dreamer.npz": "as published"}
    assert set(published["task"].tolist()) == {f"{suite}/{task}" for suite, of in dreamer.TASKS.items() for task in of}
    assert np.diff(published["offset"]).max() == dreamer.RECORDS
