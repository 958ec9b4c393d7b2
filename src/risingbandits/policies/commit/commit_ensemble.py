"""CommitEnsemble: optimism about commitment, with a prior on what curves look like.

`CommitUCB` bounds an arm's future by a line, which holds for every concave curve and is far too high for most. Here a
posterior over curve shapes (`_ensemble_members`) bounds what committing to the arm may bring. The line counts if it is
lower, or if the evidence is too thin to tell a late bloomer from a bad arm.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from risingbandits._core.jit import interpreted, kernel, rare_kernel
from risingbandits._core.types import Floats, Mask, Rng
from risingbandits.policies._kernels import histories, noise_model, records
from risingbandits.policies.base import Kernels
from risingbandits.policies.commit import (
    _batches,
    _commit_value,
    _curve_shapes,
    _ensemble_bounds,
    _ensemble_members,
    _ensemble_noise,
    _lines,
)
from risingbandits.policies.commit._family import CommitFamily
from risingbandits.policies.explanation import Moment
from risingbandits.policies.registry import register
from risingbandits.policies.settings import number, one_of

# What is known about each arm besides what the whole family knows: the sums of its members, its pairs (noise_model),
# the bound on the commit value and the rounds left when it was taken, the expected commit value, and the probability
# that the arm still rises as steeply as ever; its triples.
_SUMS = (np.float64, "weight weighted squares pairs bound left expected straight")
_ARMS = records.record_type(*_batches.ARM, _SUMS, (np.float64, "bends triples"))

_SHORT = 2_000  # rounds per arm up to which the recommended arm is the one with the highest recent level
_FRESH = 0.97  # a bound holds until the rounds left have fallen to this part
_TIE = 1e-9
_FIRST_CHANCE = 0.05  # of the rounds: before, second chances cost more than they rescue


class State(NamedTuple):
    """What CommitEnsemble knows."""

    kind: int  # _widths
    sigma: float
    cap: float
    growth: float
    max_odds: float
    recheck: float
    lookahead: float
    tail: float
    sunk: float
    drift: float
    straight: float
    all_protected: bool  # every straight rival, or the one that promises most
    confidence: float  # 0: not set
    arms: np.ndarray  # (K,) records, see above
    run: np.ndarray  # (1,) record of _batches
    noise: np.ndarray  # (1,) record of noise_model: all arms together
    pool: np.ndarray  # sums of each arm's first n rewards (histories)
    places: np.ndarray  # where they are
    taus: np.ndarray  # paces of the shapes
    moments: np.ndarray  # (K, S, 3) of _ensemble_members
    log_prior: np.ndarray  # (2 S,) of the components
    shares: np.ndarray  # (K + 1, 2 S) weights of the components for each arm and their sums, if the prior is pooled
    work: np.ndarray  # (4, 2 S) of _ensemble_members


@kernel
def select(state: State, t: int, available: Mask, rng: Rng) -> int:
    arm = state.run["arm"][0]
    if arm >= 0 and (available is None or available[arm]):
        return arm
    return _decide(state, t, available)


@rare_kernel
def _decide(state: State, t: int, available: Mask) -> int:
    """The arm of the next batch. With a mask no batch starts: which arms are available may change with every call."""
    unseen = _batches.first_unseen(state, available)
    if unseen >= 0:
        return unseen
    remaining = _batches.remaining_rounds(state, t)
    _batches.fill(state, remaining)
    b = _commit_value.incumbent(state.arms)
    arm = _choose(state, b, remaining, available)
    # Bounds fall as the rounds run out, so an old bound is too high at worst: only that of the winner has to be fresh.
    while remaining <= _FRESH * state.arms["left"][arm]:
        _ensemble_bounds.take_bound(state, arm, remaining)
        arm = _choose(state, b, remaining, available)
    if available is not None:
        return arm
    early = t < _FIRST_CHANCE * state.run["horizon"][0]
    return _batches.begin(state, t, remaining, arm, b, math.inf if early else state.arms["expected"][b])


@kernel
def _choose(state: State, b: int, remaining: float, available: Mask) -> int:
    """The available arm with the highest index, the lowest number among equals."""
    level = max(0.0, state.arms["lo"][b])
    spent = 0.0  # what exploration has cost so far, at today's level
    for arm in range(state.arms.shape[0]):
        cost = 0.0 if arm == b else max(0.0, state.arms["n"][arm] * level - state.arms["earned"][arm])
        state.arms["cost"][arm] = cost
        state.arms["risk"][arm] = 0.0
        spent += cost
    spent = min(spent, _batches.most_sunk(state, _ensemble_noise.told(state)))
    protected = -1 if state.all_protected else _best_straight(state, b, available)
    chosen = -1
    best = -math.inf
    for arm in range(state.arms.shape[0]):
        if available is None or available[arm]:
            value = _value(state, arm)
            if arm != b:
                straight = arm == protected or (state.all_protected and _is_straight(state, arm))
                value = _rival_index(state, arm, b, value, level, spent, remaining, straight)
            if value > best or chosen < 0:
                best = value
                chosen = arm
    return chosen


@kernel
def _is_straight(state: State, arm: int) -> bool:
    return state.arms["straight"][arm] >= state.straight


@kernel
def _best_straight(state: State, b: int, available: Mask) -> int:
    """The straight rival with the highest expected commit value, the lowest number among equals; -1: none."""
    best = -1
    highest = -math.inf
    for arm in range(state.arms.shape[0]):
        if available is not None and not available[arm]:
            continue
        if arm != b and _is_straight(state, arm) and state.arms["expected"][arm] > highest:
            highest = state.arms["expected"][arm]
            best = arm
    return best


@kernel
def _value(state: State, arm: int) -> float:
    """What committing to the arm may bring: the lower of line and bound."""
    bound = state.arms["bound"][arm]
    value = min(state.arms["value"][arm], bound)
    return value if value < state.cap else state.cap + _TIE * min(state.arms["u"][arm], bound)


@kernel
def _rival_index(
    state: State, arm: int, b: int, value: float, level: float, spent: float, remaining: float, straight: bool
) -> float:
    """The value less what climbing to the incumbent may lose and what exploring has cost.

    A protected rival that rises as steeply as ever is judged by its line, and preferred at least as long as by lines
    alone.
    """
    k0, lost = _commit_value.climb(state.arms["u"][arm], state.arms["s"][arm], level, remaining)
    risk = min(state.max_odds, k0 / state.arms["n"][arm]) * lost
    state.arms["risk"][arm] = risk / remaining
    if not straight:
        return value - (risk + state.sunk * spent) / remaining
    line = state.arms["value"][arm]
    lead = line - (risk + spent) / remaining - state.arms["value"][b]
    return max(line - (risk + state.sunk * spent) / remaining, _value(state, b) + lead)


@kernel
def update(state: State, t: int, arm: int, reward: float, rng: Rng) -> None:
    n = _batches.take_in(state, t, arm)
    earned = _lines.prefix(state.pool, state.places[arm, 0], n - 1)
    histories.append(state.pool, state.places, arm, n, earned + reward)
    if n >= state.arms["due"][arm]:
        _close_batch(state, t, arm)


@rare_kernel
def _close_batch(state: State, t: int, arm: int) -> None:
    contradicted = _learn(state, t, arm)
    _batches.end(state, arm)
    stretched = _batches.stretch_horizon(state, t)
    if stretched or contradicted:
        for other in range(state.arms.shape[0]):
            if state.arms["pulls"][other] > 0:
                if contradicted:
                    _ensemble_bounds.learn_anew(state, other)
                _batches.redraw_line(state, t, other, _ensemble_noise.of_line(state, other))
                _ensemble_bounds.take_bound(state, other, _batches.remaining_rounds(state, t + 1))


@rare_kernel
def _learn(state: State, t: int, arm: int) -> bool:
    """Take in the pulls since the line was drawn; redraw it and compute the bound.

    Returns whether the noise has turned out larger than told.
    """
    n = state.arms["pulls"][arm]
    known = state.arms["drawn"][arm]
    contradicted = False
    for last in range(known + 1, n + 1):
        if _ensemble_noise.compare(state, arm, last):
            contradicted = True
    _ensemble_bounds.add_block(state, arm, known, n)
    _batches.draw_line(state, t, arm, _ensemble_noise.of_line(state, arm))
    _ensemble_bounds.take_bound(state, arm, _batches.remaining_rounds(state, t + 1))
    return contradicted


@rare_kernel
def recommend(state: State, t: int, known: Floats | None) -> int:
    """The arm with the best prediction of its level at the end of the horizon, had it been played all the time.

    After a short run predictions go far beyond what was seen, so the arm with the highest sure level is kept: the mean
    of the last quarter of its rewards minus a standard error.
    """
    best = 0
    highest = -math.inf
    short = t <= _SHORT * state.arms.shape[0]
    for arm in range(state.arms.shape[0]):
        n = state.arms["pulls"][arm]
        if n > 0:
            if short:
                window = (n + 3) // 4
                level = _lines.block_mean(state.pool, state.places[arm, 0], n - window, n, state.kind)
                level -= math.sqrt(_ensemble_noise.variance(state, arm) / window)
            else:
                left = max(0.0, state.run["horizon"][0] - n)
                count = _ensemble_bounds.weigh(state, arm, float(n), left, True)
                level = _ensemble_members.expectation(state.work, count)
            if level > highest:
                highest = level
                best = arm
    return best


@register
class CommitEnsemble(CommitFamily):
    r"""Optimism about commitment with a posterior over curve shapes: sharper than `CommitUCB`, without its guarantee.

    With R rounds left, an arm counts for min(V, U). V is `CommitUCB`'s commit value: what the lowest valid line above
    the arm's future promises. U is the upper quantile of the mean of its next R rewards under a posterior over curves
    :math:`a + b\,g(n/\tau)`: five families g, paces tau from half a pull to four horizons, with and without a start a.
    The quantile leaves a chance of n / R, at most ``tail``: the chance that would pay for playing the arm as long
    again. Rivals of the incumbent (the arm with the highest sure level) pay for the climb to it and, ``sunk`` times,
    for what exploring has cost. Of the rivals that, with probability ``straight`` or more, still rise as steeply as
    ever the one that promises most is judged by its line alone, and never dropped before `CommitUCB` would drop it: a
    posterior cannot tell a late bloomer from a bad arm before it bends. From a twentieth of the horizon on an idle arm
    gets a second chance if its line promises more than the incumbent is expected to bring.

    It need not be told anything: on the paper's problems it does about as well with estimated noise as with the true
    level.

    Use it if curves look like learning curves and late bloomers matter, to earn on the way. `recommend` names the arm
    with the best predicted level at the end or, with at most 2,000 rounds per arm, with the best level now (the last
    quarter of its rewards, less a standard error). Its bound may fail if no shape fits (docs/commit-ensemble.md has
    figures); then `CommitUCB` is the safe choice.

    Its recommendation is its own: the highest predicted value at the end, after short runs the surest level.

    Parameters
    ----------
    prior : {"fixed", "pooled"}
        Prior over the shapes: the same for all, or learnt from the other arms of the run (empirical Bayes), which helps
        if many arms are alike.
    sigma : float or "auto"
        Sub-Gaussian scale of the noise; an arm's own estimate takes over if it is lower. If rewards contradict it, a
        warning says so once, and the noise is estimated from then on. "auto" estimates it, for rewards in [0, 1]. By
        default the problem's in `simulate`, "auto" elsewhere.
    widths : {"auto", "gaussian", "kl"}
        Confidence widths of the lines. "auto": "kl" in `simulate` if the problem's rewards lie in [0, 1], otherwise
        "gaussian".
    cap : float
        A bound that no mean exceeds; the prior is in units of it.
    recheck : float
        Second chances; 0 turns them off, any other number on.
    growth : float
        An arm is played until its pulls have grown by this factor.
    max_odds : float
        Upper limit of the odds that a trend breaks.
    tail : float
        Largest chance that the bound leaves.
    sunk : float
        Weight of what exploring has cost.
    drift : float
        How far real curves stray from the shapes: the variance of a batch of m pulls around pull n is taken to be
        (sigma^2 + drift^2 n) / m.
    straight : float
        Probability of an unbroken rise from which on an arm may be judged by its line alone; above 1 turns this off.
    lookahead : float
        If the horizon is not known: plan for at least this many times the rounds so far.
    confidence : float or None
        Probability with which a line may fail, as in `CommitUCB`.
    protect : {"best", "all"}
        Which of these rivals are judged so: the one with the highest expected commit value, or all.

    Examples
    --------
    >>> from risingbandits import simulate
    >>> result = simulate(["commit-ensemble", "commit-ucb"], "paper-2arms", seed=1)
    >>> bool(result.mean("commit-ensemble")[-1] < result.mean("commit-ucb")[-1])
    True
    """

    name = "commit-ensemble"
    summary = "commit to the arm that could pay most, judged by a posterior over curve shapes"
    verified = "derived here"
    arm_type = _ARMS
    kernels = Kernels(select=select, update=update, recommend=recommend)
    scratch = frozenset({"pool", "taus", "work"})

    prior: str = one_of("fixed", "pooled")
    sigma: float | str | None = None
    widths: str = "auto"
    cap: float = number(1.0, above=0.0)
    recheck: float = number(0.03, minimum=0.0, maximum=1.0)
    growth: float = number(1.05, minimum=1.0)
    max_odds: float = number(8.0, minimum=0.0)
    tail: float = number(0.005, above=0.0, below=0.5)
    sunk: float = number(3.0, minimum=0.0)
    drift: float = number(0.005, minimum=0.0)
    straight: float = number(0.5, above=0.0)
    lookahead: float = number(4.0, above=1.0)
    confidence: float | None = number(None, above=0.0, below=1.0)
    protect: str = one_of("best", "all")

    def new_state(self, n_arms: int, horizon: int | None, capacity: int) -> State:
        taus = _curve_shapes.paces(horizon)
        shapes = _curve_shapes.FAMILIES * taus.size
        components = _ensemble_members.MODES * shapes
        shared = self.shared_state(n_arms, horizon, capacity)
        if self.sigma is None or isinstance(self.sigma, str):
            shared["sigma"] = _ensemble_noise.NOTHING
        return State(
            tail=float(self.tail),
            sunk=float(self.sunk),
            drift=float(self.drift * self.cap),
            straight=float(self.straight),
            all_protected=self.protect == "all",
            noise=noise_model.new_noise(),
            taus=taus,
            moments=np.zeros((n_arms, shapes, 3)),
            log_prior=np.full(components, -math.log(components)),
            shares=np.zeros((n_arms + 1 if self.prior == "pooled" else 0, components)),
            work=np.zeros((_ensemble_members.ROWS, components)),
            **shared,
        )

    def remark(self, state: Any) -> str | None:
        if not state.noise["contradicted"][0]:
            return None
        found = math.sqrt(interpreted(noise_model.pooled)(state.noise))
        return noise_model.contradiction(self.sigma, found)

    def promise(self, at: Moment, arm: int) -> float:
        line, bound = float(at.parts["line value"][arm]), float(at.parts["bound"][arm])
        return line if arm == at.arm and at.parts["straight"][arm] >= self.straight else min(line, bound)

    def why_kept(self, at: Moment) -> str:
        if at.t - 1 <= _SHORT * at.pulls.size:
            return f"its sure level is the highest (level {at.level('level')})"
        return "its level at the end is the highest by the posterior over its shapes"

    def parts(self, state: Any, t: int) -> dict[str, np.ndarray]:
        """Columns: ``level`` is that of the last quarter of the rewards, ``sure`` is surely reached; ``line value`` and
        ``bound`` are what committing could pay by the line and by the posterior, ``expected`` what it should pay,
        ``straight`` the probability of an unbroken rise; ``risk`` and ``cost`` are what climbing may lose and what
        exploring has cost, per remaining round.
        """
        state, remaining = self.filled(state, t)
        interpreted(_choose)(state, interpreted(_commit_value.incumbent)(state.arms), remaining, None)
        known, levels = state.arms["pulls"] > 0, self.levels(state)

        def column(values: Floats, unknown: float = np.nan) -> np.ndarray:
            return np.where(known, values, unknown)

        return {
            "level": levels,
            "sure": column(state.arms["lo"]),
            "line value": column(state.arms["value"], np.inf),
            "bound": column(state.arms["bound"], np.inf),
            "expected": column(state.arms["expected"]),
            "straight": column(state.arms["straight"]),
            "risk": column(state.arms["risk"]),
            "cost": column(state.arms["cost"] / remaining),
        }
