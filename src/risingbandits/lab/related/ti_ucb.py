"""TI-UCB: a line through each arm's rewards since its last change, and a test that finds the changes."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from risingbandits._core.jit import interpreted, kernel, rare_kernel
from risingbandits._core.types import Floats, Mask, Rng
from risingbandits.lab.related import _least_squares as least_squares
from risingbandits.policies._kernels import argmax, noise
from risingbandits.policies._settings import integer, number, tie_rule
from risingbandits.policies.base import Kernels
from risingbandits.policies.explanation import Moment
from risingbandits.policies.registry import register

_COUNT, _TOTAL, _MOMENT = 0, 1, 2  # columns of ``fit``: n, S and J since the last change (least_squares)
_OLD_TOTAL, _OLD_MOMENT, _NEW_TOTAL, _NEW_MOMENT = 0, 1, 2, 3  # of ``halves``
_PULLS, _CHANGES, _SLID = 0, 1, 2  # of ``tally``


class State(NamedTuple):
    """What TI-UCB knows."""

    scale: float  # c, or 4 where it is by the noise
    by_noise: bool  # whether it is
    half: int  # omega / 2
    gap: float  # gamma / 2, or NaN: by the noise
    spread: float  # 2 sqrt(V), V the variance of the difference of two predictions for noise of variance 1
    predicted: np.ndarray  # (K,) the line at the next pull, +inf with fewer than two rewards since the last change
    root: np.ndarray  # (K,) 1 / sqrt(n), times sigma where the width is by the noise; 0 likewise
    fit: np.ndarray  # (K, 3)
    halves: np.ndarray  # (K, 4) S and J of the older and of the newer half of the window
    ring: np.ndarray  # (K, omega) the last rewards, pull n at place n % omega
    tally: np.ndarray  # (K, 3) pulls; changes found; pulls since the sums of the halves were made from scratch
    noise: np.ndarray  # heard: the same (noise)
    heard: np.ndarray


@kernel
def select(state: State, t: int, available: Mask, rng: Rng) -> int:
    width = state.scale * math.sqrt(math.log(float(t)))
    return argmax.highest_line(state.predicted, state.root, width, available, rng)


@kernel
def update(state: State, t: int, arm: int, reward: float, rng: Rng) -> None:
    noise.add(state, arm, reward)
    fit = state.fit
    count = fit[arm, _COUNT] + 1.0
    fit[arm, _COUNT] = count
    fit[arm, _TOTAL] += reward
    fit[arm, _MOMENT] += count * reward
    _slide(state, arm, reward)
    if count >= 2.0 * state.half and _has_changed(state, arm, t):
        state.tally[arm, _CHANGES] += 1
        fit[arm, _COUNT] = float(state.half)
        fit[arm, _TOTAL] = state.halves[arm, _NEW_TOTAL]
        fit[arm, _MOMENT] = state.halves[arm, _NEW_MOMENT]
    if count >= 2.0:
        n = fit[arm, _COUNT]
        state.predicted[arm] = least_squares.value_at(n, fit[arm, _TOTAL], fit[arm, _MOMENT], n + 1.0)
        _widen(state, arm)
    if state.by_noise and state.noise["guard"][0] == noise.ESTIMATED:
        for other in range(state.root.shape[0]):
            if state.predicted[other] < math.inf:
                _widen(state, other)


@kernel
def _widen(state: State, arm: int) -> None:
    state.root[arm] = (noise.level(state) if state.by_noise else 1.0) / math.sqrt(state.fit[arm, _COUNT])


@kernel
def _slide(state: State, arm: int, reward: float) -> None:
    """Move the window by one reward. In a half every pull number falls by one, so J falls by S; one comes in as m."""
    half = state.half
    n = state.tally[arm, _PULLS] + 1
    size = state.ring.shape[1]
    leaving = state.ring[arm, n % size]
    passing = state.ring[arm, (n - half) % size]
    state.ring[arm, n % size] = reward
    state.tally[arm, _PULLS] = n
    state.tally[arm, _SLID] += 1
    if state.tally[arm, _SLID] >= half:  # so that rounding errors do not add up
        _sum_halves(state, arm, n)
        return
    halves = state.halves
    halves[arm, _OLD_MOMENT] += half * passing - halves[arm, _OLD_TOTAL]
    halves[arm, _OLD_TOTAL] += passing - leaving
    halves[arm, _NEW_MOMENT] += half * reward - halves[arm, _NEW_TOTAL]
    halves[arm, _NEW_TOTAL] += reward - passing


@rare_kernel
def _sum_halves(state: State, arm: int, n: int) -> None:
    half = state.half
    size = state.ring.shape[1]
    state.tally[arm, _SLID] = 0
    for part in range(4):
        state.halves[arm, part] = 0.0
    for k in range(1, half + 1):
        old, new = state.ring[arm, (n - size + k) % size], state.ring[arm, (n - half + k) % size]
        state.halves[arm, _OLD_TOTAL] += old
        state.halves[arm, _OLD_MOMENT] += k * old
        state.halves[arm, _NEW_TOTAL] += new
        state.halves[arm, _NEW_MOMENT] += k * new


@kernel
def _has_changed(state: State, arm: int, t: int) -> bool:
    """Whether the lines through the two halves predict different rewards for the next pull."""
    m = float(state.half)
    halves = state.halves
    before = least_squares.value_at(m, halves[arm, _OLD_TOTAL], halves[arm, _OLD_MOMENT], 2.0 * m + 1.0)
    after = least_squares.value_at(m, halves[arm, _NEW_TOTAL], halves[arm, _NEW_MOMENT], m + 1.0)
    gap = state.gap
    if math.isnan(gap):
        gap = state.spread * noise.level(state) * math.sqrt(math.log(float(t)))
    return abs(after - before) > gap


@register
class TIUCB(noise.NoisePolicy):
    r"""TI-UCB: pull the arm whose line points highest at its next pull; begin a new line where an arm changes.

    "Time-increasing" arms rise about linearly and then converge. From the paper (Xia et al., 2024), as far as it is
    known here: per arm a least-squares line through the rewards since its last change, the index

    .. math:: \hat a_i (n_i + 1) + \hat b_i + c \sqrt{\log t / n_i}, \qquad +\infty \text{ while } n_i < 2,

    with the :math:`n_i` rewards since then, and a test on a sliding window of :math:`\omega` rewards: the predictions
    of two consecutive fits are compared, and where they differ by more than :math:`\gamma / 2` the arm's fit begins
    anew. The paper's constants are not known here, so this may differ from its program. Derived: the prediction for the
    next pull has about four times the variance of a mean, hence c = 4 sigma by default, the width for delta_t = t^-2;
    likewise the default of gamma. Our choice: the two fits are those of the two halves of the window, both predict the
    next pull, a window lies after the last change as a whole, and a new fit begins with the newer half of the window.

    Use it for arms that converge in a kink and where what counts is the next pull: it does not ask what an arm will
    become, so it leaves slow starters. A kink must be large to be seen: with noise of 0.1 and a window of 100 the
    predictions must differ by 0.5 after 30,000 rounds; on arms that bend slowly, such as the paper's, the test never
    fired.

    Parameters
    ----------
    omega : int
        Rewards in the window of the test, an even number from 4 on (an odd one is rounded down). Default 100, our
        choice.
    gamma : float or None
        Twice the difference of predictions that counts as a change. None: 4 sigma sqrt(V log t), with V the variance of
        the difference where noise has variance 1 (about 64 / omega): a test without a change fires with probability
        2 t^-2 at most.
    c : float or None
        Width of the confidence interval; None: 4 sigma.
    sigma : float or "auto"
        Sub-Gaussian scale of the noise; "auto" estimates it. By default the problem's in `simulate`, "auto" elsewhere.
        If rewards contradict a number above 0, a warning says so once; the number is kept.
    ties : {"lowest", "random"}
        Which of several arms with the same index, also of those at infinity.

    References
    ----------
    Y. Xia, F. Kong, T. Yu, L. Guo, R. A. Rossi, S. Kim, S. Li. Which LLM to Play? Convergence-Aware Online Model
    Selection with Time-Increasing Bandits. WWW 2024.
    """

    name = "ti-ucb"
    summary = "a line through each arm's rewards since its last change, one pull ahead"
    verified = "derived here"
    kernels = Kernels(select=select, update=update)

    omega: int = integer(100, minimum=4)
    gamma: float | None = number(None, minimum=0.0)
    c: float | None = number(None, minimum=0.0)
    sigma: float | str | None = noise.setting()
    ties: str = tie_rule()

    def _new_state(self, n_arms: int, horizon: int | None, capacity: int) -> Any:
        half = int(self.omega) // 2
        variance_at = interpreted(least_squares.variance_at)
        variance = variance_at(float(half), 2.0 * half + 1.0) + variance_at(float(half), half + 1.0)
        return State(
            scale=4.0 if self.c is None else float(self.c),
            by_noise=self.c is None,
            half=half,
            gap=math.nan if self.gamma is None else float(self.gamma) / 2.0,
            spread=2.0 * math.sqrt(variance),
            predicted=np.full(n_arms, np.inf),
            root=np.zeros(n_arms),
            fit=np.zeros((n_arms, 3)),
            halves=np.zeros((n_arms, 4)),
            ring=np.zeros((n_arms, 2 * half)),
            tally=np.zeros((n_arms, 3), dtype=np.int64),
            **self._noise_fields(n_arms),
        )

    def _parts(self, state: Any, t: int) -> dict[str, Floats]:
        known = np.isfinite(state.predicted)
        slope = interpreted(least_squares.slope)
        trend = np.array([slope(*row) for row in state.fit])
        width = state.scale * math.sqrt(math.log(t)) * state.root
        return {
            "level": np.where(known, state.predicted - trend, np.nan),
            "trend": np.where(known, trend, np.nan),
            "width": np.where(known, width, np.nan),
            "value": state.predicted + width,
            "changes": state.tally[:, _CHANGES].astype(np.float64),
        }

    def _why_next(self, at: Moment) -> str:
        said = super()._why_next(at)
        changes = int(at.state.tally[at.arm, _CHANGES])
        since = int(at.state.fit[at.arm, _COUNT])
        return f"{said}, by the {since} rewards since its last change" if changes else said
