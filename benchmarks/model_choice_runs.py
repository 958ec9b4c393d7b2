"""Who may train next, on real data: the runs of model_choice.py, one seed of one data set at a time.

Streams (River): each sample trains one of seven models. Everything is played live with River's and our classes.
Digits (scikit-learn): each mini-batch trains one of six learners. What a learner scores at its n-th batch depends on
the seed and n alone, so its curve is measured once and all contenders are played on it.
"""

# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

import math
import random
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from river import bandit, datasets, forest, linear_model, metrics, model_selection, naive_bayes, neighbors, optim
from river import tree as trees
from river.preprocessing import StandardScaler
from sklearn.datasets import load_digits
from sklearn.linear_model import Perceptron, SGDClassifier
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import MultinomialNB
from sklearn.neural_network import MLPClassifier

from risingbandits.allocation import Allocator, Pull
from risingbandits.integrations import PartialFitArm, RisingClassifier

__all__ = ["CONTENDERS", "DATA", "Score", "Sizes", "play"]

STREAMS = ("segments", "shuttle")
DIGITS = "digits"
DATA = (*STREAMS, DIGITS)
HELD_OUT = 0.2  # of the rows
BATCH = 16  # rows of digits that one pull trains

CONTENDERS = (
    "auto",
    "gaussian-ucb",
    "commit-ucb",
    "kl-ucb",
    "red-ucb",
    "r-sr",
    "River UCB",
    "River EpsilonGreedy",
    "round-robin",
    "successive-halving",
)


class Sizes(NamedTuple):
    """How much is played."""

    stream: int = 3_000  # most samples of a stream to learn from
    pulls: int = 400  # mini-batches of digits


class Score(NamedTuple):
    """What one contender got with one seed."""

    data: str
    contender: str
    seed: int
    budget: int
    on_the_way: float  # share of right predictions, each made before its sample was learnt
    kept: float  # share of right predictions of the kept learner on rows that nobody has seen
    kept_name: str
    share: float  # of the training that went to the kept learner


def play(data: str, seed: int, sizes: Sizes) -> list[Score]:
    """All contenders and every learner alone."""
    return list(_digits(seed, sizes) if data == DIGITS else _stream(data, seed, sizes))


def in_order(seed: int, things: dict[str, Any]) -> dict[str, Any]:
    """In an order that the seed decides, the same for all contenders: who comes first must not always be the same."""
    names = list(things)
    random.Random(seed).shuffle(names)
    return {name: things[name] for name in names}


def river_policy(contender: str, seed: int) -> Any:
    """One of River's policies."""
    return bandit.UCB(delta=1, seed=seed) if contender == "River UCB" else bandit.EpsilonGreedy(0.1, seed=seed)


# -- streams -------------------------------------------------------------------------------------------------------


def stream_models(binary: bool) -> dict[str, Any]:
    """Fresh models by name: quick and slow starters."""
    linear: Callable[[Any], Any] = linear_model.LogisticRegression if binary else linear_model.SoftmaxRegression
    return {
        "bayes": naive_bayes.GaussianNB(),
        "tree": trees.HoeffdingTreeClassifier(grace_period=50),
        "linear, rate 0.001": linear(optim.SGD(0.001)),
        "linear, rate 0.03": linear(optim.SGD(0.03)),
        "linear, rate 0.3": linear(optim.SGD(0.3)),
        "neighbours": neighbors.KNNClassifier(n_neighbors=5, engine=neighbors.LazySearch(window_size=200)),
        "forest": forest.AMFClassifier(n_estimators=3, seed=0),
    }


def stream_rows(data: str, seed: int, most: int) -> tuple[list[Any], list[Any]]:
    """Samples to learn from and samples held out, shuffled by the seed."""
    if data == "segments":
        rows = list(datasets.ImageSegments())
        # As numbers: River's models add up over sets of labels, whose order is another in every process for strings.
        number = {label: place for place, label in enumerate(sorted({y for _, y in rows}))}
        rows = [(x, number[y]) for x, y in rows]
    else:
        rows = [(x, bool(y)) for x, y in datasets.Shuttle()]
    random.Random(seed).shuffle(rows)
    learnt = min(most, len(rows) - round(HELD_OUT * len(rows)))
    return rows[:learnt], rows[learnt : learnt + round(learnt * HELD_OUT / (1 - HELD_OUT))]


def _stream(data: str, seed: int, sizes: Sizes) -> Iterator[Score]:
    rows, held_out = stream_rows(data, seed, sizes.stream)
    for contender in CONTENDERS:
        models = in_order(seed, stream_models(data == "shuttle"))
        selector = _selector(contender, list(models.values()), len(rows), seed)
        yield _play_stream(data, contender, seed, selector, list(models), rows, held_out)
    for name, model in stream_models(data == "shuttle").items():
        yield _play_stream(data, f"only {name}", seed, model, [name], rows, held_out)


