"""One metric, one direction, one grid: what is decided, and what is asked for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from risingbandits import RisingBanditsError
from risingbandits.logs import Recording, curves_of


def recording(metric: str = "value", direction: str | None = None, **runs: list[tuple[float, float]]) -> Recording:
    found = Recording()
    for name, points in runs.items():
        timed = [(step, value, 3600.0 * step) for step, value in points]
        found.add_log(name, {metric: timed}, source=Path("log"), kind="", direction=direction)
    return found


UP = [(1.0, 0.1), (2.0, 0.4), (3.0, 0.5)]
DOWN = [(1.0, 0.9), (2.0, 0.4), (3.0, 0.2)]


@pytest.mark.parametrize(
    ("metric", "points", "direction", "reason"),
    [
        ("val/loss", UP, "minimize", "by the word 'loss' in its name"),
        ("eval_accuracy", DOWN, "maximize", "by the word 'accuracy' in its name"),
        ("score_error", UP, "minimize", "by the word 'error' in its name"),
        ("neg_mean_squared_error", DOWN, "maximize", "by the words 'neg' and 'error' in its name"),
        ("negative log likelihood", UP, "minimize", "by the words 'negative' and 'likelihood' in its name"),
        ("ZeroOneLoss", UP, "minimize", "by the word 'loss' in its name"),
        ("bbox_mAP", DOWN, "maximize", "by the word 'map' in its name"),
        ("valid-merror", UP, "minimize", "by the word 'merror' in its name"),
        ("m", UP, "maximize", "rises in 100% of the runs"),
        ("m", DOWN, "minimize", "falls in 100% of the runs"),
    ],
)
def test_which_way_is_good(metric: str, points: list[tuple[float, float]], direction: str, reason: str) -> None:
    found = curves_of(recording(metric, a=points, b=points))
    assert (found.direction, found.reason) == (direction, reason)
    assert curves_of(recording(metric, a=points), direction="maximize").reason == "as told"
    assert curves_of(recording(metric, direction="minimize", a=points)).reason == "as the log says"


def test_a_direction_that_nothing_says_is_asked_for() -> None:
    with pytest.raises(RisingBanditsError, match=r"direction must be given for 'm', .* rises in 50% .* falls in 50%"):
        curves_of(recording("m", a=UP, b=DOWN))


def test_a_table_of_arms_that_has_a_column_which_counts_is_answered_with_what_to_leave_out() -> None:
    found = Recording()
    points = {arm: [(1.0, 0.5, None), (2.0, 0.6, None)] for arm in ("fast", "slow")}
    found.add_log("curves", points, source=Path("curves.csv"), kind="")
    with pytest.raises(
        RisingBanditsError, match=r"'fast', 'slow'\. If each column is an arm, leave out the column that"
    ):
        curves_of(found)


def test_one_of_several_metrics_must_be_named() -> None:
    found = recording("eval/acc", a=UP)
    found.add_log("b", {"loss": [(1.0, 0.5, None)], "eval/acc": [(1.0, 0.5, None)]}, source=Path("log"), kind="")
    with pytest.raises(RisingBanditsError, match=r"metric must be given, .* 'eval/acc', 'loss'\."):
        curves_of(found)
    assert curves_of(found, "acc").metric == "eval/acc"
    assert curves_of(found, "loss").notes == ["1 of 2 runs have no loss and are left out."]
    with pytest.raises(RisingBanditsError, match=r"metric must be one of 'eval/acc', 'loss', got 'auc'\."):
        curves_of(found, "auc")


def test_equal_steps_are_taken_as_they_are() -> None:
    found = curves_of(recording("acc", a=UP, b=UP[:2]))
    assert {arm: values.tolist() for arm, values in found.values.items()} == {"a": [0.1, 0.4, 0.5], "b": [0.1, 0.4]}
    assert found.hours["a"].tolist() == [1.0, 2.0, 3.0], "the first value took what the others did"
    assert (found.step, found.notes) == (1.0, [])


def test_other_steps_are_read_at_the_widest_distance() -> None:
    fine = [(float(step), step / 100.0) for step in range(5, 65, 5)]
    coarse = [(20.0, 0.5), (40.0, 0.6), (60.0, 0.7)]
    found = curves_of(recording("acc", fine=fine, coarse=coarse))
    assert found.values["coarse"].tolist() == [0.5, 0.6, 0.7]
    assert found.values["fine"].tolist() == [0.2, 0.4, 0.6]
    assert found.step == 20.0
    assert found.notes == ["The runs were measured at different steps: each is read every 20 steps from 20 on."]
    told = curves_of(recording("acc", fine=fine, coarse=coarse), step=30.0)
    assert told.values["fine"].tolist() == [0.3, 0.6]
    assert told.values["coarse"].tolist() == [0.5, 0.7], "the last value at or before step 30 is that of step 20"
    with pytest.raises(RisingBanditsError, match="step must be at most 60"):
        curves_of(recording("acc", fine=fine), step=100.0)


def test_what_diverged_ends_there() -> None:
    points = [(1.0, 0.1), (2.0, 0.2), (3.0, np.nan), (4.0, 0.3), (5.0, np.inf), (6.0, 0.4)]
    found = curves_of(recording("acc", a=points, b=UP))
    assert found.values["a"].tolist() == [0.1, 0.2]
    assert "a diverged: its values from step 3 on are left out." in found.notes
    with pytest.raises(RisingBanditsError, match="must have finite values"):
        curves_of(recording("acc", a=[(1.0, np.inf)]))
