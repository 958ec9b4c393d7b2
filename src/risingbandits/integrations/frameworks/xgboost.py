"""XGBoost as an arm: `XGBoostArm`."""

from __future__ import annotations

from typing import Any

from risingbandits._core.errors import missing
from risingbandits.integrations.frameworks._boosting import BoostingArm

try:
    import xgboost
except ImportError:
    raise missing("XGBoost", "XGBoostArm", "xgboost") from None


class XGBoostArm(BoostingArm):
    """``xgboost.train`` in pieces: a pull is ``rounds`` more rounds, then an evaluation on ``valid``.

    Without sampling, the model after n pulls is bit for bit that of one call of ``xgboost.train`` with as many rounds
    in all. With ``subsample``, ``colsample_*`` or DART, it draws differently from a single call, because models do not
    hold the state of random numbers; but with the same number of threads, pull n is always the same, interrupted or
    not.

    Parameters
    ----------
    params : mapping
        As for ``xgboost.train``; its ``seed`` is not used.
    train, valid : xgboost.DMatrix
        To train on, and to evaluate on. Arms that share ``train`` in threads take turns.
    rounds : int
        Boosting rounds per pull.
    metric : str, optional
        A metric of XGBoost, "merror"; None is the ``eval_metric`` of ``params``, or that of the objective.
    score : callable ``score(booster, valid)``, optional
        Instead of a metric.
    direction : {"maximize", "minimize"}, optional
        None: by the metric; a score is maximised.
    cost : None, "samples" or "rounds"
        What a pull reports as its cost; samples are rows times rounds. None leaves it to the allocator's budget.
    seed : int
        Seed of all randomness.

    Examples
    --------
    >>> from risingbandits import Pull
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> train, valid = xgboost.DMatrix(X[::2], label=y[::2]), xgboost.DMatrix(X[1::2], label=y[1::2])
    >>> arm = XGBoostArm({"objective": "binary:logistic", "max_depth": 2}, train, valid, rounds=3, metric="logloss")
    >>> rewards = [arm.pull(Pull(n, "trees", n)).reward for n in (1, 2, 3)]
    >>> rewards[0] > rewards[1] > rewards[2], arm.direction, arm.model.num_boosted_rounds()
    (True, 'minimize', 9)
    """

    library, model_file = "XGBoost", "model.ubj"
    maximised = ("auc", "aucpr", "map", "ndcg", "pre")
    _data = xgboost.DMatrix, "an xgboost.DMatrix"
    _error = xgboost.core.XGBoostError

    def _boosted(self, model: Any, seed: int, evaluate: bool) -> tuple[Any, Any]:
        params = {**self.params, "seed": seed} | ({} if self.metric is None else {"eval_metric": self.metric})
        model = xgboost.train(params, self.train, self.rounds, xgb_model=model)
        if not evaluate or self.score is not None:
            return model, None
        # "[0]\tvalid-merror:0.05000000000000000\tvalid-mlogloss:..."
        said = model.eval_set([(self.valid, "valid")], model.num_boosted_rounds()).split("\t")[1:]
        pairs = [part.removeprefix("valid-").rpartition(":") for part in said]
        return model, {name: float(value) for name, _, value in pairs}

    def _written(self, model: Any) -> bytes:
        return bytes(model.save_raw("ubj"))

    def _read(self, data: bytes) -> Any:
        return xgboost.Booster(model_file=bytearray(data))
