"""What is estimated from rewards: the paper's estimators, and tests of measured curves."""

from risingbandits.theory.estimators._measured import (
    CurveReport,
    ShapeTest,
    check_curve,
    concave_fit,
    noise_level,
    rising_fit,
)
from risingbandits.theory.estimators._paper import (
    concentration_width,
    deterministic_bias_bound,
    deterministic_estimate,
    stochastic_bias_bound,
    window_estimate,
)
from risingbandits.theory.estimators._questions import Verdict, check_curves

__all__ = [
    "CurveReport",
    "ShapeTest",
    "Verdict",
    "check_curve",
    "check_curves",
    "concave_fit",
    "concentration_width",
    "deterministic_bias_bound",
    "deterministic_estimate",
    "noise_level",
    "rising_fit",
    "stochastic_bias_bound",
    "window_estimate",
]
