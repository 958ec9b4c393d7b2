"""A stream that changes half-way: how `RisingClassifier` fares, with other policies, and with models that begin anew.

    python benchmarks/drifting_stream.py               # two streams, ten seeds; five minutes
    python benchmarks/drifting_stream.py --quick       # two seeds

Two features, a tenth of the labels wrong. First y is a + b > 0; then, in *other shape*, a * b > 0, for which a linear
model is useless, and in *turned*, a + b < 0, for which everybody has to learn anew.
"""

# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

import argparse
import itertools
import random
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from river import drift, linear_model, naive_bayes, neighbors, optim, tree

from risingbandits.integrations import RisingClassifier
from risingbandits.lab.paper.imdb.tables import Paired

__all__ = ["POLICIES", "STREAMS", "main", "play"]

HALF = 2_500
STREAMS: dict[str, Callable[[float, float], bool]] = {
    "other shape": lambda a, b: a * b > 0,
    "turned": lambda a, b: a + b < 0,
}
POLICIES = ("auto", "sw-ucb", "d-ucb", "kl-ucb")


def models(anew: bool) -> list[Any]:
    """Quick and slow ones, of which only the last forgets; or all in River's wrapper that trains a fresh one."""
    plain = [
        linear_model.LogisticRegression(optim.SGD(0.1)),
        naive_bayes.GaussianNB(),
        tree.HoeffdingTreeClassifier(grace_period=50),
        neighbors.KNNClassifier(n_neighbors=5, engine=neighbors.LazySearch(window_size=100)),
    ]
    return [drift.DriftRetrainingClassifier(model) for model in plain] if anew else plain


def play(stream: str, policy: str, anew: bool, seed: int, half: int = HALF) -> tuple[float, float]:
    """The share of right predictions before and after the change."""
    rng = random.Random(seed)
    chooser = models(anew)
    rng.shuffle(chooser)
    model = RisingClassifier(chooser, policy, horizon=2 * half, seed=seed)
    right = []
    for t in range(2 * half):
        a, b = rng.uniform(-1, 1), rng.uniform(-1, 1)
        y = (a + b > 0 if t < half else STREAMS[stream](a, b)) != (rng.random() < 0.1)
        right.append(model.predict_one({"a": a, "b": b}) == y)
        model.learn_one({"a": a, "b": b}, y)
    return float(np.mean(right[:half])), float(np.mean(right[half:]))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--quick", action="store_true", help="two seeds, short")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore", UserWarning)  # that models fall is what this is about
    print("| stream | policy | before the change | after it |\n| --- | --- | ---: | ---: |")
    for stream in STREAMS:
        for policy, anew in itertools.product(POLICIES, (False, True)):
            seeds = range(2 if options.quick else options.seeds)
            shares = np.array([play(stream, policy, anew, seed, 300 if options.quick else HALF) for seed in seeds])
            before, after = (Paired.of(shares[:, i]) for i in (0, 1))
            cells = [f"{share.mean:.3f} ± {share.half_width:.3f}" for share in (before, after)]
            print(
                f"| {stream} | {policy}{', models begin anew' if anew else ''} | {cells[0]} | {cells[1]} |", flush=True
            )


if __name__ == "__main__":
    main()
