"""The default for sums of rewards: two forecasts of each arm are compared with what came, and one of them is believed.

`comparison` expects that an arm keeps its distance to the incumbent at equal resource, `extrapolation` that its own
shape goes on. At an arm's first pull, and whenever its pulls have doubled, both forecasts are compared with its level.
The better one decides, with a prior that leans to comparison with few pulls per arm and to extrapolation with many.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from risingbandits._core.jit import interpreted, kernel, rare_kernel
from risingbandits._core.types import Floats, Mask, Rng
from risingbandits.policies._kernels import histories, noise, sweeps
from risingbandits.policies._settings import number, one_of
from risingbandits.policies.base import Kernels
from risingbandits.policies.default import _comparison as comparison
from risingbandits.policies.default import _extrapolation as extrapolation
from risingbandits.policies.default import _seen as seen
from risingbandits.policies.explanation import Moment

_FIRST_ARMS = 2  # opened before anything is decided, if nothing is believed of arms
_DEAD = 2.5  # times the square root of the rounds: pulls of one arm after another while all rewards are the same
_LEAST_DEVIATION = 0.1  # of a belief: no two tasks are the same
_NOBODY_FORCED = -2


@kernel
def select(state: Any, t: int, available: Mask, rng: Rng) -> int:
    plan = state.plan
    if plan["drawn"][0] == 0:
        sweeps.shuffle(state.order, plan["opened"][0], state.order.shape[0], rng)
        plan["drawn"][0] = 1
        if rng is not None:
            plan["offset"][0] = rng.random()
    arm = plan["next"][0]
    if arm == seen.OPEN:
        arm = state.order[plan["opened"][0]]
    return arm if available is None or available[arm] else _instead(state, t, available)


@rare_kernel
def _instead(state: Any, t: int, available: Any) -> int:
    """The arm of an ask that cannot have the planned one: what would be decided about the free arms alone.

    Its incumbent is the free arm with the highest level, believed to rise like the first one, and to end as far behind
    as believed. Nothing is kept of it.
    """
    closed = seen.first_closed(state, available)
    b = comparison.highest(state, available)
    first = state.plan["incumbent"][0]
    if b == seen.NOBODY or (closed != seen.NOBODY and (first == seen.NOBODY or state.plan["next"][0] == seen.OPEN)):
        return max(0, closed)
    if first == seen.NOBODY or (available[first] and state.plan["workers"][0] <= 1.0):
        return b if first == seen.NOBODY else first
    plan = state.aside
    plan[0] = state.plan[0]
    if b != first:
        behind = max(0.0, -comparison.expected(state, plan, b))
        ceiling = plan["ceiling"][0] - behind
        comparison.crown(state, plan, b)
        plan["behind"][0] = behind
        plan["ceiling"][0] = max(plan["ceiling"][0], ceiling)
    if plan["shapes"][0] == 1:
        return extrapolation.pick(state, plan, extrapolation.remaining(state, t), available)
    arm = comparison.choose(state, plan, available)
    return closed if arm == seen.OPEN else arm


@kernel
def update(state: Any, t: int, arm: int, reward: float, rng: Rng) -> None:
    n = seen.take_in(state, arm, reward)
    plan = state.plan
    due = n >= state.arms["test"][arm]
    if not due and plan["next"][0] == arm and n < plan["until"][0]:
        return
    _end_batch(state, t, arm, n, due)


@rare_kernel
def _end_batch(state: Any, t: int, arm: int, n: int, due: bool) -> None:
    seen.look(state)
    tested = due and _is_open(state)
    if tested:
        _test(state, arm, n)
    comparison.look(state, t)
    if tested:  # what comparison expects until the next test: the arm keeps its distance
        state.arms["shared"][arm] = comparison.ahead(state, state.plan, arm)
    if due:
        state.arms["test"][arm] = 2 * n
    _decide(state, t)


@kernel
def _is_open(state: Any) -> bool:
    """Whether the back-test may still decide which forecast is believed."""
    prior, most = _prior(state, 0), state.numbers["most"][0]
    return state.horizon > 0.0 and -most <= prior < most


@rare_kernel
def _test(state: Any, arm: int, n: int) -> None:
    """Compare both forecasts of the arm with its level, and forecast what its own shape leads to."""
    plan, arms = state.plan, state.arms
    level = seen.level(state, arm, n)
    length = plan["length"][0]
    b = plan["incumbent"][0]
    if length > 0.0 and b != seen.NOBODY and arm != b:
        own = extrapolation.forecast(state, arm, 0) if n == 1 else arms["own"][arm]
        shared = arms["shared"][arm] + seen.level(state, b, min(n, state.counts[b]))
        blur = seen.error(state, n)
        plan["own"][0] += ((level - own) ** 2 + blur) / (length * length)
        plan["shared"][0] += ((level - shared) ** 2 + blur) / (length * length)
        plan["tests"][0] += 1.0
    arms["own"][arm] = extrapolation.forecast(state, arm, n) if length > 0.0 else level


@kernel
def log_odds(state: Any, t: int) -> float:
    """For extrapolation: the prior, and the errors of both forecasts.

    If the horizon is not known, the back-test counts as if comparison had always been right.
    """
    plan, most = state.plan, state.numbers["most"][0]
    if state.horizon <= 0.0:
        return _prior(state, t) - most
    alike = state.numbers["alike"][0] ** 2
    evidence = 0.5 * plan["tests"][0] * math.log((plan["shared"][0] + alike) / (plan["own"][0] + alike))
    return _prior(state, t) + min(most, max(-most, evidence))


@kernel
def _prior(state: Any, t: int) -> float:
    """Log odds for extrapolation by the rounds per arm."""
    return state.numbers["prior"][0] * math.log(_rounds(state, t) / (state.order.shape[0] * state.patience))


@kernel
def _rounds(state: Any, t: int) -> float:
    """The rounds in all; if the horizon is not known, those so far and as many as are planned."""
    return state.horizon if state.horizon > 0.0 else max(1.0, t + extrapolation.remaining(state, t))


@rare_kernel
def _decide(state: Any, t: int) -> None:
    """Plan the next pulls."""
    plan = state.plan
    opened, n_arms = plan["opened"][0], state.order.shape[0]
    plan["until"][0] = 0
    plan["shapes"][0] = 0
    if opened < min(_first_arms(plan), n_arms):
        plan["next"][0] = seen.OPEN
        return
    if plan["span"][0] <= 0.0:
        plan["next"][0] = _unmoved(state, t)
        return
    newest = state.order[opened - 1]
    if state.counts[newest] == 1 and _is_nothing(state, seen.level(state, newest, 1)):
        plan["next"][0], plan["until"][0] = newest, 2  # many scores start at 0, then jump
        return
    plan["next"][0] = _shallow(state)
    if plan["next"][0] != _NOBODY_FORCED:
        return
    if log_odds(state, t) >= 0.0:
        plan["shapes"][0] = 1
        arm = seen.OPEN
        if opened == n_arms or comparison.choose(state, plan, None) != seen.OPEN:
            arm = extrapolation.choose(state, t)
    else:
        arm = comparison.choose(state, plan, None)
    plan["next"][0] = arm
    if arm != seen.OPEN:
        plan["until"][0] = extrapolation.next_point(state.counts[arm])


@kernel
def _first_arms(plan: Any) -> int:
    """How many arms are opened before anything is decided: with beliefs, the favourite alone."""
    return 1 if plan["believes"][0] > 0.0 else _FIRST_ARMS


@kernel
def _is_nothing(state: Any, level: float) -> bool:
    """Whether a level is as good as the lower end of the range."""
    return level - state.plan["low"][0] < state.numbers["alike"][0] * state.plan["length"][0]


@kernel
def _unmoved(state: Any, t: int) -> int:
    """While all rewards are the same, arms may all start late: the first one that was not played for long yet.

    But one arm alone says nothing about beliefs.
    """
    enough = comparison.hold(state) if state.plan["opened"][0] == 1 else _DEAD * math.sqrt(_rounds(state, t))
    for place in range(state.plan["opened"][0]):
        if state.counts[state.order[place]] < enough:
            return state.order[place]
    return seen.OPEN if state.plan["opened"][0] < state.order.shape[0] else state.order[0]


@kernel
def _shallow(state: Any) -> int:
    """The first arm, in order, with fewer pulls than all have before any is judged.

    That number is a fraction: its part after the point is the share of the arms that get one more. In random order it
    is drawn which ones, so that no horizon is the first with which the last arm is opened. Arms that would get one pull
    are left to the rules.
    """
    n_arms, numbers, plan = state.order.shape[0], state.numbers, state.plan
    deep = min(numbers["floor"][0] * state.horizon / n_arms, numbers["deep"][0])
    if deep < 1.0:
        return _NOBODY_FORCED
    for place in range(n_arms):
        pulls = math.floor(deep + (plan["offset"][0] - (place + 1.0) / n_arms) % 1.0)
        if pulls >= 2.0 and place >= plan["opened"][0]:
            return seen.OPEN
        if pulls >= 2.0 and state.counts[state.order[place]] < pulls:
            return state.order[place]
    return _NOBODY_FORCED


@dataclass(eq=False, repr=False)
class BackTest(noise.NoisePolicy):
    """Plays a run of `Auto` whose rewards are summed."""

    name = "back-test"
    kernels = Kernels(select=select, update=update)
    _scratch = frozenset({"pool", "paces", "work", "aside"})
    _guard = noise.REPLACED
    numbers = seen.NUMBERS

    order: str = one_of(*sweeps.ORDERS)
    sigma: float | str = noise.setting()
    patience: float = number(25.0, above=0.0)
    bounded: bool = True

    def _new_state(self, n_arms: int, horizon: int | None, capacity: int) -> seen.State:
        numbers = np.zeros(1, seen.NUMBERS_TYPE)
        for name, value in self.numbers.items():
            numbers[name] = value
        plan, arms = np.zeros(1, seen.PLAN), np.zeros(n_arms, seen.ARM)
        plan["next"], plan["incumbent"] = seen.OPEN, seen.NOBODY
        arms["test"] = 1
        heard = self._noise_fields(n_arms)
        if self._estimates:
            heard["noise"]["guard"] = noise.UNCHECKED
        return seen.State(
            numbers=numbers,
            horizon=0.0 if horizon is None else float(horizon),
            patience=float(self.patience),
            bounded=bool(self.bounded),
            told=not self._estimates,
            pool=np.empty(histories.places_for(n_arms, capacity)),
            places=histories.new_places(n_arms),
            order=np.arange(n_arms),
            counts=np.zeros(n_arms, dtype=np.int64),
            plan=plan,
            aside=plan.copy(),
            arms=arms,
            paces=extrapolation.paces(horizon),
            moments=np.zeros((n_arms, extrapolation.shapes(horizon), 3)),
            work=np.zeros((3, extrapolation.components(horizon))),
            beliefs=np.zeros((n_arms, 2)),
            **heard,
        )

    def _make_room(self, state: seen.State, capacity: int) -> None:
        histories.make_room(state.pool, self.n_arms, capacity)

    @staticmethod
    def take_beliefs(state: seen.State, means: Floats, deviations: Floats, rng: Rng) -> None:
        """Believe this of the arms, mean and deviation of their normal scores, and open them in that order."""
        plan = state.plan
        if plan["believes"][0] == 0.0:
            plan["slope"] = 1.0
        plan["believes"] = 1.0
        state.beliefs[:, 0] = means
        state.beliefs[:, 1] = np.maximum(deviations, _LEAST_DEVIATION)
        closed = state.order[int(plan["opened"][0]) :]
        drawn = closed.copy() if rng is None else rng.permutation(closed)
        closed[:] = drawn[np.argsort(-means[drawn], kind="stable")]

    @staticmethod
    def draw_order(state: seen.State, rng: Rng) -> None:
        """Draw the order in which arms are opened now, so that no ask changes it."""
        state.plan["drawn"] = 1
        if rng is not None:
            state.order[:] = rng.permutation(len(state.order))
            state.plan["offset"] = rng.random()

    def _take_workers(self, state: seen.State, workers: int) -> bool:
        state.plan["workers"] = workers
        return True

    def _parts(self, state: seen.State, t: int) -> dict[str, Floats]:
        """Columns: ``gain``, what the best trial of an arm is worth less its price; the incumbent has 0.

        While own shapes are believed: ``bound``, what committing to the arm may bring per round, and ``expected``.
        """
        plan, unknown = state.plan, np.full(state.counts.size, np.nan)
        if plan["incumbent"][0] == seen.NOBODY:
            return {"gain": unknown}
        if plan["shapes"][0]:
            shown = state.counts > 0
            return {
                name: np.where(shown, state.arms[name] + plan["origin"][0], np.nan) for name in ("bound", "expected")
            }
        gain, opened = interpreted(comparison.gain), int(plan["opened"][0])
        gains = unknown.copy()
        for arm in state.order[:opened]:
            gains[arm] = 0.0 if arm == plan["incumbent"][0] else gain(state, plan, arm)
        if opened < state.order.size:
            gains[state.order[opened:]] = gain(state, plan, seen.NOBODY)
        return {"gain": gains}

    def _why_next(self, at: Moment) -> str:
        plan, n = at.state.plan, int(at.pulls[at.arm])
        if plan["opened"][0] < interpreted(_first_arms)(plan):
            favourite = plan["believes"][0] > 0.0
            return "opened: most is believed of it" if favourite else "opened: one of the two that are compared first"
        if plan["span"][0] <= 0.0:
            return "all rewards are the same so far"
        if not plan["until"][0] and n:
            return "all arms are tried before any is judged"
        if at.arm == plan["incumbent"][0]:
            return "the incumbent: no other arm is worth trying now"
        if plan["shapes"][0] and n:
            return f"may pay up to {at.level('bound')} a pull from here on, by its own shape"
        gain = float(at.parts["gain"][at.arm]) if "gain" in at.parts else math.nan
        started = "tried" if n else "opened"
        if not gain > 0.0:
            return f"{started}: others are not free" if n else "opened: the next in order"
        return f"{started}: a trial is worth {at.units.amount(gain)} more than it costs"