def _selector(contender: str, models: list[Any], horizon: int, seed: int) -> Any:
    if contender.startswith("River"):
        # Without burn-in, which trains all models on each sample, so that all contenders train as much.
        policy = river_policy(contender, seed)
        return model_selection.BanditClassifier(models, metric=metrics.Accuracy(), policy=policy)
    return RisingClassifier(models, contender, horizon=horizon, seed=seed)


def _play_stream(
    data: str, contender: str, seed: int, model: Any, names: Sequence[str], rows: Sequence[Any], held_out: Sequence[Any]
) -> Score:
    scaler, right = StandardScaler(), 0
    for x, y in rows:
        scaler.learn_one(x)
        scaled = scaler.transform_one(x)
        right += model.predict_one(scaled) == y
        model.learn_one(scaled, y)
    number, share = 0, 1.0
    if len(names) > 1:
        number = next(i for i, own in enumerate(model.models) if own is model.best_model)
        pulls = model.pulls[number] if isinstance(model, RisingClassifier) else model.policy._counts[number]
        share = pulls / len(rows)
    kept = model.best_model if len(names) > 1 else model
    good = sum(kept.predict_one(scaler.transform_one(x)) == y for x, y in held_out)
    return Score(data, contender, seed, len(rows), right / len(rows), good / len(held_out), names[number], share)


# -- digits --------------------------------------------------------------------------------------------------------


def digits_learners() -> dict[str, Any]:
    """Learners with partial_fit: quick and slow starters."""
    return {
        "bayes": MultinomialNB(),
        "perceptron": Perceptron(),
        "linear": SGDClassifier(),
        "linear, rate 0.001": SGDClassifier(loss="log_loss", learning_rate="constant", eta0=0.001),
        "network of 16": MLPClassifier(16, learning_rate_init=0.003),
        "network of 128": MLPClassifier(128, learning_rate_init=0.003),
    }


class Curve(NamedTuple):
    """A learner's score on batch n before it learns it, and on held out rows after it."""

    batch: list[float]
    held_out: list[float]


def digits_curves(seed: int, pulls: int) -> dict[str, Curve]:
    """Train every learner as long as the budget lasts."""
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X / 16, y, test_size=HELD_OUT, random_state=seed, stratify=y)
    curves = {}
    for number, (name, learner) in enumerate(digits_learners().items()):
        arm = PartialFitArm(learner, X, y, batch=BATCH, seed=100 * seed + number)
        curve = Curve([], [])
        for n in range(1, pulls + 1):
            curve.batch.append(float(arm.pull(Pull(n, name, n)).reward or 0.0))
            curve.held_out.append(float(np.mean(arm.learner.predict(X_test) == y_test)))
        curves[name] = curve
    return curves


def _digits(seed: int, sizes: Sizes) -> Iterator[Score]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # networks say that few iterations are few
        curves = in_order(seed, digits_curves(seed, sizes.pulls))
    for contender in CONTENDERS:
        counts, kept = _play_digits(contender, curves, seed, sizes.pulls)
        earned = sum(math.fsum(curves[name].batch[:n]) for name, n in counts.items())
        held_out = curves[kept].held_out[counts[kept] - 1] if counts[kept] else 0.0
        yield Score(
            DIGITS, contender, seed, sizes.pulls, earned / sizes.pulls, held_out, kept, counts[kept] / sizes.pulls
        )
    for name, curve in curves.items():
        mean = math.fsum(curve.batch) / sizes.pulls
        yield Score(DIGITS, f"only {name}", seed, sizes.pulls, mean, curve.held_out[-1], name, 1.0)


def _play_digits(contender: str, curves: dict[str, Curve], seed: int, pulls: int) -> tuple[dict[str, int], str]:
    """How many batches each learner got, and who is kept."""
    counts = dict.fromkeys(curves, 0)
    if contender.startswith("River"):
        policy = river_policy(contender, seed)
        for _ in range(pulls):
            name = str(policy.pull(list(counts)))
            policy.update(name, curves[name].batch[counts[name]])
            counts[name] += 1
        return counts, str(policy.ranking[0])
    arms = {name: (lambda pull: curves[pull.arm].batch[pull.n - 1]) for name in curves}
    objective = "cumulative" if contender == "auto" else None  # the others are made for one of the two
    allocator = Allocator(arms, pulls, objective=objective, policy=contender, seed=seed)
    allocator.run(progress=False)
    return {name: len(allocator.rewards(name)) for name in curves}, allocator.recommend()
