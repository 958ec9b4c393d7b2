"""The ceilings and losses of one arm at all grid points at once, from a few partial sums of its curve.

Ceilings change only at grid points, of which there are some 350 up to 10^8 pulls; means rise between two of them, so
sums of positive parts need one partial sum and the place where the sign changes. Nothing here grows with the number of
pulls; `tests/theory` compares it with sums written out.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from risingbandits._core.types import Floats, Ints
from risingbandits.policies.commit._grid import commit_grid, commit_windows
from risingbandits.problems._curve import Curve
from risingbandits.theory.upper_bounds._commit_lines import commit_value


class CappedCurve:
    """min(cap, mu(n)) of a rising curve, up to ``horizon`` pulls: the means and sums that the theorems are about."""

    def __init__(self, curve: Curve, horizon: int, cap: float) -> None:
        self.curve, self.cap, self.horizon = curve, cap, horizon
        self.free = int(self._below(np.array([cap]), np.array([0]), np.array([horizon]), strictly=False)[0])

    def __call__(self, n: npt.ArrayLike) -> Floats:
        return np.minimum(self.cap, self.curve(np.asarray(n, dtype=np.int64)))

    def increment(self, n: npt.ArrayLike) -> Floats:
        """mu(n + 1) - mu(n), with the one smaller step to the cap."""
        pulls = np.asarray(n, dtype=np.int64)
        steps = np.asarray(self.curve.increment(pulls))
        return np.where(pulls < self.free, steps, np.maximum(0.0, self.cap - self(pulls)))

    def prefix_sum(self, n: npt.ArrayLike) -> Floats:
        """mu(1) + ... + mu(n)."""
        counts = np.asarray(n, dtype=np.int64)
        free = np.minimum(counts, self.free)
        return np.asarray(self.curve.prefix_sum(free) + self.cap * (counts - free))

    def sums_below(self, level: Floats, first: Ints, last: Ints) -> Floats:
        """Sums of (level - mu(p))^+ over the pulls first < p <= last."""
        level, first, last = np.broadcast_arrays(level, first, last)
        until = self._below(np.minimum(level, self.cap), first, last, strictly=True)
        sums = level * (until - first) - (self.prefix_sum(until) - self.prefix_sum(first))
        over = np.maximum(level - self.cap, 0.0) * (last - until)  # pulls at the cap are below a higher level too
        return np.asarray(np.maximum(sums, 0.0) + over)

    def _below(self, level: Floats, first: Ints, last: Ints, strictly: bool) -> Ints:
        """The last pull in first..last whose mean is below ``level`` (or at it), ``first`` if there is none."""
        low, high = first.astype(np.int64), last.astype(np.int64) + 1
        while (high - low > 1).any():
            middle = np.maximum((low + high) // 2, 1)
            means = np.asarray(self.curve(middle))
            below = (means < level) if strictly else (means <= level)
            open_yet = high - low > 1
            low = np.where(open_yet & below, middle, low)
            high = np.where(open_yet & ~below, middle, high)
        return low


class CommitArm:
    """One arm other than the best: its lines without noise, at every grid point below the horizon and every window."""

    def __init__(self, curve: Curve, horizon: int, cap: float, growth: float) -> None:
        self.curve = CappedCurve(curve, horizon, cap)
        self.cap = cap
        self.grid = np.array(commit_grid(horizon - 1, growth) if horizon > 1 else [1], dtype=np.int64)
        self.ends = np.append(self.grid[1:], horizon)  # of the batch that begins at each grid point
        pairs = [(n, w) for n in self.grid.tolist() if n >= 2 for w in commit_windows(n)]
        n, w = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        self.places = np.searchsorted(n, self.grid[1:])  # where the lines of each grid point from 2 on begin
        self.n, self.rounds = n, horizon - n
        sums = self.curve.prefix_sum
        whole = sums(n)
        self.root = np.sqrt(w)
        self.mean = (whole - sums(n - w)) / w
        self.reach = n - 0.5 * (w - 1) - 1.0
        # Two blocks; windows below 3 have none, and get a line that never counts.
        q = np.maximum(w // 3, 1)
        first, last = (sums(n - w + q) - sums(n - w)) / q, (whole - sums(n - q)) / q
        distance = np.maximum(w - q, 1)
        e = 0.5 * (q - 1) / distance
        self.slope = np.maximum((last - first) / distance, 0.0)
        self.level = np.where(w >= 3, last + self.slope * 0.5 * (q - 1), np.inf)
        self.level_width = np.hypot(1.0 + e, e) / np.sqrt(q)
        self.slope_width = np.sqrt(2.0 / q) / distance

    def ceilings(self, width: float) -> Floats:
        """Lemma 6 at each grid point, with ``width`` = z sigma."""
        least = np.full(self.grid.size, self.cap)
        if self.n.size:
            s = (self.mean + 2.0 * width / self.root) / self.reach
            anchored = commit_value(s * (self.n - 1), s, self.rounds, self.cap)
            u = self.level + 2.0 * width * self.level_width
            blocks = commit_value(u, self.slope + 2.0 * width * self.slope_width, self.rounds, self.cap)
            least[1:] = np.minimum.reduceat(np.minimum(anchored, blocks), self.places)
        return np.asarray(np.minimum(least, self.cap))

    def excesses(self, ceilings: Floats) -> tuple[Floats, Ints]:
        """b(p) of Theorem 1 and how many pulls p have it: the first pull, then batch by batch."""
        over = np.clip(ceilings - self.curve(self.grid + 1), 0.0, self.cap)
        return np.append(self.cap, over), np.append(1, self.ends - self.grid)

    def pulls_until(self, ceilings: Floats, level: npt.ArrayLike) -> Ints:
        """N(m): the first grid point whose ceiling is below ``level``, the horizon if there is none."""
        lowest = np.minimum.accumulate(ceilings)
        places = np.searchsorted(-lowest, -np.asarray(level, dtype=np.float64), side="right")
        return np.asarray(np.append(self.grid, self.curve.horizon)[places])

    def losses(self, levels: Floats, first: float) -> Floats:
        """Sums over p <= each grid point, and over all p, of (level - mu(p))^+; ``first`` is the level of pull 1."""
        own = self.curve.sums_below(levels, self.grid, self.ends)
        start = max(0.0, first - float(self.curve(1)))
        return np.concatenate([[start], start + np.cumsum(own)])
