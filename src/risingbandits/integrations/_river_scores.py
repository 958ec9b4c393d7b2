"""What a single prediction is worth, from 0 to 1, by any of River's metrics."""

from __future__ import annotations

import math
from typing import Any

from river import metrics, stats

from risingbandits._core.errors import check_finite


class SampleScore:
    """A number in [0, 1] for each prediction; higher is better, whatever the direction of the metric.

    River's metrics are running values; a bandit needs the worth of one pull. So every prediction is scored by a fresh
    metric. If high values are good, the value itself counts, clipped to [0, 1]. A loss l counts as 1 / (1 + l / scale):
    1 for a perfect prediction, 1/2 for a loss of ``scale``, never below 0 however far off.

    Parameters
    ----------
    metric : river metric
        A metric that means something for a single prediction, such as Accuracy, LogLoss, MAE or MSE.
    scale : float, optional
        The loss that counts as 1/2. None: for regression, the average loss so far of predicting the mean of the targets
        so far, so that units do not matter; for classification 1.

    Examples
    --------
    >>> SampleScore(metrics.Accuracy())("cat", "cat")
    1.0
    >>> SampleScore(metrics.MAE(), scale=2.0)(10.0, 12.0)
    0.5
    """

    def __init__(self, metric: Any, scale: float | None = None) -> None:
        self.metric = metric
        self.scale = None if scale is None else check_finite("scale", scale, above=0.0)
        self._is_loss = not metric.bigger_is_better
        self._learns_scale = scale is None and self._is_loss and isinstance(metric, metrics.base.RegressionMetric)
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
        scale = self._usual_loss.get() if self._learns_scale else self.scale or 1.0
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
