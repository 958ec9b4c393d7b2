"""Tables of rewards, one row for each arm, that both libraries are told from."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

ROUNDS = 2_500
TABLES = 4  # so that every comparison has 10,000 decisions


def coins(seed: int, n_arms: int = 5, rounds: int = ROUNDS) -> Floats:
    """Coins whose chances rise slowly, each by its own amount: column n has the rewards of pull n."""
    rng = np.random.default_rng(seed)
    start, rise = rng.random(n_arms), rng.random(n_arms)
    chances = np.clip(start[:, None] * 0.6 + 0.3 * rise[:, None] * np.linspace(0, 1, rounds), 0, 1)
    return (rng.random((n_arms, rounds)) < chances).astype(float)


def shares(seed: int, n_arms: int = 5, rounds: int = ROUNDS) -> Floats:
    """Rewards anywhere in [0, 1], so that ties are rare."""
    rng = np.random.default_rng(seed)
    return np.clip(rng.random(n_arms)[:, None] + 0.2 * rng.standard_normal((n_arms, rounds)), 0, 1)


def jumps(seed: int, n_arms: int = 3, rounds: int = ROUNDS) -> Floats:
    """Coins whose chances jump every 300 pulls."""
    rng = np.random.default_rng(seed)
    chances = np.repeat(rng.random((n_arms, -(-rounds // 300))), 300, axis=1)[:, :rounds]
    return (rng.random((n_arms, rounds)) < chances).astype(float)
