"""What policies would have done with recorded learning curves: a pull reveals the next value of an arm's curve.

Everything that a pull can show has been recorded, so only the policy is simulated: a run of the engine without noise.
The order in which arms are listed matters to most policies; ``orders`` random ones show how much.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from risingbandits._core.entry_points import EntryPoint
from risingbandits._core.errors import RisingBanditsError, check_choice, check_positive_int, check_range, shown
from risingbandits._core.jit import bound_kernel
from risingbandits._core.types import Floats, Ints, Rng
from risingbandits.logs.curves import Curves
from risingbandits.policies import Policy
from risingbandits.policies.base import DIRECTIONS, Kernels
from risingbandits.policies.objectives import DEFAULT, Objective
from risingbandits.problems import Gaussian, NoNoise, RisingBandit
from risingbandits.simulation._engine import Run, Runner, loop
from risingbandits.simulation.run import Policies, labelled_policies

if TYPE_CHECKING:
    from risingbandits.logs.advice import Advice

_FINAL_SHARE = 0.05  # of a curve, whose mean is what the arm is worth in the end
_LEAST_SIGMA = 0.001
_SECONDS_PER_ROUND, _SECONDS_PER_ARM = 3e-5, 3e-6  # in plain Python, about


class Course(NamedTuple):
    """One policy in one order, pull by pull; arms in the order of the curves."""

    pulled: Ints  #: the arm of each pull
    kept: Ints  #: the arm that the policy would have kept after each pull


@dataclass(frozen=True)
class Stage:
    """What a replay is played on: curves in [0, 1], where more is better, and everything else that decides it."""

    curves: Sequence[Floats]
    policies: Mapping[str, Policy]
    budget: int
    seed: int
    noise: float

    def order(self, number: int) -> Ints:
        """The arms of an order; number 0 is as given."""
        return _order(len(self.curves), number, self.seed)

    def problem(self, order: Ints) -> RisingBandit:
        """The problem as policies are told: its noise is what they assume, not what they get."""
        listed = [self.curves[arm] for arm in order]
        return RisingBandit.from_array(
            listed, noise=Gaussian(self.noise), horizon=min(self.budget, sum(map(len, listed)))
        )


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
        The arm that it would recommend.
    best_constant : float
        Mean reward of the best single arm over the budget, or up to its end where that comes first.
    final : (K,) array
        What each arm is worth in the end: the mean of the last 5 % of its curve, of at least one value.
    lengths : (K,) array
        Values that were recorded of each arm.
    unit : float
        Width of the reward range.
    stage : Stage
        What it was played on, to play one order again.
    objective : str
        The name of what the policies played for.
    hours : dict of name -> values
        Since the start of the run, for each value, if the loaded curves have times.
    low : float
        Lower end of the reward range.
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
    lengths: Ints
    unit: float
    stage: Stage
    objective: str = DEFAULT.name
    hours: Mapping[str, Floats] = field(default_factory=dict)
    low: float = 0.0

    @property
    def orders(self) -> int:
        """Number of arm orders R."""
        return len(next(iter(self.reward.values())))

    @property
    def best_arm(self) -> int:
        """The arm that is worth most in the end."""
        return int(np.argmax(self._sign * self.final))

    def regret(self, label: str) -> Floats:
        """How much more reward the best single arm has than the policy, per pull, in each order; may be negative.

        That is possible only if curves fall or arms end within the budget.
        """
        short: Floats = self._sign * (self.best_constant - self.reward[label])
        return short

    def recommendation_regret(self, label: str) -> Floats:
        """How much worse the recommended arm is in the end than the best one, in each order."""
        short: Floats = self._sign * (self.final[self.best_arm] - self.final)
        return short[self.recommended[label]]

    @property
    def advice(self) -> Advice:
        """Which policy to use, and why, in words."""
        from risingbandits.logs.advice import advise

        return advise(self)

    def recorded(self, values: npt.ArrayLike) -> Floats:
        """Values of the stage, in [0, 1] and more is better, as they were recorded."""
        scaled = np.asarray(values, dtype=np.float64)
        found: Floats = self.low + self.unit * (scaled if self.direction == "maximize" else 1.0 - scaled)
        return found

    def course(self, label: str, order: int = 0) -> Course:
        """How a policy went through an order, pull by pull."""
        listed = self.stage.order(order)
        told = self.stage.problem(listed)
        rounds = check_positive_int("budget", told.horizon)
        policy = self.stage.policies[label]._for_problem(told, rounds).replace()
        policy.reset(len(listed), rounds, (self.stage.seed, order))
        limits = np.array([len(self.stage.curves[arm]) for arm in listed])
        policy._expect_lengths(limits)
        counts = np.zeros(len(listed), np.int64)
        pulled, kept = np.zeros(rounds, np.int64), np.zeros(rounds, np.int64)
        for t in range(rounds):
            available = counts < limits
            arm = policy.ask(None if available.all() else available)
            policy.tell(arm, float(self.stage.curves[listed[arm]][counts[arm]]))
            counts[arm] += 1
            pulled[t], kept[t] = listed[arm], listed[policy.recommend()]
        return Course(pulled, kept)

    @property
    def _sign(self) -> int:
        return 1 if self.direction == "maximize" else -1


def replay(
    curves: Mapping[str, npt.ArrayLike] | Curves,
    policies: Policies | None = None,
    budget: int | None = None,
    *,
    objective: str | Objective = DEFAULT.name,
    orders: int = 1,
    seed: int = 0,
    direction: str | None = None,
    reward_range: tuple[float, float] | None = None,
) -> Replay:
    """Let every policy spend ``budget`` pulls on recorded curves; an arm cannot be pulled beyond the end of its own.

    Parameters
    ----------
    curves : dict of name -> values, or what `load_curves` has found
        One curve for each arm, one value for each pull; they may differ in length.
    policies : policy, name, sequence of these, or dict of label -> policy
        As for `simulate`. A policy whose ``sigma`` is None gets `noise_of_curves`. By default `auto`, other policies
        of this package and common alternatives.
    budget : int, optional
        Pulls; a replay ends earlier if no arm has a value left. By default a quarter of all values.
    objective : {"best-arm", "cumulative"} or Objective
        What policies are compared by, and what those given by name play for if that is one of their parameters.
    orders : int
        Orders of the arms: the first one as given, all others random.
    seed : int
        Decides the orders and the draws of randomised policies.
    direction : "maximize" or "minimize"
        Whether large or small values are good; by default as loaded, else large ones.
    reward_range : pair of float
        Least and greatest possible value; policies see it as 0 to 1, which is also the default. Loaded curves that lie
        elsewhere have their own least and greatest value.

    Examples
    --------
    >>> curves = {"fast": [0.5] * 40, "slow": [0.02 * n for n in range(40)]}
    >>> outcome = replay(curves, ["commit-ucb", "round-robin"], budget=40)
    >>> outcome.pulls["round-robin"].tolist()
    [[20, 20]]
    >>> outcome.arms[outcome.best_arm], round(outcome.best_constant, 3)
    ('slow', 0.5)
    """
    played_curves, direction, low, high = _given_curves(curves, direction, reward_range)
    names, scaled = tuple(played_curves), list(played_curves.values())
    objective = Objective.get(objective)
    budget = max(1, sum(map(len, scaled)) // 4) if budget is None else check_positive_int("budget", budget)
    orders = check_positive_int("orders", orders)
    seed = check_positive_int("seed", seed, minimum=0)
    chosen = labelled_policies(objective.replayed if policies is None else policies, objective)
    unit = high - low

    def recorded(value: Any) -> Any:
        """From [0, 1], where more is better, back to what was recorded."""
        return low + value * unit if direction == "maximize" else high - value * unit

    noise = noise_of_curves(scaled)
    finals = np.array([_final(curve) for curve in scaled])
    lengths = np.array([len(curve) for curve in scaled])
    stage = Stage(scaled, chosen, budget, seed, noise)
    pulls: dict[str, Ints] = {label: np.zeros((orders, len(names)), np.int64) for label in chosen}
    earned: dict[str, Floats] = {label: np.zeros(orders) for label in chosen}
    kept: dict[str, Ints] = {label: np.zeros(orders, np.int64) for label in chosen}
    for number in range(orders):
        order = stage.order(number)
        told = stage.problem(order)
        rounds = check_positive_int("budget", told.horizon)
        played = told.with_noise(NoNoise())
        for label, policy in chosen.items():
            run = _play(policy._for_problem(told, rounds).replace(), played, (seed, number))
            pulls[label][number, order] = run.pulls
            earned[label][number] = run.gained[-1] / rounds
            kept[label][number] = order[run.recommended]
    means = np.array([curve[:budget].mean() for curve in scaled])
    return Replay(
        arms=names,
        budget=budget,
        direction=direction,
        sigma=noise,
        pulls=pulls,
        reward={label: recorded(values) for label, values in earned.items()},
        recommended=kept,
        best_constant=float(recorded(means.max())),
        final=recorded(finals),
        lengths=lengths,
        unit=unit,
        stage=stage,
        objective=objective.name,
        hours=curves.hours if isinstance(curves, Curves) else {},
        low=low,
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


def _final(curve: Floats) -> float:
    return float(curve[-max(1, math.ceil(_FINAL_SHARE * len(curve))) :].mean())


def _order(n_arms: int, number: int, seed: int) -> Ints:
    if number == 0:
        return np.arange(n_arms)
    return np.random.default_rng([seed, number]).permutation(n_arms)


def _play(policy: Policy, problem: RisingBandit, seed: tuple[int, int]) -> Run:
    """One run on recorded curves until its horizon."""
    policy._validate()
    rounds = check_positive_int("budget", problem.horizon)
    runner = Runner(policy, problem, rounds, np.array([rounds]), after_end="stop")
    if not policy._compiles:
        return runner.play_seeded(np.random.SeedSequence(0), seed)
    entry = _loop(policy._kernels_for(problem.n_arms, rounds), runner.state.__class__, policy._draws)
    runner.loop = partial(entry.run, rounds * (_SECONDS_PER_ROUND + _SECONDS_PER_ARM * problem.n_arms))
    return runner.play_seeded(np.random.SeedSequence(0), seed)


select: Any = None  # that of the policy, see `_loop`


def _select_unmasked(state: Any, t: int, available: npt.NDArray[np.bool_], rng: Rng) -> int:
    """The policy sees a mask once an arm has ended, as in real runs; Hyperband decides otherwise with a full one."""
    for arm in range(available.shape[0]):
        if not available[arm]:
            return select(state, t, available, rng)  # type: ignore[no-any-return]
    return select(state, t, None, rng)  # type: ignore[no-any-return]


@cache
def _loop(kernels: Kernels, state_class: type, draws: bool) -> EntryPoint:
    """The engine's loop; most replays are over before compiling would pay."""
    kernels = kernels._replace(select=bound_kernel(_select_unmasked, select=kernels.select))
    return EntryPoint(loop, **kernels._asdict(), State=state_class)


