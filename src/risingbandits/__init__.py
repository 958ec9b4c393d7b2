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

from typing import TYPE_CHECKING, Any

from risingbandits._core.errors import RisingBanditsError
from risingbandits._version import __version__
from risingbandits.policies import (
    ASHA,
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
    CommitEnsemble,
    CommitUCB,
    Constant,
    EpsilonGreedy,
    Exp3,
    Exp3S,
    Explanation,
    ExploreThenCommit,
    FewArms,
    GaussianThompson,
    GaussianUCB,
    Hyperband,
    ImprovingElimination,
    OpenArms,
    OracleConstant,
    Policy,
    REdUCB,
    Rexp3,
    RLessUCB,
    RoundRobin,
    SelectiveRace,
    SequentialHalving,
    Ser4,
    SuccessiveHalving,
    SuccessiveRejects,
    TsallisINF,
    WindowGreedy,
    get_policy,
    policy_names,
    recommended_policy,
    register,
)
from risingbandits.problems import (
    Bernoulli,
    Beta,
    ConstantCurve,
    Curve,
    Exponential,
    Gaussian,
    LinearCapped,
    NoNoise,
    Polynomial,
    PowerLaw,
    ProblemPair,
    RisingBandit,
    ShapeCheck,
    Tabulated,
    exponential_problem,
    get_problem,
    power_law_problem,
    problem_names,
    problem_pair,
    random_problem,
)
from risingbandits.simulation import Result, simulate

if TYPE_CHECKING:
    from risingbandits.allocation import Allocator, Budget, NoArmFree, Pull

__all__ = [
    "ASHA",
    "DUCB",
    "ETTS",
    "KLUCB",
    "RSR",
    "RUCBE",
    "SWKLUCB",
    "SWTS",
    "SWUCB",
    "UCB1",
    "Allocator",
    "Bernoulli",
    "Beta",
    "BetaThompson",
    "Budget",
    "CashElimination",
    "CommitEnsemble",
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
    "FewArms",
    "Gaussian",
    "GaussianThompson",
    "GaussianUCB",
    "Hyperband",
    "ImprovingElimination",
    "LinearCapped",
    "NoArmFree",
    "NoNoise",
    "OpenArms",
    "OracleConstant",
    "Policy",
    "Polynomial",
    "PowerLaw",
    "ProblemPair",
    "Pull",
    "REdUCB",
    "RLessUCB",
    "Result",
    "Rexp3",
    "RisingBandit",
    "RisingBanditsError",
    "RoundRobin",
    "SelectiveRace",
    "SequentialHalving",
    "Ser4",
    "ShapeCheck",
    "SuccessiveHalving",
    "SuccessiveRejects",
    "Tabulated",
    "TsallisINF",
    "WindowGreedy",
    "__version__",
    "exponential_problem",
    "get_policy",
    "get_problem",
    "policy_names",
    "power_law_problem",
    "problem_names",
    "problem_pair",
    "random_problem",
    "recommended_policy",
    "register",
    "simulate",
]


def __getattr__(name: str) -> Any:
    """The allocator's names, loaded when they are first used."""
    if name in ("Allocator", "Budget", "NoArmFree", "Pull"):
        from risingbandits import allocation

        return getattr(allocation, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
