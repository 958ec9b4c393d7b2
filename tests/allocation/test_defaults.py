"""What a user gets who says nothing: the objective, and the order in which arms are opened."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from risingbandits import Allocator
from risingbandits.allocation.settings import Settings
from risingbandits.policies import ASHA, Auto

GRID = [f"rate {number:02}" for number in range(12)]


def made(**given: Any) -> Settings:
    return Settings.make(**{"arms": GRID, "budget": 48, **given})


@pytest.mark.parametrize(
    ("policy", "objective"),
    [
        (None, "best-arm"),
        ("auto", "best-arm"),
        (Auto(objective="cumulative"), "cumulative"),
        ("commit-ucb", "cumulative"),
        ("commit-ucb(sigma=0.1)", "cumulative"),
        ("asha", "best-arm"),
        (ASHA(), "best-arm"),
    ],
)
def test_an_objective_that_is_left_out_is_that_of_the_policy(policy: Any, objective: str) -> None:
    assert made(policy=policy).objective == objective


def test_the_default_policy_plays_for_the_arm_to_keep() -> None:
    assert repr(made().policy) == repr(Auto(objective="best-arm"))
    assert repr(made(objective="cumulative").policy) == repr(Auto(objective="cumulative"))


def test_the_default_needs_no_range_of_rewards() -> None:
    allocator = Allocator(["a", "b"], budget=12, reward_range=None)
    for pull in allocator:
        allocator.tell(pull, {"a": 40.0, "b": 30.0 + 4 * pull.n}[pull.arm])
    assert allocator.recommend() == "b"


@pytest.mark.parametrize(
    ("given", "shuffled"),
    [
        ({}, False),  # the default policy shuffles itself
        ({"policy": "asha"}, True),
        ({"policy": "hyperband"}, True),
        ({"policy": "commit-ucb"}, False),  # looks at all of them
        ({"policy": "commit-ucb", "budget": 8}, True),  # cannot
        ({"policy": "asha", "made_late": True}, False),
        ({"policy": "auto(order='given')", "budget": 8}, False),
    ],
)
def test_where_arms_may_be_left_out_their_order_is_random(given: dict[str, Any], shuffled: bool) -> None:
    assert made(**given).shuffled == shuffled


def opened(**given: Any) -> list[str]:
    """The arms that got pulls."""
    allocator = Allocator(GRID, budget=48, **given)
    for pull in allocator:
        allocator.tell(pull, 0.5)
    return [name for name in GRID if allocator.rewards(name)]


def test_the_order_of_a_list_counts_where_the_policy_says_so() -> None:
    first = opened(policy="auto(order='given')")
    assert first == GRID[: len(first)]
    assert len(first) < len(GRID)


@pytest.mark.parametrize("policy", [None, "asha"])
def test_the_order_of_a_list_decides_nothing_by_default(policy: str | None) -> None:
    seeds = [opened(policy=policy, seed=seed) for seed in range(20)]
    assert seeds[:3] == [opened(policy=policy, seed=seed) for seed in range(3)]
    tried = np.array([[name in run for name in GRID] for run in seeds])
    assert tried.any(axis=0).all()  # each has its chance
    # By chance an arm is tried in a share p of the runs: its number among 20 is within 4 deviations, for 12 arms.
    share = tried.mean()
    assert (abs(tried.sum(axis=0) - 20 * share) < 4 * np.sqrt(20 * share * (1 - share))).all()


def test_a_store_keeps_what_was_the_default_when_it_was_made(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    with Allocator(GRID, budget=48, objective="cumulative", store=path) as allocator:
        for pull, _ in zip(allocator, range(10), strict=False):
            allocator.tell(pull, 0.5)
    with Allocator(GRID, budget=48, store=path) as allocator:  # which would now be another objective
        assert allocator.settings.objective == "cumulative"
        assert allocator.spent == 10
    with pytest.raises(ValueError, match="objective is 'cumulative' in the store, got 'best-arm'"):
        Allocator(GRID, budget=48, objective="best-arm", store=path)


@pytest.mark.parametrize(("name", "value"), [("objective", "best")])
def test_what_is_allowed_is_said(name: str, value: str) -> None:
    with pytest.raises(ValueError, match=f"{name} must be"):
        made(**{name: value})
