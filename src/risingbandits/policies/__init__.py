"""Policies: which arm gets the next pull.

Every policy has the same verbs: ``reset(n_arms, horizon, seed)`` begins a run, ``ask(available)`` names the next arm,
``tell(arm, reward)`` reports a reward, ``recommend()`` names the recommended arm and ``explain()`` says why.

A policy of your own is a class with two small functions. Both are compiled, so they use numbers, arrays and loops only;
``available`` is None if all arms may be pulled, else one boolean per arm:

>>> from typing import NamedTuple
>>> import numpy as np
>>> from risingbandits import simulate
>>> from risingbandits.policies import Kernels, Policy, kernel
>>> class State(NamedTuple):
...     last: np.ndarray  # the last reward of each arm
>>> @kernel
... def select(state, t, available, rng):
...     chosen = -1
...     for arm in range(state.last.shape[0]):
...         if available is None or available[arm]:
...             if chosen < 0 or state.last[arm] > state.last[chosen]:
...                 chosen = arm
...     return chosen
>>> @kernel
... def update(state, t, arm, reward, rng):
...     state.last[arm] = reward
>>> class LastBest(Policy):
...     name = "last-best"
...     kernels = Kernels(select=select, update=update)
...     def __init__(self, start=1.0):  # settings are stored under their own names
...         self.start = start
...     def _new_state(self, n_arms, horizon, capacity):
...         return State(last=np.full(n_arms, self.start))
>>> result = simulate([LastBest(), "round-robin"], "paper-2arms", horizon=200, runs=2)
>>> result.policies
['last-best', 'round-robin']

Anything that NumPy can do, without a compiler and slower in simulations, is a `PlainPolicy`.

Stability: stable; experimental is `ConfigModel`.
"""

from typing import TYPE_CHECKING

from risingbandits._core.jit import kernel
from risingbandits._core.plugins import ListedPolicy, ListedProblem, Plugin, load_on_use
from risingbandits.policies._table import POLICIES
from risingbandits.policies.base import Kernels, Policy
from risingbandits.policies.explanation import Explanation
from risingbandits.policies.objectives import Objective, objective_names, register_objective
from risingbandits.policies.registry import get_policy, policy_class, policy_names, register

if TYPE_CHECKING:
    from risingbandits.policies.baselines import Constant, OracleConstant, RoundRobin
    from risingbandits.policies.best_arm.asha import ASHA
    from risingbandits.policies.best_arm.halving import SequentialHalving, SuccessiveHalving
    from risingbandits.policies.best_arm.hyperband import Hyperband
    from risingbandits.policies.classic.beta_ts import SWTS, BetaThompson
    from risingbandits.policies.classic.gaussian_ts import GaussianThompson
    from risingbandits.policies.classic.greedy import EpsilonGreedy, ExploreThenCommit
    from risingbandits.policies.classic.kl_ucb import KLUCB, SWKLUCB
    from risingbandits.policies.classic.rexp3 import Rexp3
    from risingbandits.policies.classic.ser4 import Ser4
    from risingbandits.policies.classic.sw_ucb import SWUCB
    from risingbandits.policies.classic.ucb1 import UCB1, GaussianUCB
    from risingbandits.policies.commit.commit_ucb import CommitUCB
    from risingbandits.policies.config_model import ConfigModel
    from risingbandits.policies.default.auto import Auto
    from risingbandits.policies.plain import PlainPolicy
    from risingbandits.policies.rising.r_less_ucb import RLessUCB
    from risingbandits.policies.rising.red_ucb import REdUCB

__all__ = [
    "ASHA",
    "KLUCB",
    "SWKLUCB",
    "SWTS",
    "SWUCB",
    "UCB1",
    "Auto",
    "BetaThompson",
    "CommitUCB",
    "ConfigModel",
    "Constant",
    "EpsilonGreedy",
    "Explanation",
    "ExploreThenCommit",
    "GaussianThompson",
    "GaussianUCB",
    "Hyperband",
    "Kernels",
    "ListedPolicy",
    "ListedProblem",
    "Objective",
    "OracleConstant",
    "PlainPolicy",
    "Plugin",
    "Policy",
    "REdUCB",
    "RLessUCB",
    "Rexp3",
    "RoundRobin",
    "SequentialHalving",
    "Ser4",
    "SuccessiveHalving",
    "get_policy",
    "kernel",
    "objective_names",
    "policy_class",
    "policy_names",
    "register",
    "register_objective",
]

_WHERE = {listed.class_name: listed.module for listed in POLICIES.values()}
_WHERE["PlainPolicy"] = "risingbandits.policies.plain"


if not TYPE_CHECKING:  # or every name would be known to a type checker
    __getattr__ = load_on_use(__name__, _WHERE)


def __dir__() -> list[str]:
    return __all__
