"""CommitUCB: optimism about commitment, with proved bounds on the regret.

The best policy for arms that rise with use plays one arm for ever. So the optimistic question about an arm is not how
good it could be at round t, but: if all remaining rounds went to it, what average could they bring at best? Arms are
played in batches that grow with their pulls, which changes little and makes switches rare.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from risingbandits._core.errors import RisingBanditsError, check_choice, shown
from risingbandits._core.jit import interpreted, kernel, rare_kernel
from risingbandits._core.types import Mask, Rng
from risingbandits.policies._kernels import histories, noise_estimate, noise_model, records
from risingbandits.policies.base import Kernels
from risingbandits.policies.commit import _batches, _commit_value, _differences, _lines, _told_noise, _widths
from risingbandits.policies.commit._family import CommitFamily, warn_once
from risingbandits.policies.registry import register
from risingbandits.policies.settings import number, or_none, setting

if TYPE_CHECKING:
    from risingbandits.problems import RisingBandit

_ARMS = records.record_type(*_batches.ARM, _differences.OWN)
_RULES = {None: _commit_value.NONE, "sunk-cost": _commit_value.SUNK_COST, "shared": _commit_value.SHARED}


class State(NamedTuple):
    """What CommitUCB knows."""

    rule: int  # _commit_value: which risks count
    kind: int  # _widths
    sigma: float
    cap: float
    growth: float
    max_odds: float
    share: float
    recheck: float
    lookahead: float
    confidence: float  # 0: not set
    arms: np.ndarray  # (K,) records of _batches, as is run
    run: np.ndarray  # (1,)
    pool: np.ndarray  # sums of each arm's first n rewards (histories)
    pairs: np.ndarray  # sums of (r(2k) - r(2k-1))^2 / 2, where the widths need them
    places: np.ndarray  # where they are
    noise: np.ndarray  # (1,) record of noise_model


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
    most = _batches.most_sunk(state, _told_noise.of_all(state))
    arm = _commit_value.choose(
        state.arms, state.rule, b, state.cap, remaining, state.max_odds, state.share, most, available
    )
    return _batches.begin(state, t, remaining, arm, b, -math.inf) if available is None else arm


@kernel
def update(state: State, t: int, arm: int, reward: float, rng: Rng) -> None:
    if _take_in(state, t, arm, reward):
        _close_batch(state, t, arm)


@kernel
def _take_in(state: State, t: int, arm: int, reward: float) -> bool:
    """Store the reward; whether the arm's batch is over."""
    n = _batches.take_in(state, t, arm)
    old_start = state.places[arm, 0]
    earned = _lines.prefix(state.pool, old_start, n - 1)
    start = histories.append(state.pool, state.places, arm, n, earned + reward)
    if state.kind == _widths.BERNSTEIN:
        _append_pair(state, old_start, start, n, reward, earned)
    return n >= state.arms["due"][arm]


@rare_kernel
def _append_pair(state: State, old_start: int, start: int, n: int, reward: float, earned: float) -> None:
    """Sums of squared differences lie in `pairs` where `pool` has the sums of rewards; a move takes both along."""
    if old_start != start:
        for i in range(1, n):
            state.pairs[start + i] = state.pairs[old_start + i]
    spread = _lines.prefix(state.pairs, start, n - 1)
    if n % 2 == 0:
        difference = reward - (earned - _lines.prefix(state.pool, start, n - 2))
        spread += 0.5 * difference * difference
    state.pairs[start + n] = spread


@rare_kernel
def _close_batch(state: State, t: int, arm: int) -> None:
    replaced = _told_noise.watch(state, arm)
    _batches.draw_line(state, t, arm, _told_noise.of_arm(state, arm))
    _batches.end(state, arm)
    stretched = _batches.stretch_horizon(state, t)
    if stretched or replaced:
        for other in range(state.arms.shape[0]):
            if state.arms["pulls"][other] > 0:
                _batches.redraw_line(state, t, other, _told_noise.of_arm(state, other))


SmoothState: Any = noise_estimate.extended(State, __name__)
_STALE = noise_estimate.OWN  # in the last row: whether all noise levels have changed since all lines were drawn


