"""What a run of the default for sums of rewards has seen: rewards, levels, noise, how far arms are apart.

The numbers that decide something are here as well, all of them. Rewards are kept relative to the first one, and lengths
are in spans, so that the comparison of arms is the same for scaled and shifted rewards. The span is how far the highest
level is above the mean of the arms' first rewards, plus how far these are apart.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from risingbandits._core.jit import kernel, rare_kernel
from risingbandits._core.types import Ints, Mask, Records, record_type
from risingbandits.policies._kernels import histories, noise

OPEN = NOBODY = -1

#: They are fields of the state, so that a rule can be played without one of them.
NUMBERS: dict[str, float] = {
    # comparison
    "apart": 0.15,  # of the range: how far apart arms are believed to be before any is seen, with the weight of one
    "behind": 0.6,  # spreads that an arm without pulls is believed to end behind the incumbent
    "drift": 0.5,  # spreads that an arm may still move after its first pull; after n pulls an n-th of it
    "chance": 1.0 / 3.0,  # with m open arms, what an unopened one may bring counts chance / m
    "on_the_way": 0.5,  # share of the distance at the end that an arm is behind during a trial
    "hold": 2.0,  # times the cube root of the horizon: pulls of the first incumbent before a third arm is opened
    # extrapolation
    "rise": 0.5,  # of the range of rewards: how far a curve is believed to rise, give or take
    "start": 0.3,  # where a curve starts that does not start at the lower end, and how far it rises then; give or take
    "tail": 0.005,  # largest chance that the bound of an arm leaves
    "sunk": 3.0,  # weight of what exploring has cost
    "stray": 0.005,  # of the range: how far curves stray from the shapes, times the square root of the pulls
    # back-test
    "prior": 2.0,  # log odds for each e-fold of rounds per arm
    "alike": 0.05,  # of the range: errors of forecasts below this are all alike, and first rewards next to nothing
    "most": 4.0,  # most log odds that the back-test counts
    "floor": 0.02,  # share of the rounds with which all arms are tried before any is judged, ...
    "deep": 8.0,  # ... with at most so many pulls each
}
_SPANS = 3.0  # that rewards are believed to range over, if it is not known
NUMBERS_TYPE = record_type((np.float64, " ".join(NUMBERS)))

# The arm to play next (OPEN: one more) and up to how many pulls, the incumbent (NOBODY) and its pulls, how many
# arms are open, whether `order` was drawn, whether shapes are believed;
# the first reward, sums of the first rewards of arms and of their squares, the lower end and length of the range;
# span and spread, the variance of the noise, sum and number of its measurements, level of the incumbent, the level that
# it is believed to rise to, rounds left; beliefs about arms: whether there are any, the normal score of the incumbent,
# the slope of leads over beliefs, variances and covariance of both; pulls that are made at a time, how far the
# incumbent of a further worker is behind; back-tests, and the squared errors of both forecasts; what decides which arms
# get one pull more than others before any is judged.
PLAN = record_type(
    (np.int64, "next until incumbent age opened drawn shapes"),
    (np.float64, "origin firsts squared_firsts low length"),
    (np.float64, "span spread noise squares measured level ceiling rounds"),
    (np.float64, "believes standing slope standing_variance slope_variance covariance workers behind"),
    (np.float64, "tests own shared offset"),
)
# Pulls that the posterior knows, pulls of the next back-test; sums of the posterior and the variance they go by; the
# bound, the rounds left when it was taken, the expected mean; a line (level and slope at so many pulls) and the level
# surely reached; both forecasts for the next back-test.
ARM = record_type(
    (np.int64, "drawn test"),
    (np.float64, "weight weighted variance bound left expected line slope at sure own shared"),
)


class State(NamedTuple):
    """What is known in a run."""

    numbers: np.ndarray  # (1,) NUMBERS
    horizon: float  # 0: not known
    patience: float
    bounded: bool  # whether rewards lie in [0, 1]
    told: bool  # whether sigma is
    noise: np.ndarray  # noise
    heard: np.ndarray
    pool: np.ndarray  # sums of the rewards of all arms, each less the first reward of the run (histories)
    places: np.ndarray
    order: np.ndarray  # (K,) the arms that were opened, then the others
    counts: np.ndarray  # (K,) pulls
    plan: np.ndarray  # (1,) PLAN
    aside: np.ndarray  # (1,) the same, for an ask that cannot have the planned arm
    arms: np.ndarray  # (K,) ARM
    paces: np.ndarray  # of the shapes
    moments: np.ndarray  # (K, shapes, 3) of extrapolation
    work: np.ndarray  # (3, components) of extrapolation
    beliefs: np.ndarray  # (K, 2) mean and deviation of each arm's normal score as it is believed, if anything is


@kernel
def take_in(state: Any, arm: int, reward: float) -> int:
    """One more reward of the arm; its number."""
    plan = state.plan
    n = state.counts[arm] + 1
    state.counts[arm] = n
    if state.told:
        noise.add(state, arm, reward)
    if plan["opened"][0] == 0:
        plan["origin"][0] = reward
    y = reward - plan["origin"][0]
    if n == 1:
        plan["firsts"][0] += y
        plan["squared_firsts"][0] += y * y
        _enter(state.order, plan, arm)
    earned = total(state, arm, n - 1)
    if n > 3:  # second differences of white noise have six times its variance, those of a line none; pull 1 may jump
        before, earlier = total(state, arm, n - 2), total(state, arm, n - 3)
        bend = y - 2.0 * (earned - before) + (before - earlier)
        plan["squares"][0] += bend * bend / 6.0
        plan["measured"][0] += 1.0
    histories.append(state.pool, state.places, arm, n, earned + y)
    return n


@rare_kernel
def _enter(order: Ints, plan: Records, arm: int) -> None:
    """The arm is the next one of those that are open."""
    place = plan["opened"][0]
    while order[place] != arm:
        place += 1
    order[place] = order[plan["opened"][0]]
    order[plan["opened"][0]] = arm
    plan["opened"][0] += 1


@kernel
def total(state: Any, arm: int, n: int) -> float:
    """Sum of the arm's first n rewards."""
    return state.pool[state.places[arm, 0] + n] if n > 0 else 0.0


