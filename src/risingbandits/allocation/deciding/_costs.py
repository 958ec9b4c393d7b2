"""Option: pulls as rounds of equal cost, so that a policy that counts rounds compares arms at the same cost.

A policy counts rounds, all of equal value. If pulls of one arm cost more than those of another, a round is what one
pull of the cheapest arm costs: a pull that costs k times as much is told to the policy as k rounds. For cumulative
reward, its reward is spread over them, so that arms are compared by reward per cost; rewards then count from the lower
end of their range or, if that is unknown, from the first one. For best-arm identification, each round has the level
that was reached, so that arms are compared at equal spending.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from risingbandits._core.types import Floats
from risingbandits.allocation._options import Option
from risingbandits.policies import Objective, Policy
from risingbandits.policies.default.auto import Auto

if TYPE_CHECKING:
    from risingbandits.allocation._ledger import Ledger
    from risingbandits.allocation.settings import Settings

_MOST_ROUNDS = 50.0  # that one pull is told as; if costs differ more, a round is several of the cheapest pulls
_WIDEST = 1000.0  # costs that differ more count as this
_FIRST_PULLS = 0.5  # the others' mean counts as many pulls of an arm, before it is seen how pulls of one arm differ
_SAME = 1e-12  # squared deviations, relative to the squared mean, that are rounding
_TOLERANCE = 0.1  # what a pull is told as may be so far from what is known by now
_SLACK = 1e-9
_SAYING = 1.5  # times that costs differ between arms before it is worth a sentence

_ARRAYS = ("pulls", "sums", "squares", "taken", "rate", "owed", "worth", "counted")
_NUMBERS = ("unit", "cheapest")


def shrunk_means(pulls: Floats, sums: Floats, squares: Floats) -> Floats:
    """What a pull of each arm costs: its mean, shrunk to that of the others by as much as pulls of one arm differ.

    An arm without a pull has the mean of the others; if arms differ only by chance, so have all.

    >>> shrunk_means(np.array([40.0, 40.0, 0.0]), np.array([40.0, 400.0, 0.0]), np.array([40.0, 4000.0, 0.0])).round(1)
    array([ 1. , 10. ,  5.5])
    """
    known = pulls > 0.0
    if not known.any():
        return np.ones_like(pulls)
    counts = pulls[known]
    own = sums[known] / counts
    mean = float(own.mean())
    means = np.full_like(pulls, mean)
    if own.size < 2:
        return means
    between = float(own.var(ddof=1))
    deviations = max(0.0, float((squares[known] - sums[known] ** 2 / counts).sum()))
    within = (deviations + _FIRST_PULLS * between) / (float((counts - 1.0).sum()) + 1.0)
    between -= within * float((1.0 / counts).mean())
    if between <= _SAME * mean * mean:
        return means
    weight = within / between
    means[known] = (sums[known] + weight * mean) / (counts + weight)
    return means


class Costs(Option):
    """How many rounds a pull of each arm is for the policy; all arrays are by the arm's number for the policy."""

    key = "costs"

    @classmethod
    def of(cls, settings: Settings, before: Costs | None) -> Costs | None:
        """Only where costs are compared."""
        return super().of(settings, before) if compares_costs(settings) else None

    def __init__(self, settings: Settings) -> None:
        self.earns = Objective.get(settings.objective).sums_rewards  # or the level that arms reach is what counts
        self.zero = None if self.earns and settings.reward_range is None else 0.0  # of rewards; None: the first one
        self.pulls = self.sums = self.squares = np.zeros(0)  # of this run, what they cost, and the squares of that
        self.taken = self.rate = np.ones(0)  # rounds that a pull is told as, and what its reward is multiplied by
        self.owed = self.worth = self.counted = np.zeros(0)  # rounds, rewards and pulls that are not told yet
        self.unit = self.cheapest = 1.0  # the costs of a round and of the cheapest arm's pull

    def settle(self, ledger: Ledger) -> None:
        """Fix how pulls are told, by what is known now, for a new run of a policy."""
        new = ledger.numbered[self.pulls.size :]  # whose pulls so far, if any, were told to another policy
        pulls = np.array([float(len(arm.rewards) - arm.warm) for arm in new])
        sums = np.array([arm.cost for arm in new])
        self.pulls, self.sums = np.append(self.pulls, pulls), np.append(self.sums, sums)
        self.squares = np.append(self.squares, sums**2 / np.maximum(1.0, pulls))
        self.owed, self.worth, self.counted = (np.zeros(len(ledger.numbered)) for _ in range(3))
        means = self._means()
        known = means[self.pulls > 0.0] if self.pulls.any() else means
        self.cheapest = float(known.min())
        self.unit = max(self.cheapest, float(known.max()) / _MOST_ROUNDS)
        self.taken, self.rate = self._told_as(means)

    def begin(self, policy: Policy) -> None:
        """Ask the policy once, so that one that draws an order draws the same whenever it is rebuilt."""
        policy.ask()

    def _means(self) -> Floats:
        means = shrunk_means(self.pulls, self.sums, self.squares)
        highest = float(means.max())
        return np.maximum(means, highest / _WIDEST) if highest > 0.0 else np.ones_like(means)

    def _told_as(self, means: Floats) -> tuple[Floats, Floats]:
        taken = np.minimum(means / self.unit, _MOST_ROUNDS)
        return taken, np.minimum(self.cheapest / means, 1.0) if self.earns else np.ones_like(means)

    def _take(self, arm: int, cost: float) -> None:
        """Take in what a pull cost."""
        self.pulls[arm] += 1.0
        self.sums[arm] += cost
        self.squares[arm] += cost * cost
        if self.pulls[arm] == 1.0:  # now something is known of its cost
            taken, rate = self._told_as(self._means())
            self.taken[arm], self.rate[arm] = taken[arm], rate[arm]

    def tell(self, policy: Policy, place: int, value: float, cost: float | None = None) -> None:
        """Tell a pull as rounds: none yet if it is only a part of one, each with the mean of the pulls in them."""
        if cost is not None:
            self._take(place, cost)
        if self.zero is None:
            self.zero = value
        self.owed[place] += self.taken[place]
        self.worth[place] += self.rate[place] * (value - self.zero)
        self.counted[place] += 1.0
        rounds = int(self.owed[place] + _SLACK)
        if rounds == 0:
            return
        mean = float(self.worth[place] / self.counted[place])
        self.owed[place] = max(0.0, self.owed[place] - rounds)
        self.worth[place] = self.counted[place] = 0.0
        for _ in range(rounds):
            policy.tell(place, mean)

    def is_stale(self) -> bool:
        """Whether costs have turned out different from those by which pulls are told."""
        known = self.pulls > 0.0
        means = self._means()
        cheapest = float(means[known].min())
        unit = max(cheapest, float(means[known].max()) / _MOST_ROUNDS)
        now = np.minimum(means[known] / unit, _MOST_ROUNDS) / self.taken[known]
        if self.earns:
            now = np.append(now, cheapest / means[known] / self.rate[known])
        return bool(now.max() > 1.0 + _TOLERANCE or now.min() < 1.0 / (1.0 + _TOLERANCE))

    def rounds(self, warm: Sequence[int]) -> tuple[int, float]:
        """Rounds of earlier runs, with ``warm`` pulls of each arm, and of this one."""
        return int(np.asarray(warm, dtype=np.float64) @ self.taken), float(self.pulls @ self.taken)

    # -- snapshots ----------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """As plain values for JSON."""
        plain: dict[str, Any] = {name: getattr(self, name).tolist() for name in _ARRAYS}
        return {**plain, **{name: getattr(self, name) for name in _NUMBERS}, "zero": self.zero}

    def restore(self, ledger: Ledger, plain: dict[str, Any]) -> None:
        """As `to_dict` was."""
        for name in _ARRAYS:
            setattr(self, name, np.array(plain[name], dtype=np.float64))
        self.unit, self.cheapest = (float(plain[name]) for name in _NUMBERS)
        self.zero = plain["zero"]


