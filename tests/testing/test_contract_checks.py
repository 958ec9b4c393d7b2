"""The contract checks for stores and arms: they pass what is right and name what is wrong."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from risingbandits import Allocator, RisingBanditsError
from risingbandits.allocation.events import Event
from risingbandits.allocation.stores._memory import MemoryStore
from risingbandits.allocation.stores.base import open_store
from risingbandits.policies import UCB1, Kernels, Policy, kernel
from risingbandits.testing import check_arm, check_failing_arm, check_killed_arm, check_policy, check_store


def test_our_stores_pass(tmp_path: Path) -> None:
    check_store(MemoryStore)
    made: list[Path] = []

    def make() -> Any:
        made.append(tmp_path / f"{len(made)}.db")
        return open_store(made[-1])

    check_store(make, lambda: open_store(made[-1]))


class Forgetful(MemoryStore):
    """Commits nothing that was appended before a rollback of something else."""

    def rollback(self) -> None:
        self._events.clear()
        self._committed = 0


class Rounding(MemoryStore):
    """Keeps two digits of a reward."""

    def append(self, event: Event) -> None:
        super().append(event._replace(reward=None if event.reward is None else round(event.reward, 2)))


class Overwriting(MemoryStore):
    """Lets a second process replace the settings."""

    def create(self, settings: str) -> str:
        self._settings = settings
        return settings


@pytest.mark.parametrize(
    ("store", "said"),
    [
        (Forgetful, "rollback must forget what was appended"),
        (Rounding, "come back as they were appended"),
        (Overwriting, "second create"),
    ],
)
def test_a_store_that_breaks_its_contract_is_named(store: type[MemoryStore], said: str) -> None:
    with pytest.raises(AssertionError, match=said):
        check_store(store)


class Learner:
    """Counts its pulls, and whatever a subclass does wrong."""

    def __init__(self) -> None:
        self.count, self.momentum = 0, 0.0

    def pull(self, pull: object) -> float:
        self.count += 1
        self.momentum = 0.5 * self.momentum + 0.01 * self.count
        return self.momentum

    def save(self, path: Path) -> None:
        path.write_text(f"{self.count} {self.momentum!r}")

    def load(self, path: Path) -> None:
        count, momentum = path.read_text().split()
        self.count, self.momentum = int(count), float(momentum)


class WithoutMomentum(Learner):
    def load(self, path: Path) -> None:
        self.count = int(path.read_text().split()[0])


class Consumed(Learner):
    def save(self, path: Path) -> None:
        super().save(path)
        self.momentum = 0.0


class Unsaved(Learner):
    def save(self, path: Path) -> None:
        """Writes nothing."""


class Infinite(Learner):
    def pull(self, pull: object) -> float:
        return float("inf")


def test_arms() -> None:
    check_arm(Learner)
    check_arm(lambda: lambda pull: pull.n / 10)
    wrong: list[tuple[Any, str]] = [
        (WithoutMomentum, "after load of the state after 1"),
        (Consumed, "pull 2 after save at 1"),
        (Unsaved, "must write a file"),
        (Infinite, "not a finite number"),
        (Learner(), "make must be a class"),
        (lambda pull: 0.5, "make must be a class"),
    ]
    for arm, said in wrong:
        with pytest.raises(AssertionError, match=said):
            check_arm(arm)


class Careless(Learner):
    """Takes any file for a checkpoint."""

    def load(self, path: Path) -> None:
        if path.exists() and path.read_bytes() != b"no checkpoint":
            super().load(path)


class HalfLoaded(Learner):
    """Forgets all before it looks at a checkpoint."""

    def load(self, path: Path) -> None:
        self.__init__()  # type: ignore[misc]
        super().load(path)


class Wordy(Learner):
    def load(self, path: Path) -> None:
        try:
            super().load(path)
        except Exception as error:
            raise ValueError(f"it cannot be loaded:\n{error}") from None


class Diverging(Learner):
    """Whose third pull is none."""

    def pull(self, pull: object) -> float:
        return super().pull(pull) if self.count < 2 else float("nan")


class Loss(Learner):
    direction = "minimize"


def test_arms_and_checkpoints_that_are_none() -> None:
    for arm, said in (
        (Careless, "load\\(path\\) of a missing checkpoint must raise"),
        (HalfLoaded, "pull 2 gave"),
        (Wordy, "must say why in one line"),
    ):
        with pytest.raises(AssertionError, match=said):
            check_arm(arm)


def test_arms_that_are_killed() -> None:
    check_killed_arm(Learner, pulls=3)
    with pytest.raises(AssertionError, match="pull 2 of an arm that was killed in a pull 2 gave"):
        check_killed_arm(WithoutMomentum, pulls=3)
    with pytest.raises(AssertionError, match="make must be importable"):
        check_killed_arm(lambda: Learner())


def test_arms_that_fail() -> None:
    assert "must be a finite number" in check_failing_arm(Diverging, good_pulls=2)
    with pytest.raises(AssertionError, match="2 pulls count, not 1"):
        check_failing_arm(Diverging, good_pulls=1)


def test_arms_that_go_the_other_way(tmp_path: Path) -> None:
    check_arm(Loss)
    sentence = re.escape(
        "direction must be that of all arms, got 'maximize', but arm 'a' has 'minimize': if higher is better, make the "
        'arm with direction="maximize" (mode="max" or greater_is_better=True where it is called that), otherwise the '
        'allocator with direction="minimize".'
    )
    with pytest.raises(RisingBanditsError, match=sentence):
        Allocator({"a": Loss()}, 2, direction="maximize", store=tmp_path / "run.db")
    assert not list(tmp_path.iterdir()), "no store keeps a direction that was wrong"
    allocator = Allocator({"a": Loss}, 2)  # known when it is made
    with pytest.raises(RisingBanditsError, match=sentence):
        allocator.run(progress=False)
    Allocator({"a": Loss}, 2, direction="minimize").run(progress=False)


class _State(NamedTuple):
    last: Any


@kernel
def _draw(state, t, available, rng):  # type: ignore[no-untyped-def]
    return int(rng.random() * state.last.shape[0])


@kernel
def _first(state, t, available, rng):  # type: ignore[no-untyped-def]
    for arm in range(state.last.shape[0]):
        if available is None or available[arm]:
            return arm
    return -1


@kernel
def _nothing(state, t, arm, reward, rng):  # type: ignore[no-untyped-def]
    state.last[arm] = reward


class _Untagged(Policy):
    """Draws, and does not say so."""

    name = "untagged"
    summary = "a random arm"
    kernels = Kernels(select=_draw, update=_nothing)

    def _new_state(self, n_arms: int, horizon: int | None, capacity: int) -> _State:
        return _State(np.zeros(n_arms))


def test_a_policy_that_forgot_its_tag_or_its_name_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AssertionError, match="uses rng, so it must be tagged randomised or _draws_on_tell"):
        check_policy(_Untagged())
    monkeypatch.setattr(_Untagged, "kernels", Kernels(select=_first, update=_nothing))
    with pytest.raises(AssertionError, match="is not registered; put @register before the class"):
        check_policy(_Untagged())


@pytest.mark.parametrize("given", ["ucb1", UCB1])
def test_what_is_not_a_policy_is_named(given: Any) -> None:
    with pytest.raises(RisingBanditsError, match="policy must be a Policy, such as UCB1"):
        check_policy(given)
