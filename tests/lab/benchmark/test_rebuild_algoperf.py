"""Training runs of AlgoPerf, from small files of the form they have in mlcommons/submissions_algorithms."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from curves import algoperf, sources
from risingbandits._core.errors import RisingBanditsError
from risingbandits.lab.benchmark.curve_tasks import read_arrays

DATA = os.environ.get("RISINGBANDITS_DATA")
SCORES = {"fastmri": "ssim", "librispeech": "wer", "ogbg": "mean_average_precision"}

Records = list[tuple[Any, Any, Any]]


def write(folder: Path, place: str, records: Records) -> Path:
    """Lines of gradients before and after each evaluation, and a last one that repeats the time only."""
    workload = place.split("/")[-2]
    score = SCORES.get(workload.split("_")[0], "accuracy")
    lines = [f"global_step,grad_norm,train/{score},validation/{score},score,accumulated_submission_time", "0,6.05,,,,"]
    for step, value, seconds in records:
        lines += [f"{step},,-1,{value},{seconds},{seconds}", f"{step},0.25,,,,"]
    lines += [f"{step},,,,{seconds}," for step, _, seconds in records[-1:]]
    path = folder / place / "measurements.csv"
    path.parent.mkdir(parents=True)
    path.write_text("\n".join([*lines, ""]))
    return path


def small(folder: Path) -> None:
    old, new = "algoperf_v05/logs", "algoperf_v06/logs"
    two: Records = [(1, 0.1, 60.5), (300, 0.25, 140.5)]
    write(folder, f"{new}/external_tuning/baseline/study_0/fastmri_jax/trial_1", two)
    write(folder, f"{old}/external_tuning/baseline/study_0/fastmri_jax/trial_10", [*two, (600, 0.5, 221)])
    write(folder, f"{old}/external_tuning/baseline/study_0/fastmri_jax/trial_1", [(1, 0.0, 1), ("2.0", 1, 2)])
    write(folder, f"{old}/external_tuning/baseline/study_0/fastmri_jax/trial_2", two[:1])  # one evaluation
    write(folder, f"{old}/external_tuning/baseline/study_0/fastmri_jax/trial_3", [])
    (folder / old / "external_tuning/baseline/study_0/fastmri_jax/trial_4").mkdir()  # ended before any line
    write(folder, f"{old}/external_tuning/amos/study_1/fastmri_model_size_jax/trial_1", two)
    write(folder, f"{old}/self_tuning/amos/study_0/librispeech_conformer_layernorm_pytorch/trial_1", two)
    both = write(folder, f"{old}/self_tuning/amos/study_0/ogbg_gelu_pytorch/trial_1", two)
    of_evaluations = (
        "accumulated_submission_time,global_step,validation/mean_average_precision\n1.5,7,0.5\n2.5,8,0.75\n"
    )
    both.with_name("eval_measurements.csv").write_text(of_evaluations)
    write(folder, f"{old}/self_tuning/amos/study_0/wmt_pytorch/trial_1", two)  # not of the benchmark
    write(folder, f"{old}/self_tuning/amos/study_0/ogbg_pytorch/trial_1_old", two)
    write(folder, "algoperf_v07/logs/self_tuning/amos/study_0/ogbg_pytorch/trial_1", two)


def test_order_and_what_is_left_out(tmp_path: Path) -> None:
    small(tmp_path)
    arrays = algoperf.convert(tmp_path)
    columns = ("workload", "ruleset", "study", "submission", "framework", "trial", "version")
    assert [*zip(*(arrays[name].tolist() for name in columns), strict=True)] == [
        ("fastmri", "external_tuning", 0, "baseline", "jax", 1, "v05"),
        ("fastmri", "external_tuning", 0, "baseline", "jax", 1, "v06"),
        ("fastmri", "external_tuning", 0, "baseline", "jax", 10, "v05"),
        ("fastmri_model_size", "external_tuning", 1, "amos", "jax", 1, "v05"),
        ("librispeech_conformer_layernorm", "self_tuning", 0, "amos", "pytorch", 1, "v05"),
        ("ogbg_gelu", "self_tuning", 0, "amos", "pytorch", 1, "v05"),
    ]
    assert arrays["offset"].tolist() == [0, 2, 4, 7, 9, 11, 13]
    assert arrays["step"].tolist() == [1, 2, 1, 300, 1, 300, 600, *[1, 300] * 2, 7, 8]
    tenth = float(np.float32(0.1))
    assert arrays["value"].tolist() == [0, 1, tenth, 0.25, tenth, 0.25, 0.5, *[tenth, 0.25] * 2, 0.5, 0.75]
    assert arrays["seconds"].tolist() == [1, 2, 60.5, 140.5, 60.5, 140.5, 221, *[60.5, 140.5] * 2, 1.5, 2.5]


def test_other_files_are_named(tmp_path: Path) -> None:
    message = r"previous_leaderboards of a copy of mlcommons/submissions_algorithms, got .* no logs in algoperf_v05"
    with pytest.raises(RisingBanditsError, match=message):
        sources.rebuild("algoperf", tmp_path / "out", tmp_path)
    two: Records = [(1, 0.1, 60.5), (300, 0.25, 140.5)]
    path = write(tmp_path, "algoperf_v05/logs/self_tuning/amos/study_0/ogbg_jax/trial_1", two)
    with pytest.raises(RisingBanditsError, match="no logs in algoperf_v06"):
        algoperf.convert(tmp_path)
    text = path.read_text()
    for content in (text.replace("validation/", "test/"), text.replace("0.25,140.5", "high,140.5"), "global_step\n1\n"):
        path.write_text(content)
        with pytest.raises(
            RisingBanditsError, match=r"measurements\.csv must have numbers in the columns global_step, val"
        ):
            algoperf.convert(tmp_path)


@pytest.mark.skipif(DATA is None, reason="RISINGBANDITS_DATA is not set")
def test_published_file_written_as_csv_comes_back(tmp_path: Path) -> None:
    published = read_arrays(Path(str(DATA)) / "curves" / "algoperf.npz")
    names = ("version", "ruleset", "submission", "study", "workload", "framework", "trial")
    offset = published["offset"].tolist()
    steps, values, seconds = (published[key].tolist() for key in ("step", "value", "seconds"))
    for number, run in enumerate(zip(*(published[key].tolist() for key in names), strict=True)):
        version, ruleset, submission, study, workload, framework, trial = run
        own = slice(offset[number], offset[number + 1])
        place = f"algoperf_{version}/logs/{ruleset}/{submission}/study_{study}/{workload}_{framework}/trial_{trial}"
        write(tmp_path, place, [*zip(steps[own], values[own], seconds[own], strict=True)])
    assert sources.rebuild("algoperf", tmp_path / "out", tmp_path) == {"algoperf.npz": "as published"}
    assert tuple(sorted(set(published["workload"].tolist()))) == algoperf.WORKLOADS
