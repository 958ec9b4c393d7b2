"""CommitEnsemble: optimism about commitment, with what curves look like as a prior.

`CommitUCB` bounds an arm's future by a line, which holds for every concave curve and is far too high for most. Here a
posterior over curve shapes (`_members`) bounds what committing to the arm may bring, and the line is kept where it is
lower or where the evidence is too thin to tell a late bloomer from a bad arm.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from risingbandits._core.jit import interpreted, kernel, rare_kernel
from risingbandits._core.types import Floats, Ints, Mask, Rng
from risingbandits.policies._kernels import histories, records
from risingbandits.policies.base import Kernels
from risingbandits.policies.commit import _batches, _commit_value, _curve_shapes, _ensemble_members, _lines, _prediction
from risingbandits.policies.commit._family import CommitFamily
from risingbandits.policies.registry import register
from risingbandits.policies.settings import number, one_of

# What is known of each arm beside what the whole family knows: the sums of its members, sum and number of squared
# differences of neighbouring rewards, the bound on the commit value and the rounds left when it was taken, the expected
# commit value, and the probability that the arm still rises as steeply as ever.
_SUMS = (np.float64, "weight weighted squares pairs bound left expected straight")
_ARMS = records.record_type({**_batches.ARM, "sums": _SUMS})

_FRESH = 0.97  # a bound holds until the rounds left have fallen to this part
_TIE = 1e-9
_PRIOR_PAIRS = 4.0  # sigma counts for so many pairs in the estimate of an arm's noise
_ENOUGH_PAIRS = 50.0  # from here on the line takes the estimate, too
_POOLED_WEIGHT = 8.0  # what the uniform prior over shapes counts against the other arms, in arms


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
    confidence: float  # 0: not set
    arms: np.ndarray  # (K,) records, see above
    run: np.ndarray  # (1,) record of _batches
    pool: np.ndarray  # sums of each arm's first n rewards (histories)
    pairs: np.ndarray  # empty; for _lines
    places: np.ndarray  # where they are
    taus: np.ndarray  # paces of the shapes
    moments: np.ndarray  # (K, S, 3) of _members
    log_prior: np.ndarray  # (2 S,) of the components
    shares: np.ndarray  # (K + 1, 2 S) weights of the components for each arm and their sums, if the prior is pooled
    work: np.ndarray  # (4, 2 S) of _members


@kernel
def select(state: State, t: int, available: Mask, rng: Rng) -> int:
    arm = state.run["arm"][0]
    if arm >= 0 and (available is None or available[arm]):
        return arm
    return _decide(state, t, available)


@rare_kernel
def _decide(state: State, t: int, available: Mask) -> int:
    """The arm of the next batch. With a mask nothing is begun: who is available may change with every call."""
    unseen = _batches.first_unseen(state, available)
    if unseen >= 0:
        return unseen
    remaining = _batches.remaining_rounds(state, t)
    _batches.fill(state, remaining)
    b = _commit_value.incumbent(state.arms)
    arm = _choose(state, b, remaining, available)
    # Bounds fall as the rounds run out, so an old bound is too high at worst: only that of the winner has to be fresh.
    while remaining <= _FRESH * state.arms["left"][arm]:
        _take_bound(state, arm, remaining)
        arm = _choose(state, b, remaining, available)
    return _batches.begin(state, t, remaining, arm, b) if available is None else arm


@kernel
def _choose(state: State, b: int, remaining: float, available: Mask) -> int:
    """The available arm with the highest index; the lowest number where several are equal."""
    level = max(0.0, state.arms["lo"][b])
    spent = 0.0  # what exploration has cost so far, at today's level
    for arm in range(state.arms.shape[0]):
        cost = 0.0 if arm == b else max(0.0, state.arms["n"][arm] * level - state.arms["earned"][arm])
        state.arms["cost"][arm] = cost
        state.arms["risk"][arm] = 0.0
        spent += cost
    spent = min(spent, _batches.most_sunk(state))
    chosen = -1
    best = -math.inf
    for arm in range(state.arms.shape[0]):
        if available is None or available[arm]:
            value = _value(state, arm)
            if arm != b:
                value = _rival_index(state, arm, b, value, level, spent, remaining)
            if value > best or chosen < 0:
                best = value
                chosen = arm
    return chosen


@kernel
def _value(state: State, arm: int) -> float:
    """What committing to the arm may bring: the lower one of line and bound."""
    bound = state.arms["bound"][arm]
    value = min(state.arms["value"][arm], bound)
    return value if value < state.cap else state.cap + _TIE * min(state.arms["u"][arm], bound)


@kernel
def _rival_index(state: State, arm: int, b: int, value: float, level: float, spent: float, remaining: float) -> float:
    """The value less what climbing to the incumbent may lose and what exploring has cost.

    A rival that rises as steeply as ever is judged by its line, and preferred at least as long as by lines alone.
    """
    k0, lost = _commit_value.climb(state.arms["u"][arm], state.arms["s"][arm], level, remaining)
    risk = min(state.max_odds, k0 / state.arms["n"][arm]) * lost
    state.arms["risk"][arm] = risk / remaining
    if state.arms["straight"][arm] < state.straight:
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
    _learn(state, t, arm)
    _batches.end(state, arm)
    if _batches.stretch_horizon(state, t):
        for other in range(state.arms.shape[0]):
            if state.arms["pulls"][other] > 0:
                _batches.redraw_line(state, t, other, _noise(state, other))
                _take_bound(state, other, _batches.remaining_rounds(state, t + 1))


@rare_kernel
def _learn(state: State, t: int, arm: int) -> None:
    """Take in the pulls since the line was drawn; draw it again and take the bound."""
    n = state.arms["pulls"][arm]
    known = state.arms["drawn"][arm]
    start = state.places[arm, 0]
    for last in range(known + 1 + (known + 1) % 2, n + 1, 2):  # pairs of pulls 1 and 2, 3 and 4, ...
        before = _lines.prefix(state.pool, start, last - 1)
        difference = (_lines.prefix(state.pool, start, last) - before) - (
            before - _lines.prefix(state.pool, start, last - 2)
        )
        state.arms["squares"][arm] += 0.5 * difference * difference
        state.arms["pairs"][arm] += 1.0
    pulls = float(n - known)
    x = known + 0.5 * (pulls + 1.0)
    y = (_lines.prefix(state.pool, start, n) - _lines.prefix(state.pool, start, known)) / pulls
    w = pulls / (_variance(state, arm) + state.drift * state.drift * x)
    _ensemble_members.add_block(state.moments, state.arms, state.taus, arm, x, y, w)
    _batches.draw_line(state, t, arm, _noise(state, arm))
    _take_bound(state, arm, _batches.remaining_rounds(state, t + 1))


@kernel
def _noise(state: State, arm: int) -> float:
    """The noise of one reward for the arm's line: what was told until enough is known."""
    return math.sqrt(_variance(state, arm)) if state.arms["pairs"][arm] > _ENOUGH_PAIRS else state.sigma


