"""Costs that differ between arms: beside a plain reference, resumed, from snapshots, and what is said of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import reference_costs
from risingbandits import Allocator, Budget
from risingbandits.allocation._snapshot import fold, pack, unpack
from risingbandits.allocation.deciding._costs import Costs, cost_sentence, shrunk_means
from risingbandits.cli.app import app
from risingbandits.policies import Auto, objective_names

NAMES = [f"arm{number}" for number in range(6)]
COSTS: dict[str, Callable[[int, int], float]] = {
    "equal": lambda arm, n: 0.25,
    "by ten": lambda arm, n: 0.25 * 10 ** (arm / 5),
    "by thousands": lambda arm, n: 1 / 64 if arm < 5 else 24.0,
    "by hundreds": lambda arm, n: 0.1 * 4**arm,
    "some free": lambda arm, n: 0.1 * (1 + arm) * (n % 2),
    "noisy": lambda arm, n: (0.2 + 0.2 * (arm % 2)) * (1.0 + 0.25 * ((7 * n + 3 * arm) % 5 - 2)),
    "dearer in time": lambda arm, n: 0.1 * (1 + arm) * (1 + n / 10),
}


def reward(arm: int, n: int) -> float:
    return (0.3 + 0.1 * (arm * 5 % 7)) * n / (n + 4) + 0.02 * ((11 * n + arm) % 5)


def played(allocator: Allocator, costs: str, most: int = 10**6) -> list[int]:
    """The arms in the order of their pulls."""
    pulled: list[int] = []
    while len(pulled) < most and (pull := allocator.ask()) is not None:
        arm = NAMES.index(pull.arm)
        pulled.append(arm)
        allocator.tell(pull, reward(arm, pull.n), COSTS[costs](arm, pull.n))
    return pulled


@cache
def cases_of(objective: str, costs: str, warm: bool) -> frozenset[str]:
    """Play both, which must agree; the cases of the rule that came up."""
    earlier = {NAMES[2]: [0.1, 0.3, 0.2]} if warm else {}
    amount = 30.0
    allocator = Allocator(NAMES, Budget(cost=amount), objective=objective, seed=3, warm_start=earlier)
    expected, kept, cases = reference_costs.play(
        Auto(objective),
        objective == "cumulative",
        amount,
        3,
        [earlier.get(name, []) for name in NAMES],
        reward,
        COSTS[costs],
    )
    assert played(allocator, costs) == expected
    assert allocator.recommend() == NAMES[kept]
    return frozenset(cases)


@pytest.mark.parametrize("objective", objective_names())
@pytest.mark.parametrize("costs", COSTS)
@pytest.mark.parametrize("warm", [False, True])
def test_the_allocator_plays_like_the_reference(objective: str, costs: str, warm: bool) -> None:
    assert cases_of(objective, costs, warm)


def test_every_case_of_the_rule_comes_up() -> None:
    seen = frozenset[str]().union(*(cases_of(*each) for each in product(objective_names(), COSTS, (False, True))))
    assert seen >= {"part of a round", "a round", "several rounds", "another horizon", "other costs"}


def test_a_run_goes_on_as_if_it_had_not_stopped(tmp_path: Path) -> None:
    budget = Budget(cost=40.0)
    whole = played(Allocator(NAMES, budget, objective="cumulative", seed=1), "by ten")
    parts = []
    for most in (3, 17, 10**6):
        with Allocator(NAMES, budget, objective="cumulative", seed=1, store=tmp_path / "run.db") as allocator:
            parts += played(allocator, "by ten", most)
            assert allocator.ledger.surprises == 0
    assert parts == whole


def test_a_snapshot_has_the_costs() -> None:
    allocator = Allocator(NAMES, Budget(cost=40.0), objective="cumulative")
    played(allocator, "by hundreds", 25)
    copy = unpack(pack(allocator.ledger), allocator.settings)
    assert copy is not None
    costs, copied = allocator.ledger.option(Costs), copy.option(Costs)
    assert costs is not None
    assert copied is not None
    assert copied.to_dict() == costs.to_dict()
    assert any(costs.owed), "something is owed that a snapshot could lose"
    played(allocator, "by hundreds", 40)
    fold(copy, allocator.store.events(copy.last_id), "memory")
    assert copy.surprises == 0
    assert copy.policy.pulls.tolist() == allocator.ledger.policy.pulls.tolist()


def test_cheap_arms_are_pulled_where_they_earn_more_for_their_cost() -> None:
    def pulls(budget: Budget) -> Counter[str]:
        allocator = Allocator(["cheap", "dear"], budget, objective="cumulative", seed=1)
        found: Counter[str] = Counter()
        for pull in allocator:
            found[pull.arm] += 1
            allocator.tell(pull, 0.6 if pull.arm == "dear" else 0.5, cost=10.0 if pull.arm == "dear" else 1.0)
        return found

    assert pulls(Budget(cost=200.0))["cheap"] > 150
    assert pulls(Budget(pulls=200))["cheap"] < 50


def test_costs_are_drawn_to_the_others_by_as_much_as_pulls_differ() -> None:
    noise = np.array([1.0, 3.0, 1.0, 3.0, 1.0, 3.0])
    sums, squares = np.array([noise.sum(), noise.sum() + 1.0]), np.array([(noise**2).sum(), (noise**2).sum() + 7.0])
    assert np.ptp(shrunk_means(np.array([6.0, 6.0]), sums, squares)) == 0.0, "no more than chance"
    apart = shrunk_means(np.array([6.0, 1.0]), np.array([12.0, 40.0]), np.array([30.0, 1600.0]))
    assert 2.0 < apart[0] < 3.0
    assert 35.0 < apart[1] < 40.0
    assert shrunk_means(np.zeros(2), np.zeros(2), np.zeros(2)).tolist() == [1.0, 1.0]


def test_who_looks_at_costs_is_said(tmp_path: Path) -> None:
    rules: dict[str, dict[str, Any]] = {
        "arms are compared by reward per cost": {"objective": "cumulative"},
        "arms are compared at equal cost": {},
        "policy round-robin ignores them": {"policy": "round-robin"},
    }
    for rule, settings in rules.items():
        allocator = Allocator(["a", "b"], Budget(cost=100.0), **settings)
        for _ in range(4):
            pull = allocator.ask()
            assert pull is not None
            allocator.tell(pull, 0.5, cost=1.0 if pull.arm == "a" else 10.0)
        assert cost_sentence(allocator.ledger) == f"costs differ by a factor of 10 between arms; {rule}"
        assert str(allocator.explain()).splitlines()[1] == cost_sentence(allocator.ledger)
    assert cost_sentence(Allocator(["a", "b"], Budget(cost=9.0)).ledger) == ""
    plan = tmp_path / "plan.toml"
    plan.write_text('budget = { seconds = 9 }\n[[arms]]\nname = "a"\ncommand = ["true"]\n')
    said = CliRunner().invoke(app, ["run", "--check", str(plan)]).output
    assert "Where costs differ between arms, arms are compared at equal cost." in said


def test_what_was_spent_under_another_policy_counts_when_costs_are_compared_from_now_on(tmp_path: Path) -> None:
    with Allocator(NAMES, Budget(cost=60.0), policy="round-robin", store=tmp_path / "run.db") as allocator:
        played(allocator, "by ten", 18)
        assert allocator.ledger.option(Costs) is None
        allocator.extend(policy="auto")
        costs = allocator.ledger.option(Costs)
        assert costs is not None
        assert costs.pulls.tolist() == [3.0] * 6
        assert costs.sums.tolist() == [arm.cost for arm in allocator.ledger.numbered]
        assert costs.unit == pytest.approx(COSTS["by ten"](0, 1), rel=0.1)
        played(allocator, "by ten", 10)
        told = costs.to_dict()
        allocator.extend(policy="round-robin")
        assert allocator.ledger.option(Costs) is None
    with Allocator.open(tmp_path / "run.db") as again:
        assert again.ledger.surprises == 0
        again.extend(policy="auto")
        costs = again.ledger.option(Costs)
        assert costs is not None
        assert costs.pulls.tolist() == told["pulls"]
