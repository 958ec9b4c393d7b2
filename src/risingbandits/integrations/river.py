"""Model selection for River (https://riverml.xyz): `RisingClassifier` and `RisingRegressor`."""

# mypy: disable-error-code="no-untyped-call"
# (River is typed only in part.)

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from risingbandits._core.errors import missing
from risingbandits._core.tables import TextTable
from risingbandits.integrations._policy_run import PolicyRun
from risingbandits.policies import Policy

try:
    from river import drift, metrics, stats
    from river.model_selection.base import ModelSelectionClassifier, ModelSelectionRegressor
except ImportError:
    raise missing("River", "RisingClassifier and RisingRegressor", "river") from None

Features = dict[Any, Any]

# Another model may predict than the one that learns, so a trial costs no prediction, and exploring is cheap. Policies
# for cumulative reward, such as Auto, save trials, and may stay too long with a model that has stopped improving.
_POLICY = "gaussian-ucb"


class _Rising:
    """What the two model selectors share: one run of a policy over the models, created when first needed."""

    models: list[Any]
    default_metric: type[Any]

    def __init__(
        self,
        models: Sequence[Any],
        policy: str | Policy | None = None,
        metric: Any = None,
        horizon: int | None = None,
        seed: int | None = None,
    ) -> None:
        metric = self.default_metric() if metric is None else metric
        super().__init__(list(models), metric)  # type: ignore[call-arg]
        self.policy = policy
        self.horizon = horizon
        self.seed = seed
        self._run: PolicyRun | None = None
        self._score = SampleScore(metric)
        self._watch = Watch(len(self.models))
        self._labels: dict[Any, None] = {}  # of a classifier, those seen so far, in the order of appearance

    @property
    def _raw_memory_usage(self) -> int:
        """River's count, without the machine code that all policies of a kind share: it is not this model's."""
        run = self._run
        calls = None if run is None else run.policy.__dict__.pop("_calls", None)
        try:
            return int(super()._raw_memory_usage)  # type: ignore[misc]
        finally:
            if run is not None and calls is not None:
                run.policy._calls = calls

    def _started(self) -> PolicyRun:
        if self._run is None:
            policy = _POLICY if self.policy is None else self.policy
            self._run = PolicyRun(policy, len(self.models), self.horizon, self.seed, "cumulative")
        return self._run

    @property
    def next_model(self) -> Any:
        """The model that learns from the next sample."""
        return self.models[self._started().arm]

    @property
    def best_model(self) -> Any:
        """The model that predicts: the one whose recent score has the highest lower confidence bound."""
        return self.models[self._watch.best]

    @property
    def in_charge(self) -> InCharge:
        """That model (``number``, ``name``), from which sample on (``since``), and its recent ``score``."""
        best = self._watch.best
        return InCharge(best, name_of(self.models[best]), self._watch.since, self._watch.score(best))

    def summary(self) -> str:
        """A table of the models: samples learnt, recent score, and which is in charge since when."""
        now = self.in_charge
        rows = []
        for number, (model, learnt) in enumerate(zip(self.models, self.pulls, strict=True)):
            score = f"{self._watch.score(number):.3f}" if learnt else "-"
            told = f"in charge since sample {now.since}" if number == now.number else ""
            rows.append((str(number), name_of(model), str(learnt), score, told))
        return TextTable(("", "model", "samples", "recent score", ""), rows, frozenset({0, 2, 3})).plain()

    @property
    def pulls(self) -> list[int]:
        """How many samples each model has learnt from."""
        return [int(n) for n in self._started().policy.pulls]

    def learn_one(self, x: Features, y: Any, **kwargs: Any) -> None:
        """Train the model to be pulled, and tell the policy how well it predicted this sample before."""
        run = self._started()
        model = self.models[run.arm]
        y_pred = model.predict_proba_one(x) if self._score.needs_probabilities else model.predict_one(x)
        reward = self._score(y, y_pred)
        model.learn_one(x, y, **kwargs)
        self._watch.see(run.arm, model, reward)
        run.tell(reward)

    def clone(self, new_params: dict[str, Any] | None = None, include_attributes: bool = False) -> Any:
        """A fresh selector with the same parameters. Its models are fresh as well, which River's lists are not."""
        params = {"models": [model.clone() for model in self.models], **(new_params or {})}
        if include_attributes:
            params["models"] = (new_params or {}).get("models", self.models)
        return super().clone(params, include_attributes)  # type: ignore[misc]

    def _unit_test_skips(self) -> set[str]:
        # If models tie, the order decides which is tried first, and so which learns more.
        return {"check_model_selection_order_does_not_matter"}


