"""When a run is over, what failures leave, which arm is kept and what a policy knows at the start."""

from __future__ import annotations

import pytest

from risingbandits import Allocator, NoArmFree
from risingbandits.allocation.pull import Pull


def asked(allocator: Allocator) -> Pull:
    pull = allocator.ask()
    assert pull is not None
    return pull


def test_pulls_in_flight_are_spent() -> None:
    allocator = Allocator(["a", "b", "c"], 2)
    given = [asked(allocator), asked(allocator)]
    with pytest.raises(NoArmFree, match="the last 2 pulls of the budget are in flight"):
        allocator.ask()
    for pull in given:
        assert allocator.tell(pull, 0.5)
    assert allocator.ask() is None
    assert (allocator.spent, allocator.finished) == (2, True)


def test_a_run_is_not_over_while_a_pull_is_in_flight() -> None:
    """Its arm was retired meanwhile, so that nothing can be asked for; what it brings still counts."""
    allocator = Allocator(["a"], 10)
    pull = asked(allocator)
    allocator.retire("a")
    assert (allocator.finished, allocator.tell(pull, 0.5), allocator.finished) == (False, True, True)
    assert allocator.rewards("a") == [0.5]


def test_a_pull_that_succeeds_ends_the_row_of_failures() -> None:
    allocator = Allocator(["a"], 10, retries=2)
    for _ in range(3):
        allocator.fail(asked(allocator), "out of memory")
        allocator.tell(asked(allocator), 0.5)
    assert allocator.explain()["a"].status != "retired"
    assert allocator.spent == 3


def test_an_arm_that_was_retired_is_not_recommended() -> None:
    levels = {"a": 0.2, "b": 0.9, "c": 0.6}
    allocator = Allocator(list(levels), 30, policy="successive-rejects")
    for _ in range(6):
        pull = asked(allocator)
        allocator.tell(pull, levels[pull.arm])
    found = [allocator.recommend()]
    for arm in ("b", "c"):
        allocator.retire(arm)
        found.append(allocator.recommend())
    assert found == ["b", "c", "a"]


def test_a_policy_is_told_earlier_rewards_in_turns() -> None:
    past = {"a": [0.5, 0.25, 0.75], "b": [1.0]}
    allocator = Allocator(["a", "b"], 50, policy="ucb1", order="given", warm_start=past)
    policy = allocator.ledger.policy
    assert policy.pulls.tolist() == [3, 1]
    assert policy.explain()["level"].tolist() == [0.5, 1.0]
