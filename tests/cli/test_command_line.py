"""The command that is printed beside results, and what its options decide."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from risingbandits.cli import run

SAID = (
    *("--problem", "paper-2arms", "--policies", "red-ucb(eps=0.1, sigma=0.2),round-robin", "--runs", "2"),
    *("--horizon", "60", "--noise", "gaussian:0.2", "--seed", "3"),
)


def test_the_printed_command_says_all_that_matters(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each word as it was given, quoted for a shell; what changes nothing, such as --jobs, is left out."""
    out = str(tmp_path / "a study")
    told = ("simulate", *SAID, "--out", out, "--objective", "best-arm")
    assert run([*told, "--jobs", "1"]) == 0
    capsys.readouterr()
    (line,) = [
        line.strip("` ")
        for line in (Path(out) / "report.md").read_text().splitlines()
        if "risingbandits simulate" in line
    ]
    assert sorted(shlex.split(line)) == sorted(("risingbandits", *told))
    assert shlex.join(shlex.split(line)) == line


def test_the_objective_decides_who_comes_first(capsys: pytest.CaptureFixture[str]) -> None:
    """Where the curves have crossed and their sums have not."""
    said = ("--problem", "paper-2arms", "--horizon", "12000", "--runs", "2", "--json")
    for objective, key in (("cumulative", "regret"), ("best-arm", "simple_regret")):
        assert run(["simulate", *said, "--policies", "constant(arm=0),constant(arm=1)", "--objective", objective]) == 0
        first, second = (row[key] for row in json.loads(capsys.readouterr().out)["policies"])
        assert first == pytest.approx(0.0, abs=1e-9)
        assert second > 0.01
