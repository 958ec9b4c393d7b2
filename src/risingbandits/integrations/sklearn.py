"""scikit-learn's learners as arms: `PartialFitArm` for those with partial_fit, `WarmStartArm` for warm_start.

Both arms depend only on the pull's number: pull n finds its learner as n - 1 pulls leave it. If that is not so, because
a process died between learning and telling or no checkpoint was kept, the learner is first trained again from the
start, without scores. Of a pipeline, the last step learns with each pull; the steps before it are fitted once, on all
of X, before the first.
"""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

import numpy as np

from risingbandits._core.errors import RisingBanditsError, check_choice, check_positive_int, missing, shown
from risingbandits._core.files import whole
from risingbandits._core.types import Ints
from risingbandits.allocation.arms.base import Outcome
from risingbandits.allocation.pull import Pull

try:
    import joblib  # type: ignore[import-untyped]
    from sklearn.base import clone, is_classifier
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.metrics import get_scorer
    from sklearn.pipeline import Pipeline
    from sklearn.utils import indexable
except ImportError:
    raise missing("scikit-learn", "PartialFitArm and WarmStartArm", "sklearn") from None

_FORMAT = 1
_SEEN = (
    "PartialFitArm: there are more pulls than batches in the data, so that models are now scored on rows that they "
    "have learnt from, which favours those that learn by heart: give X_valid and y_valid."
)
_GROWING = ("n_estimators", "max_iter")  # what counts the training of a learner with warm_start
_NO_SETTINGS = ("random_state", "n_jobs", "verbose", "warm_start")  # which say nothing of how well a model learns


class _SklearnArm(ABC):
    """A learner and how many pieces of training it has had. Subclasses say what a piece is."""

    restores_itself = True  # what was lost is learnt again
    X: Any
    y: Any
    _variance: float | None = None  # of what a regressor is to predict

    def __init__(self, estimator: Any, score: Any, cost: str | None, seed: int) -> None:
        self.estimator = estimator
        self.score = _scorer(score)
        if cost is not None:
            check_choice("cost", cost, ("rows",))
        self.cost = cost
        self.seed = check_positive_int("seed", seed, minimum=0)
        self._start()

    @property
    def config(self) -> dict[str, Any]:
        """What the arm is: the name of the model, and its parameters that differ from the defaults."""
        return config_of(self.estimator)

    @property
    def usual_config(self) -> dict[str, Any]:
        """What the same parameters are by default."""
        return usual_config_of(self.estimator)

    def _start(self) -> None:
        """A fresh learner."""
        self._take(seeded(clone(self.estimator), self.seed), 0)

    def _take(self, learner: Any, trained: int) -> None:
        self.learner, self.trained = learner, trained
        self._input: Any = None

    @property
    def _last(self) -> Any:
        """What learns: the learner, or the last step of a pipeline."""
        return last_step(self.learner)

    def _prepared(self) -> Any:
        """``X`` as what learns sees it."""
        if self._input is None:
            self._input = self.X
            if isinstance(self.learner, Pipeline) and len(self.learner) > 1:
                before = self.learner[:-1]
                if not self.trained:
                    before.fit(self.X, self.y)
                    self.learner.steps[:-1] = before.steps
                self._input = before.transform(self.X)
        return self._input

    @abstractmethod
    def _learn(self, piece: int) -> None:
        """Train ``learner`` on piece number ``piece``, counted from 0."""

    def _scored(self, X: Any, y: Any) -> float:
        """What the learner is worth on some rows."""
        return score_of(self.learner, X, y, self.score, self._variance)

    def _bring_to(self, pieces: int) -> None:
        """Bring the learner to exactly ``pieces`` pieces of training; what was lost is learnt again at no cost."""
        if self.trained > pieces:
            self._start()
        try:
            while self.trained < pieces:
                self._learn(self.trained)
                self.trained += 1
        except BaseException:
            self._start()  # a half-learnt piece cannot be undone
            raise

    def save(self, path: Path) -> None:
        """Write the learner to ``path`` as a joblib file, atomically.

        A joblib file is a pickle, scikit-learn's own way to keep learners: load only files that you trust.
        """
        with whole(path) as temporary:
            joblib.dump({"format": _FORMAT, "trained": self.trained, "learner": self.learner}, temporary)

    def load(self, path: Path) -> None:
        """Read what `save` wrote. The file can run any code: see `save`."""
        saved = joblib.load(path)
        if not isinstance(saved, dict) or saved.get("format") != _FORMAT:
            raise RisingBanditsError(f"{path} is not the checkpoint of a scikit-learn arm.")
        self._take(saved["learner"], saved["trained"])

    def _outcome(self, reward: float, rows: int) -> Outcome:
        return Outcome(reward, None if self.cost is None else float(rows))


