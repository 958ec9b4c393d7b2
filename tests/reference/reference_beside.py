"""OpenByValue for several workers, from its description: `SlowOpenByValue` and what a worker does beside others.

Arms are opened in the given order. What was found when the last decision was made is kept until the next one, as the
policy does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from reference_trials import SlowOpenByValue


@dataclass
class SlowBeside(SlowOpenByValue):
    """Asked with the free arms; ``branches`` counts what answers came to."""

    workers: int = 1
    order: list[int] = field(default_factory=list)  # open arms, then the others
    next: int | None = None  # None: one more
    until: int = 0
    found: dict[str, Any] = field(default_factory=dict)  # by the last decision
    frozen: bool = False  # whether what was found then counts
    seen: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.order = list(range(self.n_arms))

    @property
    def left(self) -> Any:
        return self.found["rounds"] if self.frozen else super().left / self.workers

    @property
    def noise(self) -> float:
        return float(self.found.get("noise", 0.0)) if self.frozen else super().noise

    def age(self, b: int) -> int:
        """Its pulls; those of the first incumbent as of the last decision, while another is compared with it."""
        stale = self.frozen and b == self.found["b"] and "behind" not in self.found
        return int(self.found["age"]) if stale else len(self.curves[b])

    def ahead(self, arm: int, b: int) -> float:
        n = len(self.curves[arm])
        return self.level(arm, n) - self.level(b, min(n, self.age(b)))

    def noise_at(self, n: int, b: int) -> float:
        return self.noise * (1 / self.window(n) + 1 / self.window(min(n, self.age(b))))

    def before(self, arm: int | None, b: int) -> tuple[float, float]:
        mean, square = super().before(arm, b)
        return mean + self.found.get("behind", 0.0), square

    def moved(self, b: int) -> float:
        return float(self.found["moved"]) if self.frozen else super().moved(b)

    def ceiling(self, b: int) -> float:
        own = super().ceiling(b)
        return max(own, self.found["ceiling"] - self.found["behind"]) if self.frozen else own

    def take(self, arm: int, reward: float) -> None:
        """A reward, and the decision that may follow from it."""
        if arm not in self.curves:
            here, place = len(self.curves), self.order.index(arm)
            self.order[place], self.order[here] = self.order[here], arm
        self.tell(arm, reward)
        if self.next == arm and len(self.curves[arm]) < self.until:
            return
        newest = next(reversed(self.curves))
        if len(self.curves[newest]) == 1 and self.level(newest, 1) < self.prior / 4:
            self.next, self.until = newest, 2
        elif len(self.curves) < min(2, self.n_arms):
            self.next = None
        else:
            self.look()

    def look(self) -> None:
        before = set(self.curves)
        chosen = self.decide()[0]
        b = max(self.curves, key=self.sure)
        self.found = {"b": b, "age": len(self.curves[b]), "noise": self.noise, "rounds": self.left}
        self.found |= {"moved": self.moved(b), "ceiling": self.ceiling(b)}
        self.next = chosen if chosen in before else None
        n = len(self.curves.get(chosen, []))
        self.until = max(n + 1, int(1.05 * n))

    def decide(self) -> list[int]:
        """As with one worker, but that one arm for each worker is seen for a while before others are tried."""
        hold = max(2, 2 * (self.horizon or 0) ** (1 / 3))
        pulls = super().decide()
        b = max(self.curves, key=self.sure)
        few = len(self.curves) <= max(2, self.workers) and len(self.curves[b]) < hold
        return [b] if few else pulls

    def waits(self) -> bool:
        hold = max(2, 2 * (self.horizon or 0) ** (1 / 3))
        flat = self.found["moved"] < self.prior / 4 and self.found["age"] < 2 * hold
        return flat or (len(self.curves) <= max(2, self.workers) and self.found["age"] < hold)

    def answer(self, free: Sequence[bool]) -> int:
        """The arm for a worker who may have the free ones."""
        wanted = self.order[len(self.curves)] if self.next is None else self.next
        if free[wanted]:
            self.seen["planned"] += 1
            return wanted
        closed = [arm for arm in self.order[len(self.curves) :] if free[arm]]
        mine = [arm for arm in self.curves if free[arm]]
        if not mine or ("b" not in self.found and closed):
            self.seen["no open arm"] += 1
            return closed[0]
        self.frozen = True
        try:
            b = max(mine, key=self.sure)
            if "b" not in self.found or self.waits():
                self.seen["waits"] += 1
                return b
            first = self.found["b"]
            self.found["behind"] = 0.0 if b == first else max(0.0, -self.expected(b, first))
            gains: dict[int, float] = {arm: self.gain(arm, b) for arm in mine if arm != b}
            if closed:
                gains[closed[0]] = self.gain(None, b)
        finally:
            self.frozen = False
            self.found.pop("behind", None)
        best = max(gains, key=lambda arm: gains[arm], default=b)
        if gains.get(best, 0.0) <= 0:
            self.seen["own incumbent"] += 1
            return b
        self.seen["opens" if best not in self.curves else "tries"] += 1
        return best
