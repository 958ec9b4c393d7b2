"""Checkpoints within bounds: the worst arm gives up first, nothing is lost, and nobody decides otherwise."""

from __future__ import annotations

import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from chain_arm import Chain, expected
from risingbandits import Allocator, Pull, RisingBanditsError
from risingbandits.allocation import Told
from risingbandits.allocation.arms._checkpointed import Checkpointed
from risingbandits.allocation.arms._economy import Economy, who_gives_up_first
from risingbandits.allocation.arms.base import Outcome

NAMES = ["a", "b", "c", "d", "e", "f"]


class Rising(Chain):
    """A chain whose rewards rise, so that policies prefer some arms; its state still tells its whole past."""

    most_kept = 0  # arms with checkpoints when a pull begins

    def __init__(self, name: str, folder: Path, diary: Path | None = None) -> None:
        super().__init__(name, diary)
        self.folder = folder

    def pull(self, pull: Pull) -> float:
        Rising.most_kept = max(Rising.most_kept, len(kept(self.folder)))
        super().pull(pull)
        return level(self.name, pull.n)


def level(name: str, n: int) -> float:
    return (0.4 + 0.1 * NAMES.index(name)) * n / (n + 3)


def kept(folder: Path) -> list[str]:
    """The arms that have checkpoints."""
    return sorted({path.parent.name for path in folder.glob("?/checkpoint-*")})


def run(
    store: Path, budget: int, keep: Any = None, jobs: int = 1, stop_after: int = 0, **settings: Any
) -> list[tuple[str, int]]:
    """Spend a budget with new learners, or a part of it; the pulls that count, in their order."""
    folder = store.with_name(store.name + ".state")
    arms = {name: lambda name=name: Rising(name, folder, store.with_name("diary")) for name in NAMES}
    told: list[tuple[str, int]] = []
    settings = {"policy": "round-robin", **settings}

    def listen(heard: Told) -> None:
        told.append((heard.arm, heard.n))
        if len(told) == stop_after:
            signal.raise_signal(signal.SIGINT)

    with Allocator(arms, budget, store=store, on_tell=listen, **settings) as allocator:
        with suppress(KeyboardInterrupt):
            allocator.run(jobs=jobs, progress=False, keep=keep)
        for name in NAMES:
            rewards = allocator.rewards(name)
            assert rewards == [level(name, n) for n in range(1, len(rewards) + 1)]
            for checkpoint in (folder / name).glob("checkpoint-*"):  # its state is that after the last pull
                n = int(checkpoint.name.split("-")[1])
                learner = Chain(name)
                for pull in range(1, n + 1):
                    learner.pull(Pull(pull, name, pull))
                assert checkpoint.read_text() == learner.state
    return told


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("policy", ["round-robin", "commit-ucb", None])
def test_bound_holds_and_decisions_do_not_change(policy: str | None, jobs: int, tmp_path: Path) -> None:
    Rising.most_kept = 0
    (tmp_path / "free").mkdir()
    bounded = run(tmp_path / "run.db", 60, keep=3, jobs=jobs, policy=policy)
    assert Rising.most_kept <= 3 + jobs  # and what is in flight has another one until it is told
    assert len(kept(tmp_path / "run.db.state")) <= 3
    if jobs == 1:
        assert bounded == run(tmp_path / "free" / "run.db", 60, policy=policy)


def test_a_run_in_pieces_gives_up_the_same_and_trains_again(tmp_path: Path) -> None:
    (tmp_path / "pieces").mkdir()
    whole = run(tmp_path / "run.db", 36, keep=3)
    pieces: list[tuple[str, int]] = []
    while len(pieces) < 36:  # new learners each time: what has no checkpoint is trained again
        pieces += run(tmp_path / "pieces" / "run.db", 36, keep=3, stop_after=4)
    assert pieces == whole
    assert kept(tmp_path / "pieces" / "run.db.state") == kept(tmp_path / "run.db.state")
    made = [line for line in (tmp_path / "pieces" / "diary").read_text().splitlines() if line.startswith("begin")]
    assert len(made) > 36
    assert len([line for line in (tmp_path / "diary").read_text().splitlines() if line.startswith("begin")]) == 36


KILLED = """
import os, signal, sys
from pathlib import Path
from risingbandits.allocation.arms import _economy as economy
from test_economy import run

economy.finish_giving_up = lambda folder: [os.kill(os.getpid(), signal.SIGKILL) for _ in folder.glob("given-up-*")]
run(Path(sys.argv[1]), 24, keep=3)
"""


def test_killed_while_one_gives_up(tmp_path: Path) -> None:
    store, folder = tmp_path / "run.db", tmp_path / "run.db.state"
    environment = {"PYTHONPATH": ":".join([str(Path(__file__).parent), *sys.path])}
    done = subprocess.run([sys.executable, "-c", KILLED, store], env=environment, capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert len(list(folder.glob("given-up-*"))) == 1  # it was on its way out, whole, and nobody takes it for an arm's
    assert len(kept(folder)) == 3
    run(store, 24, keep=3)
    assert list(folder.glob("given-up-*")) == []
    assert len(kept(folder)) == 3


def test_never_those_in_flight_nor_the_one_to_keep_nor_what_cannot_be_made(tmp_path: Path) -> None:
    with Allocator(NAMES, 100, store=tmp_path / "run.db", policy="round-robin") as allocator:
        arms = {name: Checkpointed.of(name, lambda name=name: Chain(name), allocator) for name in NAMES}
        arms["c"] = Checkpointed.of("c", Chain("c"), allocator)  # an object: it could not be made anew
        for _ in range(13):
            pull = allocator.ask()
            assert pull is not None
            outcome = arms[pull.arm].pull(pull)
            assert isinstance(outcome, Outcome)
            allocator.tell(pull, 0.1, checkpoint=outcome.checkpoint)
            arms[pull.arm].told(pull)
        flying = allocator.ask()
        assert flying is not None
        assert (flying.arm, allocator.recommend()) == ("b", "a")
        economy = Economy(allocator, allocator.store.directory, arms, keep=2, jobs=1)
        economy.tidy()
        assert kept(tmp_path / "run.db.state") == ["a", "b", "c"]
        given_up = Pull(99, "d", 3, before=allocator.ledger.arm("d").last_pull)
        for arm in (arms["d"], Checkpointed.of("d", lambda: Chain("d"), allocator)):  # in memory, and trained again
            assert arm.pull(given_up)[0] == expected("d", 3)[2]  # type: ignore[index]
        assert arms["b"].pull(flying)[0] == expected("b", 3)[2]  # type: ignore[index]


@pytest.mark.parametrize(
    ("direction", "order"), [("maximize", ["d", "b", "c", "a"]), ("minimize", ["d", "a", "c", "b"])]
)
def test_the_worst_gives_up_first(direction: str, order: list[str]) -> None:
    with Allocator(["a", "b", "c", "d"], 30, policy="round-robin", direction=direction) as allocator:
        for reward in (0.9, 0.2, 0.5):
            pull = allocator.ask()
            assert pull is not None
            allocator.tell(pull, reward)
        assert who_gives_up_first(allocator.ledger, "abcd") == order


def test_it_needs_a_folder() -> None:
    with (
        Allocator({"a": lambda pull: 0.5}, 2) as allocator,
        pytest.raises(RisingBanditsError, match="keep needs a store that is a file"),
    ):
        allocator.run(progress=False, keep=5)
