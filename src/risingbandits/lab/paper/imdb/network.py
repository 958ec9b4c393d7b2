"""Small ReLU networks with a logistic output, trained by Adam one sparse row at a time.

The same arithmetic as scikit-learn's ``MLPClassifier.partial_fit`` with one sample, in the same order: the L2 term
moves every weight in every step, so a step is one dense pass over the first layer (vectorised by the compiler) and a
handful of operations for the rest. Predictions equal those of scikit-learn from the same initial weights.

Weights lie in one row: of the first layer unit by unit (d numbers each), its biases, then for every later layer its
weights (inputs by outputs) and its biases.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from risingbandits._core.errors import RisingBanditsError, check_finite, check_positive_int
from risingbandits._core.jit import kernel, rare_kernel
from risingbandits._core.types import Floats, Ints
from risingbandits.lab.paper.imdb.logistic import sigmoid


@dataclass(frozen=True)
class Network:
    """A ReLU network with a logistic output and the Adam optimiser; the defaults are scikit-learn's and the paper's."""

    hidden: tuple[int, ...] = (2,)  # units of each hidden layer
    rate: float = 0.001
    l2: float = 1e-4  # strength of the L2 term, scikit-learn's ``alpha``; biases have none
    beta_1: float = 0.9
    beta_2: float = 0.999
    epsilon: float = 1e-8
    kind: ClassVar[int] = 1

    def __post_init__(self) -> None:
        if not self.hidden:
            raise RisingBanditsError("hidden must name at least one layer, got none.")
        for units in self.hidden:
            check_positive_int("hidden", units)
        check_finite("rate", self.rate, above=0.0)
        check_finite("l2", self.l2, minimum=0.0)
        check_finite("epsilon", self.epsilon, above=0.0)
        for name in ("beta_1", "beta_2"):
            check_finite(name, getattr(self, name), minimum=0.0, below=1.0)

    @property
    def name(self) -> str:
        return f"NN({','.join(map(str, self.hidden))})"

    def size(self, features: int) -> int:
        """How many weights and biases there are."""
        units = [features, *self.hidden, 1]
        return sum((n_in + 1) * n_out for n_in, n_out in pairwise(units))

    def initial(self, features: int, rng: np.random.Generator) -> Floats:
        """Weights before the first step: uniform within sqrt(6 / (inputs + outputs)) of a layer (Glorot)."""
        units = [features, *self.hidden, 1]
        coefs, biases = [], []
        for n_in, n_out in pairwise(units):
            bound = math.sqrt(6.0 / (n_in + n_out))
            coefs.append(rng.uniform(-bound, bound, (n_in, n_out)))
            biases.append(rng.uniform(-bound, bound, n_out))
        return self.pack(coefs, biases)

    def pack(self, coefs: Sequence[Any], biases: Sequence[Any]) -> Floats:
        """Weights given as scikit-learn keeps them (``coefs_`` and ``intercepts_``), in one row."""
        parts = [np.asarray(coefs[0], dtype=np.float64).T.ravel(), np.asarray(biases[0], dtype=np.float64)]
        for coef, bias in zip(coefs[1:], biases[1:], strict=True):
            parts += [np.asarray(coef, dtype=np.float64).ravel(), np.asarray(bias, dtype=np.float64)]
        return np.concatenate(parts)

    def settings(self) -> list[float]:
        """What the kernel needs: rate, L2, Adam's betas and epsilon."""
        return [self.rate, self.l2, self.beta_1, self.beta_2, self.epsilon]

    def layers(self) -> list[int]:
        return [*self.hidden, 1]


