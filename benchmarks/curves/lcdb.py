"""samples_lcdb.npz from the Learning Curve Database 1.0, which the Python package ``lcdb`` (0.1.0) brings along.

The package holds one line for each learner, training-set size and split of a data set. Here they become arrays of
learners x splits x sizes with accuracies times 10,000, 65535 where one is missing. The data sets are those of the
benchmark; others of the database are left for checks of what was tuned on these.
"""

from __future__ import annotations

import csv
import importlib.util
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from risingbandits._core.errors import missing

FILE = "database-accuracy.csv"
SHA256 = "5bf9f9388d37da47ce5e0edaf67dacfbd12a05ba50b76b5b3f4bf2dce02d85ac"
_MISSING = 65_535
_IDS = """
3 11 13 16 21 23 26 30 32 38 46 55 60 179 181 184 188 273 299 336 351 357 389 391 393 396 399 446 679 718 722 727 734
737 741 751 761 797 803 807 816 821 823 837 845 847 866 881 901 904 912 914 923 934 958 962 971 977 979 991 995 1002
1019 1021 1040 1042 1050 1056 1068 1083 1085 1087 1111 1114 1119 1128 1134 1139 1146 1166 1233 1236 1448 1457 1464
1468 1477 1483 1486 1488 1494 1503 1515 1567 1590 1597 4135 4534 4541 23517 40664 40670 40677 40687 40713 40910 40975
40981 40983 40994 41027 41143 41145 41150 41157 41159 41163 41165 41167 41169 41972 42733 42742 42809
"""  # by OpenML
DATA_SETS = tuple(_IDS.split())


class _Line(NamedTuple):
    learner: str
    size: int
    split: tuple[int, int]
    valid: float
    test: float


def database() -> Path:
    """The file with accuracies in the installed package."""
    found = importlib.util.find_spec("lcdb")
    if found is None or not found.submodule_search_locations:
        raise missing("lcdb", "the benchmark lcdb", "curves")
    return Path(found.submodule_search_locations[0]) / FILE


def convert(path: Path, data_sets: Iterable[str] = DATA_SETS) -> dict[str, npt.NDArray[Any]]:
    """The arrays of samples_lcdb.npz."""
    wanted: dict[str, list[_Line]] = {name: [] for name in data_sets}
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            if row["openmlid"] in wanted:
                wanted[row["openmlid"]].append(_line(row))
    arrays: dict[str, npt.NDArray[Any]] = {}
    for name, lines in wanted.items():
        if lines:
            arrays |= {f"{name}__{part}": values for part, values in _arrays(lines).items()}
    return arrays


def _line(row: Mapping[str, str]) -> _Line:
    split = int(row["outer_seed"]), int(row["inner_seed"])
    scores = (float(row[part] or "nan") for part in ("score_valid", "score_test"))
    return _Line(row["learner"], int(row["size_train"]), split, *scores)


def _arrays(lines: list[_Line]) -> dict[str, npt.NDArray[Any]]:
    learners = sorted({line.learner for line in lines})
    splits = sorted({line.split for line in lines})
    finished: dict[int, set[str]] = {}
    for line in lines:
        finished.setdefault(line.size, set()).add(line.learner)
    sizes = sorted(size for size, those in finished.items() if 2 * len(those) >= len(learners))
    places = [{key: place for place, key in enumerate(keys)} for keys in (learners, splits, sizes)]
    values = {
        part: np.full((len(learners), len(splits), len(sizes)), _MISSING, np.uint16) for part in ("valid", "test")
    }
    for line in lines:
        if line.size in places[2]:
            at = places[0][line.learner], places[1][line.split], places[2][line.size]
            for part, value in (("valid", line.valid), ("test", line.test)):
                if np.isfinite(value):
                    values[part][at] = round(10_000 * value)
    return {**values, "sizes": np.array(sizes, np.int32), "arms": np.array(learners)}
