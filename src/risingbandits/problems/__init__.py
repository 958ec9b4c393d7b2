"""Bandit problems: learning curves, noise, and the two together.

A `Curve` gives the mean reward of an arm's n-th pull; families in closed form know their sums, increments and shape
exactly, `Tabulated` holds anything else. A `RisingBandit` is one curve for each arm and the noise of the rewards: it
answers what the best arm is and whether all arms rise, and turns itself into the arrays that the compiled simulation
reads (`Environment`). `get_problem` has the named problems of the literature; `random_problem`,
`power_law_problem` and `exponential_problem` draw new ones.

Stability: stable; experimental is `Environment`.
"""

from risingbandits.problems._curve import Curve, ShapeCheck
from risingbandits.problems._kernels import Environment
from risingbandits.problems.bandit import RisingBandit
from risingbandits.problems.curves import (
    ConstantCurve,
    Exponential,
    FunctionCurve,
    LinearCapped,
    Polynomial,
    PowerLaw,
    Tabulated,
)
from risingbandits.problems.noise import Bernoulli, Beta, Gaussian, Noise, NoNoise
from risingbandits.problems.presets import get_problem, problem_description, problem_names
from risingbandits.problems.random import exponential_problem, power_law_problem, random_problem

__all__ = [
    "Bernoulli",
    "Beta",
    "ConstantCurve",
    "Curve",
    "Environment",
    "Exponential",
    "FunctionCurve",
    "Gaussian",
    "LinearCapped",
    "NoNoise",
    "Noise",
    "Polynomial",
    "PowerLaw",
    "RisingBandit",
    "ShapeCheck",
    "Tabulated",
    "exponential_problem",
    "get_problem",
    "power_law_problem",
    "problem_description",
    "problem_names",
    "random_problem",
]
