"""CURE-UCB: optimism about what each arm would give on average in the rounds that are left."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from risingbandits._core.jit import interpreted, kernel
from risingbandits._core.types import Floats, Mask, Rng
from risingbandits.policies._kernels import argmax, histories, noise
from risingbandits.policies._settings import number, setting, tie_rule
from risingbandits.policies.base import Kernels
from risingbandits.policies.registry import register
from risingbandits.policies.rising import red_ucb


class State(NamedTuple):
    """What CURE-UCB knows. The fields from ``eps`` on are those that R-ed-UCB's update works on."""

    horizon: int  # T
    ceiling: float  # what no pull is taken to exceed, or inf
    eps: float
    width: float  # sigma bonus_scale sqrt(10 alpha)
    deterministic: bool  # sigma = 0
    line: np.ndarray  # (K, 5): P, Q, R, S of R-ed-UCB's index P + Q x + (R x - S) sqrt(log t), and the level
    tally: np.ndarray  # (K, 2) pulls N; window h of the next pull
    sums: np.ndarray  # (K, 7) window sums, or the last reward (trends)
    pool: np.ndarray  # rewards of all arms (histories)
    places: np.ndarray
    noise: np.ndarray  # heard: the same (noise)
    heard: np.ndarray


@kernel
def select(state: State, t: int, available: Mask, rng: Rng) -> int:
    left = _rounds_left(state, t)
    root = math.sqrt(math.log(float(t))) * noise.factor(state)
    best = -math.inf
    chosen = argmax.first(available)
    ties = 0
    for arm in range(state.line.shape[0]):
        if available is not None and not available[arm]:
            continue
        value = _index(state, arm, left, root)
        if rng is None:
            better = value > best
            best = value if better else best
            chosen = arm if better else chosen
        else:
            best, chosen, ties = argmax.among_ties(value, best, arm, chosen, ties, rng)
    return chosen


@kernel
def _rounds_left(state: State, t: int) -> float:
    """Round t included; 1 in runs that go on past the horizon."""
    return float(max(state.horizon - t + 1, 1))


@kernel
def _index(state: State, arm: int, left: float, root: float) -> float:
    """The mean of R-ed-UCB's index over the arm's next ``left`` pulls, each cut at the ceiling."""
    p = state.line[arm, 0]
    if p == math.inf:
        return p
    rise = state.line[arm, 1] + state.line[arm, 2] * root
    n = float(state.tally[arm, 0])
    now = p - state.line[arm, 3] * root + rise * n
    if state.ceiling < math.inf:
        return _mean_below(now, rise, left, state.ceiling)
    return now + rise * ((left + 1.0) / 2.0)


@kernel
def _mean_below(now: float, rise: float, left: float, ceiling: float) -> float:
    """The mean over s = 1, ..., left of min(ceiling, now + s rise), in closed form."""
    if rise < 0.0:  # the same numbers from the last one on
        now += rise * (left + 1.0)
        rise = -rise
    if now + rise >= ceiling:
        return ceiling
    if now + rise * left <= ceiling:
        return now + rise * ((left + 1.0) / 2.0)
    below = math.floor((ceiling - now) / rise)
    return (below * now + rise * below * (below + 1.0) / 2.0 + (left - below) * ceiling) / left


