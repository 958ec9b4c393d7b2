"""The policies of the package by name, which are loaded when first used: module, class and objective of each."""

from __future__ import annotations

from typing import NamedTuple


class Listed(NamedTuple):
    """Where a policy is, and what it is for."""

    module: str
    class_name: str
    objective: str


CUMULATIVE, BEST_ARM = "cumulative", "best-arm"

POLICIES: dict[str, Listed] = {
    "asha": Listed("risingbandits.policies.best_arm.asha", "ASHA", BEST_ARM),
    "auto": Listed("risingbandits.policies.auto", "Auto", CUMULATIVE),
    "beta-ts": Listed("risingbandits.policies.classic.beta_ts", "BetaThompson", CUMULATIVE),
    "cash-elimination": Listed("risingbandits.policies.best_arm.cash_elimination", "CashElimination", BEST_ARM),
    "cella-etc": Listed("risingbandits.policies.rising.cella", "CellaETC", BEST_ARM),
    "commit-ensemble": Listed("risingbandits.policies.commit.commit_ensemble", "CommitEnsemble", CUMULATIVE),
    "commit-ucb": Listed("risingbandits.policies.commit.commit_ucb", "CommitUCB", CUMULATIVE),
    "constant": Listed("risingbandits.policies.baselines", "Constant", CUMULATIVE),
    "corral": Listed("risingbandits.policies.classic.corral", "Corral", CUMULATIVE),
    "cure-ucb": Listed("risingbandits.policies.rising.cure_ucb", "CureUCB", CUMULATIVE),
    "cusum-ucb": Listed("risingbandits.policies.classic.cusum_ucb", "CUSUMUCB", CUMULATIVE),
    "d-ucb": Listed("risingbandits.policies.classic.changing_ucb", "DUCB", CUMULATIVE),
    "epsilon-greedy": Listed("risingbandits.policies.classic.greedy", "EpsilonGreedy", CUMULATIVE),
    "et-beta-ts": Listed("risingbandits.policies.rising.et_beta_ts", "ETBetaThompson", CUMULATIVE),
    "et-gaussian-ts": Listed("risingbandits.policies.rising.et_gaussian_ts", "ETGaussianThompson", CUMULATIVE),
    "et-sw-gaussian-ts": Listed("risingbandits.policies.rising.et_sw_gaussian_ts", "ETSWGaussianThompson", CUMULATIVE),
    "et-ts": Listed("risingbandits.policies.rising.et_ts", "ETTS", CUMULATIVE),
    "exp3": Listed("risingbandits.policies.classic.exp3", "Exp3", CUMULATIVE),
    "exp3-s": Listed("risingbandits.policies.classic.exp3", "Exp3S", CUMULATIVE),
    "explore-then-commit": Listed("risingbandits.policies.classic.greedy", "ExploreThenCommit", CUMULATIVE),
    "few-arms": Listed("risingbandits.policies.few_arms", "FewArms", CUMULATIVE),
    "gaussian-ts": Listed("risingbandits.policies.classic.gaussian_ts", "GaussianThompson", CUMULATIVE),
    "gaussian-ucb": Listed("risingbandits.policies.classic.ucb1", "GaussianUCB", CUMULATIVE),
    "glr-kl-ucb": Listed("risingbandits.policies.classic.glr_kl_ucb", "GLRKLUCB", CUMULATIVE),
    "graph-red-ucb": Listed("risingbandits.policies.rising.graph_red_ucb", "GraphREdUCB", CUMULATIVE),
    "hybrid-ptrr": Listed("risingbandits.policies.rising.hybrid_ptrr", "HybridPTRR", CUMULATIVE),
    "hyperband": Listed("risingbandits.policies.best_arm.hyperband", "Hyperband", BEST_ARM),
    "improving-elimination": Listed(
        "risingbandits.policies.rising.improving_elimination", "ImprovingElimination", CUMULATIVE
    ),
    "kl-ucb": Listed("risingbandits.policies.classic.kl_ucb", "KLUCB", CUMULATIVE),
    "linear-ae": Listed("risingbandits.policies.rising.linear_ae", "LinearAE", CUMULATIVE),
    "linear-ee": Listed("risingbandits.policies.rising.linear_ee", "LinearEE", CUMULATIVE),
    "m-ucb": Listed("risingbandits.policies.classic.m_ucb", "MUCB", CUMULATIVE),
    "model-halving": Listed("risingbandits.policies.best_arm.model_halving", "ModelHalving", BEST_ARM),
    "open-arms": Listed("risingbandits.policies.commit.open_arms", "OpenArms", CUMULATIVE),
    "open-by-value": Listed("risingbandits.policies.commit.open_by_value", "OpenByValue", CUMULATIVE),
    "oracle": Listed("risingbandits.policies.baselines", "OracleConstant", CUMULATIVE),
    "ptrr": Listed("risingbandits.policies.rising.ptrr", "PTRR", CUMULATIVE),
    "r-less-ucb": Listed("risingbandits.policies.rising.r_less_ucb", "RLessUCB", CUMULATIVE),
    "r-sr": Listed("risingbandits.policies.best_arm.rejects", "RSR", BEST_ARM),
    "r-ucbe": Listed("risingbandits.policies.best_arm.r_ucbe", "RUCBE", BEST_ARM),
    "raw-ucb": Listed("risingbandits.policies.classic.raw_ucb", "RAWUCB", CUMULATIVE),
    "rc-be": Listed("risingbandits.policies.rising.rc_be", "RCBE", CUMULATIVE),
    "red-ucb": Listed("risingbandits.policies.rising.red_ucb", "REdUCB", CUMULATIVE),
    "regret-balancing": Listed("risingbandits.policies.classic.regret_balancing", "RegretBalancing", CUMULATIVE),
    "rest-sure": Listed("risingbandits.policies.rising.cella", "RestSure", BEST_ARM),
    "rexp3": Listed("risingbandits.policies.classic.exp3", "Rexp3", CUMULATIVE),
    "round-robin": Listed("risingbandits.policies.baselines", "RoundRobin", CUMULATIVE),
    "scouted-halving": Listed("risingbandits.policies.best_arm.scouted_halving", "ScoutedHalving", BEST_ARM),
    "selective-race": Listed("risingbandits.policies.best_arm.rejects", "SelectiveRace", BEST_ARM),
    "sequential-halving": Listed("risingbandits.policies.best_arm.halving", "SequentialHalving", BEST_ARM),
    "ser4": Listed("risingbandits.policies.classic.ser4", "Ser4", CUMULATIVE),
    "successive-halving": Listed("risingbandits.policies.best_arm.halving", "SuccessiveHalving", BEST_ARM),
    "successive-rejects": Listed("risingbandits.policies.best_arm.rejects", "SuccessiveRejects", BEST_ARM),
    "sw-gaussian-ts": Listed("risingbandits.policies.classic.sw_gaussian_ts", "SWGaussianThompson", CUMULATIVE),
    "sw-kl-ucb": Listed("risingbandits.policies.classic.kl_ucb", "SWKLUCB", CUMULATIVE),
    "sw-ts": Listed("risingbandits.policies.classic.beta_ts", "SWTS", CUMULATIVE),
    "sw-ucb": Listed("risingbandits.policies.classic.changing_ucb", "SWUCB", CUMULATIVE),
    "ti-ucb": Listed("risingbandits.policies.rising.ti_ucb", "TIUCB", CUMULATIVE),
    "tsallis-inf": Listed("risingbandits.policies.classic.tsallis_inf", "TsallisINF", CUMULATIVE),
    "ucb1": Listed("risingbandits.policies.classic.ucb1", "UCB1", CUMULATIVE),
    "window-greedy": Listed("risingbandits.policies.classic.greedy", "WindowGreedy", CUMULATIVE),
}
