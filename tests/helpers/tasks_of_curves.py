"""Small tasks of the benchmark for tests."""

from __future__ import annotations

import numpy as np

from risingbandits.lab.benchmark.curve_tasks import CurveTask, seen_is_true


def curve_task(n_arms: int = 5, length: int = 20, sigma: float = 0.01, seed: int = 0, name: str = "task") -> CurveTask:
    """Rising curves with a little noise, and one hyperparameter."""
    rng = np.random.default_rng(seed)
    limits, rates = rng.uniform(0.2, 0.9, n_arms), rng.uniform(0.05, 0.5, n_arms)
    curves = limits[:, None] * (1 - np.exp(-rates[:, None] * np.arange(1, length + 1)))
    curves = np.clip(curves + rng.normal(0.0, sigma, curves.shape), 0.0, 1.0)
    return seen_is_true(name, "family", curves, {"rate": rates, "kind": np.array(["a"] * n_arms)})
