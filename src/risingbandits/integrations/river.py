"""Model selection for River (https://riverml.xyz): `RisingClassifier` and `RisingRegressor`."""

# mypy: disable-error-code="no-untyped-call"
# (River is typed only in part.)

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from risingbandits._core.errors import missing
from risingbandits._core.tables import TextTable
from risingbandits.policies import Policy

try:
    from river import metrics
    from river.model_selection.base import ModelSelectionClassifier, ModelSelectionRegressor
except ImportError:
    raise missing("River", "RisingClassifier and RisingRegressor", "river") from None

from risingbandits.integrations._policy_run import PolicyRun
from risingbandits.integrations._river_scores import SampleScore
from risingbandits.integrations._river_watch import InCharge, Watch, name_of

Features = dict[Any, Any]


class _Rising:
    """What the two model selectors share: one run of a policy over the models, created when first needed."""

    models: list[Any]
    default_metric: type[Any]

    def __init__(
        self,
        models: Sequence[Any],
        policy: str | Policy | None = None,
        metric: Any = None,
        scale: float | None = None,
        horizon: int | None = None,
        seed: int | None = None,
    ) -> None:
        metric = self.default_metric() if metric is None else metric
        super().__init__(list(models), metric)  # type: ignore[call-arg]
        self.policy = policy
        self.scale = scale
        self.horizon = horizon
        self.seed = seed
        self._run: PolicyRun | None = None
        self._score = SampleScore(metric, scale)
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
            self._run = PolicyRun(self.policy, len(self.models), self.horizon, self.seed)
        return self._run

    @property
    def next_model(self) -> Any:
        """The model that predicts now and learns from the next sample."""
        return self.models[self._started().arm]

    @property
    def in_charge(self) -> InCharge:
        """That model (``number``, ``name``), from which sample on (``since``), and its recent ``score``."""
        number = self._started().arm
        return self._watch.in_charge(number, self.models[number])

    def summary(self) -> str:
        """A table of the models: samples learnt, recent score, and which is in charge since when."""
        now = self.in_charge
        rows = []
        for number, (model, learnt) in enumerate(zip(self.models, self.pulls, strict=True)):
            score = self._watch.in_charge(number, model).score
            told = f"in charge since sample {now.since}" if number == now.number else ""
            rows.append((str(number), name_of(model), str(learnt), f"{score:.3f}" if learnt else "-", told))
        return TextTable(("", "model", "samples", "recent score", ""), rows, frozenset({0, 2, 3})).plain()

    @property
    def best_model(self) -> Any:
        """The model to keep if the stream ended now, as the policy recommends."""
        return self.models[self._started().policy.recommend()]

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
        """A fresh selector with the same settings. Its models are fresh as well, which River's lists are not."""
        params = {"models": [model.clone() for model in self.models], **(new_params or {})}
        if include_attributes:
            params["models"] = (new_params or {}).get("models", self.models)
        return super().clone(params, include_attributes)  # type: ignore[misc]

    def _unit_test_skips(self) -> set[str]:
        # If models tie, the order decides which is tried first, and so which learns more.
        return {"check_model_selection_order_does_not_matter"}


class RisingClassifier(_Rising, ModelSelectionClassifier):
    """Choose among classifiers that learn from a stream; each sample trains one of them.

    The model that is to be trained next also predicts. `predict_one` and `predict_proba_one` use it and change nothing;
    `learn_one` lets it predict the sample once more, tells the policy what that was worth (0 to 1), trains it, and
    picks the next. Predicting any number of times before learning, or not at all, makes no difference to what is
    learnt. Only one model is trained per sample, so the cost is that of a single model, however many there are.
    `in_charge` says which one it is now, and since when. If it gets worse, as in a stream that drifts, there is one
    warning; policies for rising models do not expect it (docs/adapters.md).

    Parameters
    ----------
    models : list of river classifiers
        At least two.
    policy : str, Policy or None
        A policy or its name, also with settings: "commit-ucb(sigma=0.1)"; None is `Auto`, which plans for models that
        get better the more they learn.
    metric : river metric, optional
        Scores single predictions, see `SampleScore`; None is Accuracy.
    scale : float, optional
        For metrics that are losses: the loss that counts as 1/2; None is 1.
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
        """The label that the model to be trained next predicts."""
        return self.next_model.predict_one(x, **kwargs)

    def predict_proba_one(self, x: Features, **kwargs: Any) -> dict[Any, float]:
        """Its probabilities, 0 for labels that only other models have seen; equal ones before it has learnt."""
        probabilities = self.next_model.predict_proba_one(x, **kwargs)
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
    scale : float, optional
        The loss that counts as 1/2; None learns it from the targets.
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
    MAE: 4.39...
    >>> model["RisingRegressor"].pulls
    [166, 813, 22]
    """

    default_metric = metrics.MAE

    def predict_one(self, x: Features, **kwargs: Any) -> float:
        """What the model to be trained next predicts."""
        return float(self.next_model.predict_one(x, **kwargs))

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        for params, metric, policy in zip(
            super()._unit_test_params(), (None, metrics.MSE()), (None, "epsilon-greedy"), strict=True
        ):
            yield {**params, "metric": metric, "policy": policy}
