"""The theory of rising rested bandits as functions: how hard a problem is, what is promised, what is impossible.

Numbers of theorems and lemmas are those of "Rising Rested Bandits: Lower Bounds and Efficient Algorithms" where the
docstrings name them; slips of the paper are corrected, and each correction is told where it is made and in the
documentation.
"""

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
from risingbandits.theory.rates import RegretRate, increment_bound, increment_rate, regret_rate
from risingbandits.theory.upper_bounds import (
    Bound,
    deterministic_bound,
    predicted_regret,
    stochastic_bound,
    trivial_bound,
)

__all__ = [
    "Bound",
    "CurveReport",
    "LowerBound",
    "RegretRate",
    "ShapeTest",
    "average_rewards",
    "beta_lower_bound",
    "bretagnolle_huber",
    "check_curve",
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
    "increment_lower_bound",
    "increment_rate",
    "lower_bound",
    "noise_level",
    "non_concave_lower_bound",
    "oracle",
    "predicted_regret",
    "regret_from_pulls",
    "regret_rate",
    "rising_fit",
    "stochastic_bias_bound",
    "stochastic_bound",
    "stochastic_lower_bound",
    "total_variation",
    "trivial_bound",
    "window_estimate",
]
