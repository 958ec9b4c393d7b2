"""What is played: policies by name, the default of the objective, the yardstick, files of one's own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from risingbandits import get_problem
from risingbandits._core.errors import RisingBanditsError
from risingbandits.lab.benchmark._cells import source_hash
from risingbandits.lab.benchmark._few_arms_ucb import FewArmsUCB
from risingbandits.lab.benchmark._policies import LabelledPolicy, parse_labelled
from risingbandits.lab.benchmark._problems import Benchmark, ReplayedProblem
from risingbandits.lab.benchmark.suite import replayed_benchmark, suite
from risingbandits.lab.benchmark.synthetic import Sizes
from risingbandits.lab.related import RSR
from risingbandits.policies import Auto, registry
from risingbandits.testing import check_same_in_all_modes
from tasks_of_curves import curve_task

TINY = Sizes(runs=2, instances=2, orders=2, quick=True)


def row_and_problem(objective: str = "cumulative") -> tuple[Benchmark, ReplayedProblem]:
    row = replayed_benchmark("made", "real", objective, [curve_task(n_arms=4, length=30)], 0, TINY)
    problem = row.problems[0]
    assert isinstance(problem, ReplayedProblem)
    return row, problem


def test_the_recommended_policy_is_that_of_the_objective() -> None:
    for objective in ("cumulative", "best-arm"):
        entered = LabelledPolicy("recommended", None).on(*row_and_problem(objective))
        assert isinstance(entered, Auto)
        assert entered.objective == objective


def test_policies_for_the_best_arm_are_left_out_of_simulated_problems() -> None:
    (row, *_), _ = suite(["pairs"], ["cumulative"], 0, TINY, None)
    assert not LabelledPolicy("r-sr", RSR()).plays(row)
    assert LabelledPolicy("r-sr", RSR()).plays(row_and_problem()[0])


def test_the_yardstick_looks_at_few_arms() -> None:
    yardstick = parse_labelled("few-arms-ucb")["few-arms-ucb"]
    assert isinstance(yardstick, FewArmsUCB)
    check_same_in_all_modes(yardstick, get_problem("paper-15arms"), 300, seed=1)
    drawn: list[list[int]] = []
    for seed in range(3):
        policy = yardstick.clone().reset(30, 300, seed)
        for _ in range(300):
            arm = policy.ask()
            policy.tell(arm, 0.9 if arm == 7 else 0.1)
        drawn.append(np.flatnonzero(policy.pulls).tolist())
        assert len(drawn[-1]) == 6
    assert drawn[0] != drawn[1]
    outside = [arm not in drawn[-1] for arm in range(30)]
    assert outside[policy.ask(outside)]
    assert [yardstick._new_state(arms, rounds, 1).few for arms, rounds in ((50, 2_500), (5, 2_500), (9, None))] == [
        17,
        5,
        9,
    ]


OWN = """
from risingbandits.policies import RoundRobin

class Mine(RoundRobin):
    name = "mine-of-{}"
    summary = "mine"

    def __init__(self, width: int = 1) -> None:
        self.width = width

class Other:
    pass
"""


def test_a_policy_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_CLASSES", dict(registry._CLASSES))  # other tests look at all policies
    path = tmp_path / "own.py"
    path.write_text(OWN.format(tmp_path.name))
    found = parse_labelled(f"{path}:Mine(width=3), kl-ucb")
    assert [repr(policy) for policy in found.values()] == ["Mine(width=3)", "KLUCB()"]
    mine = next(iter(found.values()))
    assert mine is not None
    module = type(mine).__module__
    before = source_hash(module)
    path.write_text(path.read_text() + "# changed")
    source_hash.cache_clear()
    assert source_hash(module) != before
    for text, message in (
        (f"{path}:Other", "must have a class Other that is a Policy"),
        (f"{tmp_path}/none.py:Mine", "does not exist"),
    ):
        with pytest.raises(RisingBanditsError, match=message):
            parse_labelled(text)
    (tmp_path / "bad.py").write_text("1 / 0")
    with pytest.raises(RisingBanditsError, match="cannot be loaded \\(ZeroDivisionError"):
        parse_labelled(f"{tmp_path}/bad.py:Mine")
