"""Six learners, 300 mini-batches to share, one to keep: how good is it beside the best of them trained on all 300?

    python benchmarks/six_learners.py                  # three data sets, ten seeds, two to three minutes
    python benchmarks/six_learners.py --quick          # two seeds, 60 batches, to see that it works

Each data set is split into rows to learn from and a quarter held out, by the seed; the order of the learners is drawn.
`RisingSelector` has its default settings but for the objective, `Allocator` its default policy for it. "n batches" is
the learner that is best with all batches, trained on n of them: what sharing leaves even to who knows it beforehand.
"""

from __future__ import annotations

import argparse
import os
import random
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # small matrices: more threads are slower; read when NumPy is loaded
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, make_classification
from sklearn.linear_model import Perceptron, SGDClassifier
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import StandardScaler

from risingbandits.allocation import Allocator
from risingbandits.integrations import PartialFitArm, RisingSelector
from risingbandits.lab.paper.imdb._tables import Paired

__all__ = ["BATCH", "DATA", "alone", "kept", "learners", "main", "split", "table"]

DATA = ("digits", "breast cancer", "seven classes")
BATCH = 16  # rows of a mini-batch
OBJECTIVES = ("best-arm", "cumulative")


def learners(seed: int) -> dict[str, Any]:
    """Quick and slow starters, in an order that the seed decides."""
    found = {
        "bayes": GaussianNB(var_smoothing=0.01),
        "perceptron": Perceptron(),
        "linear": SGDClassifier(loss="log_loss"),
        "slow linear": SGDClassifier(loss="log_loss", learning_rate="constant", eta0=0.001),
        "small network": MLPClassifier(16, learning_rate_init=0.003),
        "large network": MLPClassifier((128, 64), learning_rate_init=0.003),
    }
    names = list(found)
    random.Random(seed).shuffle(names)
    return {name: found[name] for name in names}


def split(data: str, seed: int) -> Any:
    """Rows to learn from, rows held out, and the labels of both."""
    if data == "digits":
        X, y = load_digits(return_X_y=True)
    elif data == "breast cancer":
        X, y = load_breast_cancer(return_X_y=True)
    else:  # a little like forest cover types: 54 features, of which 24 say something
        X, y = make_classification(
            12_000, 54, n_informative=14, n_redundant=10, n_classes=7, class_sep=1.5, random_state=seed
        )
    X = StandardScaler().fit_transform(X)
    return train_test_split(X, y, test_size=0.25, random_state=seed, stratify=y)


def kept(data: str, seed: int, budget: int) -> Iterator[tuple[str, float]]:
    """What the learner that is kept gets right, for each way to choose it."""
    X, X_test, y, y_test = split(data, seed)
    for objective in OBJECTIVES:
        selector = RisingSelector(
            list(learners(seed).items()), budget=budget, batch_size=BATCH, objective=objective, random_state=seed
        )
        yield f"RisingSelector, {objective}", float(selector.fit(X, y).score(X_test, y_test))
    for objective in OBJECTIVES:
        arms = {name: PartialFitArm(own, X, y, batch=BATCH, seed=seed) for name, own in learners(seed).items()}
        allocator = Allocator(arms, budget, objective=objective, seed=seed)
        allocator.run(progress=False)
        yield f"Allocator, {objective}", float(arms[allocator.recommend()].learner.score(X_test, y_test))


def alone(data: str, seed: int, batches: Sequence[int]) -> dict[str, list[float]]:
    """What each learner gets right after so many batches."""
    X, X_test, y, y_test = split(data, seed)
    found: dict[str, list[float]] = {}
    for name, learner in learners(seed).items():
        arm = PartialFitArm(clone(learner), X, y, batch=BATCH, seed=seed)
        found[name] = []
        for n in batches:
            arm._bring_to(n)
            found[name].append(float(arm.learner.score(X_test, y_test)))
    return found


def table(data: str, seeds: int, budget: int) -> list[tuple[str, Any]]:
    """Lines of a table, with a number for each seed."""
    lines: dict[str, list[float]] = {}
    for seed in range(seeds):
        for name, score in kept(data, seed, budget):
            lines.setdefault(name, []).append(score)
    parts = (budget // 6, budget // 3, budget // 2, budget)
    curves = [alone(data, seed, parts) for seed in range(seeds)]
    best = max(curves[0], key=lambda name: np.mean([curve[name][-1] for curve in curves]))
    for place, n in enumerate(parts):
        lines[f"only {best}, {n} batches"] = [curve[best][place] for curve in curves]
    for name in sorted(curves[0]):
        if name != best:
            lines[f"only {name}, {budget} batches"] = [curve[name][-1] for curve in curves]
    return [(name, np.array(scores)) for name, scores in lines.items()]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--batches", type=int, default=300)
    parser.add_argument("--quick", action="store_true", help="two seeds, 60 batches")
    options = parser.parse_args(arguments)
    seeds, budget = (2, 60) if options.quick else (options.seeds, options.batches)
    warnings.simplefilter("ignore")  # networks say that few iterations are few
    for data in DATA:
        print(f"| {data} | right, held out | behind the best alone |\n| --- | ---: | ---: |")
        lines = table(data, seeds, budget)
        best = next(scores for name, scores in lines if name.endswith(f"{budget} batches"))
        for name, scores in lines:
            cells = [f"{Paired.of(own).mean:.3f} ± {Paired.of(own).half_width:.3f}" for own in (scores, best - scores)]
            print(f"| {name} | {cells[0]} | {cells[1] if scores is not best else ''} |", flush=True)
        print()


if __name__ == "__main__":
    main()