# -- what it is given: curves as a dict, or as loaded from logs --------------------------------------------------------


def _given_curves(
    curves: Mapping[str, npt.ArrayLike] | Curves, direction: str | None, reward_range: tuple[float, float] | None
) -> tuple[dict[str, Floats], str, float, float]:
    """Curves in [0, 1], where more is better, with the direction and the range that they had."""
    values: Any = curves
    known_direction, known_range = "maximize", (0.0, 1.0)
    if isinstance(curves, Curves):
        values, known_direction, known_range = curves.values, curves.direction, range_of(curves.values)
    way = check_choice("direction", known_direction if direction is None else direction, DIRECTIONS)
    low, high = check_range("reward_range", known_range if reward_range is None else reward_range)
    if not isinstance(values, Mapping) or not values:
        raise RisingBanditsError(f"curves must be a dict with at least one arm and its values, got {shown(values)}.")
    return {str(name): _scaled(name, own, way, low, high) for name, own in values.items()}, way, low, high


def _scaled(name: str, values: npt.ArrayLike, direction: str, low: float, high: float) -> Floats:
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
    found: Floats = (curve - low) / (high - low) if direction == "maximize" else (high - curve) / (high - low)
    return found


def range_of(curves: Mapping[str, Floats]) -> tuple[float, float]:
    """0 to 1 if all values lie in it, otherwise the least and the greatest.

    >>> range_of({"a": np.array([0.2, 0.9])}), range_of({"a": np.array([2.0, 3.0]), "b": np.array([1.5])})
    ((0.0, 1.0), (1.5, 3.0))
    """
    low = min(float(values.min()) for values in curves.values())
    high = max(float(values.max()) for values in curves.values())
    if low >= 0.0 and high <= 1.0:
        return 0.0, 1.0
    return low, high if high > low else low + 1.0
