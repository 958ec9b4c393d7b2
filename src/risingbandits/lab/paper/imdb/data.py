"""Data for online learners: sparse rows with 0/1 labels. Nothing here is ever downloaded.

`load_imdb` reads the Large Movie Review Dataset (Maas et al., 2011), from the authors' archive ``aclImdb_v1.tar.gz``,
from the folder it unpacks to, or from a compact NumPy file with the same counts. `load_digits` turns the handwritten
digits that come with scikit-learn into a binary task.
"""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from risingbandits._core.errors import RisingBanditsError, check_positive_int, missing
from risingbandits._core.types import Floats, Ints

_COMPACT = "imdb_bow_10k.npz"
_ARCHIVE = "aclImdb_v1.tar.gz"
_PARTS = ("train/labeledBow.feat", "test/labeledBow.feat")
_HOW = (
    "get aclImdb_v1.tar.gz (Large Movie Review Dataset, Maas et al. 2011) and name it with --data, "
    "or put it into the folder imdb below RISINGBANDITS_DATA; without it, --dataset digits works offline"
)


class Rows(NamedTuple):
    """Rows of a sparse matrix (CSR) with their labels."""

    name: str
    features: int  # d, the number of columns
    indptr: Ints  # row r is the entries indptr[r] to indptr[r + 1]
    indices: npt.NDArray[np.int32]
    values: Floats
    labels: Floats  # 0.0 or 1.0

    @property
    def n_rows(self) -> int:
        return len(self.labels)

    def fingerprint(self) -> str:
        """A short hash of the contents."""
        digest = hashlib.sha256(f"{self.features};".encode())
        for array in (self.indptr, self.indices, self.values, self.labels):
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()[:16]


def _rows(name: str, features: int, ends: Any, columns: Any, values: Any, labels: Any) -> Rows:
    """Rows with numbers of the types that kernels take."""
    arrays = ends.astype(np.int64), columns.astype(np.int32), values.astype(np.float64), labels.astype(np.float64)
    return Rows(name, features, *arrays)


def load_imdb(path: str | Path | None = None, features: int = 1000) -> Rows:
    """The 50,000 movie reviews as word counts; label 1 for more than 5 stars.

    Parameters
    ----------
    path : path, optional
        The archive, its folder, the compact file, or a folder that holds one of them. By default the folder ``imdb``
        below the folder that the environment variable RISINGBANDITS_DATA names.
    features : int
        How many words, in the order of the data set's vocabulary; at most 10,000.
    """
    features = check_positive_int("features", features)
    if features > 10_000:
        raise RisingBanditsError(f"features must be at most 10,000, got {features}.")
    source = _source(path)
    try:
        if source.suffix == ".npz":
            return _read_compact(source, features)
        if source.is_dir():
            return _read_parts(_folder_parts(source), features)
        with tarfile.open(source) as archive:
            return _read_parts(_archive_parts(archive, source), features)
    except (OSError, EOFError, KeyError, ValueError, tarfile.TarError, zipfile.BadZipFile) as error:
        raise RisingBanditsError(f"{source} holds no readable reviews ({type(error).__name__}: {error}).") from error


def load_digits() -> Rows:
    """The 1,797 handwritten digits of scikit-learn, 64 grey values each; label 1 for 5 to 9."""
    try:
        from sklearn import datasets
    except ImportError:
        raise missing("scikit-learn", "the digits", "sklearn") from None
    images, digits = datasets.load_digits(return_X_y=True)
    return _rows_of("digits", images, digits >= 5)


def _rows_of(name: str, matrix: Floats, labels: npt.NDArray[np.bool_]) -> Rows:
    row, column = np.nonzero(matrix)
    indptr = np.searchsorted(row, np.arange(len(matrix) + 1))
    return _rows(name, matrix.shape[1], indptr, column, matrix[row, column], labels)


def _source(path: str | Path | None) -> Path:
    """The file or folder to read."""
    if path is None:
        root = os.environ.get("RISINGBANDITS_DATA")
        if not root:
            raise RisingBanditsError(f"the IMDB reviews are not here and are never downloaded: {_HOW}.")
        path = Path(root) / "imdb"
    path = Path(path)
    if path.is_file():
        return path
    for candidate in (path / _COMPACT, path / _ARCHIVE):
        if candidate.is_file():
            return candidate
    for folder in (path, path / "aclImdb"):
        if all((folder / part).is_file() for part in _PARTS):
            return folder
    raise RisingBanditsError(f"{path} holds no IMDB reviews, and they are never downloaded: {_HOW}.")


def _read_compact(path: Path, features: int) -> Rows:
    with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as file:
        indptr, columns, counts, labels = (file[name] for name in ("indptr", "indices", "counts", "labels"))
    kept = columns < features
    ends = np.concatenate([[0], np.cumsum(kept)])[indptr]
    return _rows("imdb", features, ends, columns[kept], counts[kept], labels)


def _folder_parts(folder: Path) -> Iterator[IO[bytes]]:
    for part in _PARTS:
        with (folder / part).open("rb") as file:
            yield file


def _archive_parts(archive: tarfile.TarFile, path: Path) -> Iterator[IO[bytes]]:
    for part in _PARTS:
        file = archive.extractfile(f"aclImdb/{part}")
        if file is None:
            raise RisingBanditsError(f"{path} has no aclImdb/{part}.")
        with file:
            yield file


def _read_parts(parts: Iterable[IO[bytes]], features: int) -> Rows:
    """Lines of ``stars column:count column:count ...`` with columns from 0."""
    columns, counts, lengths, labels = [], [], [0], []
    for file in parts:
        for line in file:
            numbers = np.array(line.replace(b":", b" ").split(), dtype=np.int64)
            if numbers.size == 0:
                continue
            own, own_counts = numbers[1::2], numbers[2::2]
            if len(own) != len(own_counts) or (own.size and own.min() < 0):
                raise ValueError("a line is not 'stars column:count ...'")
            kept = own < features
            columns.append(own[kept])
            counts.append(own_counts[kept])
            lengths.append(int(kept.sum()))
            labels.append(numbers[0] > 5)
    if not labels:
        raise ValueError("no lines")
    return _rows(
        "imdb", features, np.cumsum(lengths), np.concatenate(columns), np.concatenate(counts), np.array(labels)
    )
