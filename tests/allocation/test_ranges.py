"""A reward outside the range is the user's error: the run stops at the first, and the corrected one goes on."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from risingbandits import Allocator, Budget, Pull, RisingBanditsError
from risingbandits.cli import run

NAMES = [f"lr {number}" for number in range(12)]


def loss(arm: str, n: int) -> float:
    """A cross-entropy that begins at ln 10; arm 7 ends lowest."""
    rate = 1.0 + abs(int(arm.split()[1]) - 7)
    noise = np.random.default_rng([int(arm.split()[1]), n]).normal(0.0, 0.01)
    return float(0.1 * rate + (2.3 - 0.1 * rate) / (1 + n / 4) + noise)


def decisions(change: Callable[[float], float], budget: int, **settings: Any) -> list[str]:
    allocator = Allocator(NAMES, budget, **settings)
    return [pull.arm for pull in allocator if allocator.tell(pull, change(loss(pull.arm, pull.n)))]


@pytest.mark.parametrize("budget", [20, 60, 300, 1500])
def test_scaled_and_shifted_rewards_are_played_alike(budget: int) -> None:
    """So best-arm identification needs no range."""
    whole = decisions(lambda x: x, budget, direction="minimize")
    for scale, shift in ((1.0, 100.0), (1e3, 0.0), (0.01, -7.0), (37.3, 5.1)):
        assert decisions(lambda x, a=scale, b=shift: a * x + b, budget, direction="minimize") == whole  # type: ignore[misc]
        assert decisions(lambda x, a=scale, b=shift: b - a * x, budget) == whole  # type: ignore[misc]


@pytest.mark.parametrize("budget", [30, 300, Budget(cost=300.0)])
def test_sums_of_scaled_and_shifted_rewards_of_unknown_range_are_played_alike(budget: int | Budget) -> None:
    """Rewards and factors are multiples of powers of 2, so that scaling and shifting them is exact."""

    def asked(scale: float, shift: float, **given: Any) -> list[str]:
        allocator = Allocator(NAMES, budget, objective="cumulative", reward_range=None, **given)
        found = []
        for pull in allocator:
            reward = round(1024 * loss(pull.arm, pull.n)) / 1024
            allocator.tell(pull, scale * reward + shift, None if isinstance(budget, int) else 1.0 + len(pull.arm) % 2)
            found.append(pull.arm)
        return found

    whole = asked(1.0, 0.0, direction="minimize")
    assert len(set(whole)) > 1
    for scale, shift in ((1.0, 128.0), (1024.0, 0.0), (2.0**-10, -8.0)):
        assert asked(scale, shift, direction="minimize") == whole
        assert asked(-scale, shift) == whole


@pytest.mark.parametrize("jobs", [1, 3])
def test_the_first_reward_outside_the_range_ends_the_run(jobs: int, tmp_path: Path) -> None:
    made = []

    def arm(pull: Pull) -> float:
        made.append(pull)
        return loss(pull.arm, pull.n)

    given: dict[str, Any] = {"objective": "cumulative", "direction": "minimize", "store": tmp_path / "run.db"}
    with Allocator(dict.fromkeys(NAMES, arm), 40, **given) as allocator:
        said = r"^reward must lie in reward_range .0, 1., got .*; reward_range=None, in plans .*, takes any number\.$"
        with pytest.raises(RisingBanditsError, match=said):
            allocator.run(jobs=jobs, progress=False)
        assert 1 <= len(made) <= jobs
        assert not allocator.ledger.in_flight
        assert {event.kind for event in allocator.store.events()} <= {"ask", "expire"}
    with Allocator(dict.fromkeys(NAMES, arm), 40, reward_range=(0, 5), **given) as allocator:
        allocator.run(jobs=jobs, progress=False)
        assert allocator.spent == 40
        assert not any(event.kind in ("fail", "retire") for event in allocator.store.events())


def test_an_object_that_cannot_go_back_need_not() -> None:
    class Learner:
        def __init__(self) -> None:
            self.pulls = 0

        def pull(self, pull: Pull) -> float:
            self.pulls += 1
            assert self.pulls == pull.n
            return 1.5 - 1.0 / pull.n

    learners = {"a": Learner(), "b": Learner()}
    allocator = Allocator(learners, 10, policy="round-robin")
    with pytest.raises(RisingBanditsError, match=r"got 1\.1"):
        allocator.run(progress=False)
    allocator.extend(reward_range=(0.0, 2.0))
    allocator.run(progress=False)
    assert {name: learner.pulls for name, learner in learners.items()} == {"a": 5, "b": 5}
    assert allocator.rewards("a") == [1.5 - 1.0 / n for n in range(1, 6)]


def test_a_reward_that_is_not_a_number_is_the_arms_fault() -> None:
    allocator = Allocator({"a": lambda pull: float("nan"), "b": lambda pull: 0.5}, 9, objective="cumulative")
    allocator.run(progress=False)
    assert allocator.explain()["a"].status == "retired"
    with pytest.raises(RisingBanditsError, match="arm must be one of a, b; got 'c'"):
        allocator.explain()["c"]


def test_the_direction_can_be_corrected_until_a_pull_counts(tmp_path: Path) -> None:
    store = tmp_path / "run.db"
    with Allocator(["a", "b"], 9, store=store) as allocator:
        first = allocator.ask()
        assert first is not None
        allocator.release(first)
    with Allocator(["a", "b"], 9, store=store, direction="minimize") as allocator:
        assert allocator.taken_over == "direction maximize -> minimize"
        for pull in allocator:
            allocator.tell(pull, {"a": 1.0, "b": 2.0}[pull.arm])
        assert allocator.recommend() == "a"
    with pytest.raises(RisingBanditsError, match="direction is 'minimize' in the store, got 'maximize'"):
        Allocator(["a", "b"], 9, store=store)


def outcome(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    code = run([str(argument) for argument in arguments])
    text = capsys.readouterr()
    return code, text.out, text.err


def test_commands_print_losses(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Twelve commands and no range: nothing is burnt, and the best one is recommended."""
    plan = tmp_path / "plan.toml"
    arms = "".join(
        f'[[arms]]\nname = "arm {number}"\ncommand = ["sh", "-c", "echo 2.{abs(number - 7):02d}"]\n'
        for number in range(12)
    )
    plan.write_text(f'budget = 16\ndirection = "minimize"\n{arms}')
    code, out, _ = outcome(capsys, "run", plan)
    assert code == 0
    assert "Recommended: arm 7" in out
    plan.write_text(f'budget = 14\nobjective = "cumulative"\ndirection = "minimize"\n{arms}')
    code, _, err = outcome(capsys, "run", plan, "--fresh")
    assert code == 2
    assert "got 2." in err
    assert "takes any number" in err
    assert len(list((tmp_path / "plan.db.logs").rglob("*.out"))) == 1
    plan.write_text(f'budget = 14\nobjective = "cumulative"\ndirection = "minimize"\nreward_range = [0, 3]\n{arms}')
    code, out, err = outcome(capsys, "run", plan)
    assert code == 0
    assert "reward_range (0, 1) -> (0, 3)" in out
    assert "fail" not in err