@kernel
def _variance(state: State, arm: int) -> float:
    """The noise of one reward of the arm, at most what was told."""
    told = state.sigma * state.sigma
    pairs = state.arms["pairs"][arm]
    return max(1e-12, min(told, (state.arms["squares"][arm] + _PRIOR_PAIRS * told) / (pairs + _PRIOR_PAIRS)))


@rare_kernel
def _take_bound(state: State, arm: int, remaining: float) -> None:
    """What the rest may bring if it goes to the arm: exceeded with a chance that pays for playing it as long again."""
    n = float(state.arms["pulls"][arm])
    count = _weigh(state, arm, n, remaining, False)
    state.arms["bound"][arm] = _ensemble_members.upper_quantile(state.work, count, min(state.tail, n / remaining))
    state.arms["left"][arm] = remaining
    state.arms["expected"][arm] = _ensemble_members.expectation(state.work, count)
    state.arms["straight"][arm] = _ensemble_members.slower_than(state.work, count, 2.0 * n)


@kernel
def _weigh(state: State, arm: int, n: float, remaining: float, final: bool) -> int:
    """Fill ``work`` with the arm's posterior, the likely components first; return their number."""
    pooled = state.shares.shape[0] > 0
    last = state.shares.shape[0] - 1
    if pooled:  # what the other arms look like
        for c in range(state.log_prior.shape[0]):
            others = state.shares[last, c] - state.shares[arm, c]
            state.log_prior[c] = math.log(_POOLED_WEIGHT / state.log_prior.shape[0] + max(0.0, others))
    top = _ensemble_members.posterior(
        state.moments, state.arms, state.taus, state.log_prior, state.cap, state.work, arm, n, remaining, final
    )
    _ensemble_members.shares(state.work, top)
    if pooled and not final:  # asking for a recommendation changes nothing
        for c in range(state.log_prior.shape[0]):
            share = state.work[_ensemble_members.SHARE, c]
            state.shares[last, c] += share - state.shares[arm, c]
            state.shares[arm, c] = share
    return _ensemble_members.drop_unlikely(state.work)