class PartialFitArm(_SklearnArm):
    """A learner with ``partial_fit``; a pull is one mini-batch.

    With ``X_valid`` and ``y_valid`` it learns the batch and is scored on these rows. Without them, batch n is scored
    before it is learnt (a *prequential* score), so that the first pull learns two batches, the first without a score.
    That is fair until every row has been learnt once. From the second pass on, rows are scored that the learner
    already knows, which favours those that learn by heart; a warning says so.

    Parameters
    ----------
    estimator : scikit-learn estimator
        With ``partial_fit``, or a pipeline whose last step has it; a clone of it learns. If its ``random_state`` is
        None, it becomes ``seed``.
    X, y : arrays, data frames or sparse matrices with the same number of rows
        The data to learn from.
    X_valid, y_valid : optional
        The data to be scored on. Give them if there are more pulls than batches in a pass over the data.
    batch : int
        Rows of a pull; default 32.
    score : "prequential", the name of a scorer, or callable ``score(estimator, X, y)``
        What is measured on the validation data, or on a batch before it is learnt. "prequential" is the share of
        correct labels for classifiers and 1 / (1 + mean squared error / variance of y) for regressors, both in [0, 1].
        Others may have another range or direction; tell the allocator.
    classes : array, optional
        All labels; None means those of ``y``.
    cost : None or "rows"
        What a pull reports as its cost; None leaves it to the allocator's budget.
    seed : int
        Decides the order of the rows.

    Attributes
    ----------
    learner : estimator
        The clone that learns, as its last pull left it; ``estimator`` itself is never fitted.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.linear_model import SGDClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> arm = PartialFitArm(SGDClassifier(), X[:1_400], y[:1_400], X[1_400:], y[1_400:], batch=100, seed=1)
    >>> rewards = [arm.pull(Pull(n, "sgd", n)).reward for n in range(1, 11)]
    >>> rewards[0] < rewards[-1] <= 1
    True
    """

    def __init__(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        X_valid: Any = None,
        y_valid: Any = None,
        *,
        batch: int = 32,
        score: Any = "prequential",
        classes: Any = None,
        cost: str | None = None,
        seed: int = 0,
    ) -> None:
        if not hasattr(last_step(estimator), "partial_fit"):
            raise RisingBanditsError(
                f"estimator must have partial_fit, or be a pipeline whose last step has it, got {shown(estimator)}."
            )
        self.X, self.y = _data(X, y)
        if (X_valid is None) != (y_valid is None):
            raise RisingBanditsError("X_valid and y_valid must be given both or not at all, got one of them.")
        self.valid = None if X_valid is None else _data(X_valid, y_valid)
        self.batch = check_positive_int("batch", batch)
        self._labels: dict[str, Any] = {}
        if is_classifier(estimator):
            self._labels = {"classes": np.unique(self.y) if classes is None else np.asarray(classes)}
        else:
            self._variance = float(np.var(self.y if self.valid is None else self.valid[1]))
        self._order = BatchOrder(len(self.y), self.batch, check_positive_int("seed", seed, minimum=0))
        super().__init__(estimator, None if score == "prequential" else score, cost, seed)

    def pull(self, pull: Pull) -> Outcome:
        """Learn the next batch, and be scored: on the validation data, or on the batch before it is learnt."""
        if self.valid is not None:
            self._bring_to(pull.n)
            return self._outcome(self._scored(*self.valid), self._order.batch)
        if (pull.n + 1) * self._order.batch > len(self.y):
            warnings.warn(_SEEN, stacklevel=2)
        self._bring_to(pull.n)
        rows = self._order.rows(pull.n)
        reward = self._scored(_rows(self.X, rows), self.y[rows])
        self._bring_to(pull.n + 1)
        return self._outcome(reward, self._order.batch * (2 if pull.n == 1 else 1))

    def _learn(self, piece: int) -> None:
        rows = self._order.rows(piece)
        self._last.partial_fit(_rows(self._prepared(), rows), self.y[rows], **self._labels)


