"""Pull n is the n-th step of a learner, whoever has made the steps before: an object, a function's, a command."""

from __future__ import annotations

import itertools
import math
import re
from pathlib import Path

import pytest

from any_runner import a_command, a_function_that_makes_one, a_process, an_object, take_turns
from chain_arm import Chain, UnsavedChain, expected
from risingbandits import Allocator, Execution, Pull, RisingBanditsError
from risingbandits.allocation.arms._checkpointed import Checkpointed
from risingbandits.allocation.arms.base import Outcome

RUNNERS = (an_object, a_function_that_makes_one, a_process, a_command)
ORDERS = [order for order in itertools.permutations(RUNNERS, 3) if a_command in order]


@pytest.mark.parametrize("order", ORDERS, ids=lambda order: "-".join(runner.__name__ for runner in order))
def test_every_order(order: tuple[object, ...], tmp_path: Path) -> None:
    take_turns(list(order), tmp_path)  # type: ignore[arg-type]


@pytest.mark.parametrize("make", [lambda: UnsavedChain("a"), UnsavedChain("a")], ids=["made", "object"])
def test_what_cannot_be_saved_is_trained_again(make: object, tmp_path: Path) -> None:
    with Allocator(["a"], 12, store=tmp_path / "run.db") as allocator:
        learner = Chain("a")
        for n in range(1, 6):
            pull = allocator.ask()
            assert pull is not None
            allocator.tell(pull, learner.pull(Pull(n, "a", n)))
        allocator.run(progress=False, arms={"a": make})
        assert allocator.rewards("a") == expected("a", 12)


def test_an_object_that_cannot_go_back_says_so(tmp_path: Path) -> None:
    class Failing(UnsavedChain):
        def pull(self, pull: Pull) -> float:
            reward = super().pull(pull)
            if (pull.n, pull.attempt) == (3, 1):
                raise OSError("once")
            return reward

    with Allocator({"a": Failing("a"), "b": lambda: Failing("b")}, 12, policy="round-robin") as allocator:
        allocator.run(progress=False)
        assert allocator.rewards("a") == expected("a", 2)
        assert allocator.rewards("b") == expected("b", 10), "it was made anew"
        why = allocator.explain()["a"].why
    said = (
        "failed once: OSError: once; pull 3 of arm 'a' cannot be made again, because its object is in an unknown state"
    )
    assert f"{said} and cannot go back: give it save(path) and load(path) and a store with a folder" in why


@pytest.mark.parametrize("kind", [Chain, UnsavedChain])
def test_a_refused_reward_of_an_object_that_cannot_go_back_is_the_reason(kind: type[Chain]) -> None:
    """The reward comes after the object has learnt: without a checkpoint there is no other attempt."""
    made = []

    class Loss(kind):  # type: ignore[misc, valid-type]
        def pull(self, pull: Pull) -> float:
            made.append(pull.attempt)
            return math.nan * float(super().pull(pull))

    allocator = Allocator({"a": Loss("a")}, 12)
    with pytest.raises(RisingBanditsError) as ended:
        allocator.run(progress=False)
    said = str(ended.value)
    assert made == [1]
    assert said.startswith(
        "every arm was retired before a pull counted; a lost what it had learnt, failed once: reward must be a "
        "finite number, got nan; "
    )
    assert (
        "; pull 1 of arm 'a' cannot be made again, because its object is not as it was given and cannot go back: give"
        in said
    )
    assert said.count("cannot go back") == 1


def test_an_arm_that_cannot_be_made_is_tried_again(tmp_path: Path) -> None:
    tries = []

    def make() -> Chain:
        tries.append(1)
        if len(tries) < 3:
            raise OSError("not yet")
        return Chain("a")

    for store in (None, tmp_path / "run.db"):
        tries.clear()
        with Allocator({"a": make}, 4, store=store) as allocator:
            allocator.run(progress=False)
            assert allocator.rewards("a") == expected("a", 4)
            assert len(tries) == 3


