"""CSV files of learning curves: what is read, and complaints that say where."""

from __future__ import annotations

from pathlib import Path

import pytest

from arm_curves import load_columns
from risingbandits._core.errors import RisingBanditsError


def test_columns_by_name_shorter_ones_end_early(tmp_path: Path) -> None:
    path = tmp_path / "curves.csv"
    path.write_bytes(b'\xef\xbb\xbf"a, b", 2 \r\n0.5,1e-3\r\n 0.75,\r\n1\r\n,,\r\n\r\n')
    assert load_columns(path) == {"a, b": [0.5, 0.75, 1.0], "2": [0.001]}


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(RisingBanditsError, match=r"missing.csv cannot be read: No such file or directory\."):
        load_columns(tmp_path / "missing.csv")
    binary = tmp_path / "binary.csv"
    binary.write_bytes(b"a\n\xff\xfe\n")
    with pytest.raises(RisingBanditsError, match="is not a CSV file in UTF-8"):
        load_columns(binary)
