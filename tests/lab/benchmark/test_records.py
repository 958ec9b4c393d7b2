"""Records: what is in the folder can be read, and what is written can be read again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from risingbandits._core.errors import RisingBanditsError
from risingbandits.cli.app import run
from risingbandits.lab.benchmark._cells import Cell
from risingbandits.lab.benchmark._files import boards_of
from risingbandits.lab.benchmark._records import families_tables, leaderboard, read_record, record_of, write_record
from risingbandits.lab.benchmark._rows import Played, Row
from risingbandits.lab.benchmark.outcome import Outcome

FOLDER = Path(__file__).parents[3] / "records"


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.json")), ids=lambda path: path.name)
def test_records_of_the_repository(path: Path) -> None:
    record = read_record(path)
    assert not record["parameters"]["quick"]
    assert record["parameters"]["orders"] >= 10
    assert "/" not in "".join(record["policies"])


def test_the_folder_says_how_to_add_one() -> None:
    assert "--record records/mine.json" in (FOLDER / "README.md").read_text()


def made(losses: dict[str, float]) -> dict[str, Any]:
    row = Row("family", "family", "real", "cumulative", "share", ())
    cells = {label: Cell((Played("t", "family", "", 0, 10, lost, 1.0, 10.0),)) for label, lost in losses.items()}
    parameters = {"version": "1", "seed": 0, "orders": 10, "quick": False}
    outcome = Outcome([row], dict.fromkeys(losses, "Policy()"), {row: cells}, parameters=parameters)
    return record_of(outcome, boards_of(outcome), "risingbandits lab benchmark", "2030-01-02")


def test_a_record_is_read_as_it_was_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_record(made({"a": 0.5, "b": 0.25}), tmp_path / "one.json")
    write_record(made({"c": 0.4}), tmp_path / "two.json")
    assert read_record(tmp_path / "one.json") == made({"a": 0.5, "b": 0.25})
    (table,) = leaderboard(tmp_path)
    assert [(row[0], row[1], row[6]) for row in table.rows] == [
        ("b", "0.250 [0.250, 0.250]", "one"),
        ("c", "0.400 [0.400, 0.400]", "two"),
        ("a", "0.500 [0.500, 0.500]", "one"),
    ]
    with pytest.raises(RisingBanditsError, match="already exists"):
        write_record(made({"a": 0.1}), tmp_path / "one.json")
    (by_family,) = families_tables(read_record(tmp_path / "one.json"))
    assert by_family.header == ("row", "b", "a")
    assert by_family.rows == [("family", "0.25", "0.50")]
    assert run(["lab", "benchmark", "records", str(tmp_path)]) == 0
    assert "2030-01-02" in capsys.readouterr().out


def changed(**changes: Any) -> dict[str, Any]:
    return {**made({"a": 0.5}), **changes}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not a JSON file"),
        ("[]", "it is not an object"),
        (json.dumps({"format": 2}), "it lacks command, date, versions"),
        (json.dumps(changed(format=7)), "format must be 2, is 7"),
        (json.dumps(changed(versions={})), "versions must name risingbandits"),
        (json.dumps(changed(objectives={"speed": {}})), "objectives must be some of cumulative, best-arm"),
        (json.dumps(changed(policies={})), "a line of cumulative has no policy of the record"),
    ],
)
def test_files_that_are_no_records(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text(content)
    with pytest.raises(RisingBanditsError, match=message):
        leaderboard(tmp_path)


def test_an_empty_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["lab", "benchmark", "records", str(tmp_path)]) == 2
    assert "holds no record; risingbandits lab benchmark --record FILE writes one." in capsys.readouterr().err
