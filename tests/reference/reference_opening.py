"""OpenArms straight from its description: lists of rewards, everything recomputed when it is needed.

Only where pulls are few, arms are opened in the given order and all are available.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np


@dataclass
class SlowOpenArms:
    """Asks and tells like the policy."""

    n_arms: int
    horizon: int | None
    spread: float = 0.1
    patience: float = 2.0
    curves: dict[int, list[float]] = field(default_factory=dict)  # in the order of opening
    incumbent: int | None = None
    challenger: int | None = None
    rival: float = math.inf  # what the best of the others surely had when the incumbent was chosen
    hold: int = 0
    typical: float = 0.0

    def __post_init__(self) -> None:
        self.hold = 10 if self.horizon is None else max(2, int(2 * self.horizon ** (1 / 3)))
        self.typical = self.spread

    # -- what is measured -----------------------------------------------------------------------------------------

    @property
    def played(self) -> int:
        return sum(map(len, self.curves.values()))

    @property
    def left(self) -> float:
        return 2.0 * self.played if self.horizon is None else max(1.0, self.horizon - self.played)

    @property
    def noise(self) -> float:
        bends = np.concatenate([np.diff(curve, 2) for curve in self.curves.values()])
        return min(0.5, math.sqrt(float(np.mean(bends**2)) / 6)) if bends.size else 0.0

    def level(self, arm: int, n: int) -> float:
        return float(np.mean(self.curves[arm][:n][-math.ceil(n / 3) :]))

    def today(self, arm: int) -> float:
        return self.level(arm, len(self.curves[arm]))

    def sure(self, arm: int) -> float:
        return self.today(arm) - self.noise / math.sqrt(math.ceil(len(self.curves[arm]) / 3))

    def ahead(self, arm: int, b: int) -> float:
        return self.today(arm) - self.level(b, min(len(self.curves[arm]), len(self.curves[b])))

    def catching_up(self, arm: int, b: int) -> float:
        return max(0.0, sum(self.today(b) - reward for reward in self.curves[b][len(self.curves[arm]) :]))

    # -- what is decided ------------------------------------------------------------------------------------------

    def ask(self) -> int:
        if len(self.curves) < min(2, self.n_arms):
            return len(self.curves)
        if self.challenger is not None:
            return self.challenger
        b = self.incumbent
        if b is None or len(self.curves[b]) >= self.hold or self.sure(b) < self.rival:
            ranked = sorted(self.curves, key=self.sure, reverse=True)  # stable: of equals the one opened first
            b = self.incumbent = ranked[0]
            self.rival = self.sure(ranked[1]) if len(ranked) > 1 else -math.inf
            if len(self.curves[b]) >= self.hold:
                self.challenger = self.who_challenges(b)
        return b if self.challenger is None else self.challenger

    def who_challenges(self, b: int) -> int | None:
        others = [arm for arm in self.curves if arm != b]
        m = len(self.curves)
        self.typical = (self.spread + sum(max(0.0, -self.ahead(arm, b)) for arm in others)) / m
        gains = {
            arm: self.left * self.ahead(arm, b) - self.catching_up(arm, b)
            for arm in others
            if self.ahead(arm, b) >= 0 and len(self.curves[arm]) < len(self.curves[b])
        }
        if gains and max(gains.values()) > 0:
            return max(gains, key=lambda arm: gains[arm])
        costs = [max(0.0, sum(self.today(b) - reward for reward in self.curves[arm])) for arm in others]
        costs.append(max(0.0, self.today(b) - self.curves[b][0]))
        if m < self.n_arms and self.left * self.typical / (20 * m) > np.mean(costs):
            return m
        self.hold = max(len(self.curves[b]) + 1, int(1.05 * len(self.curves[b])))
        return None

    def tell(self, arm: int, reward: float) -> None:
        self.curves.setdefault(arm, []).append(reward)
        c, b = self.challenger, self.incumbent
        if c is None or b is None or arm != c:
            return
        n, older = len(self.curves[c]), len(self.curves[b])
        blocks = 1 / math.ceil(n / 3) + 1 / math.ceil(min(n, older) / 3)
        hope = self.ahead(c, b) + self.patience * self.typical / math.sqrt(n) + self.noise * math.sqrt(blocks)
        if self.left * hope <= self.catching_up(c, b):
            self.challenger, self.hold, self.rival = None, older, math.inf
        elif n >= older or self.sure(c) > self.today(b):
            self.challenger, self.hold, self.rival = None, 0, math.inf
