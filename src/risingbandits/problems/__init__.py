"""Bandit instances: learning curves, noise, and the two together.

A `Curve` gives the mean reward of an arm's n-th pull; families in closed form know their sums, increments and shape
exactly, `Tabulated` holds anything else. A `RisingBandit` is one curve for each arm and the noise of the rewards: it
answers what the best arm is and whether all arms rise, and turns itself into the arrays that the compiled simulation
reads (`Environment`). `get_instance` has the named instances of the literature; `random_instance`,
`power_law_instance` and `exponential_instance` draw new ones.
"""

from risingbandits.problems._kernels import Environment
from risingbandits.problems.bandit import RisingBandit
from risingbandits.problems.base import Curve
from risingbandits.problems.curves import (
    ConstantCurve,
    Exponential,
    LinearCapped,
    Polynomial,
    PowerLaw,
    Tabulated,
)
from risingbandits.problems.noise import Bernoulli, Beta, Gaussian, Noise, NoNoise
from risingbandits.problems.pairs import PAIRS, InstancePair, instance_pair
from risingbandits.problems.presets import get_instance, instance_description, instance_names
from risingbandits.problems.random import exponential_instance, power_law_instance, random_instance
from risingbandits.problems.shape_check import ShapeCheck

__all__ = [
    "PAIRS",
    "Bernoulli",
    "Beta",
    "ConstantCurve",
    "Curve",
    "Environment",
    "Exponential",
    "Gaussian",
    "InstancePair",
    "LinearCapped",
    "NoNoise",
    "Noise",
    "Polynomial",
    "PowerLaw",
    "RisingBandit",
    "ShapeCheck",
    "Tabulated",
    "exponential_instance",
    "get_instance",
    "instance_description",
    "instance_names",
    "instance_pair",
    "power_law_instance",
    "random_instance",
]
