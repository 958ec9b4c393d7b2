"""Which arm a slot gets if there are many arms with settings, and nothing is known about them from earlier runs.

A Gaussian process on the settings learns from the arms that were pulled in this run, and the most promising unopened
arm is opened next. It pays only to find the arm to keep among many: of few arms nearly all are opened anyway, and a
model of a few young arms is wrong about the others.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from risingbandits.allocation.arm_state import ArmState
from risingbandits.allocation.prior.gaussian_process import GaussianProcess, most_probable
from risingbandits.allocation.prior.scores import normal_scores
from risingbandits.allocation.slots import LEVEL_SHARE, RANDOM_EVERY, Binding, SlotRule, drawn, may_open
from risingbandits.allocation.starting.earlier_runs import plain_config as known_settings
from risingbandits.policies.base import Policy
from risingbandits.policies.config_points import Features
from risingbandits.policies.default.auto import Auto
from risingbandits.policies.objectives import Objective

MANY = 500  # arms with settings, from which on a model of them was shown to pay
_LEAST_ARMS = 8  # that a model is made of
_MOST_ARMS = 200  # the cost of a model grows with their third power
_ARMS_OF_FIT = 60  # for hyper-parameters
_MOST_CLOSED = 1000  # that are looked at
_STEP = 1.05  # a new model when the pulls have grown by this factor


def pays(policy: Policy, objective: str, configs: Mapping[str, Mapping[str, float | str]]) -> bool:
    """Whether arms are opened by a model of their settings.

    If that was shown to pay: many arms, to find the one to keep, with the recommended policy.

    >>> pays(Auto(), "best-arm", {f"arm {i}": {"lr": i / 500} for i in range(500)})
    True
    """
    if Objective.get(objective).sums_rewards or not isinstance(policy, Auto):
        return False
    known = [tuple(sorted(settings.items())) for settings in configs.values() if settings]
    return len(known) >= MANY and len(set(known)) > 1


def points_of_learning(told: int) -> int:
    """How many of the ``told`` pulls the present model uses: the last of 1, 2, 3, ... in steps of 5 %.

    So the model follows from the pulls and their order: a resumed run has the same as one that never stopped.

    >>> [points_of_learning(told) for told in (0, 1, 20, 21, 22, 23, 24, 1_000)]
    [0, 1, 20, 21, 21, 23, 23, 993]
    """
    point = 0
    while (following := max(point + 1, math.ceil(_STEP * point))) <= told:
        point = following
    return point


class _Learnt(NamedTuple):
    """What a model says about unopened arms."""

    told: int  # pulls that it is made of
    arms: Sequence[str] = ()  # the most promising first
    means: Sequence[float] = ()


class SettingsRule(SlotRule):
    """The rule: every fifth arm at random, and all of them until a model can be made.

    Examples
    --------
    >>> settings = {f"arm {i}": {"lr": i / 20} for i in range(20)}
    >>> arms = [ArmState(arm, i, None, ()) for i, arm in enumerate(settings)]
    >>> for arm in arms[::2]:
    ...     arm.rewards.append(arm.index / 20)
    >>> rule = SettingsRule(list(settings), settings, seed=0)
    >>> binding = rule.choose(arms[1::2], arms[::2], told=list(range(0, 20, 2)))
    >>> binding.arm.name, binding.reason, round(binding.score, 1)
    ('arm 19', 'settings', 1.5)
    """

    def __init__(self, arms: Sequence[str], configs: Mapping[str, Mapping[str, float | str]], seed: int) -> None:
        super().__init__(None, seed)
        known = [known_settings(f"settings of {arm}", configs.get(arm, {})) for arm in arms]
        self._rows = {arm: row for row, arm in enumerate(arms)}  # arms that are added later have none
        self._has = np.array([bool(settings) for settings in known])
        features = Features([settings for settings in known if settings])
        self._points, self._groups = features.points(known), features.groups()
        self._learnt = _Learnt(0)

    def choose(
        self,
        closed: Iterable[ArmState],
        opened: Iterable[ArmState],
        sign: float = 1.0,
        dropped: bool = False,
        told: Sequence[int] = (),
    ) -> Binding:
        """The next unopened (``closed``) arm that may be pulled; ``told`` are the arms of all pulls in order."""
        closed = list(closed)
        bound = [arm for arm in opened if arm.index >= 0]
        place = len(bound) + 1
        free = {arm.name: arm for arm in closed if may_open(arm)}
        if place % RANDOM_EVERY != 0:
            point = points_of_learning(len(told))
            if point != self._learnt.told:
                self._learnt = self._learn([*closed, *bound], sign, told[:point])
            for name, mean in zip(self._learnt.arms, self._learnt.means, strict=True):
                if name in free:
                    return Binding(free[name], "settings", mean)
        return Binding(list(free.values())[drawn(self.seed, place, len(free))], "random")

    def _learn(self, arms: Iterable[ArmState], sign: float, told: Sequence[int]) -> _Learnt:
        """What these pulls say about arms without pulls."""
        by_row = {self._rows[arm.name]: arm for arm in arms if arm.name in self._rows}
        pulls = Counter(told)
        known = [by_row[row] for row in self._shuffled(len(told)) if row in by_row and self._has[row]]
        seen = [arm for arm in known if arm.warm + pulls[arm.index]][:_MOST_ARMS]
        closed = [arm for arm in known if not arm.warm + pulls[arm.index]][:_MOST_CLOSED]
        if len(seen) < _LEAST_ARMS or not closed:
            return _Learnt(len(told))
        curves = [sign * np.array(arm.rewards[: arm.warm + pulls[arm.index]]) for arm in seen]
        scores = normal_scores(curves, LEVEL_SHARE)
        points = self._points[[self._rows[arm.name] for arm in seen]]
        hyper = most_probable(points[:_ARMS_OF_FIT], scores[:_ARMS_OF_FIT], self._groups)
        means, deviations = GaussianProcess(points, scores, self._groups, hyper).predict(
            self._points[[self._rows[arm.name] for arm in closed]]
        )
        # One deviation more, of what the arm is, not of what noise adds to it: a region that is unknown is looked at.
        hoped = means + np.sqrt(np.maximum(0.0, deviations**2 - math.exp(hyper[-1])))
        best_first = np.argsort(-hoped, kind="stable")
        means = means[best_first] + 0.0  # no -0.0, as everywhere in stores
        return _Learnt(len(told), [closed[i].name for i in best_first.tolist()], means.tolist())

    def _shuffled(self, point: int) -> list[int]:
        """All arms that the run began with, so that a part of them is any."""
        order: list[int] = np.random.default_rng([self.seed, 4, point]).permutation(len(self._has)).tolist()
        return order
