"""`RisingSelector`: a scikit-learn estimator that splits a training budget among candidates and keeps the best."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from risingbandits._core.errors import RisingBanditsError, check_finite, check_positive_int, missing, shown
from risingbandits._core.types import Floats
from risingbandits.integrations._policy_run import PolicyRun
from risingbandits.policies.objectives import DEFAULT, Objective

try:
    from sklearn.base import MetaEstimatorMixin, clone, is_classifier
    from sklearn.utils import check_random_state, get_tags
    from sklearn.utils.metaestimators import _BaseComposition, available_if
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError:
    raise missing("scikit-learn", "RisingSelector", "sklearn") from None

from risingbandits.integrations.sklearn import BatchOrder, score_of, seeded

_PASSES = 10  # over the data, all candidates together, where no budget is given
_LEAST_BATCHES = 2  # for each candidate: the first has no score


class RunningVariance:
    """Mean squared distance from the mean of all numbers so far (Welford's method, batch by batch).

    >>> variance = RunningVariance()
    >>> variance.add(np.array([1.0, 2.0])); variance.add(np.array([6.0]))
    >>> round(variance.value, 6)
    4.666667
    """

    def __init__(self) -> None:
        self.n, self.mean, self.squares = 0, 0.0, 0.0

    def add(self, values: Floats) -> None:
        """Take in a batch."""
        n, mean = len(values), float(np.mean(values))
        gap = mean - self.mean
        self.squares += float(np.sum((values - mean) ** 2)) + gap * gap * self.n * n / (self.n + n)
        self.mean += gap * n / (self.n + n)
        self.n += n

    @property
    def value(self) -> float:
        return self.squares / self.n if self.n else 0.0


def _best_has(method: str) -> Any:
    """A check for `available_if`: the learner that answers has ``method``, or all candidates before a fit."""

    def check(selector: RisingSelector) -> bool:
        if hasattr(selector, "learners_"):
            return hasattr(selector.best_estimator_, method)
        return all(hasattr(estimator, method) for _, estimator in _pairs(selector.estimators) or ())

    return check


def _pairs(estimators: Any) -> list[tuple[str, Any]] | None:
    """The candidates, if they are a list of names with estimators that is not empty, otherwise None."""
    if not isinstance(estimators, list | tuple) or not estimators:
        return None
    if not all(isinstance(pair, list | tuple) and len(pair) == 2 and isinstance(pair[0], str) for pair in estimators):
        return None
    return [(name, estimator) for name, estimator in estimators]


class RisingSelector(MetaEstimatorMixin, _BaseComposition):  # type: ignore[misc]
    """Train one of several estimators with ``partial_fit``, without knowing beforehand which.

    `fit` splits a budget of mini-batches among the candidates: each batch is predicted and then learnt by one of them,
    the policy is told the score, and the estimator that it recommends at the end predicts from then on. It has had
    about a third of the batches; with few of them it may be a quick starter rather than the one that would be best in
    the end (docs/model-choice.md). `partial_fit` does the same for data that comes in pieces, one batch each. The first
    batch of each candidate has no score, since it knows nothing yet.

    Without validation data, that is fair until a candidate has learnt every row once. From then on it is scored on rows
    that it knows, which favours those that learn by heart: with many passes over few rows, set ``validation_fraction``.

    All candidates are classifiers, scored by the share of correct labels, or all are regressors, scored by 1 / (1 +
    mean squared error / variance of the targets so far).

    Parameters
    ----------
    estimators : list of (name, estimator)
        The candidates, at least one.
    budget : int, optional
        Total number of batches; None is what ten passes over the data take. With fewer than two for each candidate some
        have no score, and `fit` warns.
    batch_size : int
        Rows of a batch; default 32.
    policy : str, Policy or None
        A policy or its name, also with parameters: "commit-ucb(sigma=0.1)"; None is `Auto` for the objective.
    objective : {"best-arm", "cumulative"} or Objective
        What counts: the estimator that is kept, or the predictions on the way.
    validation_fraction : float
        Share of the rows that `fit` holds out: candidates are then scored on these, and learn from the others. Default
        0: every batch is scored before it is learnt. `partial_fit` holds nothing out.
    random_state : int, RandomState or None
        Decides the order of rows, policies that draw, and candidates whose own random_state is None.

    Attributes
    ----------
    learners_ : list of estimators
        The trained candidates.
    batches_ : dict of name -> int
        How many batches each candidate has learnt.
    scores_ : dict of name -> list of float
        Its scores, each taken before a batch was learnt: learning curves.
    best_name_, best_estimator_
        The candidate that predicts.
    classes_ : array
        The labels, for classifiers.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.linear_model import SGDClassifier
    >>> from sklearn.naive_bayes import MultinomialNB
    >>> X, y = load_digits(return_X_y=True)
    >>> selector = RisingSelector([("sgd", SGDClassifier()), ("bayes", MultinomialNB())], random_state=1)
    >>> selector.fit(X[:1000] / 16, y[:1000]).best_name_
    'sgd'
    >>> selector.score(X[1000:] / 16, y[1000:]) > 0.85
    True
    """

    _valid: tuple[Any, Any] | None = None  # rows that `fit` holds out, while it runs

    def __init__(
        self,
        estimators: Any,
        *,
        budget: int | None = None,
        batch_size: int = 32,
        policy: Any = None,
        objective: str | Objective = DEFAULT.name,
        validation_fraction: float = 0.0,
        random_state: Any = None,
    ) -> None:
        self.estimators = estimators
        self.budget = budget
        self.batch_size = batch_size
        self.policy = policy
        self.objective = objective
        self.validation_fraction = validation_fraction
        self.random_state = random_state

    # -- scikit-learn's conventions -----------------------------------------------------------------------------

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters; with ``deep`` those of the candidates too, as ``name__parameter``."""
        params: dict[str, Any] = self._get_params("estimators", deep=deep)
        return params

    def set_params(self, **params: Any) -> RisingSelector:
        """Change parameters, candidates (by name) or parameters of candidates (``name__parameter``)."""
        self._set_params("estimators", **params)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        pairs = _pairs(self.estimators)
        if pairs is None:  # `fit` complains; until then it must be possible to show the selector
            return tags
        candidates = [get_tags(estimator) for _, estimator in pairs]
        tags.estimator_type = candidates[0].estimator_type
        tags.classifier_tags = candidates[0].classifier_tags
        tags.regressor_tags = candidates[0].regressor_tags
        tags.target_tags.required = True
        tags.input_tags.sparse = all(tag.input_tags.sparse for tag in candidates)
        return tags

    # -- learning -----------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any) -> RisingSelector:
        """Spend the budget on the rows of ``X``."""
        X, y = self._checked(X, y, first=True)
        batch = check_positive_int("batch_size", self.batch_size)
        held_out = self._held_out(len(y))
        budget, candidates = self._budget(len(y) - held_out), len(self.estimators)
        order_seed = self._begin(y, classes=None, horizon=budget)
        if budget < _LEAST_BATCHES * candidates and candidates > 1:
            warnings.warn(
                f"budget should be at least {_LEAST_BATCHES * candidates}, two batches for each of the {candidates} "
                f"candidates, got {budget}: some have no score, and the one that is kept may not be the best.",
                stacklevel=2,
            )
        learnt = np.arange(len(y))
        if held_out:
            shuffled = np.random.default_rng(order_seed).permutation(len(y))
            learnt, valid = shuffled[held_out:], shuffled[:held_out]
            self._valid = X[valid], y[valid]
        order = BatchOrder(len(learnt), batch, order_seed)
        for number in range(budget):
            rows = learnt[order.rows(number)]
            self._take_in(X[rows], y[rows])
        self._valid = None
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> RisingSelector:
        """Take in one more batch, all rows of ``X``; ``classes``, all labels, is needed at the first call."""
        first = not hasattr(self, "learners_")
        X, y = self._checked(X, y, first=first)
        if first:
            if classes is None and is_classifier(self):
                raise ValueError("classes must be passed on the first call to partial_fit.")
            self._begin(y, classes=classes, horizon=None)
        if is_classifier(self) and not np.isin(y, self.classes_).all():
            raise ValueError(f"y must hold labels among classes {self.classes_}, got {np.setdiff1d(y, self.classes_)}.")
        self._take_in(X, y)
        return self

    def _held_out(self, n_rows: int) -> int:
        """How many rows are held out; at least one is learnt, and with any share at least one is held out."""
        share = check_finite("validation_fraction", self.validation_fraction, minimum=0.0, below=1.0)
        return min(max(1, round(share * n_rows)), n_rows - 1) if share > 0.0 else 0

    def _budget(self, n_rows: int) -> int:
        if self.budget is not None:
            return check_positive_int("budget", self.budget)
        passes = math.ceil(_PASSES * n_rows / min(self.batch_size, n_rows))
        return max(passes, _LEAST_BATCHES * len(self.estimators))

    def _checked(self, X: Any, y: Any, first: bool) -> tuple[Any, Any]:
        if _pairs(self.estimators) is None:
            raise RisingBanditsError(
                'estimators must be a list of at least one (name, estimator), such as [("sgd", SGDClassifier())], '
                f"got {shown(self.estimators)}."
            )
        sparse = "csr" if get_tags(self).input_tags.sparse else False
        X, y = validate_data(self, X, y, reset=first, accept_sparse=sparse, y_numeric=not is_classifier(self))
        if is_classifier(self):
            check_classification_targets(y)
        return X, y

    def _begin(self, y: Any, classes: Any, horizon: int | None) -> int:
        """Create new learners and a new run; returns a seed for the order of the rows."""
        kinds = {get_tags(estimator).estimator_type for _, estimator in self.estimators}
        if len(kinds) != 1 or not kinds <= {"classifier", "regressor"}:
            raise RisingBanditsError(f"estimators must be all classifiers or all regressors, got {self.estimators!r}.")
        for _, estimator in self.estimators:
            if not hasattr(estimator, "partial_fit"):
                raise RisingBanditsError(f"estimators must have partial_fit, got {shown(estimator)}.")
        names = [name for name, _ in self.estimators]
        self._validate_names(names)
        rng = check_random_state(self.random_state)
        order_seed, policy_seed, learner_seed = (int(rng.randint(2**31 - 1)) for _ in range(3))
        if is_classifier(self):
            self.classes_ = np.unique(y if classes is None else classes)
        # Candidates learn their first batch without a score, so the policy has that many fewer rounds.
        rounds = None if horizon is None else max(horizon - len(names), 1)
        self._run = PolicyRun(self.policy, len(names), rounds, policy_seed, self.objective)
        self.learners_ = [seeded(clone(estimator), learner_seed) for _, estimator in self.estimators]
        self.batches_ = dict.fromkeys(names, 0)
        self.scores_: dict[str, list[float]] = {name: [] for name in names}
        self._variance = None if is_classifier(self) else RunningVariance()
        self._valid = None
        return order_seed

    def _take_in(self, X: Any, y: Any) -> None:
        """One batch: the candidate that the policy chose is scored, on it or on what is held out, and learns it."""
        if self._variance is not None:
            self._variance.add(np.asarray(y, dtype=float))
        names = list(self.batches_)
        untrained = [arm for arm, name in enumerate(names) if self.batches_[name] == 0]
        arm = untrained[0] if untrained else self._run.arm
        learner = self.learners_[arm]
        if not untrained:
            variance = None if self._variance is None else self._variance.value
            score = score_of(learner, *((X, y) if self._valid is None else self._valid), None, variance)
            self.scores_[names[arm]].append(score)
        learner.partial_fit(X, y, **({"classes": self.classes_} if is_classifier(self) else {}))
        self.batches_[names[arm]] += 1
        if not untrained:
            self._run.tell(score)

    # -- predicting ---------------------------------------------------------------------------------------------

    @property
    def best_estimator_(self) -> Any:
        """The candidate that the policy recommends; the first one while there are no scores."""
        return self.learners_[self._best()]

    @property
    def best_name_(self) -> str:
        """Its name."""
        return str(list(self.batches_)[self._best()])

    def _best(self) -> int:
        check_is_fitted(self, "learners_")
        return self._run.policy.recommend() if self._run.policy.rounds else 0

    def _answer(self, method: str, X: Any) -> Any:
        check_is_fitted(self, "learners_")
        X = validate_data(self, X, reset=False, accept_sparse="csr" if get_tags(self).input_tags.sparse else False)
        return getattr(self.best_estimator_, method)(X)

    def predict(self, X: Any) -> Any:
        """Labels or numbers from the best candidate."""
        return self._answer("predict", X)

    @available_if(_best_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the labels, if the best candidate has them."""
        return self._answer("predict_proba", X)

    @available_if(_best_has("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Any:
        """Decision values, if the best candidate has them."""
        return self._answer("decision_function", X)

    def score(self, X: Any, y: Any) -> float:
        """Accuracy or R squared of the best candidate."""
        from sklearn.metrics import accuracy_score, r2_score

        measure = accuracy_score if is_classifier(self) else r2_score
        return float(measure(y, self.predict(X)))