@kernel
def update_smooth(state: Any, t: int, arm: int, reward: float, rng: Rng) -> None:
    if noise_estimate.add(state, arm, reward):
        state.smooth[state.arms.shape[0], _STALE] = 1.0
    if _take_in(state, t, arm, reward):
        _close_batch_smooth(state, t, arm)


@rare_kernel
def _close_batch_smooth(state: Any, t: int, arm: int) -> None:
    n_arms = state.arms.shape[0]
    _batches.draw_line(state, t, arm, state.smooth[arm, noise_estimate.SIGMA])
    _batches.end(state, arm)
    stretched = _batches.stretch_horizon(state, t)
    if stretched or state.smooth[n_arms, _STALE] > 0.0:
        state.smooth[n_arms, _STALE] = 0.0
        for other in range(n_arms):
            if state.arms["pulls"][other] > 0:
                _batches.redraw_line(state, t, other, state.smooth[other, noise_estimate.SIGMA])


@register
class CommitUCB(CommitFamily):
    r"""Optimism about commitment: play the arm whose commitment could pay most, if the chance is worth its price.

    With R rounds left, the commit value of an arm is

    .. math:: V = \frac1R \sum_{k=1}^{R} \min(\text{cap}, u + s k),

    where (u, s) is the lowest of several lines that lie above the arm's future with high probability, drawn through
    blocks of its past (docs/commit-ucb.md has the lemma). ``risk=None`` plays the highest commit value. The other
    rules compare it with what it costs: while an arm climbs to the sure level of the incumbent, reward is lost, and the
    longer the climb compared with the arm's past, the likelier that it fails. Exploration so far has had its price too,
    counted once for all arms ("sunk-cost") or shared among those that may still win ("shared").

    Use it if arms improve with use, rewards have a known ceiling, and you want a guarantee. If the best arm shows after
    a few dozen pulls and never changes, KL-UCB is as good or better. With Gaussian widths the lines are proved to hold
    for means in [0, cap] that rise and are concave from the first pull on, and the regret of ``risk=None`` is bounded.
    The other rules are a trade-off: they lose a quarter of all rounds to a straight late bloomer, which ``risk=None``
    finds, and next to nothing if it stops half-way, which costs ``risk=None`` a sixteenth.

    Parameters
    ----------
    risk : {"shared", "sunk-cost", None}
        Which price of exploration counts; see above. The default was chosen by the regret benchmark.
    sigma : float, "auto", "estimate", "smooth" or None
        Sub-Gaussian scale of the noise. None means the problem's in `simulate`, and 1/2 elsewhere, valid for any reward
        in [0, 1]. "auto" estimates it, for rewards in [0, 1] (empirical Bernstein widths), and is safe; "estimate"
        converges far sooner, from neighbouring rewards of all arms, and nothing is proved about it; "smooth" is an
        older estimate. Twice the truth is harmless. If rewards contradict a number above 0, a warning says so once, and
        the noise is estimated from then on, except where a bound on the regret is promised (``risk=None, recheck=0``,
        Gaussian widths), which is about this number; 0 says that there is none, and is not checked.
    widths : {"auto", "gaussian", "kl", "bernstein"}
        Confidence widths. "auto": "bernstein" if ``sigma="auto"``, "kl" in `simulate` if the problem's rewards lie in
        [0, 1], otherwise "gaussian".
    cap : float
        A bound that no mean exceeds. Essential: a cap far above the truth makes every arm look worth exploring.
    recheck : float
        Second chances: an arm that has been idle for half of the time is played for one batch before the incumbent
        continues, in the first three quarters of the horizon. 0 turns them off, any other number on; ``growth`` decides
        how long the batch is.
    growth : float
        An arm is played until its pulls have grown by this factor; 1 decides after every pull.
    max_odds : float
        Upper limit of the odds that a trend breaks.
    share : float
        Weight of the shared cost in rule "shared"; smaller favours late bloomers, 1 is nearer to KL-UCB.
    lookahead : float
        If the horizon is not known: plan for at least this many times the rounds so far.
    confidence : float or None
        Probability, between 0 and 1, with which a line may fail at all in a run with Gaussian widths: lines are raised
        by as many standard errors as it takes for all lines of all arms. None takes sqrt(2 ln T) standard errors, which
        bounds the expected regret and costs less at small horizons.

    Examples
    --------
    >>> from risingbandits import simulate
    >>> result = simulate(["commit-ucb", "red-ucb"], "paper-2arms", horizon=20_000, runs=2, seed=1)
    >>> bool(result.mean("commit-ucb")[-1] < result.mean("red-ucb")[-1])
    True
    """

    name = "commit-ucb"
    summary = "commit to the arm that could pay most, if the chance is worth its price"
    verified = "derived here"
    kinds: ClassVar[dict[str, int]] = {**CommitFamily.kinds, "bernstein": _widths.BERNSTEIN}
    estimates = (noise_estimate.SMOOTH, noise_estimate.ESTIMATE, "auto")
    kernels = Kernels(select=select, update=update)
    kernels_smooth = Kernels(select=select, update=update_smooth)
    arm_type = _ARMS
    scratch = frozenset({"pool", "pairs"})

    risk: str | None = setting("shared", or_none(partial(check_choice, allowed=("sunk-cost", "shared"))))
    sigma: float | str | None = None
    widths: str = "auto"
    cap: float = number(1.0, above=0.0)
    recheck: float = number(0.03, minimum=0.0, maximum=1.0)
    growth: float = number(1.05, minimum=1.0)
    max_odds: float = number(8.0, minimum=0.0)
    share: float = number(0.7, minimum=0.0)
    lookahead: float = number(4.0, above=1.0)
    confidence: float | None = number(None, above=0.0, below=1.0)

    def validate(self) -> None:
        super().validate()
        if self.sigma == "auto" and self.widths not in ("auto", "bernstein"):
            raise RisingBanditsError(
                f'widths must be "auto" or "bernstein" with sigma="auto", got {shown(self.widths)}.'
            )
        if self.cap > 1.0:
            warn_once(
                f"cap={self.cap} is above 1: if means stay below it, every arm looks worth exploring for a long time."
            )

    def kind(self) -> int:
        return _widths.BERNSTEIN if self.widths == "auto" and self.sigma == "auto" else super().kind()

    def for_problem(self, problem: RisingBandit, horizon: int) -> Self:
        if self.sigma == 0.0 < problem.sigma:  # any other is checked during the run
            warn_once(f"sigma={self.sigma} is below the problem's noise {problem.sigma}: it may lock onto a bad arm.")
        return super().for_problem(problem, horizon)

    def new_state(self, n_arms: int, horizon: int | None, capacity: int) -> Any:
        shared = self.shared_state(n_arms, horizon, capacity)
        state = State(rule=_RULES[self.risk], share=float(self.share), noise=noise_model.new_noise(), **shared)
        if not self.smooth:
            return state
        return SmoothState(**{**state._asdict(), **noise_estimate.new_fields(self.sigma, n_arms, own=1)})

    def remark(self, state: Any) -> str | None:
        if not state.noise["contradicted"][0]:
            return None
        sigma = noise_estimate.number(self.sigma)
        if interpreted(_told_noise.has_bound)(state):
            reason = "because the bound on the regret is about it"
            return f"sigma={sigma} is contradicted by the rewards, or a curve bends within five pulls: kept, {reason}."
        return noise_model.contradiction(sigma, interpreted(_told_noise.of_all)(state))

    def parts(self, state: Any, t: int) -> dict[str, np.ndarray]:
        """Columns: ``level`` is that of the last quarter of the rewards, ``sure`` is surely reached; ``line`` and
        ``slope`` bound the future, ``commit value`` is what that could pay; ``risk`` and ``cost`` are what climbing may
        lose and what exploring has cost, per remaining round.
        """
        state, remaining = self.filled(state, t)
        b = interpreted(_commit_value.incumbent)(state.arms)
        interpreted(_commit_value.choose)(
            state.arms,
            state.rule,
            b,
            state.cap,
            remaining,
            state.max_odds,
            state.share,
            interpreted(_batches.most_sunk)(state, interpreted(_told_noise.of_all)(state)),
            None,
        )
        known = state.arms["pulls"] > 0

        def column(name: str, per: float = 1.0) -> np.ndarray:
            return np.where(known, state.arms[name] / per, np.nan)

        return {
            "sure": column("lo"),
            "line": column("u"),
            "slope": column("s"),
            "commit value": np.where(known, state.arms["value"], np.inf),
            "risk": column("risk"),
            "cost": column("cost", remaining),
        }
