"""Slow and obvious: halving after a pilot from its definition, on lists of rewards, with everything computed anew."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np


class SlowPilotHalving:
    """``ask``, ``tell`` and ``recommend``; ``seen`` counts what happened, so that a test can ask for all of it."""

    def __init__(self, n_arms: int, horizon: int | None, order: list[int]) -> None:
        self.rewards: list[list[float]] = [[] for _ in range(n_arms)]
        self.horizon, self.order = horizon, order
        self.window = 0.1
        self.rounds = 0
        self.seen: Counter[str] = Counter()
        self.begin(64 if horizon is None else horizon)

    # -- levels ---------------------------------------------------------------------------------------------------

    def level(self, arm: int, age: float, share: float) -> float:
        first = self.rewards[arm][: int(min(age, len(self.rewards[arm])))]
        if not first:
            return -math.inf
        last = first[-math.ceil(share * len(first) - 1e-9) :]
        return sum(last) / len(last)

    def levels(self, age: int, share: float) -> list[float]:
        return [self.level(arm, age, share) for arm in self.pilots if self.rewards[arm]]

    def variance(self, values: Sequence[float]) -> float:
        """Without what is rounding alone."""
        if len(values) < 2 or np.ptp(values) <= 1e-11 * abs(np.mean(values)):
            return 0.0
        return float(np.var(values, ddof=1))

    def agreement(self, age: int) -> float:
        early, late = self.levels(age, self.window), self.levels(self.depth, self.window)
        if len(early) < len(self.pilots) or self.variance(early) == 0.0 or self.variance(late) == 0.0:
            self.seen["level pilots"] += 1
            return 0.0
        return float(np.corrcoef(early, late)[0, 1])

    # -- stages ---------------------------------------------------------------------------------------------------

    def begin(self, plan: int) -> None:
        self.plan = plan
        depth = math.isqrt(plan)
        number = min(len(self.order), 3)
        self.pilots = self.order[:number]
        self.depth = int(max(1, min(depth, plan // number)))
        self.stage, self.race, self.outside = "pilot", list(self.pilots), self.order[number:]
        self.bring_to(self.depth)

    def bring_to(self, age: float) -> None:
        self.goal = age
        self.due = self.missing(self.race, age)

    def missing(self, arms: list[int], age: float) -> float:
        return sum(max(0, age - len(self.rewards[arm])) for arm in arms)

    def open(self) -> None:
        left = max(0, self.plan - self.rounds)
        bends = [
            (a - 2 * b + c) ** 2 / 6
            for arm in self.pilots
            for a, b, c in zip(*(self.rewards[arm][: self.depth][i:] for i in range(3)), strict=False)
        ]
        noise = sum(bends) / len(bends) if bends else 0.0
        hidden = len(self.levels(self.depth, 1.0)) == len(self.pilots) and noise > 2 * self.variance(
            self.levels(self.depth, 1.0)
        )
        self.window = 0.3 if hidden else 0.1
        self.seen["noisy" if hidden else "clear"] += 1
        pulls = int(0.6 * left)
        values = {}
        carried = 1.0
        for age in range(self.depth, 0, -1):
            carried = 1.0 if age == self.depth else max(0.0, min(carried, self.agreement(age)))
            values[age] = carried * math.sqrt(math.log(len(self.affordable(age, pulls))))
        age = max(values, key=lambda age: values[age])  # of equals the first, the oldest
        self.seen["compared early" if age < self.depth else "compared late"] += 1
        self.best_pilot = max(self.pilots, key=lambda arm: self.level(arm, self.depth, self.window))
        self.race = self.affordable(age, pulls)
        self.outside = [arm for arm in self.order if arm not in self.race]
        self.seen["all started" if not self.outside else "some started"] += 1
        self.stage = "halving"
        self.bring_to(self.reach(age, left // max(1, self.rungs(len(self.race)))))
        self.seen["more pulls at once"] += self.goal > age

    def affordable(self, age: int, pulls: int) -> list[int]:
        return self.order[: len(self.order) if len(self.order) <= 3 else 3 + pulls // age]

    def rungs(self, arms: int) -> int:
        return math.ceil(math.log2(arms)) if arms > 1 else 0

    def reach(self, age: int, pulls: int) -> int:
        while self.missing(self.race, age + 1) <= pulls:
            age += 1
        return age

    def halve(self) -> None:
        values = {arm: self.level(arm, self.goal, self.window) for arm in self.race}
        if self.best_pilot in values and self.goal < self.depth:
            self.seen["protected"] += 1
            values[self.best_pilot] = math.inf
        ranked = sorted(self.race, key=lambda arm: (-values[arm], self.order.index(arm)))
        kept = (len(ranked) + 1) // 2
        self.race, self.outside = ranked[:kept], ranked[kept:] + self.outside
        if kept > 1:
            new = self.reach(int(self.goal), max(0, self.plan - self.rounds) // self.rungs(kept))
            self.seen["halved at the same pulls" if new == self.goal else "halved"] += 1
            self.bring_to(new)
        else:
            self.stage, self.goal, self.due = "over", math.inf, 0

    # -- questions and answers --------------------------------------------------------------------------------------

    def ask(self, available: Sequence[bool]) -> int:
        lacking = [arm for arm in self.race if len(self.rewards[arm]) < self.goal]
        for arm in [*lacking, *self.race[-1:]] if all(available) else lacking:
            if available[arm]:
                return arm
        free = [arm for arm in self.race if available[arm]]
        if free:
            self.seen["beyond the goal"] += 1
            return min(free, key=lambda arm: len(self.rewards[arm]))
        self.seen["outside"] += 1
        return next(arm for arm in self.outside if available[arm])

    def tell(self, arm: int, reward: float) -> None:
        self.rewards[arm].append(reward)
        self.rounds += 1
        self.due -= 1
        while self.due <= 0 or not any(len(self.rewards[arm]) < self.goal for arm in self.race):
            if self.stage == "pilot":
                self.open()
            elif self.stage == "halving":
                self.halve()
            elif self.horizon is not None or self.rounds < self.plan:
                self.due = math.inf if self.horizon is not None else self.plan - self.rounds
            else:
                self.seen["new plan"] += 1
                self.begin(2 * self.plan)

    def recommend(self) -> int:
        oldest = max(1, max(len(self.rewards[arm]) for arm in self.race))
        able = [arm for arm in self.race if self.rewards[arm]]
        able += [arm for arm in self.outside if len(self.rewards[arm]) >= oldest]
        return max(able, key=lambda arm: self.level(arm, math.inf, self.window)) if able else self.race[0]
