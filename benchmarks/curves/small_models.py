"""sklearn_*.npz: thirty small scikit-learn models on three data sets, trained here.

A step is one epoch of ``partial_fit`` (linear models, perceptron, passive-aggressive, multilayer perceptrons) or one
more tree (forests, gradient boosting); its value is the accuracy on a stratified 30 % that is held out. Features are
standardised on the training part. Curves depend on the version of scikit-learn and are like those of the benchmark's
figures, not equal to them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from risingbandits._core.errors import check_choice, check_positive_int, missing

DATA_SETS = ("digits", "breast_cancer", "phishing")
STEPS, SEEDS = 60, 3
_HELD_OUT = 0.3


def train(data_set: str, steps: int = STEPS, seeds: int = SEEDS) -> dict[str, npt.NDArray[Any]]:
    """The arrays of a file: ``curves`` (seeds x configurations x steps) and the names ``arms``."""
    check_choice("data_set", data_set, DATA_SETS)
    steps, seeds = check_positive_int("steps", steps), check_positive_int("seeds", seeds)
    features, labels = _load(data_set)
    curves = np.array([list(_curves(features, labels, steps, seed).values()) for seed in range(seeds)])
    return {"curves": curves.astype(np.float32), "arms": np.array(list(configurations(0)))}


def configurations(seed: int) -> dict[str, Any]:
    """The models by name, untrained."""
    try:
        from sklearn.ensemble import ExtraTreesClassifier, GradientBoostingClassifier, RandomForestClassifier
        from sklearn.linear_model import Perceptron, SGDClassifier
        from sklearn.neural_network import MLPClassifier
    except ImportError:
        raise missing("scikit-learn", "the family scikit-learn", "sklearn") from None

    def sgd(**settings: Any) -> Any:
        return SGDClassifier(random_state=seed, **settings)

    def network(layers: tuple[int, ...], rate: float, solver: str = "adam") -> Any:
        return MLPClassifier(layers, solver=solver, learning_rate_init=rate, random_state=seed)

    found: dict[str, Any] = {}
    for rate in (0.0001, 0.001, 0.01, 0.1):
        found[f"sgd_log_eta{rate:g}"] = sgd(loss="log_loss", learning_rate="constant", eta0=rate)
    for alpha in (1e-05, 0.001, 0.1):
        found[f"sgd_hinge_opt_a{alpha:g}"] = sgd(loss="hinge", alpha=alpha)
    for power in (0.25, 0.5):
        settings = {"loss": "log_loss", "learning_rate": "invscaling", "eta0": 0.1, "power_t": power}
        found[f"sgd_log_inv{power:g}"] = sgd(**settings)
    found["perceptron"] = Perceptron(random_state=seed)
    for bound in (0.001, 0.1):  # passive-aggressive
        found[f"pa_C{bound:g}"] = sgd(loss="hinge", penalty=None, learning_rate="pa1", eta0=bound)
    for name, layers in (("8", (8,)), ("64", (64,)), ("64x64", (64, 64))):
        for rate in (0.0001, 0.001, 0.01):
            found[f"mlp_{name}_lr{rate:g}"] = network(layers, rate)
    found["mlp_32_sgd0.01"] = network((32,), 0.01, "sgd")
    for short, kind in (("rf", RandomForestClassifier), ("et", ExtraTreesClassifier)):
        for depth in (2, None):
            found[f"{short}_d{depth}"] = kind(1, max_depth=depth, warm_start=True, random_state=seed)
    for depth, rate in ((2, 0.01), (2, 0.1), (2, 0.5), (4, 0.05)):
        settings = {"max_depth": depth, "learning_rate": rate, "warm_start": True, "random_state": seed}
        found[f"gb_d{depth}_lr{rate:g}"] = GradientBoostingClassifier(n_estimators=1, **settings)
    return found


def _curves(features: Any, labels: Any, steps: int, seed: int) -> dict[str, list[float]]:
    from sklearn.model_selection import train_test_split
    from sklearn.preprocessing import StandardScaler

    seen, held, of_seen, of_held = train_test_split(
        features, labels, test_size=_HELD_OUT, stratify=labels, random_state=seed
    )
    scaler = StandardScaler().fit(seen)
    seen, held = scaler.transform(seen), scaler.transform(held)
    curves: dict[str, list[float]] = {}
    for name, model in configurations(seed).items():
        step = _step(model, seen, of_seen)
        curves[name] = []
        for number in range(1, steps + 1):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a network of one epoch has not converged, and says so
                step(number)
            curves[name].append(float((model.predict(held) == of_held).mean()))
    return curves


def _step(model: Any, features: Any, labels: Any) -> Callable[[int], Any]:
    """What trains a model for one more step."""
    if hasattr(model, "partial_fit"):
        classes = np.unique(labels)
        return lambda _number: model.partial_fit(features, labels, classes=classes)
    return lambda number: model.set_params(n_estimators=number).fit(features, labels)


def _load(data_set: str) -> tuple[Any, Any]:
    if data_set == "phishing":
        try:
            from river.datasets import Phishing
        except ImportError:
            raise missing("River", "the data set phishing", "river") from None
        rows = list(Phishing())
        return np.array([list(x.values()) for x, _ in rows], float), np.array([bool(y) for _, y in rows])
    try:
        from sklearn import datasets
    except ImportError:
        raise missing("scikit-learn", "the family scikit-learn", "sklearn") from None
    loaded = datasets.load_digits() if data_set == "digits" else datasets.load_breast_cancer()
    return loaded.data, loaded.target
