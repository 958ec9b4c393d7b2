"""Which arm a slot gets when it is first asked for, if arms are opened in the order of the beliefs about them.

Pure: what is decided here follows from the prior, the seed and what the opened arms have shown. It is kept as an event,
so that a replay does not decide again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

import numpy as np

from risingbandits._core.types import Floats
from risingbandits.allocation.arm_state import ArmState
from risingbandits.allocation.prior.scores import normal_scores
from risingbandits.allocation.starting.prior import Prior

RANDOM_EVERY = 5  # every n-th opened arm is drawn at random, to detect a wrong prior
_YARDSTICK = 3  # the second arm is a third down the order: it costs little, and detects a wrong prior
_WEIGHT = 4.0  # of the trust that is there from the start, in arms
_LEAST_VARIANCE = 0.05  # of the means, for that weight
_MOST_TRUST = 1.5
_LEAST_TRUST, _LEAST_ARMS = 0.25, 8  # with less trust after this many arms the prior is dropped
LEVEL_SHARE = 1 / 3  # of a young curve, whose mean is its level
DROPPED = "dropped"


class Binding(NamedTuple):
    """An arm for a slot."""

    arm: ArmState
    reason: str  #: "prior", "yardstick", "settings", "random", "given" or "dropped: ..."
    score: float | None = None  #: the mean of the belief about it
    trust: float | None = None  #: how far the opened arms confirm the prior: 1 fully, 0 not at all


class SlotRule:
    """The rule. Without a prior, arms are opened in the given order.

    Examples
    --------
    >>> from risingbandits.allocation.starting.prior import Belief
    >>> rule = SlotRule(Prior({"good": Belief(0.9, 0.5, "3 tasks")}), seed=0)
    >>> arms = [ArmState("stranger", 0, None, ()), ArmState("good", 1, None, ())]
    >>> rule.choose(arms, opened=[])[0].name
    'good'
    """

    def __init__(self, prior: Prior | None, seed: int) -> None:
        self.prior, self.seed = prior, seed

    def choose(
        self,
        closed: Iterable[ArmState],
        opened: Iterable[ArmState],
        sign: float = 1.0,
        dropped: bool = False,
        told: Sequence[int] = (),
    ) -> Binding:
        """The next of the unopened (``closed``) arms that may be pulled, given what the ``opened`` ones have shown.

        ``sign`` is -1 for losses; ``dropped`` says that the prior was, before; ``told`` are the arms of all pulls.
        """
        closed = [arm for arm in closed if may_open(arm)]
        if self.prior is None:
            return Binding(closed[0], "given")
        bound = [arm for arm in opened if arm.index >= 0]
        trust = self.trust(bound, sign)
        seen = sum(len(arm.rewards) > 0 for arm in bound)
        drop = dropped or (trust < _LEAST_TRUST and seen >= _LEAST_ARMS)
        arm, reason = next(self.order(closed, len(bound), drop))
        if drop:
            reason = DROPPED if dropped else f"{DROPPED}: {seen} arms contradict the prior (confirmed {trust:.2g})"
        return Binding(arm, reason, self.prior.of(arm.name).mean, trust)

    def order(self, closed: Iterable[ArmState], opened: int, dropped: bool = False) -> Iterator[tuple[ArmState, str]]:
        """The unopened arms in the order in which they would be opened after ``opened`` others, and why."""
        left = list(closed)
        if self.prior is None:
            yield from ((arm, "given") for arm in left)
            return
        means = [self.prior.of(arm.name).mean for arm in left]
        numbers = [arm.index for arm in left]
        # By the number of the arm, so that one that is added leaves the others as they are.
        ties = np.random.default_rng([self.seed, 3]).random(1 + max(numbers, default=0))
        best_last = np.lexsort((ties[numbers], np.negative(means)))[::-1]  # where a list is quickly taken from
        left = [left[i] for i in best_last.tolist()]
        while left:
            opened += 1
            at, reason = 0, "prior"
            if opened == 2 and not dropped:
                at, reason = len(left) // _YARDSTICK, "yardstick"
            elif dropped or opened % RANDOM_EVERY == 0:
                at = drawn(self.seed, opened, len(left))
                reason = DROPPED if dropped else "random"
            yield left.pop(-1 - at), reason

    def trust(self, opened: Iterable[ArmState], sign: float = 1.0) -> float:
        """How far the opened arms confirm the prior: least squares of their scores on the beliefs about them."""
        told = [arm for arm in opened if len(arm.rewards)]
        if self.prior is None or len(told) < 2:
            return 1.0
        believed = np.array([self.prior.of(arm.name).mean for arm in told])
        ages = np.array([len(arm.rewards) for arm in told], dtype=float)
        weights = np.minimum(1.0, ages / np.median(ages))
        scores = normal_scores([sign * np.array(arm.rewards) for arm in told], LEVEL_SHARE)
        start = _WEIGHT * max(_LEAST_VARIANCE, float(believed.var()))
        believed -= believed.mean()
        shown = start + float(weights @ (scores * believed))
        return min(_MOST_TRUST, max(0.0, shown / (start + float(weights @ believed**2))))

    def beliefs(self, opened: Sequence[ArmState], closed: Sequence[ArmState], dropped: bool) -> tuple[Floats, Floats]:
        """Means and deviations of the beliefs about slots, by the arms that they have or would get.

        They do not include how far they are confirmed: policies that use beliefs judge that themselves.
        """
        if self.prior is None or dropped:
            return np.zeros(len(opened)), np.ones(len(opened))
        count = sum(arm.index >= 0 for arm in opened)
        following = self.order((arm for arm in closed if may_open(arm)), count)
        waiting = chain((arm for arm, _ in following), (arm for arm in closed if arm.masked and arm.retired is None))
        arms = [slot if slot.index >= 0 else next(waiting, slot) for slot in opened]
        known = [self.prior.of(arm.name) for arm in arms]
        return np.array([belief.mean for belief in known]), np.array([belief.deviation for belief in known])


@lru_cache(maxsize=1 << 14)  # after each opening the same draws lie ahead, and a generator costs more than all the rest
def drawn(seed: int, opened: int, count: int) -> int:
    """Which of ``count`` arms is opened, if that is random."""
    return int(np.random.default_rng([seed, 2, opened]).integers(count))


def new_slot(place: int) -> ArmState:
    """A number for the policy that has no arm yet."""
    slot = ArmState("", -1, None, ())
    slot.place = place
    return slot


def may_open(arm: ArmState) -> bool:
    return arm.retired is None and not arm.masked
