"""Policies: who gets the next pull.

Every policy has the same verbs: ``reset(n_arms, horizon, seed)`` begins a run, ``ask(available)`` names the next arm,
``tell(arm, reward)`` reports what a pull earned, ``recommend()`` names the arm to keep and ``explain()`` says why.
"""

from risingbandits.policies.base import Kernels, Policy, get_policy, policy_class, policy_names, register
from risingbandits.policies.constant import Constant, OracleConstant
from risingbandits.policies.explanation import Explanation
from risingbandits.policies.red_ucb import REdUCB
from risingbandits.policies.round_robin import RoundRobin

__all__ = [
    "Constant",
    "Explanation",
    "Kernels",
    "OracleConstant",
    "Policy",
    "REdUCB",
    "RoundRobin",
    "get_policy",
    "policy_class",
    "policy_names",
    "register",
]
