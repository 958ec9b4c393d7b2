"""What CommitEnsemble has of CommitUCB: settings, their checks, what a problem fills in, and a part of the state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from risingbandits._core.errors import RisingBanditsError, check_choice
from risingbandits._core.jit import interpreted
from risingbandits._core.types import Floats, Mask
from risingbandits.policies import reasons
from risingbandits.policies._kernels import histories, noise
from risingbandits.policies.base import Policy
from risingbandits.policies.commit import _batches, _lines, _widths
from risingbandits.policies.explanation import Moment

if TYPE_CHECKING:
    from risingbandits.problems import RisingBandit

_EQUAL = 1e-6  # of the cap: promises that differ by less are shown as equal


class CommitFamily(Policy):
    """Base of the policies that bound the future of arms by lines and play them in batches."""

    batched = True
    kinds: ClassVar[dict[str, int]] = {"gaussian": _widths.GAUSSIAN, "kl": _widths.KL}  # of widths
    arm_type: ClassVar[np.dtype[Any]] = _batches.ARMS

    # Settings that all have, with defaults of their own.
    sigma: float | str | None
    widths: str
    cap: float
    recheck: float
    growth: float
    max_odds: float
    lookahead: float
    confidence: float | None

    def validate(self) -> None:
        super().validate()
        if self.sigma is not None:
            noise.check_sigma("sigma", self.sigma)
        check_choice("widths", self.widths, ("auto", *self.kinds))
        if self.cap > 1.0 and self.kind() != _widths.GAUSSIAN:
            raise RisingBanditsError(f"cap must be at most 1 with widths for rewards in [0, 1], got {self.cap}.")

    def kind(self) -> int:
        """Which widths the lines have."""
        return self.kinds.get(self.widths, _widths.GAUSSIAN)

    def for_problem(self, problem: RisingBandit, horizon: int) -> Self:
        changes: dict[str, Any] = {}
        if self.sigma is None:
            changes["sigma"] = problem.sigma
        if self.widths == "auto" and self.kind() == _widths.GAUSSIAN and problem.noise.mean_range is not None:
            changes["widths"] = "kl"
        return self.replace(**changes) if changes else self

    def shared_state(self, n_arms: int, horizon: int | None, capacity: int) -> dict[str, Any]:
        """The fields that the states of all have."""
        confidence = 0.0 if self.confidence is None else float(self.confidence)
        run = _batches.new_run(n_arms, horizon, capacity, float(self.growth), confidence, self.arm_type)
        kind = self.kind()
        return {
            "kind": kind,
            "sigma": 0.5 if self.sigma is None or isinstance(self.sigma, str) else float(self.sigma),
            "cap": float(self.cap),
            "growth": float(self.growth),
            "max_odds": float(self.max_odds),
            "recheck": float(self.recheck),
            "lookahead": float(self.lookahead),
            "confidence": confidence,
            **run,
        }

    def make_room(self, state: Any, capacity: int) -> None:
        histories.make_room(state.pool, self.n_arms, capacity)

    def ask(self, available: Sequence[bool] | Mask = None) -> int:
        if available is None and self._state is not None:  # inside a batch the answer is known
            arm = int(self._state.run["arm"][0])
            if arm >= 0:
                return arm
        return super().ask(available)

    def filled(self, state: Any, t: int) -> tuple[Any, float]:
        """A state with the lines as a decision at round t sees them, and the rounds left; for `parts`."""
        state = state._replace(arms=state.arms.copy())
        remaining = interpreted(_batches.remaining_rounds)(state, t)
        with np.errstate(invalid="ignore"):
            interpreted(_batches.fill)(state, remaining)
        return state, remaining

    def why_next(self, at: Moment) -> str:
        if not at.pulls[at.arm]:
            return reasons.NEVER_PULLED
        b = int(np.nanargmax(at.parts["sure"]))
        if at.state.run["second_chance"][0] and at.state.run["arm"][0] == at.arm != b:
            return "a second look at an arm that was idle for a long time"
        if at.arm == b:
            return "the incumbent: no rival promises more than trying it costs"
        own, rival = (self.promise(at, arm) for arm in (b, at.arm))
        if rival < own - _EQUAL * self.cap:
            return "the best of the arms that are free"
        if rival <= own + _EQUAL * self.cap:
            return f"may still pay as much as the incumbent, up to {at.units.level(rival)} a pull"
        return f"may pay up to {at.units.level(rival)} a pull from here on, the incumbent {at.units.level(own)}"

    def promise(self, at: Moment, arm: int) -> float:
        """What committing to an arm could pay, by the columns of `explain`."""
        return float(at.parts["commit value"][arm])

    def levels(self, state: Any) -> Floats:
        """An estimate of what each arm gives now: the mean of the last quarter of its rewards; NaN without any."""
        pulls, mean = state.arms["pulls"], interpreted(_lines.block_mean)
        found = np.full(pulls.size, np.nan)
        for arm in np.flatnonzero(pulls > 0):
            n = int(pulls[arm])
            found[arm] = mean(state.pool, state.places[arm, 0], n - (n + 3) // 4, n, state.kind)
        return found