def test_a_shared_store_keeps_the_tries_of_an_object_that_cannot_go_back(tmp_path: Path) -> None:
    """Another process may have an object that can make the pull."""

    class Loss(UnsavedChain):
        def pull(self, pull: Pull) -> float:
            super().pull(pull)
            return math.nan

    said = r"a lost what it had learnt, failed 3 times in a row: reward must .*, got nan; "
    allocator = Allocator({"a": Loss("a")}, 12, store=tmp_path / "run.db")
    with allocator, pytest.raises(RisingBanditsError, match=said) as ended:
        allocator.run(progress=False)
    assert str(ended.value).count("cannot go back") == 1


def test_an_object_goes_on_in_the_next_run(tmp_path: Path) -> None:
    """It is known how many pulls an object has had, though it cannot be saved."""

    class Interrupted(UnsavedChain):
        def pull(self, pull: Pull) -> float:
            if (pull.n, pull.attempt) == (4, 1):
                raise KeyboardInterrupt
            return super().pull(pull)

    learners = {"a": UnsavedChain("a", tmp_path / "diary"), "b": Interrupted("b")}
    allocator = Allocator(learners, 16, policy="round-robin")
    with pytest.raises(KeyboardInterrupt):
        allocator.run(progress=False)
    allocator.retire("b")
    allocator.run(progress=False)
    assert allocator.rewards("a") == expected("a", 13)
    assert len([line for line in (tmp_path / "diary").read_text().splitlines() if line.startswith("begin")]) == 13


def test_a_pull_that_was_given_up_is_waited_for(tmp_path: Path) -> None:
    """The same object is never pulled twice at a time."""
    import threading

    inside, go = threading.Event(), threading.Event()

    class Slow(Chain):
        def pull(self, pull: Pull) -> float:
            inside.set()
            assert go.wait(60)
            return super().pull(pull)

    arm = Checkpointed("a", Slow("a"), tmp_path)
    first = threading.Thread(target=arm.pull, args=(Pull(1, "a", 1),))
    first.start()
    assert inside.wait(60)
    outcomes: list[object] = []
    second = threading.Thread(target=lambda: outcomes.append(arm.pull(Pull(2, "a", 1, 2))))
    second.start()
    go.set()
    first.join(60)
    second.join(60)
    assert outcomes == [Outcome(expected("a", 1)[0], checkpoint="64")]


def test_the_lease_of_the_store_holds_for_whoever_goes_on(tmp_path: Path) -> None:
    """A plan has another default than `Allocator`; that must not keep one from what the other has begun."""
    store = tmp_path / "run.db"
    Allocator(["a", "b"], 10, store=store).close()
    with Allocator(["a", "b"], 10, store=store, execution=Execution(lease=60.0)) as allocator:
        assert allocator.settings.lease == 3600.0


def test_a_finished_run_that_is_started_again_leaves_the_kept_object_as_trained(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = tmp_path / "s.db"
    trained = {name: Chain(name) for name in "ab"}
    with Allocator(trained, 10, store=store) as allocator:
        allocator.run(progress=False)
        kept = allocator.recommend()
    again = {name: Chain(name, tmp_path / "diary") for name in "ab"}
    with Allocator(again, 10, store=store) as allocator:
        allocator.run(progress=False)
        assert allocator.recommend() == kept
    assert again[kept].state == trained[kept].state != kept
    assert not (tmp_path / "diary").exists(), "nothing was trained"
    for path in store.with_name("s.db.state").glob("*/checkpoint-*"):
        path.unlink()
    with Allocator({name: Chain(name) for name in "ab"}, 10, store=store) as allocator:
        allocator.run(progress=False)
    assert re.search(rf"arm '{kept}' is not as pull \d+ left it, which has no checkpoint", caplog.text)


def test_retired_arms_can_be_tried_again_as_the_message_says(tmp_path: Path) -> None:
    store, works = tmp_path / "s.db", [False]

    def arm(pull: Pull) -> float:
        if not works[0]:
            raise ValueError("a typo.")
        return 0.5

    with (
        Allocator({"a": arm}, 4, store=store) as allocator,
        pytest.raises(
            RisingBanditsError, match=r"a typo; once the cause is fixed, retries=6 lets them be tried again\.$"
        ),
    ):
        allocator.run(progress=False)
    works[0] = True
    with Allocator({"a": arm}, 4, store=store, execution=Execution(retries=6)) as allocator:
        allocator.run(progress=False)
        assert allocator.spent == 4
