"""The benchmark of whole searches measures what it says, on a table that is small enough to check by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import searches

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
        found = searches.searches("taskset", half, 12, 20, [1, 2], ["model", "model, earlier tasks", "asha"], None)
        seen[half] = sorted({one["task"] for one in found})
        assert len(found) == 18
        assert all(one["regret"][0] >= one["regret"][-1] >= 0.0 for one in found)
    assert seen == {"tuned": [0, 2, 4], "reported": [1, 3, 5]}


def test_pairs_are_of_the_same_task_and_seed(capsys: pytest.CaptureFixture[str]) -> None:
    one = {"benchmark": "taskset", "half": "tuned", "arms": 3, "steps": 9, "ms_95": 1.0}
    results = [
        {**one, "task": task, "seed": 1, "row": row, "regret": [task + shift] * 4}
        for task in (2, 0)
        for row, shift in (("model", 1.0), ("asha", 0.0))
    ]
    searches.report(results, "asha")
    assert "model - asha:  +1.0 +- 0.0   +1.0 +- 0.0   +1.0 +- 0.0   +1.0 +- 0.0 (2 pairs)" in capsys.readouterr().out
