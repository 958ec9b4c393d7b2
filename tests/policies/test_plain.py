"""Policies in ordinary Python: the contract, and the same decisions in every place that plays policies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from risingbandits import Allocator, RisingBanditsError, replay, simulate
from risingbandits.policies import Kernels, PlainPolicy, Policy, kernel, registry
from risingbandits.testing import check_policy


class PlainGreedy(PlainPolicy):
    """Greedy on the mean, at random in every tenth round: state in arrays, numbers, lists and dicts."""

    name = "plain-greedy"
    summary = "for this test"

    def __init__(self, share: float = 0.1) -> None:
        self.share = share

    def _start(self) -> None:
        self.sums, self.counts = np.zeros(self.n_arms), np.zeros(self.n_arms)
        self.told: list[float] = []
        self.seen = {"best": -1.0}
        self.hand: int | None = None

    def _select(self, available: Any) -> int:
        if self.rng.random() < self.share:
            return int(self.rng.choice(np.flatnonzero(available)))
        means = np.where(self.counts > 0, self.sums / np.maximum(self.counts, 1), np.inf)
        return int(np.argmax(np.where(available, means, -np.inf)))

    def _update(self, arm: int, reward: float) -> None:
        self.sums[arm] += reward
        self.counts[arm] += 1
        self.told.append(reward)
        self.seen["best"] = max(self.seen["best"], reward)
        self.hand = arm


class State(NamedTuple):
    last: np.ndarray


@kernel
def select_last(state: Any, t: int, available: Any, rng: Any) -> int:
    chosen = -1
    for arm in range(state.last.shape[0]):
        if (available is None or available[arm]) and (chosen < 0 or state.last[arm] > state.last[chosen]):
            chosen = arm
    return chosen


@kernel
def update_last(state: Any, t: int, arm: int, reward: float, rng: Any) -> None:
    state.last[arm] = reward


class CompiledLast(Policy):
    name = "compiled-last"
    kernels = Kernels(select_last, update_last)

    def _new_state(self, n_arms: int, horizon: int | None, capacity: int) -> State:
        return State(np.full(n_arms, 1.0))


class PlainLast(PlainPolicy):
    name = "plain-last"

    def _start(self) -> None:
        self.last = np.full(self.n_arms, 1.0)

    def _select(self, available: Any) -> int:
        return int(np.argmax(np.where(available, self.last, -np.inf)))

    def _update(self, arm: int, reward: float) -> None:
        self.last[arm] = reward


CURVES = {name: np.linspace(0.1 * i, 1.0 - 0.2 * i, 30) for i, name in enumerate("abc")}


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other tests play every policy that is registered."""
    monkeypatch.setitem(registry._CLASSES, PlainGreedy.name, PlainGreedy)


@pytest.mark.usefixtures("registered")
def test_contract() -> None:
    check_policy(PlainGreedy())


def test_simulations_and_replays_are_those_of_the_same_policy_with_kernels() -> None:
    both = [CompiledLast(), PlainLast()]
    result = simulate(both, "paper-2arms", horizon=120, runs=3, jobs=2)
    np.testing.assert_array_equal(result.final_regret["compiled-last"], result.final_regret["plain-last"])
    played = replay(CURVES, both, budget=60, orders=3)
    np.testing.assert_array_equal(played.pulls["compiled-last"], played.pulls["plain-last"])
    np.testing.assert_array_equal(played.recommended["compiled-last"], played.recommended["plain-last"])
    course = played.course("plain-last", 1)
    assert np.bincount(course.pulled, minlength=3).tolist() == played.pulls["plain-last"][1].tolist()


@pytest.mark.usefixtures("registered")
def test_an_allocator_that_is_opened_again_decides_as_one_that_never_stopped(tmp_path: Any) -> None:
    def pulls(store: Any, stops: bool) -> list[str]:
        names = []
        allocator = Allocator(list(CURVES), budget=60, policy="plain-greedy", seed=3, store=store, reward_range=(0, 1))
        while (pull := allocator.ask()) is not None:
            names.append(pull.arm)
            allocator.tell(pull, float(CURVES[pull.arm][min(pull.n - 1, 29)]))
            if stops and len(names) % 7 == 0:
                allocator.close()
                allocator = Allocator.open(store)
        allocator.close()
        return names

    assert pulls(tmp_path / "one.sqlite", stops=True) == pulls(tmp_path / "other.sqlite", stops=False)


def test_own_recommendation() -> None:
    class Last(PlainLast):
        def _best(self) -> int:
            return self.n_arms - 1

    assert Last().reset(3).recommend() == 2
    assert simulate(Last(), "paper-2arms", horizon=20).recommended["plain-last"].tolist() == [1]


def test_slowness_is_said_once(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from risingbandits._core.progress import teller
    from risingbandits.simulation import _engine as engine

    monkeypatch.setattr(engine, "_say_once", teller())
    for _ in range(2):
        simulate(PlainLast(), "paper-2arms", horizon=20, runs=2)
    assert capsys.readouterr().err.count("plain-last is written in plain Python") == 1


def test_a_wrong_arm_and_an_attribute_that_cannot_be_saved_are_one_sentence() -> None:
    class Wrong(PlainLast):
        def _select(self, available: Any) -> int:
            return 7

    with pytest.raises(RisingBanditsError, match=r"^_select of plain-last must return the number of an available arm"):
        Wrong().reset(3).ask()

    class Unsaved(PlainLast):
        def _start(self) -> None:
            super()._start()
            self.oddity = {1, 2}

    with pytest.raises(RisingBanditsError, match=r"^attribute oddity of plain-last must be a number"):
        Unsaved().reset(3).clone()


@kernel
def select_drawn(state: Any, t: int, available: Any, rng: Any) -> int:
    return int(rng.integers(0, state.last.shape[0]))


@kernel
def select_lost(state: Any, t: int, available: Any, rng: Any) -> int:
    return int(state.lost[0])


@pytest.mark.parametrize(
    ("broken", "said"),
    [(select_drawn, "rng is None unless the policy is tagged randomised"), (select_lost, "'lost'")],
)
def test_errors_in_kernels_are_one_sentence(broken: Any, said: str) -> None:
    class Broken(CompiledLast):
        kernels = Kernels(broken, update_last)

    plays: list[Callable[[], object]] = [
        lambda: simulate(Broken(), "paper-2arms", horizon=20),
        lambda: Broken().reset(2).ask(),
        lambda: replay(CURVES, [Broken()], budget=20),
    ]
    for play in plays:
        with pytest.raises(RisingBanditsError, match=said) as error:
            play()
        assert "\n" not in str(error.value)
        assert broken.__name__ in str(error.value)