@rare_kernel
def network_step(learners: Any, arm: int, t: int, first: int, last: int, label: float) -> float:
    """Let ``arm`` predict the label of row ``first:last``, then learn from it; 1.0 if the prediction was right."""
    weights, moments, squares = learners.weights[arm], learners.moments[arm], learners.squares[arm]
    settings, layers = learners.settings[arm], learners.layers[arm]
    indices, values = learners.indices, learners.values
    dense, outputs, deltas = learners.dense, learners.outputs, learners.deltas
    d = dense.shape[0]
    n_layers = 0
    while n_layers < layers.shape[0] and layers[n_layers] > 0:
        n_layers += 1
    p = _forward(weights, layers, n_layers, indices, values, first, last, d, outputs)
    _backward(weights, layers, n_layers, d, p - label, outputs, deltas)

    rate, l2 = settings[0] * math.sqrt(1.0 - settings[3] ** float(t)) / (1.0 - settings[2] ** float(t)), settings[1]
    for place in range(first, last):
        dense[indices[place]] = values[place]
    units = layers[0]
    for unit in range(units):
        _adam(weights, moments, squares, unit * d, dense, d, deltas[0, unit], settings, l2, rate)
    for place in range(first, last):
        dense[indices[place]] = 0.0
    at = units * d
    for layer in range(n_layers):
        n_out = layers[layer]
        if layer > 0:
            for i in range(layers[layer - 1]):
                _adam(weights, moments, squares, at, deltas[layer], n_out, outputs[layer - 1, i], settings, l2, rate)
                at += n_out
        _adam(weights, moments, squares, at, deltas[layer], n_out, 1.0, settings, 0.0, rate)
        at += n_out
    return 1.0 if (p > 0.5) == (label > 0.5) else 0.0


@kernel
def _forward(
    weights: Floats,
    layers: Ints,
    n_layers: int,
    indices: Ints,
    values: Floats,
    first: int,
    last: int,
    d: int,
    outputs: Floats,
) -> float:
    """The probability of label 1; ``outputs[l]`` gets what layer l puts out."""
    units = layers[0]
    for unit in range(units):
        own = weights[unit * d : (unit + 1) * d]
        z = 0.0
        for place in range(first, last):
            z += values[place] * own[indices[place]]
        outputs[0, unit] = max(z + weights[units * d + unit], 0.0)
    at = units * (d + 1)
    z = 0.0
    for layer in range(1, n_layers):
        n_in, n_out = layers[layer - 1], layers[layer]
        for unit in range(n_out):
            z = 0.0
            for i in range(n_in):
                z += outputs[layer - 1, i] * weights[at + i * n_out + unit]
            z += weights[at + n_in * n_out + unit]
            outputs[layer, unit] = max(z, 0.0)
        at += (n_in + 1) * n_out
    return sigmoid(z)


@kernel
def _backward(
    weights: Floats, layers: Ints, n_layers: int, d: int, error: float, outputs: Floats, deltas: Floats
) -> None:
    """``deltas[l]`` gets the derivative of the loss by what enters layer l's units."""
    deltas[n_layers - 1, 0] = error
    at = layers[0] * (d + 1)
    for layer in range(1, n_layers):
        at += (layers[layer - 1] + 1) * layers[layer]
    for layer in range(n_layers - 1, 0, -1):
        n_in, n_out = layers[layer - 1], layers[layer]
        at -= (n_in + 1) * n_out
        for i in range(n_in):
            total = 0.0
            for unit in range(n_out):
                total += deltas[layer, unit] * weights[at + i * n_out + unit]
            deltas[layer - 1, i] = total if outputs[layer - 1, i] > 0.0 else 0.0


@kernel
def _adam(
    all_weights: Floats,
    all_moments: Floats,
    all_squares: Floats,
    begin: int,
    direction: Floats,
    count: int,
    scale: float,
    settings: Floats,
    l2: float,
    rate: float,
) -> None:
    """One step of Adam for ``count`` weights from ``begin``; the gradient is ``scale * direction + l2 * weights``."""
    weights = all_weights[begin : begin + count]
    moments, squares = all_moments[begin : begin + count], all_squares[begin : begin + count]
    beta_1, beta_2, epsilon = settings[2], settings[3], settings[4]
    keep_1, keep_2 = 1.0 - beta_1, 1.0 - beta_2
    for i in range(weights.shape[0]):
        gradient = scale * direction[i] + l2 * weights[i]
        moments[i] = beta_1 * moments[i] + keep_1 * gradient
        squares[i] = beta_2 * squares[i] + keep_2 * (gradient * gradient)
        weights[i] -= rate * moments[i] / (math.sqrt(squares[i]) + epsilon)
