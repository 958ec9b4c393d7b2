"""Policies: who gets the next pull.

Every policy has the same verbs: ``reset(n_arms, horizon, seed)`` begins a run, ``ask(available)`` names the next arm,
``tell(arm, reward)`` reports what a pull earned, ``recommend()`` names the arm to keep and ``explain()`` says why.
"""

from risingbandits.policies.asha import ASHA
from risingbandits.policies.base import Kernels, Policy, get_policy, policy_class, policy_names, register
from risingbandits.policies.beta_ts import BetaThompson
from risingbandits.policies.cash_elimination import CashElimination
from risingbandits.policies.commit_ensemble import CommitEnsemble
from risingbandits.policies.commit_ucb import CommitUCB
from risingbandits.policies.constant import Constant, OracleConstant
from risingbandits.policies.d_ucb import DUCB
from risingbandits.policies.epsilon_greedy import EpsilonGreedy
from risingbandits.policies.et_ts import ETTS
from risingbandits.policies.exp3 import Exp3
from risingbandits.policies.exp3_s import Exp3S
from risingbandits.policies.explanation import Explanation
from risingbandits.policies.explore_then_commit import ExploreThenCommit
from risingbandits.policies.few_arms import FewArms
from risingbandits.policies.gaussian_ts import GaussianThompson
from risingbandits.policies.gaussian_ucb import GaussianUCB
from risingbandits.policies.hyperband import Hyperband
from risingbandits.policies.improving_elimination import ImprovingElimination
from risingbandits.policies.kl_ucb import KLUCB
from risingbandits.policies.open_arms import OpenArms
from risingbandits.policies.r_less_ucb import RLessUCB
from risingbandits.policies.r_sr import RSR
from risingbandits.policies.r_ucbe import RUCBE
from risingbandits.policies.recommended import recommended_policy
from risingbandits.policies.red_ucb import REdUCB
from risingbandits.policies.rexp3 import Rexp3
from risingbandits.policies.round_robin import RoundRobin
from risingbandits.policies.selective_race import SelectiveRace
from risingbandits.policies.sequential_halving import SequentialHalving
from risingbandits.policies.ser4 import Ser4
from risingbandits.policies.successive_halving import SuccessiveHalving
from risingbandits.policies.successive_rejects import SuccessiveRejects
from risingbandits.policies.sw_kl_ucb import SWKLUCB
from risingbandits.policies.sw_ts import SWTS
from risingbandits.policies.sw_ucb import SWUCB
from risingbandits.policies.tsallis_inf import TsallisINF
from risingbandits.policies.ucb1 import UCB1
from risingbandits.policies.window_greedy import WindowGreedy

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
    "BetaThompson",
    "CashElimination",
    "CommitEnsemble",
    "CommitUCB",
    "Constant",
    "EpsilonGreedy",
    "Exp3",
    "Exp3S",
    "Explanation",
    "ExploreThenCommit",
    "FewArms",
    "GaussianThompson",
    "GaussianUCB",
    "Hyperband",
    "ImprovingElimination",
    "Kernels",
    "OpenArms",
    "OracleConstant",
    "Policy",
    "REdUCB",
    "RLessUCB",
    "Rexp3",
    "RoundRobin",
    "SelectiveRace",
    "SequentialHalving",
    "Ser4",
    "SuccessiveHalving",
    "SuccessiveRejects",
    "TsallisINF",
    "WindowGreedy",
    "get_policy",
    "policy_class",
    "policy_names",
    "recommended_policy",
    "register",
]
