"""CatBoost as an arm: `CatBoostArm`."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from risingbandits._core.errors import missing
from risingbandits.integrations.frameworks._boosting import BoostingArm

try:
    import catboost
    from catboost.core import is_maximizable_metric
except ImportError:
    raise missing("CatBoost", "CatBoostArm", "catboost") from None


class CatBoostArm(BoostingArm):
    """``CatBoost.fit`` in pieces: a pull is ``rounds`` more iterations, then an evaluation on ``valid``.

    Only with ``bootstrap_type="No"`` and ``random_strength=0`` is the model after n pulls that of one fit with as many
    iterations: CatBoost draws by default, and models do not hold the state of random numbers. But pull n is always the
    same, interrupted or not. Without ``learning_rate``, CatBoost chooses it by the number of iterations, here those of
    one pull: set it.

    Parameters
    ----------
    params : mapping
        As for ``catboost.CatBoost``; its ``random_seed`` and ``iterations`` are not used.
    train, valid : catboost.Pool
        To train on, and to evaluate on. Arms that share ``train`` in threads take turns.
    rounds, score, direction, cost, seed
        As for `XGBoostArm`, with the model instead of the booster.
    metric : str, optional
        A metric of CatBoost, "Accuracy"; None is the ``eval_metric`` of ``params``, or the loss.

    Examples
    --------
    >>> from risingbandits import Pull
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> train, valid = catboost.Pool(X[::2], y[::2]), catboost.Pool(X[1::2], y[1::2])
    >>> params = {"loss_function": "Logloss", "depth": 2, "learning_rate": 0.1}
    >>> arm = CatBoostArm(params, train, valid, rounds=3)
    >>> rewards = [arm.pull(Pull(n, "trees", n)).reward for n in (1, 2, 3)]
    >>> rewards[0] > rewards[1] > rewards[2], arm.direction, arm.model.tree_count_
    (True, 'minimize', 9)
    """

    library, model_file = "CatBoost", "model.cbm"
    _data = catboost.Pool, "a catboost.Pool"
    _error = catboost.CatBoostError

    def _named(self) -> str:
        named = self.metric or self.params.get("eval_metric") or self.params.get("loss_function") or "RMSE"
        return str(named)

    def _more_is_better(self, metric: str | None) -> bool:
        self.metric = metric
        try:
            return bool(is_maximizable_metric(self._named()))
        except catboost.CatBoostError:
            return False  # it is complained about in the first pull

    def _boosted(self, model: Any, seed: int, evaluate: bool) -> tuple[Any, Any]:
        with tempfile.TemporaryDirectory() as folder:  # for what an evaluation writes, whatever it was told
            params = {"verbose": False, "allow_writing_files": False, "train_dir": folder, **self.params}
            grown = catboost.CatBoost({**params, "iterations": self.rounds, "random_seed": seed})
            grown.fit(self.train, init_model=model)
            if not evaluate or self.score is not None:
                return grown, None
            trees = grown.tree_count_
            found = grown.eval_metrics(self.valid, [self._named()], ntree_end=trees, eval_period=trees)
        return grown, {self.metric or name: values[-1] for name, values in found.items()}

    def _written(self, model: Any) -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / self.model_file
            model.save_model(str(path))
            return path.read_bytes()

    def _read(self, data: bytes) -> Any:
        return catboost.CatBoost().load_model(blob=data)
