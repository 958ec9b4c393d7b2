"""When a run is over, what failures leave, which arm is kept and what a policy knows at the start."""

from __future__ import annotations

import pytest

from risingbandits import Allocator, Execution, NoArmAvailable, RisingBanditsError
from risingbandits.allocation.pull import Pull


def asked(allocator: Allocator) -> Pull:
    pull = allocator.ask()
    assert pull is not None
    return pull


def test_pulls_in_flight_are_spent() -> None:
    allocator = Allocator(["a", "b", "c"], 2)
    given = [asked(allocator), asked(allocator)]
    with pytest.raises(NoArmAvailable, match="the last 2 pulls of the budget are in flight"):
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
    allocator = Allocator(["a"], 10, execution=Execution(retries=2))
    for _ in range(3):
        allocator.fail(asked(allocator), "out of memory")
        allocator.tell(asked(allocator), 0.5)
    assert allocator.explain()["a"].status != "retired"
    assert allocator.spent == 3


def test_every_arm_with_a_reward_can_be_recommended_unless_nothing_is_left_of_it() -> None:
    levels = {"a": 0.2, "b": 0.9, "c": 0.6}
    allocator = Allocator(list(levels), 30, policy="successive-rejects")
    with pytest.raises(RisingBanditsError, match=r"^no arm can be recommended: no pull has counted yet\.$"):
        allocator.recommend()
    assert allocator.explain().recommended is None
    for _ in range(6):
        pull = asked(allocator)
        allocator.tell(pull, levels[pull.arm])
    found = [allocator.recommend()]
    allocator.retire("b")
    found.append(allocator.recommend())
    allocator.mask("a")
    allocator.retire("b")
    failed = asked(allocator)
    allocator.fail(failed, "diverged", retry=False, lost=True)
    found.append(allocator.recommend())
    assert (failed.arm, found) == ("c", ["b", "b", "b"])


def test_the_object_of_an_arm_that_failed_is_not_recommended() -> None:
    """It cannot be saved, and what the failed pull has made of it is not known."""

    class Fails:
        def pull(self, pull: Pull) -> float:
            if pull.n == 3:
                raise ZeroDivisionError
            return 0.9

    allocator = Allocator({"fails": Fails(), "works": lambda pull: 0.5}, 12, policy="round-robin")
    allocator.run(progress=False)
    assert allocator.explain()["fails"].why.startswith("lost what it had learnt, failed once: ZeroDivisionError")
    assert allocator.recommend() == "works"


def test_states_of_an_arm() -> None:
    allocator = Allocator(list("abcde"), 30, policy="round-robin", max_pulls={"a": 1})
    for arm in "abc":
        pull = asked(allocator)
        assert pull.arm == arm
        allocator.tell(pull, 0.5)
    flying = asked(allocator)
    allocator.retire("b", "enough")
    allocator.mask("c")
    table = allocator.explain()
    assert flying.arm == "d"
    found = {row.arm: (row.status, row.masked) for row in table.rows}
    assert found == {
        "a": ("finished", False),
        "b": ("retired", False),
        "c": ("paused", True),
        "d": ("in flight", False),
        "e": ("waiting", False),
    }
    assert "paused, masked" in str(table)
    assert [(arm["status"], arm["masked"]) for arm in table.to_dict()["arms"]] == list(found.values())


def test_a_policy_is_told_earlier_rewards_in_turns() -> None:
    past = {"a": [0.5, 0.25, 0.75], "b": [1.0]}
    allocator = Allocator(["a", "b"], 50, policy="ucb1", warm_start=past)
    policy = allocator.ledger.policy
    assert policy.pulls.tolist() == [3, 1]
    assert policy.explain()["estimate"].tolist() == [0.75, 1.0]