class WarmStartArm(_SklearnArm):
    """A learner with ``warm_start``; a pull trains it ``step`` further and scores it on validation data.

    Parameters
    ----------
    estimator : scikit-learn estimator
        With ``warm_start`` and ``parameter``, or a pipeline whose last step has them. If its ``random_state`` is None,
        it becomes ``seed``.
    X, y : arrays, data frames or sparse matrices with the same number of rows
        The data to learn from.
    X_valid, y_valid
        The data to be scored on.
    parameter : str, optional
        What grows. None: "n_estimators" if the learner has it, as ensembles do, otherwise "max_iter".
    step : int
        By how much it grows with each pull; default 1.
    score : None, the name of a scorer, or callable ``score(estimator, X, y)``
        None is the share of correct labels, or 1 / (1 + mean squared error / variance of y_valid).
    cost : None or "rows"
        What a pull reports as its cost; "rows" are rows times steps.
    seed : int
        For the learner.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> forest = RandomForestClassifier(max_depth=6)
    >>> arm = WarmStartArm(forest, X[:1000], y[:1000], X[1000:], y[1000:], step=2)
    >>> rewards = [arm.pull(Pull(n, "forest", n)).reward for n in range(1, 6)]
    >>> rewards[0] < rewards[-1], len(arm.learner.estimators_)
    (True, 10)
    """

    def __init__(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        X_valid: Any,
        y_valid: Any,
        *,
        parameter: str | None = None,
        step: int = 1,
        score: Any = None,
        cost: str | None = None,
        seed: int = 0,
    ) -> None:
        learns = last_step(estimator)
        has = learns.get_params(deep=False)
        if parameter is None:
            parameter = next((name for name in _GROWING if name in has), _GROWING[0])
        for needed in ("warm_start", parameter):
            if needed not in has:
                raise RisingBanditsError(f"estimator must have the parameter {needed!r}, got {shown(learns)}.")
        self.X, self.y = _data(X, y)
        self.valid = _data(X_valid, y_valid)
        self.parameter, self.step = parameter, check_positive_int("step", step)
        # Whether scikit-learn reads it as all training (trees of a forest) or as what a fit adds (epochs of a network).
        self.total = parameter == "n_estimators" or type(learns).__name__.startswith("HistGradientBoosting")
        if not is_classifier(estimator):
            self._variance = float(np.var(self.valid[1]))
        super().__init__(estimator, score, cost, seed)

    def pull(self, pull: Pull) -> Outcome:
        """Train one step further and score."""
        self._bring_to(pull.n)
        return self._outcome(self._scored(*self.valid), self.step * len(self.y))

    def _learn(self, piece: int) -> None:
        amount = self.step * (piece + 1) if self.total else self.step
        self._last.set_params(warm_start=True, **{self.parameter: amount})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # it is trained on in later pulls
            self._last.fit(self._prepared(), self.y)


def config_of(estimator: Any) -> dict[str, Any]:
    """The name of a model, and its parameters that differ from the defaults.

    >>> from sklearn.linear_model import SGDClassifier
    >>> config_of(SGDClassifier(alpha=0.01, random_state=3))
    {'model': 'SGDClassifier', 'alpha': 0.01}
    """
    if isinstance(estimator, Pipeline):
        names = [type(step).__name__ for _, step in estimator.steps]
        return {**config_of(last_step(estimator)), "model": " | ".join(names)}
    usual = usual_config_of(estimator)
    found = {"model": type(estimator).__name__}
    for name, value in estimator.get_params().items():
        differs = name not in usual or repr(usual[name]) != repr(value)  # arrays cannot be compared as a whole
        if differs and name.rpartition("__")[2] not in _NO_SETTINGS:
            found[name] = value
    return found


