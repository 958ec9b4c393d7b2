"""One pull of a network that reads handwritten digits: load it, train it on 400 more images, save it, print its score.

The model is kept with joblib, which is pickle: load only files that you have made yourself.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import joblib
import numpy as np
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier

IMAGES_PER_PULL, BATCH = 400, 20
HELD_OUT = 500


def main() -> None:
    """Do pull n."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rate", type=float, required=True)
    parser.add_argument("--width", type=int, required=True)
    parser.add_argument("--n", type=int, required=True, help="number of the pull, from 1")
    parser.add_argument("--from", dest="previous", type=Path, required=True, help="the model after pull n - 1")
    parser.add_argument("--to", dest="checkpoint", type=Path, required=True, help="where to keep it")
    options = parser.parse_args()

    images, digits = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(images))
    images, digits = images[order] / 16.0, digits[order]
    # The images of pull n are the same in every attempt and in every run.
    chosen = np.random.default_rng([1, options.n]).integers(HELD_OUT, len(images), IMAGES_PER_PULL)

    if options.n == 1:
        model = MLPClassifier((options.width,), learning_rate_init=options.rate, random_state=0)
    else:
        model = joblib.load(options.previous)
    for batch in chosen.reshape(-1, BATCH):
        model.partial_fit(images[batch], digits[batch], classes=np.arange(10))
    joblib.dump(model, options.checkpoint)
    print(model.score(images[:HELD_OUT], digits[:HELD_OUT]))


if __name__ == "__main__":
    main()
