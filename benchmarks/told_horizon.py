"""What it is worth to tell `RisingClassifier` the length of the stream: right predictions with it less those without.

    python benchmarks/told_horizon.py              # three streams, twenty seeds; a minute
    python benchmarks/told_horizon.py --quick      # two seeds, short

Streams are shuffled, and models ordered, by the seed; both sides of a difference have the same.
"""

# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
from river import datasets, linear_model, naive_bayes, preprocessing, tree

from model_choice_runs import in_order, stream_models
from risingbandits.integrations import RisingClassifier
from risingbandits.lab.paper.imdb.tables import Paired

__all__ = ["main", "play"]


def three_models() -> dict[str, Any]:
    """Those of the guide."""
    return {
        "bayes": naive_bayes.GaussianNB(),
        "tree": tree.HoeffdingTreeClassifier(),
        "linear": linear_model.LogisticRegression(),
    }


STREAMS = {
    "Phishing, 3 models": (datasets.Phishing, three_models),
    "Phishing, 7 models": (datasets.Phishing, lambda: stream_models(True)),
    "image segments, 7 models": (datasets.ImageSegments, lambda: stream_models(False)),
}


def play(stream: str, seed: int, told: bool, most: int) -> float:
    """The share of right predictions, each made before its sample is learnt."""
    data, models = STREAMS[stream]
    rows = list(data())
    random.Random(seed).shuffle(rows)
    rows = rows[:most]
    chosen = list(in_order(seed, models()).values())
    model = preprocessing.StandardScaler() | RisingClassifier(chosen, horizon=len(rows) if told else None, seed=seed)
    right = []
    for x, y in rows:
        right.append(model.predict_one(x) == y)
        model.learn_one(x, y)
    return float(np.mean(right))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--quick", action="store_true", help="two seeds, short")
    options = parser.parse_args(arguments)
    seeds, most = range(2 if options.quick else options.seeds), 200 if options.quick else 10_000
    print("| stream | seeds | not told | told | gain |\n| --- | ---: | ---: | ---: | ---: |")
    for stream in STREAMS:
        shares = np.array([[play(stream, seed, told, most) for told in (False, True)] for seed in seeds])
        gain = Paired.of(shares[:, 1] - shares[:, 0])
        means = " | ".join(f"{share:.3f}" for share in shares.mean(axis=0))
        print(f"| {stream} | {len(seeds)} | {means} | {gain.mean:+.3f} ± {gain.half_width:.3f} |", flush=True)


if __name__ == "__main__":
    main()