def usual_config_of(estimator: Any) -> dict[str, Any]:
    """The parameters of such a model by default; empty if it has some that must be given."""
    try:
        usual: dict[str, Any] = type(last_step(estimator))().get_params()
    except TypeError:
        return {}
    return usual


def last_step(estimator: Any) -> Any:
    """The last step of a pipeline; any other estimator itself."""
    return estimator[-1] if isinstance(estimator, Pipeline) else estimator


def _rows(X: Any, rows: Any) -> Any:
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def seeded(estimator: Any, seed: int) -> Any:
    """``estimator`` with ``seed`` for every random_state that is None, also in its parts."""
    unset = {k: seed for k, v in estimator.get_params().items() if k.split("__")[-1] == "random_state" and v is None}
    return estimator.set_params(**unset)


def _scorer(score: Any) -> Any:
    if isinstance(score, str):
        try:
            return get_scorer(score)
        except ValueError:
            raise RisingBanditsError(f"score must be a scorer of scikit-learn or callable, got {score!r}.") from None
    if score is None or callable(score):
        return score
    raise RisingBanditsError(f"score must be a scorer of scikit-learn or callable, got {shown(score)}.")


def _data(X: Any, y: Any) -> tuple[Any, Any]:
    """Both as indexable by rows, if they have the same number of rows."""
    try:
        X, y = indexable(X if hasattr(X, "shape") else np.asarray(X), np.asarray(y))
    except (TypeError, ValueError) as error:
        raise RisingBanditsError(f"X and y must have the same number of rows: {error}") from None
    if len(y) == 0:
        raise RisingBanditsError("X and y must have at least one row, got none.")
    return X, y


class BatchOrder:
    """Rows of batch 0, 1, 2, ...: passes over the data, each in its own order, which depends only on the seed.

    Batches continue across the end of a pass, so that all have the same size and no row is left out.

    >>> order = BatchOrder(n_rows=5, batch=2, seed=0)
    >>> sorted(np.concatenate([order.rows(number) for number in range(5)]).tolist())
    [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    """

    def __init__(self, n_rows: int, batch: int, seed: int) -> None:
        self.n_rows, self.batch, self.seed = n_rows, min(batch, n_rows), seed
        self._passes: dict[int, Ints] = {}

    def rows(self, number: int) -> Ints:
        """The rows of one batch."""
        first, last = number * self.batch, (number + 1) * self.batch
        parts = []
        for number_of_pass in range(first // self.n_rows, (last - 1) // self.n_rows + 1):
            start = number_of_pass * self.n_rows
            parts.append(self._order(number_of_pass)[max(first - start, 0) : last - start])
        return np.concatenate(parts)

    def _order(self, number_of_pass: int) -> Ints:
        if number_of_pass not in self._passes:
            while len(self._passes) > 1:  # neighbouring passes are enough
                self._passes.pop(next(iter(self._passes)))
            rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(number_of_pass,)))
            self._passes[number_of_pass] = rng.permutation(self.n_rows)
        return self._passes[number_of_pass]


def batch_score(y: Any, y_pred: Any, variance: float | None) -> float:
    """The share of correct labels if ``variance`` is None, otherwise 1 / (1 + mean squared error / variance).

    So predicting the mean of the targets scores 1/2, and no score is below 0.

    >>> batch_score(np.array([1, 1]), np.array([1, 0]), None), batch_score(np.array([1.0]), np.array([3.0]), 4.0)
    (0.5, 0.5)
    """
    if variance is None:
        return float(np.mean(y == y_pred))
    with np.errstate(over="ignore", invalid="ignore"):  # a learner that has blown up gets 0
        error = float(np.mean((np.asarray(y, dtype=float) - np.asarray(y_pred, dtype=float)) ** 2))
    if math.isnan(error):
        return 0.0
    if error == 0.0:
        return 1.0
    return 1.0 / (1.0 + error / variance) if variance > 0.0 else 0.0


def score_of(estimator: Any, X: Any, y: Any, score: Any, variance: float | None) -> float:
    """A learner's score on a batch: by ``score(estimator, X, y)``, as scikit-learn's scorers, or by `batch_score`."""
    if score is not None:
        return float(score(estimator, X, y))
    return batch_score(y, estimator.predict(X), variance)
