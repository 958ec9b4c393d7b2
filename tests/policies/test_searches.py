"""The benchmark of whole searches measures what it says, on a table that is small enough to check by hand."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import searches
import searches_peers

CURVES = np.array([[0.2, 0.3, 0.4], [0.1, 0.6, 0.8], [0.5, 0.5, 0.0], [0.0, 0.1, 0.2]])
TABLE = searches.Table("made up", 0, CURVES, np.arange(8.0).reshape(4, 2))


class InTurn:
    """Every arm once, then the first three to their ends."""

    def __init__(self) -> None:
        self.arms, self.told = iter([0, 1, 2, 0, 1, 1]), []  # type: ignore[var-annotated]

    def ask(self, available: Any) -> int:
        return next(self.arms)

    def tell(self, arm: int, value: float) -> None:
        self.told.append((arm, value))


def test_regret_is_that_of_the_best_value_seen_between_the_worst_and_the_best_of_the_sample() -> None:
    chooser = InTurn()
    search = searches.play(TABLE, np.array([3, 1, 2]), 6, chooser)
    assert [value for _, value in chooser.told] == [0.0, 0.1, 0.5, 0.1, 0.6, 0.8]
    np.testing.assert_allclose(search.regret, 100.0 * (0.8 - np.array([0.0, 0.1, 0.5, 0.5, 0.6, 0.8])) / 0.8)


def test_halves_are_apart_and_arms_are_permuted(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    known = [searches.Table(str(i), i, rng.random((30, 6)), rng.random((30, 2))) for i in range(6)]
    monkeypatch.setattr(searches, "tables", lambda benchmark: known)
    seen: dict[str, list[int]] = {}
    for half in ("tuned", "reported"):
        given = argparse.Namespace(
            benchmark="taskset", half=half, arms=12, steps=20, seeds=[1, 2], prototype=None,
            rows=["model", "model, earlier tasks", "asha"],
        )  # fmt: skip
        found = searches.searches(given)
        seen[half] = sorted({one["task"] for one in found})
        assert len(found) == 18
        assert all(one["regret"][0] >= one["regret"][-1] >= 0.0 for one in found)
        assert all(one["path"][3] == one["regret"][0] and one["path"][-1] == one["regret"][-1] for one in found)
    assert seen == {"tuned": [0, 2, 4], "reported": [1, 3, 5]}


@pytest.mark.parametrize("row", searches.MISINFORMED)
def test_misinformed_rows_have_what_belongs_to_other_arms(row: str) -> None:
    rng = np.random.default_rng(0)
    table = searches.Table("made up", 1, rng.random((50, 6)), rng.random((50, 2)))
    arms, prior = rng.permutation(50)[:44], rng.random(44)
    configs, changed = searches.misinformed(row, table, arms, prior, 1)
    own = table.configs[arms]
    assert sorted(map(tuple, configs)) == sorted(map(tuple, own)), "the same configs, of other arms"
    moved = (configs != own).any(axis=1)
    if changed is not None:
        assert not moved.any()
        assert sorted(changed) == sorted(prior)
        assert np.count_nonzero(changed != prior) in (range(15, 23) if "half" in row else range(38, 45))
    else:
        best = np.argsort(-table.curves[arms, -1])[:20]
        assert moved[best].all() if "best" in row else moved.sum() > 38
        assert "best" not in row or moved.sum() == 40


def test_pairs_are_of_the_same_task_and_seed(capsys: pytest.CaptureFixture[str]) -> None:
    one = {"benchmark": "taskset", "half": "tuned", "arms": 3, "steps": 9, "ms": 0.5, "ms_95": 1.0}
    results = [
        {**one, "task": task, "seed": 1, "row": row, "regret": [task + shift] * 4}
        for task in (2, 0)
        for row, shift in (("model", 1.0), ("asha", 0.0))
    ]
    searches.report(results, ["asha"])
    assert "model - asha:  +1.0 +- 0.0   +1.0 +- 0.0   +1.0 +- 0.0   +1.0 +- 0.0 (2 pairs)" in capsys.readouterr().out


def test_peers_pay_an_epoch_once_and_are_given_arms_that_were_not_tried() -> None:
    points = np.array([[0.0], [0.4], [1.0]])
    run = searches_peers.Run(CURVES[[3, 1, 2]], points, 5, 0)
    assert run.nearest([0.1]) == 0
    assert run.nearest([0.1]) == 1, "the nearest one was tried"
    assert [run.value(0, 2), run.value(0, 1), run.value(1, 2)] == [0.1, 0.0, 0.6]
    assert run.nearest([0.0]) == 2
    assert run.nearest([0.0]) == 0, "all were tried: the nearest one goes on"
    assert run.value(0, 3) == 0.2
    with pytest.raises(searches_peers.Over):
        run.value(2, 1)
    np.testing.assert_allclose(run.search().regret, 100.0 * (0.8 - np.array([0.0, 0.1, 0.1, 0.6, 0.6])) / 0.8)


def test_a_search_that_trains_nothing_new_ends() -> None:
    run = searches_peers.Run(CURVES[:2], np.array([[0.0], [1.0]]), 9, 0)
    for _ in range(searches_peers.IDLE + 2):  # two of them train something
        run.value(run.nearest([0.0]), 1)
    with pytest.raises(searches_peers.Over):
        run.nearest([0.0])
    assert run.search().regret.shape == (9,)


def test_what_is_left_of_the_steps_when_all_curves_have_ended_adds_nothing() -> None:
    run = searches_peers.Run(CURVES[:2], np.array([[0.0], [1.0]]), 9, 0)
    for arm in (0, 1):
        assert run.nearest([float(arm)]) == arm
        run.value(arm, 3)
    with pytest.raises(searches_peers.Over):
        run.nearest([0.0])
    assert run.search().regret.tolist() == pytest.approx(
        [100 * (0.8 - x) / 0.7 for x in (0.2, 0.3, 0.4, 0.4, 0.6)] + [0.0] * 4
    )


def test_lines_have_means_and_intervals(tmp_path: Path) -> None:
    one = {"benchmark": "taskset", "arms": 3, "steps": 80, "row": "model"}
    results = [{**one, "path": [start] * 20 + [0.0] * 20} for start in (1.0, 2.0, 3.0)]
    searches.write_lines(results, tmp_path / "lines.csv")
    lines = (tmp_path / "lines.csv").read_text().splitlines()
    assert lines[0] == "benchmark,arms,row,step,mean,low,high,searches"
    assert len(lines) == 41
    first = lines[1].split(",")
    assert first[:5] == ["taskset", "3", "model", "2", "2.00"]
    assert 1.0 <= float(first[5]) < 2.0 < float(first[6]) <= 3.0
    assert lines[-1] == "taskset,3,model,80,0.00,0.00,0.00,3"
