"""R-ed-UCB: optimism about where each arm's reward will be at round t.

The paper's algorithm (Algorithm 1). Rewards rise and flatten, so a straight line through an arm's recent past stays
above its future. The index of an arm is that line at round t plus the width of its confidence interval; the arm with
the highest index is pulled.

Between two pulls of an arm only t moves, and its index is ``P + Q t + (R t - S) sqrt(log t)``: the four numbers are
computed once per pull, in O(1), and a round costs three multiplications per arm.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from risingbandits._core.entry_points import EntryPoint
from risingbandits._core.errors import RisingBanditsError, check_finite
from risingbandits._core.jit import interpreted, kernel
from risingbandits._core.types import Floats, Mask, Rng
from risingbandits.policies._kernels import argmax, histories, noise, pruning, trends
from risingbandits.policies._settings import setting, tie_rule
from risingbandits.policies.base import Kernels
from risingbandits.policies.registry import register

_LONGEST_LOG_TABLE = 1 << 22


class State(NamedTuple):
    """What R-ed-UCB knows.

    ``line``, ``tally`` and ``sums`` are arrays, not one record per arm: with 1,000 arms the scan over ``line`` takes
    1.14 times as long if the other numbers lie in between.
    """

    eps: float
    width: float  # sigma sqrt(10 alpha)
    deterministic: bool  # sigma = 0
    line: np.ndarray  # (K, 5): P, Q, R, S of each arm's index, and the level a / h
    tally: np.ndarray  # (K, 2) pulls N; window h of the next pull
    sums: np.ndarray  # (K, 7) window sums a, b, c, d; of the next pull 1/h, width, growth of h. Or the last reward
    pool: np.ndarray  # rewards of all arms (histories)
    places: np.ndarray  # where they are
    root_log: np.ndarray  # sqrt(log t) for the first rounds, shared by all runs of a simulation
    block: np.ndarray  # candidate arms of the current block of rounds (pruning)
    bounds: np.ndarray
    noise: np.ndarray  # heard: the same (noise)
    heard: np.ndarray


@kernel
def select(state: State, t: int, available: Mask, rng: Rng) -> int:
    """The arm with the highest index, by looking at every arm."""
    time = float(t)
    root = _sqrt_log(state, t) * noise.factor(state)
    best = -math.inf
    chosen = argmax.first(available)
    ties = 0
    for arm in range(state.line.shape[0]):
        if available is not None and not available[arm]:
            continue
        p, q, r, s = _parts_of_line(state, arm)
        value = _index(p, q, r, s, time, root)
        if rng is None:
            better = value > best
            best = value if better else best
            chosen = arm if better else chosen
        else:
            best, chosen, ties = argmax.among_ties(value, best, arm, chosen, ties, rng)
    return chosen


@kernel
def update(state: State, t: int, arm: int, reward: float, rng: Rng) -> None:
    n = state.tally[arm, 0] + 1
    state.tally[arm, 0] = n
    if state.deterministic:
        _line_through_last_two(state, arm, n, reward)
    else:
        trends.line_through_windows(state, arm, n, reward)
    noise.add(state, arm, reward)


@kernel
def select_of_many(state: State, t: int, available: Mask, rng: Rng) -> int:
    """The same arm for a given sigma, looking only at those that can be the best in the current block of rounds."""
    if available is not None or rng is not None:
        return select(state, t, available, rng)
    block = state.block
    if not pruning.is_current(block, t):
        _bound_indexes(state, t)
        pruning.start_block(block, state.bounds, t)
        for place in range(pruning.number_of_candidates(block)):
            _copy_line(state, pruning.candidate(block, place), place)
    time = float(t)
    root = _sqrt_log(state, t)
    near = state.bounds
    count = pruning.number_of_candidates(block)
    for i in range(count):  # three plain passes: the first runs four arms at a time, unlike one pass for all
        near[2, i] = _index(near[3, i], near[4, i], near[5, i], near[6, i], time, root)
    best = -math.inf
    for i in range(count):
        value = near[2, i]
        best = value if value > best else best
    chosen = 0
    while chosen < count - 1 and near[2, chosen] != best:
        chosen += 1
    return pruning.candidate(block, chosen)


@kernel
def update_of_many(state: State, t: int, arm: int, reward: float, rng: Rng) -> None:
    update(state, t, arm, reward, rng)
    place = pruning.note_change(state.block, arm)
    if place >= 0:
        _copy_line(state, arm, place)


@kernel
def _copy_line(state: State, arm: int, place: int) -> None:
    """Keep the lines of the candidates side by side, for quick access."""
    for part in range(4):
        state.bounds[3 + part, place] = state.line[arm, part]


@kernel
def _line_through_last_two(state: State, arm: int, n: int, reward: float) -> None:
    """mu(N) + (t - N) (mu(N) - mu(N-1)), the deterministic index."""
    if n >= 2:
        slope = reward - state.sums[arm, 0]
        state.line[arm, 0] = reward - n * slope
        state.line[arm, 1] = slope
        state.line[arm, 4] = reward
    state.sums[arm, 0] = reward


@kernel
def _sqrt_log(state: State, t: int) -> float:
    if t < state.root_log.shape[0]:
        return state.root_log[t]
    return math.sqrt(math.log(float(t)))


@kernel
def _parts_of_line(state: State, arm: int) -> tuple[float, float, float, float]:
    line = state.line
    return line[arm, 0], line[arm, 1], line[arm, 2], line[arm, 3]


@kernel
def _index(p: float, q: float, r: float, s: float, time: float, root: float) -> float:
    """P + Q t + (R t - S) sqrt(log t)."""
    return p + q * time + (r * time - s) * root


@kernel
def _bound_indexes(state: State, t: int) -> None:
    """Lower and upper values of every index over the rounds of the block that begins at t, rounding included.

    Only the order of the indexes matters, so all are divided by t sqrt(log t), which takes out most of their common
    growth. Each part is then extreme at one of the two ends: P / (t sqrt(log t)), Q / sqrt(log t), and R - S / t, which
    only grows.
    """
    first = float(t)
    last = float(t + pruning.block_length(state.line.shape[0]) - 1)
    root_first = _sqrt_log(state, t)
    root_last = _sqrt_log(state, int(last))
    scale_first = 1.0 / (first * root_first) if t > 1 else 1.0
    scale_last = 1.0 / (last * root_last) if t > 1 else 1.0
    for arm in range(state.line.shape[0]):
        p, q, r, s = _parts_of_line(state, arm)
        low = min(p * scale_first, p * scale_last) + min(q * first * scale_first, q * last * scale_last)
        high = max(p * scale_first, p * scale_last) + max(q * first * scale_first, q * last * scale_last)
        low += (r * first - s) * root_first * scale_first
        high += (r * last - s) * root_last * scale_last
        if high < math.inf:
            size = (abs(p) + abs(q) * last) * scale_first + r * last * root_last * scale_last
            low -= 1e-13 * size
            high += 1e-13 * size
        state.bounds[0, arm] = low
        state.bounds[1, arm] = high


@kernel
def _fill_root_log(root_log: Floats) -> None:
    for t in range(1, root_log.shape[0]):
        root_log[t] = math.sqrt(math.log(float(t)))


_fill = EntryPoint(_fill_root_log, share=1.0)


def _check_eps(name: str, eps: float) -> None:
    if not 0.0 < check_finite(name, eps) < 0.5:
        raise RisingBanditsError(f"{name} must lie strictly between 0 and 1/2, got {eps!r}.")


def _check_alpha(name: str, alpha: float) -> None:
    if not check_finite(name, alpha) > 2.0:
        raise RisingBanditsError(f"{name} must be above 2, as the theorem needs, got {alpha!r}.")


@register
class REdUCB(noise.NoisePolicy):
    r"""R-ed-UCB, stochastic and deterministic: the algorithm of the paper, with its O(1) update.

    With N pulls of an arm before round t and a window of :math:`h = \lfloor \epsilon N \rfloor`, the index is

    .. math:: \frac1h \sum_{l=N-h+1}^{N} \Big( r(l) + (t-l) \frac{r(l) - r(l-h)}{h} \Big)
              + \sigma (t - N + h - 1) \sqrt{\frac{10 \alpha \log t}{h^3}},

    and :math:`+\infty` while h = 0. With ``sigma=0`` it is :math:`\mu(N) + (t-N)(\mu(N) - \mu(N-1))`,
    :math:`+\infty` while N < 2.

    Use it as the reference of its paper. At horizons up to a million its widths exceed the whole range of the rewards,
    and it explores almost uniformly: on ``paper-15arms`` it is near round robin.

    Parameters
    ----------
    eps : float
        Window as a share of the pulls, in (0, 1/2). The paper's epsilon; its experiments use 1/4 (1/32 for IMDB).
    sigma : float or "auto"
        Sub-Gaussian scale of the noise; "auto" estimates it. By default the problem's in `simulate`, "auto" elsewhere.
        If rewards contradict a number above 0, a warning says so once; the number is kept. 0 is the deterministic
        algorithm.
    alpha : float
        Confidence exponent, delta_t = t^-alpha; the theorem needs alpha > 2. The paper leaves it open; default 3.
    ties : {"lowest", "random"}
        Which of several arms with the same index, including infinite ones.

    References
    ----------
    A. M. Metelli, F. Trovo, M. Pirola, M. Restelli. Stochastic Rising Bandits. ICML 2022.

    M. Fiandri, A. M. Metelli, F. Trovo. Rising Rested Bandits: Lower Bounds and Efficient Algorithms (as here).

    Examples
    --------
    >>> policy = REdUCB(sigma=0.0).reset(n_arms=2)
    >>> for _ in range(6):
    ...     arm = policy.ask()
    ...     policy.tell(arm, [0.5, 0.1 * policy.pulls[1]][arm])
    >>> policy.pulls.tolist()
    [3, 3]
    """

    name = "red-ucb"
    summary = "line through the recent past plus its width (the paper's algorithm)"
    verified = "published definition"
    kernels = Kernels(select=select, update=update)
    _kernels_of_many = Kernels(select=select_of_many, update=update_of_many)
    _scratch = frozenset({"pool", "root_log", "bounds"})

    eps: float = setting(0.25, _check_eps)
    sigma: float | str | None = noise.setting()
    alpha: float = setting(3.0, _check_alpha)
    ties: str = tie_rule()

    def _new_state(self, n_arms: int, horizon: int | None, capacity: int) -> Any:
        sigma = self._unit_sigma()
        root_log = np.zeros(min(capacity + 1, _LONGEST_LOG_TABLE))
        _fill.run(3e-7 * root_log.size, root_log)
        line = np.zeros((n_arms, 5))
        line[:, 0] = np.inf
        block, bounds = pruning.new_block(n_arms, more_rows=4)
        return State(
            eps=float(self.eps),
            width=sigma * math.sqrt(10.0 * float(self.alpha)),
            deterministic=sigma == 0.0,
            line=line,
            tally=np.zeros((n_arms, 2), dtype=np.int64),
            sums=np.zeros((n_arms, 7)),
            pool=np.empty(0 if sigma == 0.0 else histories.places_for(n_arms, capacity)),
            places=histories.new_places(n_arms),
            root_log=root_log,
            block=block,
            bounds=bounds,
            **self._noise_fields(n_arms),
        )

    def _kernels_for(self, n_arms: int, horizon: int | None = None) -> Kernels:
        few = self._estimates or n_arms < pruning.PRUNING_FROM  # an estimate changes all widths: nothing to prune
        return self.kernels if few else self._kernels_of_many

    def _make_room(self, state: Any, capacity: int) -> None:
        if not state.deterministic:
            histories.make_room(state.pool, self.n_arms, capacity)

    def _parts(self, state: Any, t: int) -> dict[str, np.ndarray]:
        root = math.sqrt(math.log(t)) * interpreted(noise.factor)(state)
        level = np.where(np.isinf(state.line[:, 0]), np.nan, state.line[:, 4])
        line = state.line[:, 0] + state.line[:, 1] * t
        width = (state.line[:, 2] * t - state.line[:, 3]) * root
        return {
            "level": level,
            "trend": np.where(np.isnan(level), np.nan, line - level),
            "width": np.where(np.isnan(level), np.nan, width),
            "value": line + width,
        }
