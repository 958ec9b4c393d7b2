"""Option: what a further worker does while the policy's choice is in flight.

An arm has at most one pull at a time. For cumulative reward, a worker that cannot have the policy's choice has a
problem of its own: the arms that are not in flight, and its share of the remaining rounds. A policy that takes workers
into account solves it, knowing all arms; otherwise the same policy does, told only about the free arms. So a worker
explores while that pays, and does not just pull the second-best arm.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from risingbandits._core.errors import check_choice
from risingbandits.allocation._arm_state import ArmState
from risingbandits.allocation._options import Option, Setting
from risingbandits.allocation.deciding._costs import Costs
from risingbandits.policies import Objective, Policy
from risingbandits.policies._settings import or_none
from risingbandits.policies.default.auto import Auto

if TYPE_CHECKING:
    from risingbandits.allocation._ledger import Ledger
    from risingbandits.allocation.settings import Settings

_STEP = 1.05  # horizons are rounded to powers of it, so that a policy serves for many questions
_MOST_KEPT = 8  # policies that are kept for the next question


class _Kept:
    """A policy for some arms, and how much of the log it was told. Only copies of it are asked."""

    def __init__(self, ledger: Ledger, places: tuple[int, ...], horizon: int) -> None:
        self.horizon, self.rebuilds = horizon, ledger.rebuilds
        self._number = {place: number for number, place in enumerate(places)}
        self._next: dict[int, int] = {}  # by arm: the pull that is told next
        self._read = 0  # of the told pulls
        self._policy = ledger.settings.policy.replace().reset(len(places), horizon, seed=[ledger.settings.seed, 0, 0])
        costs = ledger.option(Costs)
        self._costs = None if costs is None else costs.apart()
        warm = [ledger.numbered[place] for place in places]
        for n in range(max((arm.warm for arm in warm), default=0)):
            for arm in warm:
                if n < arm.warm:
                    self._say(ledger, arm, n)

    def _say(self, ledger: Ledger, arm: ArmState, n: int) -> None:
        value = (arm.rewards[n] - ledger.zero) / ledger.span + 0.0
        if self._costs is None:
            self.tell(arm.place, value)
        else:
            self._costs.tell(self, arm.place, value)

    def tell(self, place: int, value: float, /) -> None:
        """One round, by the arm's number for the policy of all arms."""
        self._policy.tell(self._number[place], value)

    def up_to_date(self, ledger: Ledger) -> Policy:
        """A copy that knows all that is told by now."""
        for index in ledger.told_arms[self._read :]:
            arm = ledger.arms[index]
            if arm.place in self._number:
                n = self._next.get(index, arm.warm)
                self._say(ledger, arm, n)
                self._next[index] = n + 1
        self._read = len(ledger.told_arms)
        return self._policy.clone()


class Workers(Option):
    """Decides for workers whose arm is in flight. Its cache only saves time: answers follow from the log alone."""

    key = "workers"
    arguments: ClassVar = {
        "parallel": Setting(None, or_none(partial(check_choice, allowed=("joint", "fill"))), extends=True)
    }

    @classmethod
    def fill_in(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        """Workers decide jointly by default with the default policy."""
        return {"parallel": values["parallel"] or ("joint" if values["policy"].name == Auto.name else "fill")}

    @classmethod
    def of(cls, settings: Settings, before: Workers | None) -> Workers | None:
        """None for best-arm identification: there, policies name the next arm of a comparison themselves."""
        sums = Objective.get(settings.objective).sums_rewards
        return cls() if sums and settings.options["parallel"] == "joint" else None

    def __init__(self) -> None:
        self._kept: dict[tuple[int, ...], _Kept] = {}

    def choose(self, ledger: Ledger) -> ArmState | None:
        """The policy's choice among all arms or, if that is in flight, the choice of one for the free arms."""
        if ledger.policy.expect_workers(len(ledger.in_flight) + 1):
            return None
        if not ledger.in_flight:
            return None
        arm = ledger.numbered[ledger.policy.ask(ledger.eligible.mask())]
        if arm.flight is None:
            return arm
        places = tuple(place for place, other in enumerate(ledger.numbered) if other.eligible and other.flight is None)
        horizon = share_of_rounds(ledger, places)
        kept = self._kept.pop(places, None)
        if kept is None or (kept.horizon, kept.rebuilds) != (horizon, ledger.rebuilds):
            kept = _Kept(ledger, places, horizon)
        self._kept[places] = kept
        if len(self._kept) > _MOST_KEPT:
            del self._kept[next(iter(self._kept))]
        return ledger.numbered[places[kept.up_to_date(ledger).ask()]]


def share_of_rounds(ledger: Ledger, places: tuple[int, ...]) -> int:
    """Rounds that the policy of these arms plans for: those that they have had, and the worker's share of the rest.

    Rounded to a power of 1.05, so that it seldom changes.
    """
    policy = ledger.policy
    known = int(policy.pulls[list(places)].sum())
    left = max(1, (policy.horizon or 0) - policy.rounds - len(ledger.in_flight))
    whole = known + math.ceil(left / (len(ledger.in_flight) + 1))
    return max(known + 1, round(_STEP ** round(math.log(whole, _STEP))))
