"""The one loop: a policy's kernels against simulated arms, compiled once per policy and kind of arms.

``loop`` is a template. `compiled_loop` re-binds its names ``select``, ``update`` and ``recommend`` to a policy's
kernels and ``pull`` to that of the arms, so that every policy gets its own loop, as fast as one written by hand, from
one template.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, ClassVar, NamedTuple

import numpy as np

from risingbandits._core.jit import bound_kernel, compiled, interpreted, kernel
from risingbandits._core.progress import teller
from risingbandits._core.types import Floats, Ints, Rng
from risingbandits.policies import _posterior as posterior
from risingbandits.policies._kernels import levels
from risingbandits.policies.base import Kernels, Policy
from risingbandits.problems import RisingBandit
from risingbandits.problems._kernels import (
    BETA,
    Environment,
    draw_reward,
    draw_simple_reward,
    mean_at,
    tabulated_mean,
)

AFTER_END = ("hold", "stop")  # at the end of its curve an arm continues as before, or cannot be pulled any more


@kernel
def curve_pull(environment: Environment, arm: int, n: int, t: int, rng: Any) -> tuple[float, float]:
    """Mean and reward of the n-th pull of ``arm``, in round t: the curve, and noise around it."""
    mean = mean_at(environment, arm, t if environment.restless else n)
    return mean, draw_reward(environment, mean, rng)


@cache
def smaller_curve_pull(tabulated: bool, beta: bool) -> Callable[..., tuple[float, float]]:
    """The same with only the parts of the problem that it needs, which leaves less to compile.

    ``tabulated``: the table of means has everything that a run may need; ``beta``: the noise is a Beta distribution.
    """
    mean, draw = tabulated_mean if tabulated else mean_at, draw_reward if beta else draw_simple_reward
    return bound_kernel(curve_pull, mean_at=mean, draw_reward=draw)


# Names that `compiled_loop` replaces; here so that the template reads, and lints, as Python.
pull: Any = curve_pull
select: Any = None
update: Any = None
recommend: Any = None


def loop(  # type: ignore[no-untyped-def]
    state, arms, horizon, policy_rng, arms_rng, pulls, record_at, gained, earned, available, limits, known
):
    """Play rounds 1..horizon, or until no arm is available; return the recommended arm.

    ``pulls`` counts the pulls of each arm; ``gained[c]`` becomes the sum of the means of the pulled arms up to round
    ``record_at[c]`` (these rise and end at the horizon), and ``earned[c]`` that of the rewards. An arm that has been
    pulled as often as ``limits`` says is no longer ``available``. ``known`` has the levels of all arms. ``earned`` is
    None if it is not needed, ``limits`` and ``available`` if arms do not end, ``known`` if the policy recommends by a
    rule of its own; the machine code then contains nothing of them.
    """
    total = 0.0
    paid = 0.0
    c = 0
    left = pulls.shape[0]
    for t in range(1, horizon + 1):
        arm = max(0, select(state, t, available, policy_rng))  # never negative; the compiler then drops Python's a[-1]
        pulls[arm] += 1
        if limits is not None and pulls[arm] >= limits[arm]:
            available[arm] = False
            left -= 1
        mean, reward = pull(arms, arm, pulls[arm], t, arms_rng)
        update(state, t, arm, reward, policy_rng)
        if known is not None:
            levels.add(known, arm, reward)
        total += mean
        if earned is not None:
            paid += reward
        if t == record_at[c]:
            gained[c] = total
            if earned is not None:
                earned[c] = paid
            c += 1
        if limits is not None and left == 0:
            break
    while c < record_at.shape[0]:  # no arm was left before
        gained[c] = total
        if earned is not None:
            earned[c] = paid
        c += 1
    return recommend(state, t, known)


class SimulatedArms:
    """Base class of arms as the loop sees them, with buffers for one thread; made from a problem and a horizon.

    Attributes
    ----------
    pull : kernel
        ``pull(state, arm, n, t, rng) -> (mean, reward)`` of the n-th pull of an arm, in round t.
    state : NamedTuple
        Its numbers and arrays.
    counts_rewards : bool
        Whether the sums of the rewards are kept, in addition to those of the means.
    """

    pull: Any
    counts_rewards: ClassVar[bool] = False
    state: Any

    def restart(self, seed: np.random.SeedSequence) -> Rng:
        """Start a run; returns the generator that ``pull`` draws from, if any."""
        raise TypeError(f"{type(self).__name__} does not define restart.")


class CurveArms(SimulatedArms):
    """The arms of a problem: curves with noise. Recorded curves are the case without noise."""

    def __init__(self, problem: RisingBandit, horizon: int) -> None:
        curves = problem.environment(horizon)
        needed = (curves.table.shape[1] >= horizon, curves.noise == BETA)
        self.state, self.pull = curves, smaller_curve_pull(*needed)

    def restart(self, seed: np.random.SeedSequence) -> Rng:
        return np.random.default_rng(seed)


@cache
def compiled_loop(kernels: Kernels, state_class: type, pull: Callable[..., Any]) -> Callable[..., int]:
    """The loop of the policies with these kernels and of arms with this ``pull``, in machine code."""
    return compiled(loop, **kernels._asdict(), pull=pull, State=state_class)


_say_once = teller()  # in this process


def plain_loop(policy: Policy, kernels: Kernels, pull: Callable[..., Any]) -> Callable[..., int]:
    """The same loop for a policy in plain Python, arms included; says once that it is slower."""
    _say_once(f"risingbandits: {policy.name} is written in plain Python, so its simulated runs are not compiled.")
    slow = interpreted(loop, **kernels._asdict(), pull=pull)

    def play(*arguments: Any) -> int:
        with np.errstate(all="ignore"):
            return int(slow(*arguments))

    return play


class Run(NamedTuple):
    """What one run leaves: the gain at each record point, the pulls of each arm, the recommended arm, the rewards.

    And the policy's remark on it.
    """

    gained: Floats
    pulls: Ints
    recommended: int
    earned: Floats | None = None
    remark: str | None = None


class Runner:
    """Plays runs of one policy on one problem one after another, in one thread, with the same buffers.

    The arguments are those of `simulate`, checked, with ``record_at`` as the rounds themselves; ``loop`` stands for the
    compiled one.
    """

    def __init__(
        self,
        policy: Policy,
        problem: RisingBandit,
        horizon: int,
        record_at: Ints,
        loop: Callable[..., int] | None = None,
        after_end: str = "hold",
        arms: Callable[[RisingBandit, int], SimulatedArms] | None = None,
    ) -> None:
        self.policy = policy
        self.arms = (arms or problem.simulated_arms or CurveArms)(problem, horizon)
        self.n_arms, self.horizon, self.record_at = problem.n_arms, horizon, record_at
        self.limits = problem.lengths if after_end == "stop" else None
        self.state = policy._new_state(problem.n_arms, horizon, horizon)
        kernels = policy._kernels_for(problem.n_arms, horizon)
        self.by_levels = kernels.recommend is levels.recommend or policy._predicts
        if loop is None and policy._compiles:
            loop = compiled_loop(kernels, self.state.__class__, self.arms.pull)
        self.loop = loop or plain_loop(policy, kernels, self.arms.pull)
        self.at_start = {
            name: value.copy()
            for name, value in self.state._asdict().items()
            if isinstance(value, np.ndarray) and name not in policy._scratch
        }

    def play(self, seed: np.random.SeedSequence) -> Run:
        """One run. Arms and policy draw from separate streams, both derived from the run's seed."""
        arms_seed, policy_seed = seed.spawn(2)
        return self.play_seeded(arms_seed, policy_seed)

    def play_seeded(self, arms_seed: np.random.SeedSequence, policy_seed: Any) -> Run:
        """One run with a seed for the arms and one for the policy."""
        if not self.policy._compiles:  # its run may be anything
            self.state = self.policy._new_state(self.n_arms, self.horizon, self.horizon)
        for name, value in self.at_start.items():
            np.copyto(getattr(self.state, name), value)
        pulls = np.zeros(self.n_arms, dtype=np.int64)
        gained = np.zeros(self.record_at.size)
        earned = np.zeros(self.record_at.size) if self.arms.counts_rewards else None
        known = levels.new_levels(self.n_arms, self.horizon) if self.by_levels else None
        recommended = self.loop(
            self.state,
            self.arms.state,
            self.horizon,
            np.random.default_rng(policy_seed) if self.policy._draws else None,
            self.arms.restart(arms_seed),
            pulls,
            self.record_at,
            gained,
            earned,
            None if self.limits is None else np.ones(self.n_arms, dtype=np.bool_),
            self.limits,
            known,
        )
        if self.policy._predicts and known is not None:
            lengths = None if self.limits is None else self.limits.astype(np.float64)
            longest = math.inf if lengths is None else lengths.max()
            end, _ = posterior.stated_end(pulls.max(), self.horizon - int(pulls.sum()), longest)
            recommended = posterior.best(known, end, lengths)
        return Run(gained, pulls, int(recommended), earned, self.policy._remark(self.state))