@kernel
def window(n: int) -> int:
    """How many of n pulls make the level: the last quarter."""
    return (n + 3) // 4


@kernel
def level(state: Any, arm: int, n: int) -> float:
    """The level of an arm when it had n pulls."""
    w = window(n)
    return (total(state, arm, n) - total(state, arm, n - w)) / w


@kernel
def error(state: Any, n: int) -> float:
    """The variance of the noise in a level after n pulls."""
    return state.plan["noise"][0] / window(n)


@rare_kernel
def look(state: Any) -> None:
    """Find out noise, span and range."""
    plan = state.plan
    if state.told:
        plan["noise"][0] = noise.level(state) ** 2
    elif plan["measured"][0] > 0.0:
        plan["noise"][0] = plan["squares"][0] / plan["measured"][0]
    opened = plan["opened"][0]
    top = -math.inf
    for place in range(opened):
        arm = state.order[place]
        top = max(top, level(state, arm, state.counts[arm]))
    mean = plan["firsts"][0] / opened
    apart = math.sqrt(max(0.0, plan["squared_firsts"][0] / opened - mean * mean))
    plan["span"][0] = max(0.0, top - mean) + apart
    plan["low"][0] = -plan["origin"][0] if state.bounded else mean - apart
    plan["length"][0] = 1.0 if state.bounded else _SPANS * plan["span"][0]


@kernel
def first_closed(state: Any, available: Mask) -> int:
    """The first available arm without pulls, NOBODY if there is none."""
    for place in range(state.plan["opened"][0], state.order.shape[0]):
        if available is None or available[state.order[place]]:
            return state.order[place]
    return NOBODY
