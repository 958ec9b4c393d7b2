"""Spend a budget on the learners that will be best, not on those that are best now.

Arms improve the more they are used. Policies decide which one is used next; `simulate` measures how well they do:

>>> import risingbandits as rb
>>> result = rb.simulate(["red-ucb", "oracle"], "paper-2arms", horizon=2_000, runs=4, seed=1)
>>> result.policies
['red-ucb', 'oracle']
>>> result.final_regret["oracle"].round(6).tolist()
[0.0, 0.0, 0.0, 0.0]

and they decide for real, one pull at a time:

>>> policy = rb.REdUCB(eps=0.25, sigma=0.1).reset(n_arms=3)
>>> arm = policy.ask()
>>> policy.tell(arm, reward=0.7)
"""

from risingbandits._version import __version__
from risingbandits.errors import RisingBanditsError
from risingbandits.instances import (
    Bernoulli,
    Beta,
    ConstantCurve,
    Curve,
    Exponential,
    Gaussian,
    InstancePair,
    LinearCapped,
    NoNoise,
    Polynomial,
    PowerLaw,
    RisingBandit,
    ShapeCheck,
    Tabulated,
    exponential_instance,
    get_instance,
    instance_names,
    instance_pair,
    power_law_instance,
    random_instance,
)
from risingbandits.policies import (
    DUCB,
    ETTS,
    KLUCB,
    RSR,
    RUCBE,
    SWKLUCB,
    SWTS,
    SWUCB,
    UCB1,
    BetaThompson,
    CashElimination,
    CommitUCB,
    Constant,
    EpsilonGreedy,
    Exp3,
    Exp3S,
    Explanation,
    ExploreThenCommit,
    GaussianThompson,
    GaussianUCB,
    ImprovingElimination,
    OracleConstant,
    Policy,
    REdUCB,
    Rexp3,
    RLessUCB,
    RoundRobin,
    SequentialHalving,
    Ser4,
    SuccessiveRejects,
    TsallisINF,
    WindowGreedy,
    get_policy,
    policy_names,
    register,
)
from risingbandits.simulation import Result, simulate

__all__ = [
    "DUCB",
    "ETTS",
    "KLUCB",
    "RSR",
    "RUCBE",
    "SWKLUCB",
    "SWTS",
    "SWUCB",
    "UCB1",
    "Bernoulli",
    "Beta",
    "BetaThompson",
    "CashElimination",
    "CommitUCB",
    "Constant",
    "ConstantCurve",
    "Curve",
    "EpsilonGreedy",
    "Exp3",
    "Exp3S",
    "Explanation",
    "ExploreThenCommit",
    "Exponential",
    "Gaussian",
    "GaussianThompson",
    "GaussianUCB",
    "ImprovingElimination",
    "InstancePair",
    "LinearCapped",
    "NoNoise",
    "OracleConstant",
    "Policy",
    "Polynomial",
    "PowerLaw",
    "REdUCB",
    "RLessUCB",
    "Result",
    "Rexp3",
    "RisingBandit",
    "RisingBanditsError",
    "RoundRobin",
    "SequentialHalving",
    "Ser4",
    "ShapeCheck",
    "SuccessiveRejects",
    "Tabulated",
    "TsallisINF",
    "WindowGreedy",
    "__version__",
    "exponential_instance",
    "get_instance",
    "get_policy",
    "instance_names",
    "instance_pair",
    "policy_names",
    "power_law_instance",
    "random_instance",
    "register",
    "simulate",
]