# -- what is said of costs -------------------------------------------------------------------------------------------


def cost_sentence(ledger: Ledger) -> str:
    """Whether costs that differ between arms are compared; empty if they do not differ.

    >>> from risingbandits.allocation import Allocator
    >>> allocator = Allocator(["a", "b"], budget=10, policy="round-robin")
    >>> for cost in (1.0, 10.0):
    ...     _ = allocator.tell(allocator.ask(), 0.5, cost)
    >>> cost_sentence(allocator.ledger)
    'costs differ by a factor of 10 between arms; a budget in pulls ignores them'
    """
    means = [arm.cost / (len(arm.rewards) - arm.warm) for arm in ledger.numbered if len(arm.rewards) > arm.warm]
    low, high = min(means, default=0.0), max(means, default=0.0)  # of a pull of the cheapest and the dearest arm
    if high <= 0.0 or high < _SAYING * low:
        return ""
    said = f"costs differ by a factor of {high / low:.2g} between arms" if low > 0.0 else "some arms cost nothing"
    return f"{said}; {cost_rule(ledger.settings)}"


def compares_costs(settings: Settings) -> bool:
    """Whether arms are compared by cost: for the default policy, where a budget is in cost or seconds."""
    return settings.policy.name == Auto.name and settings.budget.pulls is None


def cost_rule(settings: Settings) -> str:
    """What is done about costs that differ between arms."""
    if settings.budget.pulls is not None:
        return "a budget in pulls ignores them"
    if not compares_costs(settings):
        return f"policy {settings.policy.name} ignores them"
    summed = Objective.get(settings.objective).sums_rewards
    return f"arms are compared {'by reward per cost' if summed else 'at equal cost'}"
