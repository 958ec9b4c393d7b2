"""The one loop: a policy's kernels against a simulated problem, compiled once per policy.

``loop`` is a template. `compiled_loop` re-binds its names ``select``, ``update`` and ``recommend`` to a policy's
kernels, so that every policy gets a loop of its own, as fast as one written by hand, from one text.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from risingbandits._jit import compiled
from risingbandits.instances import RisingBandit
from risingbandits.instances._kernels import BETA_SECOND, draw_reward, draw_simple_reward, mean_at, tabulated_mean
from risingbandits.policies.base import Kernels, Policy

# Names that `compiled_loop` replaces; here so that the template reads, and lints, as Python.
select: Any = None
update: Any = None
recommend: Any = None


def loop(  # type: ignore[no-untyped-def]
    state, environment, horizon, policy_rng, noise_rng, pulls, checkpoints, gained, available, limits
):
    """Play rounds 1..horizon, or until no arm is available; return the recommended arm.

    ``pulls`` counts the pulls of each arm; ``gained[c]`` becomes the sum of the means of the pulled arms up to round
    ``checkpoints[c]`` (checkpoints rise and end at the horizon). Rewards only reach the policy: regret is a matter of
    means. An arm that has been pulled as often as ``limits`` says is no longer ``available``; both are None, and leave
    no trace in the machine code, where arms do not end.
    """
    total = 0.0
    c = 0
    left = pulls.shape[0]
    for t in range(1, horizon + 1):
        arm = max(0, select(state, t, available, policy_rng))  # never negative; the compiler then drops Python's a[-1]
        pulls[arm] += 1
        if limits is not None and pulls[arm] >= limits[arm]:
            available[arm] = False
            left -= 1
        mean = mean_at(environment, arm, t if environment.restless else pulls[arm])
        update(state, t, arm, draw_reward(environment, mean, noise_rng), policy_rng)
        total += mean
        if t == checkpoints[c]:
            gained[c] = total
            c += 1
        if limits is not None and left == 0:
            break
    while c < checkpoints.shape[0]:  # no arm was left before
        gained[c] = total
        c += 1
    return recommend(state, t, pulls)


@cache
def compiled_loop(
    kernels: Kernels, state_class: type, tabulated: bool = False, beta: bool = True
) -> Callable[..., int]:
    """The loop of the policies with these kernels in machine code, with no more of the problem than it needs.

    ``tabulated``: the table of means has all that a run may ask for; ``beta``: the noise is a Beta distribution.
    """
    problem = {
        "mean_at": tabulated_mean if tabulated else mean_at,
        "draw_reward": draw_reward if beta else draw_simple_reward,
    }
    return compiled(loop, **kernels._asdict(), **problem, State=state_class)


class Run(NamedTuple):
    """What one run leaves: the gain at each checkpoint, the pulls of each arm, the recommended arm."""

    gained: npt.NDArray[np.float64]
    pulls: npt.NDArray[np.int64]
    recommended: int


class Runner:
    """Plays runs of one policy on one problem one after another, in one thread, with the same buffers.

    Where ``masked``, arms cannot be pulled beyond the end of their curves.
    """

    def __init__(
        self,
        policy: Policy,
        instance: RisingBandit,
        horizon: int,
        checkpoints: npt.NDArray[np.int64],
        loop: Callable[..., int] | None = None,
        masked: bool = False,
    ) -> None:
        self.policy = policy
        self.environment = instance.environment(horizon)
        self.n_arms, self.horizon, self.checkpoints = instance.n_arms, horizon, checkpoints
        self.limits = instance.lengths if masked else None
        self.state = policy.new_state(instance.n_arms, horizon, horizon)
        kernels = policy.kernels_for(instance.n_arms)
        tabulated = self.environment.table.shape[1] >= horizon
        beta = self.environment.noise >= BETA_SECOND
        self.loop = compiled_loop(kernels, self.state.__class__, tabulated, beta) if loop is None else loop
        self.at_start = {
            name: value.copy()
            for name, value in self.state._asdict().items()
            if isinstance(value, np.ndarray) and name not in policy.scratch
        }

    def play(self, seed: np.random.SeedSequence) -> Run:
        """One run. Noise and policy draw from streams of their own, both decided by the run's seed."""
        for name, value in self.at_start.items():
            np.copyto(getattr(self.state, name), value)
        noise_seed, policy_seed = seed.spawn(2)
        policy_rng = np.random.default_rng(policy_seed) if self.policy.draws else None
        pulls = np.zeros(self.n_arms, dtype=np.int64)
        gained = np.zeros(self.checkpoints.size)
        recommended = self.loop(
            self.state,
            self.environment,
            self.horizon,
            policy_rng,
            np.random.default_rng(noise_seed),
            pulls,
            self.checkpoints,
            gained,
            None if self.limits is None else np.ones(self.n_arms, dtype=np.bool_),
            self.limits,
        )
        return Run(gained, pulls, int(recommended))