@register
class CureUCB(noise.NoisePolicy):
    r"""CURE-UCB: pull the arm that may give most in the rounds that are left, if it alone were pulled.

    "CUmulative Reward Estimation": R-ed-UCB asks where an arm may be at round t; this index asks what the arm would
    give on average from now on to the end, which a known horizon T allows. From the abstract and the summary of the
    paper alone: an index of a recent mean, a projected gain and a bonus, which knows T. What follows is derived from
    R-ed-UCB. Its index for pull x of an arm with N pulls and a window of :math:`h = \lfloor \epsilon N \rfloor` is

    .. math:: \hat\mu(x) + \sigma (x - N + h - 1) \sqrt{\frac{10 \alpha \log t}{h^3}}, \qquad
              \hat\mu(x) = \frac1h \sum_{l=N-h+1}^{N} \Big( r(l) + (x-l) \frac{r(l) - r(l-h)}{h} \Big).

    Its mean over the pulls x = N+1, ..., N+L that the L = T - t + 1 rounds left allow is the level at N plus the slope
    times half of the rounds left plus a width:

    .. math:: \hat\mu(N) + \hat\gamma \frac{L+1}{2}
              + \sigma \Big( \frac{L+1}{2} + h - 1 \Big) \sqrt{\frac{10 \alpha \log t}{h^3}}, \qquad
              \hat\gamma = \frac1{h^2} \sum_{l=N-h+1}^{N} (r(l) - r(l-h)),

    and :math:`+\infty` while h = 0. With ``sigma=0`` it is :math:`\mu(N) + (\mu(N) - \mu(N-1)) (L+1)/2`,
    :math:`+\infty` while N < 2. The paper's constants are not known here; these are R-ed-UCB's.

    Use it where the horizon is known and it decides which arm is best: a slow starter that pays only in a long run.
    With R-ed-UCB's constants its width exceeds the range of the rewards for long, as R-ed-UCB's does: give the
    ``ceiling`` of the rewards if there is one.

    Parameters
    ----------
    eps : float
        Window as a share of the pulls, in (0, 1/2). Default 1/4, as in `REdUCB`.
    sigma : float or "auto"
        Sub-Gaussian scale of the noise; "auto" estimates it. By default the problem's in `simulate`, "auto" elsewhere.
        If rewards contradict a number above 0, a warning says so once; the number is kept. 0 is the rule without noise.
    alpha : float
        Confidence exponent, delta_t = t^-alpha, above 2. Default 3, as in `REdUCB`.
    bonus_scale : float
        Multiplies the width. Default 1, R-ed-UCB's. With 0.1 and below the policy locks onto any arm.
    ceiling : float or None
        The highest possible reward: the optimistic line is cut there, pull by pull, before the mean is taken. Our
        choice; None leaves it uncut. Where no reward exceeds 1 take 1.
    ties : {"lowest", "random"}
        Which of several arms with the same index, also of those at infinity.

    References
    ----------
    S. Song, C. Gan, Y. Yoon, S. Wang, W. Chen, J. Ok. Rising Multi-Armed Bandits with Known Horizons. 2026,
    arXiv 2602.10727.
    """

    name = "cure-ucb"
    summary = "what each arm may give on average in the rounds that are left (derived)"
    verified = "derived here"
    kernels = Kernels(select=select, update=red_ucb.update)
    _scratch = frozenset({"pool"})
    needs_horizon = True

    eps: float = setting(0.25, red_ucb._check_eps)
    sigma: float | str | None = noise.setting()
    alpha: float = setting(3.0, red_ucb._check_alpha)
    bonus_scale: float = number(1.0, minimum=0.0)
    ceiling: float | None = number(None)
    ties: str = tie_rule()

    def _new_state(self, n_arms: int, horizon: int | None, capacity: int) -> Any:
        sigma = self._unit_sigma()
        line = np.zeros((n_arms, 5))
        line[:, 0] = np.inf
        return State(
            horizon=horizon or 1,
            ceiling=math.inf if self.ceiling is None else float(self.ceiling),
            eps=float(self.eps),
            width=sigma * float(self.bonus_scale) * math.sqrt(10.0 * float(self.alpha)),
            deterministic=sigma == 0.0,
            line=line,
            tally=np.zeros((n_arms, 2), dtype=np.int64),
            sums=np.zeros((n_arms, 7)),
            pool=np.empty(0 if sigma == 0.0 else histories.places_for(n_arms, capacity)),
            places=histories.new_places(n_arms),
            **self._noise_fields(n_arms),
        )

    def _make_room(self, state: Any, capacity: int) -> None:
        if not state.deterministic:
            histories.make_room(state.pool, self.n_arms, capacity)

    def _parts(self, state: Any, t: int) -> dict[str, Floats]:
        left, root = max(state.horizon - t + 1, 1), math.sqrt(math.log(t)) * interpreted(noise.factor)(state)
        p, q, r, s, level = state.line.T
        known = np.isfinite(p)
        middle = state.tally[:, 0] + (left + 1) / 2  # of the pulls that are left
        width = (r * middle - s) * root
        index = interpreted(_index)
        return {
            "level": np.where(known, level, np.nan),
            "trend": np.where(known, np.where(known, p, 0.0) + q * middle - level, np.nan),
            "width": np.where(known, width, np.nan),
            "value": np.array([index(state, arm, float(left), root) for arm in range(len(level))]),
        }