class RisingClassifier(_Rising, ModelSelectionClassifier):
    """Choose among classifiers that learn from a stream; each sample trains one of them.

    The policy chooses the model that learns from a sample; the best model so far predicts. `predict_one` and
    `predict_proba_one` change nothing. `learn_one` lets the chosen model predict the sample, tells the policy what that
    was worth (0 to 1), and trains it. Only one model is trained per sample, so the cost is about that of a single
    model, however many there are. The best model is the one whose recent score has the highest lower confidence bound;
    `in_charge` names it. If a model gets worse, as in a stream that drifts, there is one warning; policies for rising
    models do not expect it (docs/adapters.md).

    Parameters
    ----------
    models : list of river classifiers
        At least two.
    policy : str, Policy or None
        A policy or its name, also with parameters: "commit-ucb(sigma=0.1)"; None is `GaussianUCB`, which estimates the
        noise of the rewards.
    metric : river metric, optional
        Scores single predictions, see `SampleScore`; None is Accuracy.
    horizon : int, optional
        The length of the stream, if it is known. Some policies need it.
    seed : int, optional
        For policies that draw.

    Examples
    --------
    >>> from river import datasets, evaluate, linear_model, metrics, naive_bayes, preprocessing
    >>> model = preprocessing.StandardScaler() | RisingClassifier(
    ...     [linear_model.LogisticRegression(), naive_bayes.GaussianNB()]
    ... )
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 8...%
    >>> model["RisingClassifier"].in_charge.name
    'LogisticRegression'
    """

    default_metric = metrics.Accuracy

    @property
    def _multiclass(self) -> bool:
        return all(model._multiclass for model in self.models)

    def learn_one(self, x: Features, y: Any, **kwargs: Any) -> None:
        super().learn_one(x, y, **kwargs)
        self._labels.setdefault(y)

    def predict_one(self, x: Features, **kwargs: Any) -> Any:
        """The label that the best model predicts."""
        return self.best_model.predict_one(x, **kwargs)

    def predict_proba_one(self, x: Features, **kwargs: Any) -> dict[Any, float]:
        """Its probabilities, 0 for labels that only other models have seen; equal ones before it has learnt."""
        probabilities = self.best_model.predict_proba_one(x, **kwargs)
        if not probabilities:
            return {label: 1.0 / len(self._labels) for label in self._labels}
        return {**dict.fromkeys(self._labels, 0.0), **probabilities}

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        from river import naive_bayes, tree

        yield next(super()._unit_test_params())
        models = [naive_bayes.GaussianNB(), tree.HoeffdingTreeClassifier()]
        yield {"models": models, "policy": "epsilon-greedy", "metric": metrics.CrossEntropy()}


class RisingRegressor(_Rising, ModelSelectionRegressor):
    """Choose among regressors that learn from a stream; each sample trains one of them.

    Like `RisingClassifier`, with a loss turned into a reward: a perfect prediction gives 1, and an error as large as
    the average error of predicting the mean of the targets gives 1/2.

    Parameters
    ----------
    models : list of river regressors
        At least two.
    metric : river metric, optional
        Scores single predictions; None is MAE.
    policy, horizon, seed
        As for `RisingClassifier`.

    Examples
    --------
    >>> from river import datasets, evaluate, linear_model, metrics, optim, preprocessing
    >>> model = preprocessing.StandardScaler() | RisingRegressor(
    ...     [linear_model.LinearRegression(optimizer=optim.SGD(rate)) for rate in (0.0001, 0.001, 0.01)],
    ...     seed=0,
    ... )
    >>> evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE())
    MAE: 2.23...
    >>> model["RisingRegressor"].pulls
    [16, 9, 976]
    """

    default_metric = metrics.MAE

    def predict_one(self, x: Features, **kwargs: Any) -> float:
        """What the best model predicts."""
        return float(self.best_model.predict_one(x, **kwargs))

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        for params, metric, policy in zip(
            super()._unit_test_params(), (None, metrics.MSE()), (None, "epsilon-greedy"), strict=True
        ):
            yield {**params, "metric": metric, "policy": policy}


_MESSAGE = (
    "{name} (model {number}) has got worse, from {before:.2f} to {after:.2f}: the stream may have changed, and "
    "policies expect models that rise; models that restart by themselves help, such as "
    "river.drift.DriftRetrainingClassifier(model)."
)
_WORSE = 0.05  # of the range of rewards: a fall that is worth a warning
_KNOWN = 50  # samples in its window from which on a model's score is one to be compared with


class InCharge(NamedTuple):
    """The model that predicts now."""

    number: int  # its place in ``models``
    name: str  # its class; of a pipeline, that of its last step
    since: int  # the first sample that it predicts, counted from 1, since the last change
    score: float  # its recent mean reward, from 0 to 1; 0 before its first


