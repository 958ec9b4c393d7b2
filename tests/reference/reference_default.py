"""Slow and obvious: the default for sums of rewards from its definition, on lists of rewards, all computed anew.

Without beliefs, further workers or arms that are not free. Bounds and forecasts are kept as long as the rule does.
"""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm

from risingbandits._core.jit import interpreted
from risingbandits.policies.default import _extrapolation as extrapolation

_RISE, _AREA = interpreted(extrapolation.rise), interpreted(extrapolation.area)
_OPEN = -1


class SlowCumulative:
    """``ask`` and ``tell``; ``seen`` counts what happened, so that a test can ask for all of it."""

    def __init__(
        self, horizon: int | None, order: list[int], numbers: dict[str, float], patience: float, offset: float = 0.0
    ) -> None:
        self.offset = offset
        self.horizon, self.order, self.numbers, self.patience = horizon, order, numbers, patience
        self.rewards: dict[int, list[float]] = {arm: [] for arm in order}
        self.opened: list[int] = []
        self.planned, self.until = _OPEN, 0
        self.incumbent: int | None = None
        self.tests = self.own_error = self.shared_error = 0.0
        self.next_test = dict.fromkeys(order, 1)
        self.own: dict[int, float] = {}
        self.shared: dict[int, float] = {}
        self.bounds: dict[int, tuple[float, float]] = {}  # the upper quantile and the rounds left then
        self.lines: dict[int, tuple[float, float, int, float]] = {}  # level, slope, pulls then, level surely reached
        self.batches: dict[int, list[tuple[float, float, float]]] = {}  # weight, centre, mean
        self.taken: dict[int, int] = {}  # pulls in batches
        self.variances: dict[int, float] = {}
        plan = 1_000_000 if horizon is None else horizon
        self.paces = [0.5 * 2 ** (i / 2) for i in range(200) if 0.5 * 2 ** (i / 2) <= 4 * plan * (1 + 1e-9)]
        self.seen: Counter[str] = Counter()

    # -- what was seen --------------------------------------------------------------------------------------------

    @property
    def t(self) -> int:
        return sum(map(len, self.rewards.values()))

    @property
    def noise(self) -> float:
        bends = [(r[n] - 2 * r[n - 1] + r[n - 2]) ** 2 / 6 for r in self.rewards.values() for n in range(3, len(r))]
        return float(np.mean(bends)) if bends else 0.0

    def pulls(self, arm: int) -> int:
        return len(self.rewards[arm])

    def level(self, arm: int, n: int) -> float:
        return float(np.mean(self.rewards[arm][n - math.ceil(n / 4) : n]))

    def now(self, arm: int) -> float:
        return self.level(arm, self.pulls(arm))

    def error(self, n: int) -> float:
        return self.noise / math.ceil(n / 4)

    # -- asking and telling ---------------------------------------------------------------------------------------

    def ask(self) -> int:
        return self.order[len(self.opened)] if self.planned == _OPEN else self.planned

    def tell(self, arm: int, reward: float) -> None:
        self.rewards[arm].append(reward)
        n = self.pulls(arm)
        if n == 1:
            self.opened.append(arm)
        due = n >= self.next_test[arm]
        if not due and self.planned == arm and n < self.until:
            return
        tested = due and self.horizon is not None and -self.numbers["most"] <= self.prior() < self.numbers["most"]
        if tested:
            self.test(arm, n)
        self.incumbent = max(self.opened, key=self.now)
        if tested:
            self.shared[arm] = self.ahead(arm)
        if due:
            self.next_test[arm] = 2 * n
        self.decide()

    # -- the back-test --------------------------------------------------------------------------------------------

    def test(self, arm: int, n: int) -> None:
        level, b = self.level(arm, n), self.incumbent
        if b is not None and arm != b:
            own = self.forecast(arm, 0) if n == 1 else self.own[arm]
            shared = self.shared.get(arm, 0.0) + self.level(b, min(n, self.pulls(b)))
            self.own_error += (level - own) ** 2 + self.error(n)
            self.shared_error += (level - shared) ** 2 + self.error(n)
            self.tests += 1
        self.own[arm] = self.forecast(arm, n)

    def prior(self) -> float:
        rounds = 4 * self.t if self.horizon is None else self.horizon
        return self.numbers["prior"] * math.log(rounds / len(self.order) / self.patience)

    def log_odds(self) -> float:
        most = self.numbers["most"]
        if self.horizon is None:
            return self.prior() - most
        alike = self.numbers["alike"] ** 2
        evidence = self.tests / 2 * math.log((self.shared_error + alike) / (self.own_error + alike))
        return self.prior() + min(most, max(-most, evidence))

    # -- the decision ---------------------------------------------------------------------------------------------

    def decide(self) -> None:
        self.until = 0
        if len(self.opened) < min(2, len(self.order)):
            self.planned = _OPEN
            return
        firsts = [self.rewards[arm][0] for arm in self.opened]
        if max(self.now(arm) for arm in self.opened) - np.mean(firsts) <= 1e-12 and np.ptp(firsts) <= 1e-12:
            self.seen["all the same"] += 1
            self.planned = self.unmoved()
            return
        newest = self.opened[-1]
        if self.pulls(newest) == 1 and self.rewards[newest][0] < self.numbers["alike"]:
            self.seen["next to nothing"] += 1
            self.planned, self.until = newest, 2
            return
        shallow = self.shallow()
        if shallow is not None:
            self.seen["tried before any is judged"] += 1
            self.planned = shallow
            return
        arm = self.compare()
        if self.log_odds() >= 0 and (len(self.opened) == len(self.order) or arm != _OPEN):
            self.seen["extrapolated"] += 1
            arm = self.extrapolate()
        elif arm == _OPEN:
            self.seen["opened"] += 1
        else:
            self.seen["incumbent" if arm == self.incumbent else "tried"] += 1
        self.planned = arm
        if arm != _OPEN:
            self.until = self.next_point(self.pulls(arm))

    def unmoved(self) -> int:
        enough = 2.5 * math.sqrt(self.horizon or 4 * self.t)
        left = [arm for arm in self.opened if self.pulls(arm) < enough]
        if left:
            return left[0]
        return _OPEN if len(self.opened) < len(self.order) else self.order[0]

    def shallow(self) -> int | None:
        """The number of pulls is a fraction; its part after the point is the share of arms that get one more."""
        if self.horizon is None:
            return None
        arms = len(self.order)
        deep = min(self.numbers["floor"] * self.horizon / arms, self.numbers["deep"])
        for place in range(arms):
            drawn = (self.offset - (place + 1) / arms) % 1.0
            pulls = math.floor(deep) + (1 if drawn >= 1 - (deep - math.floor(deep)) - 1e-12 else 0)
            if pulls < 2:
                continue
            if place >= len(self.opened):
                return _OPEN
            if self.pulls(self.opened[place]) < pulls:
                return self.opened[place]
        return None

    @staticmethod
    def next_point(n: int) -> int:
        return max(n + 1, int(1.05 * n))

    # -- comparison -----------------------------------------------------------------------------------------------

    def hold(self) -> float:
        return 10.0 if self.horizon is None else max(2.0, self.numbers["hold"] * self.horizon ** (1 / 3))

    def ahead(self, arm: int) -> float:
        n, b = self.pulls(arm), self.incumbent
        assert b is not None
        return self.level(arm, n) - self.level(b, min(n, self.pulls(b)))

    def blur(self, n: int) -> float:
        assert self.incumbent is not None
        return self.error(n) + self.error(min(n, self.pulls(self.incumbent)))

    def compare(self) -> int:
        b = self.incumbent
        assert b is not None
        age = self.pulls(b)
        if len(self.opened) <= 2 and age < self.hold():
            return b
        others = [arm for arm in self.opened if arm != b]
        excess = sum(max(0.0, self.ahead(arm) ** 2 - self.blur(self.pulls(arm))) for arm in others)
        self.spread = math.sqrt((self.numbers["apart"] ** 2 + excess) / len(self.opened))
        self.ceiling = self.now(b) + max(0.0, self.now(b) - self.level(b, max(1, age // 2)))
        gains = {arm: self.gain(arm) for arm in others}
        if len(self.opened) < len(self.order):
            gains[_OPEN] = self.gain(_OPEN)
        best = max(gains, key=gains.__getitem__, default=b)
        return best if gains and gains[best] > 0 else b

    def lost_by_copy(self, first: int, last: int) -> float:
        b = self.incumbent
        assert b is not None
        if last > self.pulls(b):
            return (last - first) * (self.ceiling - self.now(b))
        return sum(self.ceiling - reward for reward in self.rewards[b][first:last])

    def gain(self, arm: int) -> float:
        numbers, b = self.numbers, self.incumbent
        assert b is not None
        mean, prior = -numbers["behind"] * self.spread, (1 - numbers["behind"] ** 2) * self.spread**2

        def variance(n: int) -> float:
            if n == 0:
                return prior
            return prior * self.blur(n) / (prior + self.blur(n)) + (numbers["drift"] * self.spread / n) ** 2

        n = 0 if arm == _OPEN else self.pulls(arm)
        chance = numbers["chance"] / len(self.opened) if arm == _OPEN else 1.0
        if n:
            mean += (self.ahead(arm) - mean) * prior / (prior + self.blur(n))
        age, k, found = self.pulls(b), 1, 0.0
        rounds = self.t if self.horizon is None else self.horizon - self.t
        while k < rounds:
            if n < age:
                k = min(k, age - n)
            left = rounds - k
            catching_up = max(0.0, self.lost_by_copy(n + k, age)) if n + k < age else 0.0
            center, deviation = left * mean - catching_up, left * math.sqrt(max(0.0, variance(n) - variance(n + k)))
            if deviation > 0:
                z = center / deviation
                value = chance * deviation * (z * norm.cdf(z) + norm.pdf(z))
            else:
                value = chance * max(0.0, center)
            price = max(0.0, self.lost_by_copy(n, n + k) - k * numbers["on_the_way"] * min(mean, 0.0))
            found = max(found, value - price)
            if n + k == age or (n >= age and k >= n):
                break
            k *= 2
        return found

    # -- extrapolation --------------------------------------------------------------------------------------------

    def left(self) -> float:
        return 3.0 * self.t if self.horizon is None else max(1.0, self.horizon - self.t)

    def changed(self, arm: int) -> bool:
        now = self.noise + self.numbers["stray"] ** 2
        return not now / 1.3 <= self.variances.get(arm, 0.0) <= now * 1.3

    def known(self, arm: int) -> int:
        """The pulls in batches."""
        return self.taken.get(arm, 0)

    def learn(self, arm: int) -> None:
        stray = self.numbers["stray"] ** 2
        if self.changed(arm):
            self.variances[arm] = self.noise + stray
            self.batches[arm], self.taken[arm] = [], 0
        first = self.known(arm)
        while self.next_point(first) <= self.pulls(arm):
            last = self.next_point(first)
            x = (first + 1 + last) / 2
            weight = (last - first) / (self.noise + stray * x)
            if first == 1:
                self.batches[arm].clear()  # many curves jump after the first pull
            self.batches[arm].append((weight, x, float(np.mean(self.rewards[arm][first:last]))))
            self.taken[arm] = first = last

    def mixture(self, arm: int, n: float, rounds: float, final: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Share, mean and deviation of each component: normal linear models of the batches, with b cut at 0."""
        w, x, y = (np.array(column) for column in zip(*self.batches.get(arm) or [(0.0, 1.0, 0.0)], strict=True))
        numbers = self.numbers
        logs, means, deviations = [], [], []
        for start in (False, True):
            for family in range(6 - start):
                for pace in self.paces:
                    g = np.array([_RISE(family, v / pace) for v in x])
                    if final:
                        ahead = _RISE(family, (n + rounds) / pace)
                    else:
                        first = (n + 0.5) / pace
                        ahead = (_AREA(family, first + rounds / pace) - _AREA(family, first)) * pace / rounds
                    if start:
                        center = np.array([numbers["start"], numbers["start"]])
                        precision = np.eye(2) / numbers["start"] ** 2
                        design, at = np.stack([np.ones_like(g), g], 1), np.array([1.0, ahead])
                    else:
                        center, precision = np.array([numbers["rise"]]), np.eye(1) / numbers["rise"] ** 2
                        design, at = g[:, None], np.array([ahead])
                    posterior = precision + design.T @ (w[:, None] * design)
                    right = precision @ center + design.T @ (w * y)
                    covariance = np.linalg.inv(posterior)
                    mean = covariance @ right
                    b, deviation = mean[-1], math.sqrt(covariance[-1, -1])
                    if b <= -8 * deviation:
                        continue
                    log = np.linalg.slogdet(precision)[1] / 2 - np.linalg.slogdet(posterior)[1] / 2
                    log += (mean @ right - center @ precision @ center) / 2 + norm.logcdf(b / deviation)
                    if b < 3 * deviation:
                        hazard = norm.pdf(b / deviation) / norm.cdf(b / deviation)
                        shrink = max(1e-3, 1 - hazard * (hazard + b / deviation))
                        along = covariance[:, -1] / deviation
                        mean = mean + hazard * along
                        covariance = covariance - (1 - shrink) * np.outer(along, along)
                    logs.append(log)
                    means.append(at @ mean)
                    deviations.append(math.sqrt(max(0.0, at @ covariance @ at)))
        shares = np.exp(np.array(logs) - max(logs))
        kept = shares / shares.sum() > 1e-5
        return shares[kept] / shares[kept].sum(), np.array(means)[kept], np.maximum(np.array(deviations)[kept], 1e-9)

    def forecast(self, arm: int, n: int) -> float:
        if n:
            self.learn(arm)
        shares, means, _ = self.mixture(arm, n, max(1.0, 0.875 * n), True)
        return float(shares @ means)

    def take_bound(self, arm: int) -> None:
        rounds, n = self.left(), self.pulls(arm)
        self.learn(arm)
        self.lines[arm] = self.line(arm, rounds)
        shares, means, deviations = self.mixture(arm, n, rounds, False)
        tail = min(self.numbers["tail"], n / rounds) * shares.sum()
        low, high = (means - 9 * deviations).min(), (means + 9 * deviations).max()
        bound = brentq(lambda v: float(shares @ norm.sf((v - means) / deviations)) - tail, low, high, xtol=1e-12)
        self.bounds[arm] = (bound, rounds)

    def worth(self, line: float, slope: float, rounds: float) -> float:
        """The mean of a line over the rounds left that ends at 1."""
        if line >= 1:
            return 1.0
        climb = min(rounds, (1 - line) / slope) if slope > 0 else rounds
        return (climb * (line + slope * climb / 2) + (rounds - climb)) / rounds

    def line(self, arm: int, rounds: float) -> tuple[float, float, int, float]:
        r, n = np.array(self.rewards[arm]), self.pulls(arm)
        noise = math.sqrt(2 * math.log(max(2.0, self.horizon or 4 * rounds)) * self.noise)
        lines, sure, w = [], -math.inf, n
        while w >= 1 and w >= 0.1 * n:
            mean, width = r[n - w :].mean(), noise / math.sqrt(w)
            sure = max(sure, mean - width)
            if n > 1:
                slope = max(0.0, mean + width) / (n - (w - 1) / 2 - 1)
                lines.append((slope * (n - 1), slope))
            q = w // 3
            if q >= 1:
                distance, half, width = w - q, (q - 1) / 2, noise / math.sqrt(q)
                new, old = r[n - q :].mean(), r[n - w : n - w + q].mean()
                slope = (new - old) / distance
                level = new + slope * half + width * math.hypot(1 + half / distance, half / distance)
                slope += width * math.sqrt(2) / distance
                if slope >= 0:
                    lines.append((level, slope))
            w = min(w - 1, int(0.7 * w))
        line, slope = min(lines, key=lambda one: self.worth(one[0], one[1], rounds)) if lines else (1.0, 0.0)
        return line, slope, n, sure

    def extrapolate(self) -> int:
        rounds = self.left()
        for arm in self.opened:
            grown = self.pulls(arm) >= self.next_point(self.known(arm))
            if grown or arm not in self.bounds or self.bounds[arm][1] < rounds or self.changed(arm):
                self.take_bound(arm)
        while True:
            arm = self.pick(rounds)
            if rounds > 0.97 * self.bounds[arm][1]:
                return arm
            self.take_bound(arm)

    def line_now(self, arm: int) -> float:
        line, slope, at, _ = self.lines[arm]
        return line + slope * (self.pulls(arm) - at)

    def promise(self, arm: int, rounds: float) -> float:
        return min(self.bounds[arm][0], self.worth(self.line_now(arm), self.lines[arm][1], rounds))

    def pick(self, rounds: float) -> int:
        b = self.incumbent
        assert b is not None
        today = max(0.0, self.lines[b][3])
        others = [arm for arm in self.opened if arm != b]
        spent = sum(max(0.0, self.pulls(arm) * today - sum(self.rewards[arm])) for arm in others)
        values = {b: self.promise(b, rounds)}
        for arm in others:
            risk = 0.0
            line, slope = self.line_now(arm), self.lines[arm][1]
            if line < today:
                k = min(rounds, (today - line) / slope) if slope > 0 else rounds
                risk = k / self.pulls(arm) * ((today - line) * k - slope * k * k / 2)
            values[arm] = self.promise(arm, rounds) - (risk + self.numbers["sunk"] * spent) / rounds
        return max(values, key=values.__getitem__)
