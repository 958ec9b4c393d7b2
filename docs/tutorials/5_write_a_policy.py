"""
Write a policy
==============

A policy is two small functions over a state of numbers and arrays. They are compiled, and both ``ask``/``tell`` in your
program and the loop of ``simulate`` use them.
"""

# %%
# The idea here: pull the arm whose last reward was best and, every tenth round, the arm with the fewest pulls.

from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np

import risingbandits as rb
from risingbandits.policies import Kernels, Policy, kernel, register


class State(NamedTuple):
    """What the policy remembers about each arm."""

    last: np.ndarray
    pulls: np.ndarray


# %%
# ``select`` returns an arm for round t = 1, 2, ..., and never one that is unavailable. ``update`` takes in a reward.
# Both are plain Python that Numba can compile: no allocation, no exceptions.


@kernel
def select(state, t, available, rng):
    chosen = -1
    for arm in range(state.last.shape[0]):
        if available is None or available[arm]:
            if chosen < 0:
                chosen = arm
            elif t % 10 == 0:
                if state.pulls[arm] < state.pulls[chosen]:
                    chosen = arm
            elif state.last[arm] > state.last[chosen]:
                chosen = arm
    return chosen


@kernel
def update(state, t, arm, reward, rng):
    state.last[arm] = reward
    state.pulls[arm] += 1


# %%
# The class holds the settings and creates the state. Registering it gives it a name for ``simulate``, the command line
# and saved files.


@register
class LastBest(Policy):
    """The arm whose last reward was best; every tenth round, the one with the fewest pulls."""

    name = "last-best"
    summary = "best last reward"
    kernels = Kernels(select=select, update=update)

    def __init__(self, start: float = 1.0) -> None:
        self.start = start

    def _new_state(self, n_arms, horizon, capacity):
        return State(last=np.full(n_arms, self.start), pulls=np.zeros(n_arms, dtype=np.int64))


# %%
# It decides one pull at a time in your program, and plays against other policies at full speed.

policy = LastBest().reset(n_arms=2)
for _ in range(5):
    arm = policy.ask()
    policy.tell(arm, reward=[0.3, 0.6][arm])
print("pulls", policy.pulls)

result = rb.simulate(["last-best", "commit-ucb"], "paper-2arms", horizon=20_000, runs=10)
for label in result.policies:
    print(f"{label:12s} regret {result.mean(label)[-1]:,.0f}")

figure, axes = plt.subplots(figsize=(8, 3), layout="constrained")
result.plot(axes)
plt.show()

# %%
# ``check_policy`` tests the whole contract: the same decisions interpreted, compiled and with ask/tell; masks; saving
# and loading; clones; bad input.

from risingbandits.testing import check_policy  # noqa: E402

check_policy(LastBest())
print("keeps the contract")
