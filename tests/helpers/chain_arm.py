"""A learner whose every reward tells its whole past: a pull too many, too few or out of order shows."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

from risingbandits.allocation.pull import Pull


def expected(name: str, pulls: int) -> list[float]:
    """The rewards of an arm's first pulls, from the definition."""
    state, rewards = name, []
    for n in range(1, pulls + 1):
        state, reward = step(state, n)
        rewards.append(reward)
    return rewards


def step(state: str, n: int) -> tuple[str, float]:
    state = hashlib.sha256(f"{state};{n}".encode()).hexdigest()
    return state, int(state[:8], 16) / 0xFFFFFFFF


class Chain:
    """Can be saved. Writes every pull that it makes to ``diary``, with the node and process where it is made."""

    def __init__(self, name: str, diary: Path | None = None, seconds: float = 0.0, dies_at: int | None = None) -> None:
        self.name, self.diary, self.seconds, self.dies_at = name, diary, seconds, dies_at
        self.state = name

    def pull(self, pull: Pull) -> float:
        self.note("begin", pull)
        self.state, reward = step(self.state, pull.n)
        if self.dies_at == pull.n and pull.attempt == 1 and pull.id:
            os._exit(1)
        time.sleep(self.seconds)
        self.note("end", pull)
        return reward

    def note(self, what: str, pull: Pull) -> None:
        if self.diary is not None:
            with self.diary.open("a") as file:
                file.write(f"{what} {self.name} {pull.n} {pull.attempt} {pull.id} {os.getpid()}\n")

    def save(self, path: Path) -> None:
        path.write_text(self.state)

    def load(self, path: Path) -> None:
        self.state = path.read_text()


class UnsavedChain(Chain):
    """Cannot be saved."""

    save = None  # type: ignore[assignment]
    load = None  # type: ignore[assignment]
