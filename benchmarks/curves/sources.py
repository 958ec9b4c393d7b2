"""The files of the folder ``curves``: where each is from, its checksum, and how it is made again.

Nothing is downloaded here: what is not in a package must be fetched from the named repository by the user. A checksum
is over the names, types, shapes and values of a file's arrays, so that it does not depend on how they were compressed.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from curves import algoperf, atari, dreamer, epochs, lcdb, small_models, taskset, tdmpc2
from risingbandits._core.errors import RisingBanditsError, check_choice
from risingbandits._core.files import write_whole
from risingbandits._core.tables import TextTable
from risingbandits.lab.benchmark.curve_tasks import read_arrays


class Source(NamedTuple):
    """A file, the repository or package its values are from, and the checksum of its arrays."""

    origin: str
    checksum: str
    made_by: str = ""  # the converter that makes it


_Arrays = dict[str, npt.NDArray[Any]]
_NAS = "MITAutoML/accelerating_nas, data, MIT"
_OURS = "trained by this package"
SOURCES = {
    "epochs_metaqnn_cifar10.npz": Source(
        _NAS, "f765284a5cd53bfb325364a7cff7afff89fb2a05cbd0ea0c749a35fbca653e4d", "epochs"
    ),
    "epochs_deep_resnets_tinyimagenet.npz": Source(
        _NAS, "76b81157ed19abdfc15ba80e04f202f7b2da19a1269ba3b1f049803b1d6b2503", "epochs"
    ),
    "epochs_lstm_ptb.npz": Source(_NAS, "9a39f5443d6de1f56601dde716a3baa4ec9827f4798a1a750a269f307c0fb5df", "epochs"),
    "atari.npz": Source(
        "google/dopamine, baselines/atari/data, Apache 2.0",
        "63727fe8f55377d2c386208acde06453e8c833472f76e46607a3799a3436b4eb",
        "atari",
    ),
    "samples_lcdb.npz": Source(
        "Python package lcdb 0.1.0, MIT", "2566505827370240cebdfd4945edfe78ed01fbcedda28cf72a192a8fbecedb4c", "lcdb"
    ),
    "sklearn_digits.npz": Source(
        _OURS, "43de1b5b7583ff5f1b0a5c0a010a146ac7eb8f767125843f3e6c9a38a7467b75", "scikit-learn"
    ),
    "sklearn_breast_cancer.npz": Source(
        _OURS, "980e19fb10afaafd7f409d1952f763814d81227837f48bb066c0ddaacadd7965", "scikit-learn"
    ),
    "sklearn_phishing.npz": Source(
        _OURS, "9b7698a846dfeb8ad6df703f8a4f5457335f671d6217c6fb975652752444a08c", "scikit-learn"
    ),
    "taskset.npz": Source(
        "machinelearningnuremberg/DPL, data/taskset; TaskSet, Apache 2.0",
        "c033934125f3fe4902471505a7a2b14c403c83b50f3aee8f83ac499308d2d8ac",
        "taskset",
    ),
    "algoperf.npz": Source(
        "mlcommons/submissions_algorithms, previous_leaderboards, Apache 2.0",
        "1fe029aba4adaaf87f441abfb97a7b2fc3e79bf7a82efd6a428ceecf5bc109a8",
        "algoperf",
    ),
    "tdmpc2.npz": Source(
        "nicklashansen/tdmpc2, results, MIT",
        "2f13f5576741ee082eb178c6f73ead53dafb4182458e75c0c3a2a5eb1a2720b2",
        "tdmpc2",
    ),
    "dreamer.npz": Source(
        "danijar/dreamerv3, scores, MIT",
        "e2956db96385f296821b286b1258b1f4045158509eb4d87e3c0fcd47de9ef9e5",
        "dreamer",
    ),
}
_FOLDERS: dict[str, tuple[str, Callable[[Path], dict[str, _Arrays]]]] = {  # what is read, and the files made of it
    "epochs": (epochs.SOURCE, epochs.convert),
    "atari": (atari.SOURCE, lambda folder: {"atari.npz": atari.convert(folder)}),
    "taskset": (taskset.SOURCE, lambda folder: {"taskset.npz": taskset.convert(folder)}),
    "algoperf": (algoperf.SOURCE, lambda folder: {"algoperf.npz": algoperf.convert(folder)}),
    "tdmpc2": (tdmpc2.SOURCE, lambda folder: {"tdmpc2.npz": tdmpc2.convert(folder)}),
    "dreamer": (dreamer.SOURCE, lambda folder: {"dreamer.npz": dreamer.convert(folder)}),
}
CONVERTERS = ("lcdb", "scikit-learn", *_FOLDERS)


def checksum(arrays: _Arrays) -> str:
    """Of the arrays of a file.

    >>> checksum({"a": np.arange(3)})[:8] == checksum({"a": np.arange(4)})[:8]
    False
    """
    found = hashlib.sha256()
    for name in sorted(arrays):
        values = np.ascontiguousarray(arrays[name])
        found.update(repr((name, values.dtype.str, values.shape)).encode())
        found.update(values.tobytes())
    return found.hexdigest()


def sources_table(folder: Path) -> TextTable:
    """All files, and what is in a folder."""
    rows = [(name, source.origin, source.made_by or "-", _state(folder / name)) for name, source in SOURCES.items()]
    records = [
        {"file": name, "from": origin, "made_by": SOURCES[name].made_by or None, "here": state}
        for name, origin, _, state in rows
    ]
    return TextTable(("file", "from", "made by", "here"), rows, frozenset(), f"Real curves in {folder}", records)


def _state(path: Path) -> str:
    if not path.is_file():
        return "missing"
    same = checksum(read_arrays(path)) == SOURCES[path.name].checksum
    return "as published" if same else "other values"


def rebuild(benchmark: str, folder: Path, source: Path | None = None) -> dict[str, str]:
    """Make the files of a benchmark in a folder; returns their names, and whether they are as published.

    ``source`` is the file or folder that a converter reads; lcdb finds the one of the installed package itself.
    """
    check_choice("benchmark", benchmark, CONVERTERS)
    made: dict[str, _Arrays]
    if benchmark == "scikit-learn":
        made = {f"sklearn_{name}.npz": small_models.train(name) for name in small_models.DATA_SETS}
    elif benchmark == "lcdb":
        made = {"samples_lcdb.npz": lcdb.convert(_checked(lcdb.database() if source is None else source, lcdb.SHA256))}
    else:
        what, convert = _FOLDERS[benchmark]
        if source is None:
            raise RisingBanditsError(f"source must be {what}, got none.")
        made = convert(source)
    folder.mkdir(parents=True, exist_ok=True)
    for name, arrays in made.items():
        content = io.BytesIO()
        np.savez_compressed(content, **arrays)  # type: ignore[arg-type]
        write_whole(folder / name, content.getvalue())
    return {name: _state(folder / name) for name in made}


def _checked(path: Path, expected: str) -> Path:
    """A file that has the checksum it must have."""
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != expected:
        raise RisingBanditsError(f"{path} must have the SHA-256 {expected[:12]}..., has {found[:12]}...")
    return path
