"""Random arms that have the paper's assumptions and nothing more: means in [0, 1], rising and concave from pull 1 on.

Nothing is built from a value before the first pull: an arm may start at 0 and jump to its limit with the second pull.
"""

from __future__ import annotations

import numpy as np

from risingbandits import RisingBandit
from risingbandits.problems import Gaussian, NoNoise, Tabulated

FAMILIES = ("increments", "power", "exponential", "polynomial", "straight", "constant", "jump", "kinks")


def random_arm(rng: np.random.Generator, horizon: int, family: str) -> np.ndarray:
    """Means of one arm."""
    n = np.arange(horizon)  # 0 at the first pull
    start = 0.0 if rng.random() < 0.5 else float(rng.uniform(0, 0.9))
    room = float(rng.uniform(0, 1)) * (1 - start)
    pace = float(horizon ** rng.uniform(-0.2, 1.2))
    shape: np.ndarray
    if family == "constant":
        shape = np.zeros(horizon)
    elif family == "jump":
        shape = np.minimum(n, 1).astype(float)
    elif family == "straight":
        shape = np.minimum(1.0, n / pace)
    elif family == "power":
        shape = 1 - (1.0 + n) ** -rng.uniform(0.1, 3)
    elif family == "exponential":
        shape = -np.expm1(-n / pace)
    elif family == "polynomial":
        shape = 1 - (1 + n / pace) ** -rng.uniform(0.2, 3)
    elif family == "kinks":
        slopes = np.sort(rng.exponential(1, 4))[::-1]
        ends = np.sort(rng.uniform(0, 1, 3) ** 2 * horizon)
        shape = np.cumsum(slopes[np.searchsorted(ends, n)]) - slopes[0]
        shape = shape / max(float(shape[-1]), 1e-300)
    else:
        steps = np.sort(rng.exponential(1, horizon) ** rng.uniform(1, 6))[::-1]
        shape = np.concatenate([[0.0], np.cumsum(steps[:-1])])
        shape = shape / max(float(shape[-1]), 1e-300)
    return np.minimum(1.0, start + room * shape)


def random_concave(
    rng: np.random.Generator, n_arms: int, horizon: int, sigma: float = 0.0
) -> tuple[np.ndarray, RisingBandit]:
    """Means, shape (K, T), and the problem that has them. Some arms stand close to each other, some at the cap."""
    arms = np.array([random_arm(rng, horizon, str(rng.choice(FAMILIES))) for _ in range(n_arms)])
    if rng.random() < 0.3:
        arms[0] = np.clip(arms[-1] - rng.uniform(0, 0.02), 0.0, 1.0) if arms[-1, 0] > 0.02 else arms[-1] * 0.98
    if rng.random() < 0.2:
        arms[int(rng.integers(n_arms))] = np.minimum(1.0, np.arange(horizon) / horizon ** rng.uniform(0.2, 1))
    noise = Gaussian(sigma) if sigma > 0 else NoNoise()
    return arms, RisingBandit([Tabulated(row) for row in arms], noise, horizon)
