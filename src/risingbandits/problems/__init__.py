"""Bandit instances: learning curves, noise, and the two together.

A `Curve` gives the mean reward of an arm's n-th pull; families in closed form know their sums, increments and shape
exactly, `Tabulated` holds anything else. A `RisingBandit` is one curve for each arm and the noise of the rewards: it
answers what the best arm is and whether all arms rise, and turns itself into the arrays that the compiled simulation
reads (`Environment`). `get_instance` has the named instances of the literature; `random_instance`,
`power_law_instance` and `exponential_instance` draw new ones.
"""

from risingbandits.instances._kernels import Environment
from risingbandits.instances.bandit import RisingBandit
from risingbandits.instances.base import Curve
from risingbandits.instances.curves import (
    ConstantCurve,
    Exponential,
    LinearCapped,
    Polynomial,
    PowerLaw,
    Tabulated,
)
from risingbandits.instances.generate import exponential_instance, power_law_instance, random_instance
from risingbandits.instances.noise import Bernoulli, Beta, Gaussian, Noise, NoNoise
from risingbandits.instances.pairs import PAIRS, InstancePair, instance_pair
from risingbandits.instances.presets import get_instance, instance_description, instance_names
from risingbandits.instances.shape import ShapeCheck

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
