"""CommitUCB: optimism about commitment, with proved bounds on the regret.

The best policy for arms that rise with use plays one arm for ever. So the optimistic question about an arm is not how
good it could be at round t, but: if all remaining rounds went to it, what average could they bring at best? Arms are
played in batches that grow with their pulls, which changes little and makes switches rare.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from risingbandits._core.errors import RisingBanditsError, check_choice
from risingbandits._core.jit import interpreted, kernel, rare_kernel
from risingbandits._core.types import Mask, Rng
from risingbandits.policies import _reasons as reasons
from risingbandits.policies._kernels import histories, noise
from risingbandits.policies._settings import number, one_of, or_none, setting
from risingbandits.policies.base import Kernels
from risingbandits.policies.commit import _batches, _commit_value, _lines, _widths
from risingbandits.policies.explanation import Moment
from risingbandits.policies.registry import register

if TYPE_CHECKING:
    from risingbandits.problems import RisingBandit

_RULES = {None: _commit_value.NONE, "sunk-cost": _commit_value.SUNK_COST, "shared": _commit_value.SHARED}
_MOVED = 0.05  # share by which the noise level has changed since all lines were drawn when they are drawn again
_EQUAL = 1e-6  # of the cap: promises that differ by less are shown as equal


class State(NamedTuple):
    """What CommitUCB knows."""

    rule: int  # _commit_value: which risks count
    kind: int  # _widths
    cap: float
    growth: float
    recheck: float
    confidence: float  # 0: not set
    arms: np.ndarray  # (K,) records of _batches, as is run
    run: np.ndarray  # (1,)
    pool: np.ndarray  # sums of each arm's first n rewards (histories)
    places: np.ndarray  # where they are
    noise: np.ndarray  # heard: the same (noise)
    heard: np.ndarray


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
    most = _batches.most_sunk(state, noise.level(state))
    arm = _commit_value.choose(state.arms, state.rule, b, state.cap, remaining, most, available)
    return _batches.begin(state, t, remaining, arm, b, -math.inf) if available is None else arm


@kernel
def update(state: State, t: int, arm: int, reward: float, rng: Rng) -> None:
    noise.add(state, arm, reward)
    n = _batches.take_in(state, t, arm)
    earned = _lines.prefix(state.pool, state.places[arm, 0], n - 1)
    histories.append(state.pool, state.places, arm, n, earned + reward)
    if n >= state.arms["due"][arm]:
        _close_batch(state, t, arm)


@rare_kernel
def _close_batch(state: State, t: int, arm: int) -> None:
    sigma = noise.level(state)
    _batches.draw_line(state, t, arm, sigma)
    _batches.end(state, arm)
    drawn = state.noise["drawn"][0]
    if _batches.stretch_horizon(state, t) or abs(sigma - drawn) > _MOVED * drawn:
        state.noise["drawn"][0] = sigma
        for other in range(state.arms.shape[0]):
            if state.arms["pulls"][other] > 0:
                _batches.redraw_line(state, t, other, sigma)


@register
class CommitUCB(noise.NoisePolicy):
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
    The other rules are a trade-off: they lose a quarter of all rounds to a straight slow starter, which ``risk=None``
    finds, and next to nothing if it stops half-way, which costs ``risk=None`` a sixteenth.

    Parameters
    ----------
    risk : {"shared", "sunk-cost", None}
        Which price of exploration counts; see above. The default was chosen by the regret benchmark.
    sigma : float or "auto"
        Sub-Gaussian scale of the noise; "auto" estimates it, and nothing is proved then. By default the problem's in
        `simulate`, "auto" elsewhere. Twice the truth is harmless. If rewards contradict a number above 0, a warning
        says so once, and the noise is estimated from then on, except where a bound on the regret is promised
        (``risk=None, recheck=0``, Gaussian widths), which is about this number; 0 says that there is none, and is not
        checked.
    widths : {"auto", "gaussian", "kl"}
        Confidence widths. "auto": "kl" in `simulate` if the problem's rewards lie in [0, 1], otherwise "gaussian".
    cap : float
        A bound that no mean exceeds. Essential: a cap far above the truth makes every arm look worth exploring.
    recheck : float
        Second chances: an arm that has been idle for half of the time is played for one batch before the incumbent
        continues, in the first three quarters of the horizon. 0 turns them off, any other number on; ``growth`` decides
        how long the batch is.
    growth : float
        An arm is played until its pulls have grown by this factor; 1 decides after every pull.
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
    kernels = Kernels(select=select, update=update)
    _scratch = frozenset({"pool"})

    risk: str | None = setting("shared", or_none(partial(check_choice, allowed=("sunk-cost", "shared"))))
    sigma: float | str | None = noise.setting()
    widths: str = one_of("auto", "gaussian", "kl")
    cap: float = number(1.0, above=0.0)
    recheck: float = number(0.03, minimum=0.0, maximum=1.0)
    growth: float = number(1.05, minimum=1.0)
    confidence: float | None = number(None, above=0.0, below=1.0)

    def _validate(self) -> None:
        super()._validate()
        if self.cap > 1.0:
            if self.widths == "kl":
                raise RisingBanditsError(f"cap must be at most 1 with widths for rewards in [0, 1], got {self.cap}.")
            warn_once(
                f"cap={self.cap} is above 1: if means stay below it, every arm looks worth exploring for a long time."
            )

    @property
    def _has_bound(self) -> bool:
        """Whether a bound on the regret is promised, which is about the given sigma."""
        return self.risk is None and self.recheck == 0.0 and self.widths != "kl"

    @property
    def _guard(self) -> int:  # type: ignore[override]
        return noise.KEPT if self._has_bound else noise.REPLACED

    def _for_problem(self, problem: RisingBandit, horizon: int) -> Self:
        if self.sigma == 0.0 < problem.sigma:  # any other is checked during the run
            warn_once(f"sigma={self.sigma} is below the problem's noise {problem.sigma}: it may lock onto a bad arm.")
        told = super()._for_problem(problem, horizon)
        return told.replace(widths="kl") if self.widths == "auto" and problem.noise.mean_range is not None else told

    def _new_state(self, n_arms: int, horizon: int | None, capacity: int) -> State:
        confidence = 0.0 if self.confidence is None else float(self.confidence)
        return State(
            rule=_RULES[self.risk],
            kind=_widths.KL if self.widths == "kl" else _widths.GAUSSIAN,
            cap=float(self.cap),
            growth=float(self.growth),
            recheck=float(self.recheck),
            confidence=confidence,
            **_batches.new_run(n_arms, horizon, capacity, float(self.growth), confidence),
            **self._noise_fields(n_arms),
        )

    def _make_room(self, state: State, capacity: int) -> None:
        histories.make_room(state.pool, self.n_arms, capacity)

    def ask(self, available: Sequence[bool] | Mask = None) -> int:
        if available is None and self._state is not None:  # inside a batch the answer is known
            arm = int(self._state.run["arm"][0])
            if arm >= 0:
                return arm
        return super().ask(available)

    def _remark(self, state: State) -> str | None:
        if self._has_bound and state.noise["evidence"][0] == math.inf:
            what = "is contradicted by the rewards, or a curve bends within five pulls"
            return f"sigma={self.sigma} {what}: kept, because the bound on the regret is about it."
        return super()._remark(state)

    def _why_next(self, at: Moment) -> str:
        if not at.pulls[at.arm]:
            return reasons.NEVER_PULLED
        b = int(np.nanargmax(at.parts["sure"]))
        if at.state.run["second_chance"][0] and at.state.run["arm"][0] == at.arm != b:
            return "a second look at an arm that was idle for a long time"
        if at.arm == b:
            return "the incumbent: no rival promises more than trying it costs"
        own, rival = (float(at.parts["commit value"][arm]) for arm in (b, at.arm))
        if rival < own - _EQUAL * self.cap:
            return "the best of the arms that are free"
        if rival <= own + _EQUAL * self.cap:
            return f"may still pay as much as the incumbent, up to {at.units.level(rival)} a pull"
        return f"may pay up to {at.units.level(rival)} a pull from here on, the incumbent {at.units.level(own)}"

    def _parts(self, state: State, t: int) -> dict[str, np.ndarray]:
        """Columns: ``sure`` is surely reached; ``line`` and ``slope`` bound the future, ``commit value`` is what that
        could pay; ``risk`` and ``cost`` are what climbing may lose and what exploring has cost, per remaining round.
        """
        state = state._replace(arms=state.arms.copy())
        remaining = interpreted(_batches.remaining_rounds)(state, t)
        with np.errstate(invalid="ignore"):
            interpreted(_batches.fill)(state, remaining)
        b = interpreted(_commit_value.incumbent)(state.arms)
        most = interpreted(_batches.most_sunk)(state, interpreted(noise.level)(state))
        interpreted(_commit_value.choose)(state.arms, state.rule, b, state.cap, remaining, most, None)
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


@cache
def warn_once(message: str) -> None:
    """Warn once per process. Python's own filter forgets whenever a library changes the filters, as Numba does."""
    warnings.warn(message, stacklevel=4)