def test_the_metric_of_a_plan_says_the_direction(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    arms = "".join(
        f'[[arms]]\nname = "arm {number}"\ncommand = ["echo", \'{{"val_loss": 2.{abs(number - 7):02d}}}\']\n'
        for number in range(12)
    )
    plan.write_text(f'budget = 16\nmetric = "val_loss"\n{arms}')
    for words in ((), ("--check",)):
        code, out, _ = outcome(capsys, "run", plan, *words)
        assert code == 0
        assert out.count("val_loss: minimize (by the word 'loss' in its name).\n") == 1
    assert "Recommended: arm 7" in outcome(capsys, "status", tmp_path / "plan.db")[1]
    plan.write_text(f'budget = 16\nmetric = "val_loss"\ndirection = "maximize"\n{arms}')
    code, out, _ = outcome(capsys, "run", plan, "--fresh")
    assert (code, "by the word" in out) == (0, False)
    assert json.loads(outcome(capsys, "status", tmp_path / "plan.db", "--json")[1])["direction"] == "maximize"


def test_an_allocator_takes_the_direction_of_its_arms() -> None:
    class Loss:
        direction = "minimize"

        def pull(self, pull: Pull) -> float:
            return loss(pull.arm, pull.n)

    arms = {name: Loss() for name in NAMES}
    allocator = Allocator(arms, 120)
    allocator.run(progress=False)
    assert (allocator.settings.direction, allocator.recommend()) == ("minimize", "lr 7")
    with pytest.raises(RisingBanditsError, match=r"direction must be that of all arms, got 'maximize', but arm 'lr 0'"):
        Allocator(arms, 120, direction="maximize")
    assert Allocator({"a": lambda pull: 0.5}, 9).settings.direction == "maximize"


def test_a_forgotten_direction_is_doubted_once(caplog: pytest.LogCaptureFixture) -> None:
    arms = {name: (lambda pull: loss(pull.arm, pull.n)) for name in NAMES}
    allocator = Allocator(arms, 120)
    allocator.run(progress=False)
    assert allocator.recommend() != "lr 7"
    said = 'direction is "maximize", but the reward falls in 100% of the arms; for a loss, give direction="minimize"'
    assert [record.message for record in caplog.records if "direction" in record.message] == [f"{said}."]
    assert said in allocator.explain().sentences()
    assert allocator.explain().to_dict()["doubt"] == said


def test_no_direction_is_doubted_without_reason(caplog: pytest.LogCaptureFixture) -> None:
    for direction, sign in (("minimize", 1.0), ("maximize", -1.0)):
        arms = {name: (lambda pull, sign=sign: sign * loss(pull.arm, pull.n)) for name in NAMES}
        allocator = Allocator(arms, 120, direction=direction)
        allocator.run(progress=False)
        assert (allocator.recommend(), allocator.explain().doubt) == ("lr 7", "")
    rng = np.random.default_rng(1)
    for _ in range(20):
        allocator = Allocator({name: lambda pull: rng.normal() for name in NAMES}, 120)
        allocator.run(progress=False)
        assert allocator.explain().doubt == "", "of noise alone"
    assert "direction" not in caplog.text
