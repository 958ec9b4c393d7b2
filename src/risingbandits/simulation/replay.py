"""What policies would have done with recorded learning curves: a pull reveals the next value of an arm's curve.

Everything that a pull can show has been recorded, so nothing is simulated but the policy. The order in which arms are
listed matters to most policies; ``orders`` random ones show how much.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from risingbandits._core.errors import (
    RisingBanditsError,
    check_choice,
    check_finite,
    check_positive_int,
    check_range,
    shown,
)
from risingbandits._core.types import Floats, Ints
from risingbandits.policies import Policy
from risingbandits.policies.base import DIRECTIONS
from risingbandits.problems import Gaussian, RisingBandit
from risingbandits.simulation.run import Policies, labelled_policies

__all__ = ["Replay", "noise_of_curves", "replay"]


_FINAL_SHARE = 0.05  # of a curve, whose mean is what the arm is worth in the end
_LEAST_SIGMA = 0.001


@dataclass(frozen=True)
class Replay:
    """Outcome of `replay`; R orders, K arms in the order of the curves. Rewards are as recorded.

    Attributes
    ----------
    arms : tuple of str
        Names of the arms.
    budget : int
        Pulls that each policy had.
    direction : str
        "maximize" or "minimize".
    sigma : float
        Noise level, in units of the reward range, that policies without one of their own were given.
    pulls : dict of (R, K) arrays
        What each policy spent on each arm.
    reward : dict of (R,) arrays
        Mean reward of its pulls.
    recommended : dict of (R,) arrays
        The arm that it would keep.
    best_constant : float
        Mean reward of the best single arm over the budget, or up to its end where that comes first.
    final : (K,) array
        What each arm is worth in the end: the mean of the last 5 % of its curve, of at least one value.
    """

    arms: tuple[str, ...]
    budget: int
    direction: str
    sigma: float
    pulls: dict[str, Ints]
    reward: dict[str, Floats]
    recommended: dict[str, Ints]
    best_constant: float
    final: Floats

    @property
    def orders(self) -> int:
        """Number of arm orders R."""
        return len(next(iter(self.reward.values())))

    @property
    def best_arm(self) -> int:
        """The arm that is worth most in the end."""
        return int(np.argmax(self._sign * self.final))

    def regret(self, label: str) -> Floats:
        """What the best single arm has beyond the policy, per pull, in each order; negative where the policy has more.

        The latter is possible only where curves fall or where arms end within the budget.
        """
        short: Floats = self._sign * (self.best_constant - self.reward[label])
        return short

    def recommendation_regret(self, label: str) -> Floats:
        """How much worse the recommended arm is in the end than the best one, in each order."""
        short: Floats = self._sign * (self.final[self.best_arm] - self.final)
        return short[self.recommended[label]]

    @property
    def _sign(self) -> int:
        return 1 if self.direction == "maximize" else -1


def replay(
    curves: Mapping[str, Sequence[float]],
    policies: Policies,
    budget: int,
    *,
    orders: int = 1,
    seed: int = 0,
    direction: str = "maximize",
    reward_range: tuple[float, float] = (0.0, 1.0),
    sigma: float | None = None,
    max_arms: int | None = None,
    ended: str = "mask",
) -> Replay:
    """Let every policy spend ``budget`` pulls on recorded curves.

    Parameters
    ----------
    curves : dict of name -> values
        One curve for each arm, one value for each pull; they may differ in length.
    policies : policy, name, sequence of these, or dict of label -> policy
        As for `simulate`. A policy whose ``sigma`` is None gets that of the curves.
    budget : int
        Pulls; a replay ends earlier where no arm has a value left.
    orders : int
        Orders of the arms: the first one as given, all others random.
    seed : int
        Decides the orders and the draws of randomised policies.
    direction : "maximize" or "minimize"
        Whether large or small values are good.
    reward_range : pair of float
        Least and greatest possible value; policies see it as 0 to 1.
    sigma : float, optional
        Noise of one value, in its own unit; by default `noise_of_curves`.
    max_arms : int, optional
        Only the first so many arms of an order are used; by default all.
    ended : "mask" or "pay"
        An arm at the end of its curve cannot be pulled any more ("mask"), or goes on with its final value ("pay").

    Examples
    --------
    >>> curves = {"fast": [0.5] * 40, "slow": [0.02 * n for n in range(40)]}
    >>> outcome = replay(curves, ["commit-ucb", "round-robin"], budget=40)
    >>> outcome.pulls["round-robin"].tolist()
    [[20, 20]]
    >>> outcome.arms[outcome.best_arm], round(outcome.best_constant, 3)
    ('slow', 0.5)
    """
    names, scaled = _scaled(curves, direction, reward_range)
    budget = check_positive_int("budget", budget)
    orders = check_positive_int("orders", orders)
    seed = check_positive_int("seed", seed, minimum=0)
    opened = len(names) if max_arms is None else min(check_positive_int("max_arms", max_arms), len(names))
    check_choice("ended", ended, ("mask", "pay"))
    chosen = labelled_policies(policies)
    unit = reward_range[1] - reward_range[0]
    noise = noise_of_curves(scaled) if sigma is None else check_finite("sigma", sigma, minimum=0.0) / unit

    finals = np.array([_final(curve) for curve in scaled])
    if ended == "pay":
        scaled = [_prolonged(curve, value, budget) for curve, value in zip(scaled, finals, strict=True)]
    pulls: dict[str, Ints] = {label: np.zeros((orders, len(names)), np.int64) for label in chosen}
    earned: dict[str, Floats] = {label: np.zeros(orders) for label in chosen}
    kept: dict[str, Ints] = {label: np.zeros(orders, np.int64) for label in chosen}
    for number in range(orders):
        order = _order(len(names), number, seed)[:opened]
        listed = [scaled[arm] for arm in order]
        for label, policy in chosen.items():
            counts, total, recommended = _play(policy, listed, budget, noise, (seed, number))
            pulls[label][number, order] = counts
            earned[label][number] = total / counts.sum()
            kept[label][number] = order[recommended]
    means = np.array([curve[:budget].mean() for curve in scaled])
    recorded = _Recorded(direction, reward_range)
    return Replay(
        arms=names,
        budget=budget,
        direction=direction,
        sigma=noise,
        pulls=pulls,
        reward={label: recorded.value(values) for label, values in earned.items()},
        recommended=kept,
        best_constant=float(recorded.value(means.max())),
        final=recorded.value(finals),
    )


def noise_of_curves(curves: Sequence[npt.ArrayLike]) -> float:
    """Noise of one value from second differences, which a smooth curve hardly has; at least 0.001.

    The root mean square of the second differences over the last two thirds of all curves, divided by sqrt 6: that is
    the standard deviation of independent noise around straight lines.

    >>> rng = np.random.default_rng(0)
    >>> round(noise_of_curves([np.linspace(0, 1, 3000) + rng.normal(0, 0.02, 3000)]), 4)
    0.0202
    """
    tails = [values[len(values) // 3 :] for values in map(np.asarray, curves)]
    seconds = [np.diff(tail, n=2) for tail in tails if len(tail) >= 3]
    if not seconds:
        return _LEAST_SIGMA
    return max(float(np.sqrt(np.mean(np.concatenate(seconds) ** 2) / 6)), _LEAST_SIGMA)


@dataclass(frozen=True)
class _Recorded:
    """The way from rewards in [0, 1], where more is better, back to recorded values."""

    direction: str
    reward_range: tuple[float, float]

    def value(self, scaled: Any) -> Any:
        low, high = self.reward_range
        return low + scaled * (high - low) if self.direction == "maximize" else high - scaled * (high - low)


def _scaled(
    curves: Mapping[str, Sequence[float]], direction: str, reward_range: tuple[float, float]
) -> tuple[tuple[str, ...], list[Floats]]:
    """Names and curves in [0, 1], more is better."""
    check_choice("direction", direction, DIRECTIONS)
    low, high = check_range("reward_range", reward_range)
    if not isinstance(curves, Mapping) or not curves:
        raise RisingBanditsError(f"curves must be a dict with at least one arm and its values, got {shown(curves)}.")
    scaled = []
    for name, values in curves.items():
        try:
            curve = np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError):
            curve = np.empty(0)
        if curve.ndim != 1 or curve.size == 0 or not np.isfinite(curve).all():
            raise RisingBanditsError(f"curves[{name!r}] must be a list of finite numbers, got {shown(values)}.")
        if curve.min() < low or curve.max() > high:
            raise RisingBanditsError(
                f"curves[{name!r}] must lie in the reward range, {low:g} to {high:g}, "
                f"has {curve.min():g} to {curve.max():g}: give the range of the values."
            )
        scaled.append((curve - low) / (high - low) if direction == "maximize" else (high - curve) / (high - low))
    return tuple(str(name) for name in curves), scaled


def _final(curve: Floats) -> float:
    return float(curve[-max(1, math.ceil(_FINAL_SHARE * len(curve))) :].mean())


def _prolonged(curve: Floats, final: float, length: int) -> Floats:
    return np.concatenate([curve, np.full(max(0, length - len(curve)), final)])


def _order(n_arms: int, number: int, seed: int) -> Ints:
    if number == 0:
        return np.arange(n_arms)
    return np.random.default_rng([seed, number]).permutation(n_arms)


def _play(
    policy: Policy, curves: Sequence[Floats], budget: int, sigma: float, seed: tuple[int, int]
) -> tuple[Ints, float, int]:
    """Pulls of each arm, sum of the rewards and the recommended arm of one policy on curves in this order."""
    lengths = [len(curve) for curve in curves]
    rounds = min(budget, sum(lengths))
    problem = RisingBandit.from_array(curves, noise=Gaussian(sigma), horizon=rounds)
    playing = policy.for_problem(problem, rounds).clone().reset(len(curves), rounds, seed)
    values = [curve.tolist() for curve in curves]  # plain floats: looking one up in an array costs ten times as much
    counts = [0] * len(curves)
    available: npt.NDArray[np.bool_] | None = None  # None while no arm has ended, which is quicker
    total = 0.0
    for _ in range(rounds):
        arm = playing.ask(available)
        reward = values[arm][counts[arm]]
        counts[arm] += 1
        total += reward
        playing.tell(arm, reward)
        if counts[arm] == lengths[arm]:
            available = np.ones(len(curves), dtype=np.bool_) if available is None else available
            available[arm] = False
    return np.array(counts), total, playing.recommend()
