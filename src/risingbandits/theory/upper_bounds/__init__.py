"""What is promised: the regret bounds of R-ed-UCB and CommitUCB with all constants."""

from risingbandits.theory.upper_bounds._commit_lines import (
    CommitCounts,
    commit_confidence,
    commit_counts,
    commit_failure,
)
from risingbandits.theory.upper_bounds._commit_sums import (
    RegretParts,
    price_of_commitment,
    regret_parts,
    sum_increments,
)
from risingbandits.theory.upper_bounds._commit_ucb import best_z, commit_bound, commit_bound_risk
from risingbandits.theory.upper_bounds._predicted import predicted_regret
from risingbandits.theory.upper_bounds._red_ucb import Bound, deterministic_bound, stochastic_bound, trivial_bound

__all__ = [
    "Bound",
    "CommitCounts",
    "RegretParts",
    "best_z",
    "commit_bound",
    "commit_bound_risk",
    "commit_confidence",
    "commit_counts",
    "commit_failure",
    "deterministic_bound",
    "predicted_regret",
    "price_of_commitment",
    "regret_parts",
    "stochastic_bound",
    "sum_increments",
    "trivial_bound",
]
