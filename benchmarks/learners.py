"""Compiled learners beside scikit-learn: microseconds of a step (predict and learn), and whether they agree.

    python benchmarks/learners.py [--features 1000] [--steps 2000]

Needs the IMDB reviews below RISINGBANDITS_DATA and scikit-learn. Both sides are timed in turn, in one thread; the rows
that scikit-learn gets are cut out beforehand, so that only ``predict`` and ``partial_fit`` are timed.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.neural_network import MLPClassifier
from sklearn.neural_network._stochastic_optimizers import AdamOptimizer

from risingbandits.lab.paper.imdb import LiveBandit, Network, Rows, load_imdb

SHAPES = ((1,), (2,), (2, 2), (2, 2, 2), (1, 1, 2))


def measure(rows: Rows, hidden: tuple[int, ...], steps: int) -> tuple[float, float, float, int]:
    """Seconds of the compiled steps, of partial_fit, of predict, and how many predictions differ."""
    network = Network(hidden)
    reference = MLPClassifier(hidden_layer_sizes=hidden, random_state=0)
    reference.partial_fit(np.zeros((1, rows.features)), [0.0], classes=[0.0, 1.0])
    reference._optimizer = AdamOptimizer(reference.coefs_ + reference.intercepts_, 0.001)
    start = network.pack(reference.coefs_, reference.intercepts_)

    bandit = LiveBandit(rows, [network], steps).reset(0)
    bandit.train(0)  # compiles
    bandit.reset(0)
    bandit.learners.weights[0] = start
    begin = time.perf_counter()
    got = bandit.train(0)
    compiled = time.perf_counter() - begin

    matrix = csr_matrix((rows.values, rows.indices, rows.indptr), shape=(rows.n_rows, rows.features))
    order = bandit.learners.order[0]
    samples = [(matrix[[row]], rows.labels[[row]]) for row in order]
    differ, learning, predicting = 0, 0.0, 0.0
    for (x, y), right in zip(samples, got, strict=True):
        begin = time.perf_counter()
        label = reference.predict(x)[0]
        middle = time.perf_counter()
        reference.partial_fit(x, y)
        learning += time.perf_counter() - middle
        predicting += middle - begin
        differ += (label == y[0]) != right
    return compiled, learning, predicting, differ


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--features", type=int, default=1000)
    parser.add_argument("--steps", type=int, default=2000)
    given = parser.parse_args()
    rows = load_imdb(features=given.features)
    print("network      compiled step  partial_fit   predict  partial_fit / step  differing predictions")
    for hidden in SHAPES:
        compiled, learning, predicting, differ = measure(rows, hidden, given.steps)
        us = 1e6 / given.steps
        print(
            f"{Network(hidden).name:<12} {compiled * us:10.2f} us {learning * us:9.0f} us {predicting * us:6.0f} us"
            f" {learning / compiled:19.0f} {differ:22d}"
        )


if __name__ == "__main__":
    main()
