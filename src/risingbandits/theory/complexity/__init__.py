"""How hard a problem is: cumulative increment, gaps, rates, and the oracle."""

from risingbandits.theory.complexity._problems import (
    average_rewards,
    cumulative_increment,
    decay_exponent,
    gaps,
    oracle,
    regret_from_pulls,
    total_variation,
)
from risingbandits.theory.complexity._rates import (
    RegretRate,
    increment_bound,
    increment_limit,
    increment_rate,
    regret_rate,
)

__all__ = [
    "RegretRate",
    "average_rewards",
    "cumulative_increment",
    "decay_exponent",
    "gaps",
    "increment_bound",
    "increment_limit",
    "increment_rate",
    "oracle",
    "regret_from_pulls",
    "regret_rate",
    "total_variation",
]
