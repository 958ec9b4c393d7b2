"""algoperf.npz from the folder ``previous_leaderboards`` of mlcommons/submissions_algorithms (Apache licence 2.0).

There a folder ``algoperf_VERSION/logs/RULESET/SUBMISSION/study_S/WORKLOAD_FRAMEWORK/trial_T`` is a training run, with a
line for each evaluation in eval_measurements.csv and, among others, in measurements.csv. Here the runs stand one after
another, by workload, ruleset, study, submission, framework, trial and version; run j is
``value[offset[j]:offset[j + 1]]``. Runs that were evaluated once are left out. The workloads are those of the
benchmark; others are left for checks of what was tuned on these.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from risingbandits._core.errors import RisingBanditsError

SOURCE = "the folder previous_leaderboards of a copy of mlcommons/submissions_algorithms"
VERSIONS = ("v05", "v06")
LEAST_EVALUATIONS = 2
SCORES = {"fastmri": "ssim", "librispeech": "wer", "ogbg": "mean_average_precision"}
WORKLOADS = (
    "fastmri",
    "fastmri_model_size",
    "fastmri_tanh",
    "librispeech_conformer",
    "librispeech_conformer_layernorm",
    "librispeech_deepspeech",
    "ogbg",
    "ogbg_gelu",
    "ogbg_model_size",
)
_FILES = ("eval_measurements.csv", "measurements.csv")  # the first that is there
_STEP, _SECONDS = "global_step", "accumulated_submission_time"


class _Run(NamedTuple):
    workload: str
    ruleset: str
    study: int
    submission: str
    framework: str
    trial: int
    version: str
    records: list[tuple[int, float, float]]  # steps, values and seconds


def convert(folder: Path) -> dict[str, npt.NDArray[Any]]:
    """The arrays of algoperf.npz."""
    runs = sorted(run for version in VERSIONS for run in _runs(folder / f"algoperf_{version}", version))
    steps, values, seconds = zip(*(record for run in runs for record in run.records), strict=True)
    return {
        "offset": np.cumsum([0, *(len(run.records) for run in runs)]),
        "step": np.array(steps, np.int32),
        "value": np.array(values, np.float32),
        "seconds": np.array(seconds, np.float32),
        "workload": np.array([run.workload for run in runs]),
        "ruleset": np.array([run.ruleset for run in runs]),
        "submission": np.array([run.submission for run in runs]),
        "study": np.array([run.study for run in runs], np.int8),
        "framework": np.array([run.framework for run in runs]),
        "trial": np.array([run.trial for run in runs], np.int8),
        "version": np.array([run.version for run in runs]),
    }


def _runs(folder: Path, version: str) -> list[_Run]:
    """The runs of a leaderboard that are of the families."""
    found = []
    for of_trial in folder.glob("logs/*/*/study_*/*/trial_*"):
        ruleset, submission, study, place, trial = of_trial.parts[-5:]
        workload, _, framework = place.rpartition("_")
        numbers = [name.partition("_")[2] for name in (study, trial)]
        if workload in WORKLOADS and all(map(str.isdecimal, numbers)):
            records = _records(of_trial, f"validation/{SCORES[workload.partition('_')[0]]}")
            if len(records) >= LEAST_EVALUATIONS:
                of_study, of_run = map(int, numbers)
                found.append(_Run(workload, ruleset, of_study, submission, framework, of_run, version, records))
    if not found:
        raise RisingBanditsError(f"source must be {SOURCE}, got {folder.parent}, which has no logs in {folder.name}.")
    return found


def _records(folder: Path, score: str) -> list[tuple[int, float, float]]:
    """The evaluations of a run; other lines have no score."""
    path = next((folder / name for name in _FILES if (folder / name).is_file()), None)
    if path is None:
        return []
    try:
        with path.open(newline="") as file:
            lines = [(row[_STEP], row[score], row[_SECONDS]) for row in csv.DictReader(file)]
        return [(int(float(step)), float(value), float(time)) for step, value, time in lines if value]
    except (KeyError, TypeError, ValueError):
        raise RisingBanditsError(
            f"{path} must have numbers in the columns {_STEP}, {score} and {_SECONDS}, has something else."
        ) from None
