"""The allocator as its documentation tells it, in the plainest Python: nothing is kept that can be worked out again.

For every decision the policy is made anew and told, and asked, everything that it was told and asked before.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from risingbandits.policies import Policy

FIRST_HORIZON_PER_ARM = 100


@dataclass
class ModelPull:
    arm: str
    n: int
    attempt: int
    deadline: float
    asked: float
    status: str = "in flight"  # then "told", "back" (a late tell may count) or "void"


@dataclass
class ModelArm:
    name: str
    rewards: list[float] = field(default_factory=list)
    warm: int = 0
    masked: bool = False
    retired: bool = False
    failures: int = 0
    given_up: bool = False  # retired for its failures
    ended: bool = False  # it has said that there is no further pull


class ReferenceAllocator:
    """Takes the same calls as `Allocator`, with the time as an argument; pulls are objects instead of tokens."""

    def __init__(
        self,
        arms: list[str],
        unit: str,
        amount: float,
        policy: Policy,
        *,
        lease: float,
        retries: int,
        max_pulls: int | None,
        seed: int,
        warm_start: dict[str, list[float]],
        direction: str,
        reward_range: tuple[float, float],
    ) -> None:
        self.unit, self.amount, self.policy = unit, amount, policy
        self.lease, self.retries, self.max_pulls = lease, retries, max_pulls
        self.seed, self.direction, self.reward_range = seed, direction, reward_range
        self.arms = [ModelArm(name, list(warm_start.get(name, [])), len(warm_start.get(name, []))) for name in arms]
        self.pulls: list[ModelPull] = []
        self.returned: list[str] = []
        self.tells: list[tuple[str, float, float]] = []  # arm, reward, cost
        self.rebuilds = 0
        self.calls: list[tuple[Any, ...]] = []  # of the policy
        self.horizon = 0
        self.rebuild()

    # -- what the user does -------------------------------------------------------------------------------------

    def ask(self, now: float) -> ModelPull | str | None:
        for pull in self.pulls:
            if pull.status == "in flight" and pull.deadline <= now:
                self.back(pull)
        if self.finished():
            return None
        flying = [pull for pull in self.pulls if pull.status == "in flight"]
        if self.unit == "pulls" and len(self.tells) + len(flying) >= self.amount:
            return "committed"
        name = self.decide()
        if name is None:
            return "busy"
        if name in self.returned:
            self.returned.remove(name)
        n = len(self.arm(name).rewards) + 1
        attempt = 1 + sum(pull.arm == name and pull.n == n for pull in self.pulls)
        pull = ModelPull(name, n, attempt, now + self.lease, now)
        self.pulls.append(pull)
        return pull

    def tell(
        self, pull: ModelPull, reward: float | None, cost: float | None, now: float, finished: bool = False
    ) -> bool:
        arm = self.arm(pull.arm)
        if pull.n != len(arm.rewards) + 1 or pull.status not in ("in flight", "back"):
            return False
        others = [p for p in self.pulls if p.status == "in flight" and p.arm != pull.arm]
        mine = [p for p in self.pulls if p.status == "in flight" and p.arm == pull.arm]
        if not mine and self.unit == "pulls" and len(self.tells) + len(others) >= self.amount:
            return False  # its share of the budget has been given to another
        for other in self.pulls:
            if other.arm == pull.arm and other.n == pull.n:
                other.status = "void"
        pull.status = "told"
        if pull.arm in self.returned:
            self.returned.remove(pull.arm)
        arm.ended = finished
        if reward is None:
            self.choice = None
            return True
        if cost is None:
            cost = now - pull.asked if self.unit == "seconds" else 1.0
        arm.rewards.append(reward)
        arm.failures = 0
        self.tells.append((pull.arm, reward, cost))
        self.calls.append(("tell", pull.arm, reward))
        if self.unit != "pulls" and self.spent() < self.amount:
            horizon = self.planned()
            if abs(horizon - self.horizon) > 0.1 * self.horizon:
                self.rebuild()
        return True

    def fail(self, pull: ModelPull) -> None:
        if pull.status == "in flight":
            arm = self.arm(pull.arm)
            self.back(pull)
            arm.failures += 1
            if arm.failures >= self.retries and not arm.retired:
                arm.given_up = True
                self.retire(arm.name)

    def release(self, pull: ModelPull) -> None:
        if pull.status == "in flight":
            self.back(pull)

    def renew(self, pull: ModelPull, now: float) -> bool:
        if pull.status == "in flight":
            pull.deadline = now + self.lease
        return pull.status == "in flight"

    def add(self, name: str) -> None:
        self.arms.append(ModelArm(name))
        self.rebuild()

    def extend(self, amount: float, arms: list[str], retries: int, max_pulls: int | None) -> None:
        """All of it at once; the policy is made anew if its plan may depend on what has changed."""
        planned = (amount, max_pulls) != (self.amount, self.max_pulls) or bool(arms)
        if not planned and retries == self.retries:
            return
        self.amount, self.max_pulls = amount, max_pulls
        for arm in self.arms:
            if arm.given_up and arm.failures < retries and retries > self.retries:
                arm.retired = arm.given_up = False
        self.retries = retries
        self.arms += [ModelArm(name) for name in arms]
        if planned:
            self.rebuild()

    def retire(self, name: str) -> None:
        arm = self.arm(name)
        if not arm.retired:
            arm.retired = True

    def mask(self, name: str, masked: bool) -> None:
        self.arm(name).masked = masked

    # -- what follows from it -----------------------------------------------------------------------------------

    def spent(self) -> float:
        return len(self.tells) if self.unit == "pulls" else math.fsum(cost for _, _, cost in self.tells)

    @property
    def names(self) -> list[str]:
        return [arm.name for arm in self.arms]

    def finished(self) -> bool:
        if self.spent() >= self.amount:
            return True
        flying = any(pull.status == "in flight" for pull in self.pulls)
        return not flying and all(self.arm(name).retired or self.has_finished(name) for name in self.names)

    def arm(self, name: str) -> ModelArm:
        return next(arm for arm in self.arms if arm.name == name)

    def has_finished(self, name: str) -> bool:
        arm = self.arm(name)
        return arm.ended or (self.max_pulls is not None and len(arm.rewards) >= self.max_pulls)

    def eligible(self, name: str) -> bool:
        arm = self.arm(name)
        return not arm.retired and not arm.masked and not self.has_finished(name)

    def flying(self, name: str) -> bool:
        return any(pull.arm == name and pull.status == "in flight" for pull in self.pulls)

    def back(self, pull: ModelPull) -> None:
        pull.status = "back"
        self.returned.append(pull.arm)

    def decide(self) -> str | None:
        for name in self.returned:
            if self.eligible(name) and not self.flying(name):
                return name
        mask = [self.eligible(name) and not self.flying(name) for name in self.names]
        return self.play(mask) if any(mask) else None

    def play(self, mask: list[bool]) -> str:
        """Ask a policy that has lived through everything so far; whom it is asked for is a part of that."""
        self.calls.append(("ask", None if all(mask) else mask))
        policy = self.policy.clone()
        policy.reset(len(self.names), self.horizon, seed=[self.seed, 0, self.rebuilds - 1])
        answer = 0
        for call in self.calls:
            if call[0] == "tell":
                policy.tell(self.names.index(call[1]), self.scaled(call[2]))
            else:
                answer = policy.ask(call[1])
        return self.names[answer]

    def scaled(self, reward: float) -> float:
        low, high = self.reward_range
        return (reward - low) / (high - low) if self.direction == "maximize" else (reward - high) / (low - high)

    def planned(self) -> int:
        warm = sum(self.arm(name).warm for name in self.names)
        if self.unit == "pulls":
            return warm + int(self.amount)
        spent = self.spent()
        if spent == 0.0:
            return warm + max(len(self.tells), FIRST_HORIZON_PER_ARM * len(self.names))
        rounds = len(self.tells) + int(max(0.0, self.amount - spent) / (spent / len(self.tells)))
        return warm + max(1, len(self.names), rounds)

    def rebuild(self) -> None:
        self.horizon = self.planned()
        self.rebuilds += 1
        longest = max((self.arm(name).warm for name in self.names), default=0)
        warm = [(n, name) for n in range(longest) for name in self.names if n < self.arm(name).warm]
        self.calls = [("tell", name, self.arm(name).rewards[n]) for n, name in warm]
        self.calls += [("tell", arm, reward) for arm, reward, _ in self.tells]