class Watch:
    """Follows the rewards of each model with ADWIN, which detects changes and forgets what is outdated."""

    def __init__(self, n_models: int) -> None:
        self.best = 0  # the model with the highest lower confidence bound (Hoeffding's, for rewards in [0, 1])
        self.since = 1
        self._recent: list[Any] = [drift.ADWIN() for _ in range(n_models)]
        self._highest = [0.0] * n_models  # scores that each has had
        self._samples = 0
        self.warned = False

    def score(self, number: int) -> float:
        """The recent mean reward of a model."""
        return float(self._recent[number].estimation)

    def see(self, number: int, model: Any, reward: float) -> None:
        """A sample for model ``number`` and its worth. Warns once, when a model gets worse."""
        self._samples += 1
        recent = self._recent[number]
        recent.update(reward)
        if recent.width >= _KNOWN:
            self._highest[number] = max(self._highest[number], recent.estimation)
        before = self._highest[number]
        if recent.drift_detected and recent.estimation < before - _WORSE:
            # The stream has changed, and what the others were worth before says nothing now.
            self._recent = [each if each is recent else drift.ADWIN() for each in self._recent]
            self._highest = [0.0] * len(self._recent)
            if not self.warned:
                self.warned = True
                told = {"name": name_of(model), "number": number, "before": before, "after": recent.estimation}
                warnings.warn(_MESSAGE.format(**told), stacklevel=4)
        spread = math.log(self._samples + 1) / 2.0
        bounds = [
            each.estimation - math.sqrt(spread / each.width) if each.width else -math.inf for each in self._recent
        ]
        best = max(range(len(bounds)), key=bounds.__getitem__)
        if best != self.best:
            self.best, self.since = best, self._samples + 1


def name_of(model: Any) -> str:
    """The class of a model, or of the last step of a pipeline.

    >>> from river import linear_model, preprocessing
    >>> name_of(preprocessing.StandardScaler() | linear_model.LogisticRegression())
    'LogisticRegression'
    """
    steps = getattr(model, "steps", None)
    return type(list(steps.values())[-1] if steps else model).__name__


class SampleScore:
    """A number in [0, 1] for each prediction; higher is better, whatever the direction of the metric.

    River's metrics are running values; a bandit needs the worth of one pull. So every prediction is scored by a fresh
    metric, which must mean something for a single prediction. If high values are good, the value itself counts, clipped
    to [0, 1]. A loss l counts as 1 / (1 + l / scale): 1 for a perfect prediction, never below 0 however far off. The
    scale is 1 for classification; for regression it is the average loss so far of predicting the mean of the targets so
    far, so that units do not matter.

    Examples
    --------
    >>> SampleScore(metrics.Accuracy())("cat", "cat")
    1.0
    >>> SampleScore(metrics.MAE())(10.0, 12.0)  # there is no scale yet: neither good nor bad
    0.5
    """

    def __init__(self, metric: Any) -> None:
        self.metric = metric
        self._is_loss = not metric.bigger_is_better
        self._learns_scale = self._is_loss and isinstance(metric, metrics.base.RegressionMetric)
        self._target: Any = stats.Mean()
        self._usual_loss: Any = stats.Mean()

    @property
    def needs_probabilities(self) -> bool:
        """Whether predictions are probabilities of labels rather than labels or numbers."""
        return not getattr(self.metric, "requires_labels", True)

    def __call__(self, y: Any, y_pred: Any) -> float:
        """The worth of predicting ``y_pred`` if ``y`` is true; no prediction (None, no probabilities) is worth 0."""
        if self._learns_scale:
            self._learn_scale(y)
        if y_pred is None or y_pred == {}:
            return 0.0
        value = self._value(y, y_pred)
        if math.isnan(value):
            return 0.0
        if not self._is_loss:
            return min(max(value, 0.0), 1.0)
        if value <= 0.0:
            return 1.0
        scale = self._usual_loss.get() if self._learns_scale else 1.0
        return 0.5 if scale <= 0.0 else 1.0 / (1.0 + value / scale)  # no scale yet: neither good nor bad

    def _learn_scale(self, y: float) -> None:
        if self._target.n > 0:
            self._usual_loss.update(self._value(y, self._target.get()))
        self._target.update(y)

    def _value(self, y: Any, y_pred: Any) -> float:
        if type(self.metric) is metrics.Accuracy:  # the two defaults, without the 0.2 ms of a fresh metric
            return float(y == y_pred)
        if type(self.metric) is metrics.MAE:
            return abs(float(y) - float(y_pred))
        fresh = self.metric.clone()
        fresh.update(y, y_pred)
        return float(fresh.get())
