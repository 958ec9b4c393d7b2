"""Online logistic regression on sparse rows: ``w -= rate(t) (p - y) x``.

Only the weights of the row's own features move, so a step costs as much as the row is long.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from risingbandits._core.errors import check_choice, check_finite
from risingbandits._core.jit import kernel
from risingbandits._core.types import Floats

SCHEMES = ("constant", "inverse", "inverse-sqrt")  # rate; rate / t; rate / sqrt(t)
_LEAST = 1e-4  # probabilities are clipped to [_LEAST, 1 - _LEAST]


@dataclass(frozen=True)
class LogisticRegression:
    """Logistic regression by online gradient descent; t counts the steps of this learner."""

    rate: float = 0.003  # beta > 0; the published program has 0.003 (constant) and 0.1 (decreasing)
    scheme: str = "constant"  # beta; "inverse": beta / t, as the paper writes; "inverse-sqrt": as the program does
    clip: float = math.inf  # weights stay within [-clip, clip]
    kind: ClassVar[int] = 0

    def __post_init__(self) -> None:
        check_finite("rate", self.rate, above=0.0)
        check_choice("scheme", self.scheme, SCHEMES)
        if self.clip != math.inf:
            check_finite("clip", self.clip, above=0.0)

    @property
    def name(self) -> str:
        return "LR" if self.scheme == "constant" else "LR(t)"

    def size(self, features: int) -> int:
        """How many weights there are."""
        return features

    def initial(self, features: int, rng: np.random.Generator) -> Floats:
        """The weights before the first step: 1/d each."""
        return np.full(features, 1.0 / features)

    def settings(self) -> list[float]:
        """What the kernel needs: rate, place of the scheme, clip."""
        return [self.rate, float(SCHEMES.index(self.scheme)), self.clip]

    def layers(self) -> list[int]:
        return []


@kernel
def logistic_step(learners: Any, arm: int, t: int, first: int, last: int, label: float) -> float:
    """Let ``arm`` predict the label of row ``first:last``, then learn from it; 1.0 if the prediction was right."""
    weights, settings = learners.weights[arm], learners.settings[arm]
    indices, values = learners.indices, learners.values
    z = 0.0
    for place in range(first, last):
        z += values[place] * weights[indices[place]]
    p = min(max(sigmoid(z), _LEAST), 1.0 - _LEAST)
    rate = settings[0]
    if settings[1] == 1.0:
        rate /= t
    elif settings[1] == 2.0:
        rate /= math.sqrt(t)
    step = rate * (p - label)
    clip = settings[2]
    for place in range(first, last):
        weight = weights[indices[place]] - step * values[place]
        weights[indices[place]] = min(max(weight, -clip), clip)
    return 1.0 if (p > 0.5) == (label > 0.5) else 0.0


@kernel
def sigmoid(z: float) -> float:
    """1 / (1 + exp(-z)) without overflow."""
    if z >= 0.0:
        return 1.0 / (1.0 + math.exp(-z))
    grown = math.exp(z)
    return grown / (1.0 + grown)
