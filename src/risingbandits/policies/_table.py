"""The policies of the package by name, which are loaded when first used: module, class and objective of each."""

from __future__ import annotations

from risingbandits._core.plugins import ListedPolicy

CUMULATIVE, BEST_ARM = "cumulative", "best-arm"

POLICIES: dict[str, ListedPolicy] = {
    "asha": ListedPolicy("risingbandits.policies.best_arm.asha", "ASHA", BEST_ARM),
    "auto": ListedPolicy("risingbandits.policies.default.auto", "Auto", BEST_ARM),
    "beta-ts": ListedPolicy("risingbandits.policies.classic.beta_ts", "BetaThompson", CUMULATIVE),
    "commit-ucb": ListedPolicy("risingbandits.policies.commit.commit_ucb", "CommitUCB", CUMULATIVE),
    "config-model": ListedPolicy("risingbandits.policies.config_model", "ConfigModel", BEST_ARM),
    "constant": ListedPolicy("risingbandits.policies.baselines", "Constant", CUMULATIVE),
    "epsilon-greedy": ListedPolicy("risingbandits.policies.classic.greedy", "EpsilonGreedy", CUMULATIVE),
    "explore-then-commit": ListedPolicy("risingbandits.policies.classic.greedy", "ExploreThenCommit", CUMULATIVE),
    "gaussian-ts": ListedPolicy("risingbandits.policies.classic.gaussian_ts", "GaussianThompson", CUMULATIVE),
    "gaussian-ucb": ListedPolicy("risingbandits.policies.classic.ucb1", "GaussianUCB", CUMULATIVE),
    "hyperband": ListedPolicy("risingbandits.policies.best_arm.hyperband", "Hyperband", BEST_ARM),
    "kl-ucb": ListedPolicy("risingbandits.policies.classic.kl_ucb", "KLUCB", CUMULATIVE),
    "oracle": ListedPolicy("risingbandits.policies.baselines", "OracleConstant", CUMULATIVE),
    "r-less-ucb": ListedPolicy("risingbandits.policies.rising.r_less_ucb", "RLessUCB", CUMULATIVE),
    "red-ucb": ListedPolicy("risingbandits.policies.rising.red_ucb", "REdUCB", CUMULATIVE),
    "rexp3": ListedPolicy("risingbandits.policies.classic.rexp3", "Rexp3", CUMULATIVE),
    "round-robin": ListedPolicy("risingbandits.policies.baselines", "RoundRobin", CUMULATIVE),
    "sequential-halving": ListedPolicy("risingbandits.policies.best_arm.halving", "SequentialHalving", BEST_ARM),
    "ser4": ListedPolicy("risingbandits.policies.classic.ser4", "Ser4", CUMULATIVE),
    "successive-halving": ListedPolicy("risingbandits.policies.best_arm.halving", "SuccessiveHalving", BEST_ARM),
    "sw-kl-ucb": ListedPolicy("risingbandits.policies.classic.kl_ucb", "SWKLUCB", CUMULATIVE),
    "sw-ts": ListedPolicy("risingbandits.policies.classic.beta_ts", "SWTS", CUMULATIVE),
    "sw-ucb": ListedPolicy("risingbandits.policies.classic.sw_ucb", "SWUCB", CUMULATIVE),
    "ucb1": ListedPolicy("risingbandits.policies.classic.ucb1", "UCB1", CUMULATIVE),
}

#: What most users need, in the order in which they are listed.
COMMON = (
    *("auto", "red-ucb", "commit-ucb", "kl-ucb", "ucb1", "sw-ucb", "epsilon-greedy", "explore-then-commit"),
    *("successive-halving", "sequential-halving", "hyperband", "asha", "round-robin", "oracle"),
)
