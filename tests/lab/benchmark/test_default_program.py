"""The program on the default plays and judges as a slow computation does."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pytest

from environments import ROOT
from risingbandits.lab.benchmark._crossing import HORIZONS, crossing_means
from risingbandits.policies import RoundRobin

sys.path.insert(0, str(ROOT / "benchmarks"))

import default as program


@pytest.mark.parametrize("sigma", [0.0, 0.1])
def test_unknown_horizon_is_played_by_asking_and_telling(sigma: float) -> None:
    observed, truth = np.array([[0.1, 0.3], [0.2, 0.5]]), np.array([[0.2, 0.4], [0.3, 0.4]])
    lost = program.unknown_horizon(RoundRobin(), observed, truth, 5, sigma, 1)
    assert lost == pytest.approx(100 * (1 - (0.2 + 0.3 + 0.4 + 0.4 + 0.4) / (0.3 + 4 * 0.4)))


def test_differences_are_paired_and_bars_are_judged() -> None:
    own = {"real": {"a": {"t": [0.5, 0.7], "u": [0.2]}, "b": {"v": [0.1]}}}
    same = list(program.figure_lines(own, own))
    assert same[0][3:] == ("+0.000 [+0.000, +0.000]", "mean at most +0.015: yes")
    better = {"real": {"a": {"t": [0.4, 0.6], "u": [0.1]}, "b": {"v": [0.0]}}}
    assert next(program.figure_lines(own, better))[3:] == (
        "+0.100 [+0.100, +0.100]",
        "mean at most +0.015: NO",
    )
    assert program.mean_of(own["real"]) == pytest.approx((0.4 + 0.1) / 2)
    with pytest.raises(KeyError):
        program.difference(own["real"], {"a": {"t": [0.5, 0.7]}})
    cliff = {f"T = {t}": {f"T = {t}": [30.0 if t < 600 else 5.0]} for t in HORIZONS}
    lines = list(program.limit_lines({"scan, three arms": cliff}))
    assert lines[0] == ("scan, three arms: largest step", "25.0, at T = 609", "at most 5: NO")
    assert lines[1] == ("scan, three arms: largest loss", "30.0, at T = 60", "")


def test_the_program_plays_a_part_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    played = []

    def part(player: program.Player) -> None:
        played.append(player.policy.name)
        player.add("real", "family", "task", [0.5])

    monkeypatch.setitem(program.PARTS, "real", part)
    monkeypatch.setattr(sys, "argv", ["default.py", "--part", "real", "--out", str(tmp_path / "own.json")])
    program.main()
    program.main()
    assert played == ["auto"]
    monkeypatch.setattr(sys, "argv", [*sys.argv, "--half", "report"])
    with pytest.raises(SystemExit):
        program.main()


def test_oracle_commit_is_the_best_explore_then_commit() -> None:
    rng = np.random.default_rng(6)
    for n_arms, horizon in ((2, 9), (3, 30), (4, 40)):
        means = crossing_means(n_arms, horizon, rng)
        sums = []
        for m in range(1, horizon // n_arms + 1):
            pulls = [m] * n_arms
            pulls[int(np.argmax(means[:, m - 1]))] += horizon - m * n_arms
            sums.append(sum(math.fsum(row[:n]) for row, n in zip(means, pulls, strict=True)))
        assert program.oracle_commit(means) == pytest.approx(max(sums))