@rare_kernel
def recommend(state: State, t: int, pulls: Ints) -> int:
    """The arm with the best prediction of its level at the end of the horizon, had it been played all the time."""
    best = 0
    highest = -math.inf
    for arm in range(state.arms.shape[0]):
        n = float(state.arms["pulls"][arm])
        if n > 0.0:
            count = _weigh(state, arm, n, max(0.0, state.run["horizon"][0] - n), True)
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
    for what exploring has cost. An arm that, with probability ``straight`` or more, still rises as steeply as ever is
    judged by the line alone, and never dropped before `CommitUCB` would drop it: a posterior cannot tell a late bloomer
    from a bad arm before it bends.

    Use it where curves look like learning curves and late bloomers matter, for the sum of the rewards or, through
    `recommend`, to find the arm to keep: it names the arm with the best predicted level at the end. Its bound may fail
    where no shape fits (docs/commit-ensemble.md has figures); then `CommitUCB` is the safe choice.

    Parameters
    ----------
    prior : {"fixed", "pooled"}
        Prior over the shapes: the same for all, or learnt from the other arms of the run (empirical Bayes), which helps
        where many arms are alike.
    sigma : float, "auto" or None
        Sub-Gaussian scale of the noise, of which each arm's own estimate takes over where it is lower. None takes the
        problem's in `simulate` and 1/2, right for any reward in [0, 1], elsewhere; "auto" is 1/2.
    widths : {"auto", "gaussian", "kl"}
        Confidence widths of the lines. "auto": "kl" in `simulate` where the problem's rewards lie in [0, 1],
        "gaussian" elsewhere.
    cap : float
        What no mean exceeds; the prior is in units of it.
    recheck : float
        Second chances, as in `CommitUCB`.
    growth : float
        An arm is played until its pulls have grown by this factor.
    max_odds : float
        Ceiling of the odds that a trend breaks.
    tail : float
        Greatest chance that the bound leaves.
    sunk : float
        Weight of what exploring has cost.
    drift : float
        How far real curves stray from the shapes: the variance of a batch of m pulls around pull n is taken to be
        (sigma^2 + drift^2 n) / m.
    straight : float
        From which probability of an unbroken rise on an arm is judged by its line alone; above 1 turns it off.
    lookahead : float
        Where the horizon is not known: plan for this many times the rounds so far, at least.
    confidence : float or None
        Probability with which a line may fail, as in `CommitUCB`.

    Examples
    --------
    >>> from risingbandits import simulate
    >>> result = simulate(["commit-ensemble", "commit-ucb"], "paper-2arms", seed=1)
    >>> bool(result.mean("commit-ensemble")[-1] < result.mean("commit-ucb")[-1])
    True
    """

    name = "commit-ensemble"
    summary = "commit to the arm that could pay most, judged by a posterior over curve shapes"
    arm_type = _ARMS
    kernels = Kernels(select=select, update=update, recommend=recommend)
    scratch = frozenset({"pool", "pairs", "taus", "work"})

    prior: str = one_of("fixed", "pooled")
    sigma: float | str | None = None
    widths: str = "auto"
    cap: float = number(1.0, above=0.0)
    recheck: float = number(0.0, minimum=0.0, maximum=1.0)
    growth: float = number(1.05, minimum=1.0)
    max_odds: float = number(8.0, minimum=0.0)
    tail: float = number(0.002, above=0.0, below=0.5)
    sunk: float = number(3.0, minimum=0.0)
    drift: float = number(0.005, minimum=0.0)
    straight: float = number(0.5, above=0.0)
    lookahead: float = number(4.0, above=1.0)
    confidence: float | None = number(None, above=0.0, below=1.0)

    def new_state(self, n_arms: int, horizon: int | None, capacity: int) -> State:
        taus = _curve_shapes.paces(horizon)
        shapes = _curve_shapes.FAMILIES * taus.size
        components = _ensemble_members.MODES * shapes
        return State(
            tail=float(self.tail),
            sunk=float(self.sunk),
            drift=float(self.drift * self.cap),
            straight=float(self.straight),
            taus=taus,
            moments=np.zeros((n_arms, shapes, 3)),
            log_prior=np.full(components, -math.log(components)),
            shares=np.zeros((n_arms + 1 if self.prior == "pooled" else 0, components)),
            work=np.zeros((_ensemble_members.ROWS, components)),
            **self.shared_state(n_arms, horizon, capacity),
        )

    def parts(self, state: Any, t: int) -> dict[str, np.ndarray]:
        """Columns: ``level`` is surely reached; ``line value`` and ``bound`` are what committing could pay by the line
        and by the posterior, ``expected`` what it should pay, ``straight`` the probability of an unbroken rise;
        ``risk`` and ``cost`` are what climbing may lose and what exploring has cost, per remaining round; ``final``,
        ``final low`` and ``final high`` are the level that the posterior expects at the end and a band that holds it
        with 90 %, ``chance`` is that of being the best arm then.
        """
        state, remaining = self.filled(state, t)
        interpreted(_choose)(state, interpreted(_commit_value.incumbent)(state.arms), remaining, None)
        known = state.arms["pulls"] > 0

        def column(values: Floats, unknown: float = np.nan) -> np.ndarray:
            return np.where(known, values, unknown)

        return {
            "level": column(state.arms["lo"]),
            "line value": column(state.arms["value"], np.inf),
            "bound": column(state.arms["bound"], np.inf),
            "expected": column(state.arms["expected"]),
            "straight": column(state.arms["straight"]),
            "risk": column(state.arms["risk"]),
            "cost": column(state.arms["cost"] / remaining),
            **_prediction.level_at_the_end(state, interpreted(_weigh)),
        }
