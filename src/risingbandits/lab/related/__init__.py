"""Policies of the literature that are neither the paper's nor its baselines, loaded when first used.

Stability: experimental.
"""

from typing import TYPE_CHECKING

from risingbandits._core.plugins import ListedPolicy, load_on_use

if TYPE_CHECKING:
    from risingbandits.lab.related.ad_switch import AdSwitch
    from risingbandits.lab.related.cella import CellaETC, RestSure
    from risingbandits.lab.related.corral import Corral
    from risingbandits.lab.related.cure_ucb import CureUCB
    from risingbandits.lab.related.cusum_ucb import CUSUMUCB
    from risingbandits.lab.related.d_ucb import DUCB
    from risingbandits.lab.related.exp3 import Exp3, Exp3S
    from risingbandits.lab.related.fewa import FEWA
    from risingbandits.lab.related.forced_thompson import (
        ETTS,
        ETBetaThompson,
        ETGaussianThompson,
        ETSWGaussianThompson,
    )
    from risingbandits.lab.related.glr_kl_ucb import GLRKLUCB
    from risingbandits.lab.related.graph_red_ucb import GraphREdUCB
    from risingbandits.lab.related.hybrid_ptrr import HybridPTRR
    from risingbandits.lab.related.linear_ae import LinearAE
    from risingbandits.lab.related.linear_ee import LinearEE
    from risingbandits.lab.related.m_ucb import MUCB
    from risingbandits.lab.related.model_halving import ModelHalving
    from risingbandits.lab.related.ptrr import PTRR
    from risingbandits.lab.related.r_ucbe import RUCBE
    from risingbandits.lab.related.raw_ucb import RAWUCB
    from risingbandits.lab.related.rc_be import RCBE
    from risingbandits.lab.related.regret_balancing import RegretBalancing
    from risingbandits.lab.related.rejects import RSR, SuccessiveRejects
    from risingbandits.lab.related.sw_gaussian_ts import SWGaussianThompson
    from risingbandits.lab.related.ti_ucb import TIUCB
    from risingbandits.lab.related.wswa import WSWA

CUMULATIVE, BEST_ARM = "cumulative", "best-arm"

POLICIES: dict[str, ListedPolicy] = {
    "ad-switch": ListedPolicy("risingbandits.lab.related.ad_switch", "AdSwitch", CUMULATIVE),
    "cella-etc": ListedPolicy("risingbandits.lab.related.cella", "CellaETC", BEST_ARM),
    "corral": ListedPolicy("risingbandits.lab.related.corral", "Corral", CUMULATIVE),
    "cure-ucb": ListedPolicy("risingbandits.lab.related.cure_ucb", "CureUCB", CUMULATIVE),
    "cusum-ucb": ListedPolicy("risingbandits.lab.related.cusum_ucb", "CUSUMUCB", CUMULATIVE),
    "d-ucb": ListedPolicy("risingbandits.lab.related.d_ucb", "DUCB", CUMULATIVE),
    "et-beta-ts": ListedPolicy("risingbandits.lab.related.forced_thompson", "ETBetaThompson", CUMULATIVE),
    "et-gaussian-ts": ListedPolicy("risingbandits.lab.related.forced_thompson", "ETGaussianThompson", CUMULATIVE),
    "et-sw-gaussian-ts": ListedPolicy("risingbandits.lab.related.forced_thompson", "ETSWGaussianThompson", CUMULATIVE),
    "et-ts": ListedPolicy("risingbandits.lab.related.forced_thompson", "ETTS", CUMULATIVE),
    "exp3": ListedPolicy("risingbandits.lab.related.exp3", "Exp3", CUMULATIVE),
    "exp3-s": ListedPolicy("risingbandits.lab.related.exp3", "Exp3S", CUMULATIVE),
    "fewa": ListedPolicy("risingbandits.lab.related.fewa", "FEWA", CUMULATIVE),
    "glr-kl-ucb": ListedPolicy("risingbandits.lab.related.glr_kl_ucb", "GLRKLUCB", CUMULATIVE),
    "graph-red-ucb": ListedPolicy("risingbandits.lab.related.graph_red_ucb", "GraphREdUCB", CUMULATIVE),
    "hybrid-ptrr": ListedPolicy("risingbandits.lab.related.hybrid_ptrr", "HybridPTRR", CUMULATIVE),
    "linear-ae": ListedPolicy("risingbandits.lab.related.linear_ae", "LinearAE", CUMULATIVE),
    "linear-ee": ListedPolicy("risingbandits.lab.related.linear_ee", "LinearEE", CUMULATIVE),
    "m-ucb": ListedPolicy("risingbandits.lab.related.m_ucb", "MUCB", CUMULATIVE),
    "model-halving": ListedPolicy("risingbandits.lab.related.model_halving", "ModelHalving", BEST_ARM),
    "ptrr": ListedPolicy("risingbandits.lab.related.ptrr", "PTRR", CUMULATIVE),
    "r-sr": ListedPolicy("risingbandits.lab.related.rejects", "RSR", BEST_ARM),
    "r-ucbe": ListedPolicy("risingbandits.lab.related.r_ucbe", "RUCBE", BEST_ARM),
    "raw-ucb": ListedPolicy("risingbandits.lab.related.raw_ucb", "RAWUCB", CUMULATIVE),
    "rc-be": ListedPolicy("risingbandits.lab.related.rc_be", "RCBE", CUMULATIVE),
    "regret-balancing": ListedPolicy("risingbandits.lab.related.regret_balancing", "RegretBalancing", CUMULATIVE),
    "rest-sure": ListedPolicy("risingbandits.lab.related.cella", "RestSure", BEST_ARM),
    "successive-rejects": ListedPolicy("risingbandits.lab.related.rejects", "SuccessiveRejects", BEST_ARM),
    "sw-gaussian-ts": ListedPolicy("risingbandits.lab.related.sw_gaussian_ts", "SWGaussianThompson", CUMULATIVE),
    "ti-ucb": ListedPolicy("risingbandits.lab.related.ti_ucb", "TIUCB", CUMULATIVE),
    "wswa": ListedPolicy("risingbandits.lab.related.wswa", "WSWA", CUMULATIVE),
}

__all__ = [
    "CUSUMUCB",
    "DUCB",
    "ETTS",
    "FEWA",
    "GLRKLUCB",
    "MUCB",
    "PTRR",
    "RAWUCB",
    "RCBE",
    "RSR",
    "RUCBE",
    "TIUCB",
    "WSWA",
    "AdSwitch",
    "CellaETC",
    "Corral",
    "CureUCB",
    "ETBetaThompson",
    "ETGaussianThompson",
    "ETSWGaussianThompson",
    "Exp3",
    "Exp3S",
    "GraphREdUCB",
    "HybridPTRR",
    "LinearAE",
    "LinearEE",
    "ModelHalving",
    "RegretBalancing",
    "RestSure",
    "SWGaussianThompson",
    "SuccessiveRejects",
]

_WHERE = {listed.class_name: listed.module for listed in POLICIES.values()}


if not TYPE_CHECKING:  # or every name would be known to a type checker
    __getattr__ = load_on_use(__name__, _WHERE)


def __dir__() -> list[str]:
    return __all__
