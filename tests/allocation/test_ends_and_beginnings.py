"""When a run is over, what failures leave, which arm is kept and what a policy knows at the start."""

from __future__ import annotations

import pytest

from risingbandits import Allocator, RisingBanditsError
from risingbandits.allocation.pull import Pull


def asked(allocator: Allocator) -> Pull:
    pull = allocator.ask()
    assert pull is not None
    return pull


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
