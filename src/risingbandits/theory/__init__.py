"""The theory of rising rested bandits as functions: how hard a problem is, what is promised, what is impossible.

Numbers of theorems and lemmas are those of "Rising Rested Bandits: Lower Bounds and Efficient Algorithms" where the
docstrings name them; slips of the paper are corrected, and each correction is stated where it is made and in the
documentation. What is about CommitUCB (``commit_...``) has the numbers of the page "What is proved".

Stability: experimental.
"""

from risingbandits.theory.commit_bound import best_z, commit_bound, commit_bound_risk
from risingbandits.theory.commit_lines import (
    CommitCounts,
    anchored_line,
    commit_ceiling,
    commit_confidence,
    commit_counts,
    commit_failure,
    commit_value,
    two_block_line,
)
from risingbandits.theory.commit_sums import RegretParts, price_of_commitment, regret_parts, sum_increments
from risingbandits.theory.complexity import (
    average_rewards,
    cumulative_increment,
    decay_exponent,
    gaps,
    oracle,
    regret_from_pulls,
    total_variation,
)
from risingbandits.theory.estimators import (
    concentration_width,
    deterministic_bias_bound,
    deterministic_estimate,
    stochastic_bias_bound,
    window_estimate,
)
from risingbandits.theory.lower_bounds import (
    LowerBound,
    ProblemPair,
    beta_lower_bound,
    bretagnolle_huber,
    concave_lower_bound,
    game_value,
    increment_lower_bound,
    lower_bound,
    non_concave_lower_bound,
    stochastic_lower_bound,
)
from risingbandits.theory.measured import CurveReport, ShapeTest, check_curve, concave_fit, noise_level, rising_fit
from risingbandits.theory.promises import predicted_regret
from risingbandits.theory.questions import Verdict, check_curves
from risingbandits.theory.rates import RegretRate, increment_bound, increment_limit, increment_rate, regret_rate
from risingbandits.theory.upper_bounds import (
    Bound,
    deterministic_bound,
    stochastic_bound,
    trivial_bound,
)

__all__ = [
    "Bound",
    "CommitCounts",
    "CurveReport",
    "LowerBound",
    "ProblemPair",
    "RegretParts",
    "RegretRate",
    "ShapeTest",
    "Verdict",
    "anchored_line",
    "average_rewards",
    "best_z",
    "beta_lower_bound",
    "bretagnolle_huber",
    "check_curve",
    "check_curves",
    "commit_bound",
    "commit_bound_risk",
    "commit_ceiling",
    "commit_confidence",
    "commit_counts",
    "commit_failure",
    "commit_value",
    "concave_fit",
    "concave_lower_bound",
    "concentration_width",
    "cumulative_increment",
    "decay_exponent",
    "deterministic_bias_bound",
    "deterministic_bound",
    "deterministic_estimate",
    "game_value",
    "gaps",
    "increment_bound",
    "increment_limit",
    "increment_lower_bound",
    "increment_rate",
    "lower_bound",
    "noise_level",
    "non_concave_lower_bound",
    "oracle",
    "predicted_regret",
    "price_of_commitment",
    "regret_from_pulls",
    "regret_parts",
    "regret_rate",
    "rising_fit",
    "stochastic_bias_bound",
    "stochastic_bound",
    "stochastic_lower_bound",
    "sum_increments",
    "total_variation",
    "trivial_bound",
    "two_block_line",
    "window_estimate",
]
