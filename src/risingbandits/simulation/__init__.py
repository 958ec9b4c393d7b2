"""Simulation: policies against problems, many runs, fast and reproducible."""

from risingbandits.simulation.result import Result
from risingbandits.simulation.run import simulate

__all__ = ["Result", "simulate"]
