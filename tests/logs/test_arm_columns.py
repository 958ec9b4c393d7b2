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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "curves.csv is empty: it must hold a row of arm names and one row per pull."),
        ("\n,,\n", "curves.csv is empty"),
        ("a,b\n", "curves.csv, column 'a' has no values below its name."),
        ("a,b\n1,\n", "curves.csv, column 'b' has no values below its name."),
        ("a,b\n1,2\n1,x\n", "curves.csv, line 3, column 'b' must be a finite number or empty, got 'x'."),
        ("a\n1\nnan\n", "curves.csv, line 3, column 'a' must be a finite number or empty, got 'nan'."),
        ("a\n1_0\n", "curves.csv, line 2, column 'a' must be a finite number or empty, got '1_0'."),
        ("a,b\n1,2\n,2\n3,2\n", "curves.csv, line 4, column 'a' has the value '3' below an empty cell"),
        ("a,b,a\n1,2,3\n", "curves.csv, line 1, column 3 repeats the arm name 'a'."),
        ("a,,c\n1,2,3\n", "curves.csv, line 1, column 2 must be the name of an arm, is empty."),
        ("a,b\n1,2,3\n", "curves.csv, line 2 has 3 cells, but the header has 2 names."),
        ("0.1,0.2\n0.2,0.3\n", "curves.csv, line 1 must hold arm names, got the numbers"),
        ('a\n"1\n', "curves.csv is not a CSV file in UTF-8: "),
    ],
)
def test_errors_name_the_place(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "curves.csv"
    path.write_text(text)
    with pytest.raises(RisingBanditsError) as caught:
        load_columns(path)
    assert message in str(caught.value)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(RisingBanditsError, match=r"missing.csv cannot be read: No such file or directory\."):
        load_columns(tmp_path / "missing.csv")
    binary = tmp_path / "binary.csv"
    binary.write_bytes(b"a\n\xff\xfe\n")
    with pytest.raises(RisingBanditsError, match="is not a CSV file in UTF-8"):
        load_columns(binary)
