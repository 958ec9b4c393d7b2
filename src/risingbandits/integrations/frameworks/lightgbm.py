"""LightGBM as an arm: `LightGBMArm`."""

from __future__ import annotations

from typing import Any

from risingbandits._core.errors import missing
from risingbandits.integrations.frameworks._boosting import BoostingArm

try:
    import lightgbm
except ImportError:
    raise missing("LightGBM", "LightGBMArm", "lightgbm") from None

_COPIED = ("label", "weight", "group", "init_score", "feature_name", "categorical_feature", "params")


class LightGBMArm(BoostingArm):
    """``lightgbm.train`` in pieces: a pull is ``rounds`` more rounds, evaluated on ``valid``.

    Without sampling, the model after n pulls predicts bit for bit like that of one call of ``lightgbm.train`` with as
    many rounds. With bagging, ``feature_fraction``, GOSS or DART, it draws differently from a single call, because
    models do not hold the state of random numbers; but pull n is always the same, interrupted or not (with several
    threads, if ``deterministic`` is set). Random forests, ``boosting="rf"``, cannot be continued.

    Parameters
    ----------
    params : mapping
        As for ``lightgbm.train``; its ``seed`` is not used.
    train, valid : lightgbm.Dataset
        To train on, and to evaluate on, both before LightGBM has constructed them: each arm makes its own from the same
        raw data.
    rounds, score, direction, cost, seed
        As for `XGBoostArm`; ``score(booster, valid)`` is given ``valid`` as it was made.
    metric : str, optional
        A metric of LightGBM, "multi_error"; None is the ``metric`` of ``params``, or that of the objective.

    Examples
    --------
    >>> from risingbandits import Pull
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> train, valid = lightgbm.Dataset(X[::2], label=y[::2]), lightgbm.Dataset(X[1::2], label=y[1::2])
    >>> params = {"objective": "binary", "num_leaves": 4, "verbose": -1}
    >>> arm = LightGBMArm(params, train, valid, rounds=3, metric="auc")
    >>> rewards = [arm.pull(Pull(n, "trees", n)).reward for n in (1, 2, 3)]
    >>> rewards[0] < rewards[2] <= 1, arm.direction, arm.model.num_trees()
    (True, 'maximize', 9)
    """

    library, model_file, metric_key = "LightGBM", "model.txt", "metric"
    maximised = ("auc", "auc_mu", "average_precision", "map", "mean_average_precision", "ndcg", "r2")
    _data = lightgbm.Dataset, "a lightgbm.Dataset that has its raw data"
    _error = lightgbm.basic.LightGBMError
    _datasets: tuple[Any, Any] | None = None

    def _rows(self) -> int:
        return int(self._own()[0].construct().num_data())

    def _own(self) -> tuple[Any, Any]:
        """Datasets of this arm: training changes them, and their bins depend on its parameters."""
        if self._datasets is None:
            train, valid = (
                lightgbm.Dataset(
                    data.data,
                    free_raw_data=False,
                    **{name: getattr(data, name) for name in _COPIED if hasattr(data, name)},
                )
                for data in (self.train, self.valid)
            )
            self._datasets = train, valid.set_reference(train)
        return self._datasets

    def _boosted(self, model: Any, seed: int, evaluate: bool) -> tuple[Any, Any]:
        params = {**self.params, "seed": seed} | ({} if self.metric is None else {"metric": self.metric})
        if model is None:
            self._datasets = None  # used ones would begin with what the last model predicts
        train, valid = self._own()
        found: dict[str, dict[str, list[float]]] = {}
        judged: dict[str, Any] = {}
        if evaluate and self.score is None:
            judged = {"valid_sets": [valid], "valid_names": ["valid"]}
            judged["callbacks"] = [lightgbm.record_evaluation(found)]
        try:
            model = lightgbm.train(params, train, self.rounds, init_model=model, **judged)
        except lightgbm.basic.LightGBMError:
            self._datasets = None  # they may be half made
            raise
        return model, {name: values[-1] for name, values in found.get("valid", {}).items()}

    def _written(self, model: Any) -> bytes:
        return bytes(model.model_to_string(num_iteration=-1).encode())

    def _read(self, data: bytes) -> Any:
        return lightgbm.Booster(model_str=data.decode())
