"""Simulation: policies against problems, many runs, fast and reproducible.

Stability: stable; experimental is `Comparison`.
"""

from risingbandits.simulation.comparison import Comparison
from risingbandits.simulation.result import Result
from risingbandits.simulation.run import simulate

__all__ = ["Comparison", "Result", "simulate"]
