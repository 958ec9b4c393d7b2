"""Allocations of the golden stores: their settings, rewards and how they are played, by the public surface alone."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any, NamedTuple

from frozen import mix, reward

import risingbandits as rb

OUTPUTS = {
    "log.txt": ["log"],
    "tells.txt": ["log", "--last", "7", "--kind", "tell"],
    "curves.csv": ["export"],
    "curves.json": ["export", "--out"],
    "events.csv": ["export", "--events"],
    "events.json": ["export", "--events", "--out"],
    "show.txt": ["show"],
}


class Allocation(NamedTuple):
    """How the store of an allocation was made and is continued."""

    settings: dict[str, Any]
    width: int = 1  # pulls in flight at a time

    def arguments(self) -> dict[str, Any]:
        """The arguments of `Allocator`, without the store."""
        given = {"warm_start" if name == "history" else name: value for name, value in self.settings.items()}
        if isinstance(given["budget"], dict):
            given["budget"] = rb.Budget(**given["budget"])
        if isinstance(given.get("reward_range"), list):
            given["reward_range"] = tuple(given["reward_range"])
        if isinstance(given.get("policy"), list):
            name, params = given["policy"]
            given["policy"] = rb.get_policy(name, **params)
        return given

    def tell(self, allocator: rb.Allocator, id: int, arm: str, n: int) -> None:
        """Tell the reward of a pull, and a cost where the budget is not in pulls."""
        value = reward(mix(*arm.encode()) % 50, n)
        if self.settings.get("direction") == "minimize":
            value = 2.5 - 2.0 * value
        allocator.tell(id, value, None if isinstance(self.settings["budget"], int) else 0.5 + mix(n) % 8 / 4.0)

    def go_on(self, allocator: rb.Allocator, steps: int) -> list[str]:
        """Ask so many times, with up to ``width`` pulls in flight; the pulls, and where there was none."""
        trace: list[str] = []
        flying: list[rb.Pull] = []
        for _ in range(steps):
            try:
                pull = allocator.ask()
            except rb.NoArmFree:
                trace.append("wait")
            else:
                if pull is None:
                    trace.append("end")
                    break
                trace.append(f"{pull.arm} {pull.n} {pull.attempt}")
                flying.append(pull)
            if flying and (len(flying) >= self.width or trace[-1] == "wait"):
                done = flying.pop(0)
                self.tell(allocator, done.id, done.arm, done.n)
        for done in flying:
            self.tell(allocator, done.id, done.arm, done.n)
        return trace


def entries(events: Path, after: int) -> str:
    """The rows of exported events after number ``after``, without who did it and when."""
    with events.open(newline="") as file:
        rows = list(csv.DictReader(file))[after:]
    kept = ("id", "kind", "arm", "pull", "n", "reward", "cost", "text")
    return "".join(",".join(row[key] for key in kept) + "\n" for row in rows)
