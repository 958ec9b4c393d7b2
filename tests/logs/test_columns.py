"""Tables read in blocks: the quick ways give what the plain ones give, cell by cell and point by point."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import risingbandits as rb
from arm_curves import load_columns
from risingbandits import RisingBanditsError
from risingbandits.logs import _columns as columns
from risingbandits.logs import curves_of, read_runs
from risingbandits.logs._columns import number_in, numbers_in
from risingbandits.logs.curves import write_csv
from risingbandits.logs.runs import Point, series_of, without_rewritten

CELLS = [
    "",
    " ",
    "1",
    "-2.5e3",
    " 7 ",
    "nan",
    "-inf",
    "x",
    "1_0",
    "0x1",
    "1e400",
    None,
    True,
    3,
    2.5,
    math.nan,
    10**400,
]


def test_what_is_a_number_in_a_cell() -> None:
    found = [number_in(cell) for cell in CELLS if cell not in ("nan", "-inf", "1e400") and cell == cell]
    assert found == [None, None, 1.0, -2500.0, 7.0, None, None, None, None, None, 3.0, 2.5, None]
    assert math.isnan(number_in("nan") or 0.0)
    assert (number_in("-inf"), number_in("1e400"), number_in(False)) == (-math.inf, math.inf, None)


def kept_by_the_rule(points: list[Point]) -> tuple[list[Point], int]:
    """A step that is written again takes all later ones with it, point by point."""
    kept: list[Point] = []
    again = 0
    for point in points:
        later = [old for old in kept if old[0] >= point[0]]
        again += len(later)
        kept = [old for old in kept if old[0] < point[0]] + [point]
    return kept, again


def test_numbers_of_cells_are_those_of_each() -> None:
    rng = np.random.default_rng(0)
    for _ in range(300):
        pool = [CELLS[k] for k in rng.choice(len(CELLS), rng.integers(1, 6))]
        cells = [pool[k] for k in rng.integers(len(pool), size=8)]
        values, there = numbers_in(cells)
        expected = [number_in(cell) for cell in cells]
        assert there.tolist() == [value is not None for value in expected]
        assert repr(values.tolist()) == repr([math.nan if value is None else value for value in expected])


def test_what_is_written_again_counts() -> None:
    rng = np.random.default_rng(1)
    for _ in range(200):
        steps = np.sort(rng.integers(0, 12, 10)) if rng.random() < 0.3 else rng.integers(0, 12, 10)
        points: list[Point] = [(float(step), float(n), 60.0 * n) for n, step in enumerate(steps)]
        found, again = without_rewritten(series_of(points))
        kept, expected = kept_by_the_rule(points)
        assert found.seconds is not None
        assert list(zip(found.steps.tolist(), found.values.tolist(), found.seconds.tolist(), strict=True)) == kept
        assert again == expected


@pytest.mark.parametrize("size", [(1, 1), (7, 2), (1000, 20)])
def test_blocks_do_not_change_what_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: tuple[int, int]
) -> None:
    """Runs in turn, with gaps, texts and short rows."""
    rng = np.random.default_rng(2)
    lines, expected = ["run,step,acc,note,time,config/lr"], dict[str, list[tuple[float, float]]]()
    for step in range(40):
        for run in ("a", "b, c", "d"):
            value = "" if rng.random() < 0.3 else f"{rng.random():.3f}"
            lines.append(
                f'"{run}",{step},{value},some text,{10 * step},{0.1 * (1 + len(run)):.1f}'
                if value
                else f'"{run}",{step}'
            )
            if value:
                expected.setdefault(run, []).append((float(step), float(value)))
    (tmp_path / "history.csv").write_text("\n".join(lines) + "\n,,,,,\n\n")
    monkeypatch.setattr(columns, "_CELLS", size[0])
    monkeypatch.setattr(columns, "_ROWS", size[1])
    found = read_runs(tmp_path / "history.csv")
    read = {run.name: run.metrics["acc"] for run in found.runs}
    assert {
        name: list(zip(one.steps.tolist(), one.values.tolist(), strict=True)) for name, one in read.items()
    } == expected
    assert found.metrics == ["acc"]
    for one in read.values():
        assert one.seconds is not None
        assert one.seconds.tolist() == (10.0 * one.steps).tolist()


def test_curves_that_are_written_are_read_again(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    lines = ["run,step,acc"]
    lines += [f"net {run},{step},{rng.random()!r}" for run in range(5) for step in range(100 + 30 * run)]
    (tmp_path / "history.csv").write_text("\n".join(lines))
    curves = curves_of(read_runs(tmp_path / "history.csv"))
    write_csv(curves, tmp_path / "curves.csv")
    assert load_columns(tmp_path / "curves.csv") == {name: own.tolist() for name, own in curves.values.items()}


def test_a_wide_file_with_gaps_is_refused_by_row_and_column(tmp_path: Path) -> None:
    path = tmp_path / "curves.csv"
    path.write_text("a,b,c\n1,2,3\n4,,6\n7,,9\n10,11,12\n")
    with pytest.raises(RisingBanditsError, match=r"line 5, column 'b' has the value '11' below an empty cell"):
        load_columns(path)
    path.write_text("a,b,c\n1,2,3\n4,,1_0\n")
    with pytest.raises(RisingBanditsError, match=r"line 3, column 'c' must be a finite number or empty, got '1_0'"):
        load_columns(path)
    path.write_text("a,b,c\n1,2,3\n4,,inf\n")
    with pytest.raises(RisingBanditsError, match="must be a finite number or empty, got 'inf'"):
        load_columns(path)
    path.write_text("a,b\n1,2\n,3\n,4\n")
    assert load_columns(path) == {"a": [1.0], "b": [2.0, 3.0, 4.0]}


def test_plain_curves_that_do_not_tell_a_direction_are_maximized(tmp_path: Path) -> None:
    (tmp_path / "curves.csv").write_text("a,b\n0.1,0.9\n0.2,0.8\n")
    (tmp_path / "log.csv").write_text("run,step,m\na,1,0.1\na,2,0.2\nb,1,0.9\nb,2,0.8\n")
    assert rb.load_curves(tmp_path / "curves.csv").direction == "maximize"
    with pytest.raises(RisingBanditsError, match="direction must be given"):
        rb.load_curves(tmp_path / "log.csv")
