"""What the arms of XGBoost, LightGBM and CatBoost share: a pull is some more rounds of boosting.

Between two pulls such an arm is only the model as its library writes it. Every pull reads it, trains with its own seed
and writes it again, even if the arm stays in memory. So pull n is the same whether or not the run was interrupted,
although none of the libraries keeps the state of its random numbers in a model.
"""

from __future__ import annotations

import json
import threading
from abc import abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from risingbandits._core.errors import RisingBanditsError, check_positive_int, shown
from risingbandits._core.files import whole
from risingbandits.allocation.arms.base import Outcome
from risingbandits.allocation.pull import Pull
from risingbandits.integrations.frameworks._training import TrainingArm, not_a_checkpoint, reward_of

_FORMAT = 1
_NO_SETTINGS = ("seed", "thread", "job", "verb", "device", "metric", "log", "dir", "file")  # parts of such names


class BoostingArm(TrainingArm):
    """A boosted model; subclasses know the library."""

    library: str
    model_file: str  # its name in a checkpoint, as the library's own programs expect it
    metric_key = "eval_metric"  # what ``params`` calls the metric
    maximised: tuple[str, ...] = ()  # metrics of which more is better
    _data: tuple[type, str]  # the class of the data, and its name
    _error: type[Exception]  # what the library raises
    restores_itself = True  # rounds that were lost are trained again

    def __init__(
        self,
        params: Mapping[str, Any],
        train: Any,
        valid: Any,
        *,
        rounds: int = 10,
        metric: str | None = None,
        score: Callable[[Any, Any], float] | None = None,
        direction: str | None = None,
        cost: str | None = None,
        seed: int = 0,
    ) -> None:
        if not isinstance(params, Mapping):
            raise RisingBanditsError(f"params must map names to values, got {shown(params)}.")
        if score is not None and (metric is not None or not callable(score)):
            raise RisingBanditsError(f"score must be callable, and given without metric, got {shown(score)}.")
        self.params, self.train, self.valid = dict(params), train, valid
        self.rounds, self.score, self.seed = check_positive_int("rounds", rounds), score, seed
        kind, called = self._data
        for name, data in (("train", train), ("valid", valid)):
            if not isinstance(data, kind) or getattr(data, "data", data) is None:  # LightGBM may have dropped it
                raise RisingBanditsError(f"{name} must be {called}, got {shown(data)}.")
        if direction is None:
            direction = "maximize" if score is not None or self._more_is_better(metric) else "minimize"
        super().__init__(metric, direction, cost, ("samples", "rounds"), seed)
        self._model = b""  # as the library writes it; empty before the first round
        self._trained = 0  # pulls that it has had

    @property
    def config(self) -> dict[str, Any]:
        """What the arm is: its parameters without those that do not affect the model."""
        return {name: value for name, value in self.params.items() if not any(part in name for part in _NO_SETTINGS)}

    @property
    def model(self) -> Any:
        """The model as of the last pull, an object of the library; None before the first."""
        return self._read(self._model) if self._model else None

    def pull(self, pull: Pull) -> Outcome:
        """Train some more rounds; lost ones are first trained again, at no cost."""
        if self._trained > pull.n - 1:
            self._model, self._trained = b"", 0
        for n in range(self._trained + 1, pull.n):
            self._model, self._trained = self._further(n)[0], n
        return super().pull(pull)

    def _trained_further(self, pull: Pull) -> Any:
        model, results = self._further(pull.n, evaluate=True)
        self._spent = float(self.rounds * (self._rows() if self.cost == "samples" else 1))
        results = reward_of(results, self.metric, pull.arm)  # complains before anything has changed
        self._model, self._trained = model, pull.n
        return results

    def _further(self, n: int, evaluate: bool = False) -> tuple[bytes, Any]:
        """The model after the rounds of pull ``n``, and what its evaluation gives."""
        seed = (1000003 * self.seed + n) % 2**31  # different for each pull, or each would draw the same rows again
        try:
            with lock_of(self.train):
                model, results = self._boosted(self._read(self._model) if self._model else None, seed, evaluate)
                if evaluate and self.score is not None:
                    results = self.score(model, self.valid)
                return self._written(model), results
        except self._error as error:
            raise RisingBanditsError(
                f"{self.library} complains{self._about(error)}: {first_sentence(error)}."
            ) from error

    def _about(self, error: Exception) -> str:
        return f" about metric {self.metric!r}" if self.metric and "metric" in str(error).lower() else ""

    def save(self, path: Path) -> None:
        """Write a folder with the model in the library's own format, atomically."""
        with whole(path) as temporary:
            temporary.mkdir()
            (temporary / self.model_file).write_bytes(self._model)
            (temporary / "arm.json").write_text(json.dumps({"format": _FORMAT, "pulls": self._trained}))

    def load(self, path: Path) -> None:
        """Read what `save` wrote."""
        try:
            about = json.loads((path / "arm.json").read_text())
            model = (path / self.model_file).read_bytes()
            if about["format"] != _FORMAT or bool(model) != (about["pulls"] > 0):
                raise ValueError("another format")
            if model:
                self._read(model)
        except (OSError, ValueError, KeyError, TypeError, self._error) as error:
            raise not_a_checkpoint(path, type(self).__name__, error) from None
        self._model, self._trained = model, int(about["pulls"])

    # -- of the library -----------------------------------------------------------------------------------------

    def _rows(self) -> int:
        """Rows of the training data."""
        return int(self.train.num_row())

    def _more_is_better(self, metric: str | None) -> bool:
        """Whether a metric is to be maximised; None is that of ``params``, or of the objective."""
        if metric is None:
            given = self.params.get(self.metric_key, "")
            metric = str(given[0] if isinstance(given, list | tuple) and given else given)
        return metric.partition("@")[0].rstrip("-") in self.maximised

    @abstractmethod
    def _boosted(self, model: Any, seed: int, evaluate: bool) -> tuple[Any, Any]:
        """``model``, or a new one, after ``rounds`` more, and metrics by name if they are wanted."""

    @abstractmethod
    def _written(self, model: Any) -> bytes:
        """A model in the library's own format."""

    @abstractmethod
    def _read(self, data: bytes) -> Any:
        """The model that `_written` gave."""


def lock_of(data: Any) -> threading.Lock:
    """A lock that goes with the data: the libraries keep things in them while they train, and arms may share them."""
    lock: threading.Lock = data.__dict__.setdefault("_risingbandits_lock", threading.Lock())
    return lock


def first_sentence(error: Exception) -> str:
    """The message of a library, without the source location and trace that some add."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = next((line for line in lines if not line.startswith("Stack trace")), type(error).__name__)
    if text.startswith("[") and "]" in text:  # the time
        text = text.partition("]")[2].strip()
    head, _, tail = text.partition(": ")
    return (tail if "/" in head and tail else text).rstrip(".")[:300]
