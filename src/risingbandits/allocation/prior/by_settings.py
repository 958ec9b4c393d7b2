"""What earlier tasks say about arms with other names, by their settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from risingbandits._core.types import Floats, Ints
from risingbandits.allocation.prior.beliefs import STRANGER, Belief
from risingbandits.allocation.prior.features import Features
from risingbandits.allocation.prior.gaussian_process import GaussianProcess, most_probable
from risingbandits.allocation.prior.scores import LEAST_ARMS
from risingbandits.allocation.prior.tasks import ArmSettings

_MOST_ROWS = 400  # the cost of a fit grows with their third power
_ROWS_OF_FIT = 200  # for hyper-parameters


@dataclass(frozen=True)
class Row:
    """An arm of an earlier task: its settings and its normal score."""

    task: int  #: the number of the task
    settings: ArmSettings
    score: float


class SettingsModel:
    """A Gaussian process on the settings and scores of earlier arms; `fit` makes one if possible.

    Examples
    --------
    >>> rows = [Row(0, {"lr": float(x), "seed": 1.0}, x / 2 - 1) for x in range(5)]
    >>> model = SettingsModel.fit(rows)
    >>> beliefs = model.beliefs([{"lr": 3.9}, {"lr": 0.1}, {}])
    >>> [round(belief.mean, 1) for belief in beliefs], beliefs[2].source, list(model.matter())
    ([0.7, -0.7, 0.0], 'stranger', ['lr'])
    """

    def __init__(self, rows: Sequence[Row], features: Features, hyper: Floats) -> None:
        self._features = features
        self._hyper = hyper
        self._groups: Ints = features.groups()
        self._points = features.points([row.settings for row in rows])
        self._scores = np.array([row.score for row in rows])
        self._tasks = np.array([row.task for row in rows])
        self._process = GaussianProcess(self._points, self._scores, self._groups, hyper)

    @classmethod
    def fit(cls, rows: Sequence[Row], seed: int = 0) -> SettingsModel | None:
        """The model of at most 400 of the rows, drawn at random; None if settings do not differ."""
        drawn = np.random.default_rng([seed, 2]).permutation(len(rows))[:_MOST_ROWS]
        kept = [rows[i] for i in drawn]
        if len(kept) < LEAST_ARMS:
            return None
        features = Features([row.settings for row in kept])
        if not features.names:
            return None
        fitted = kept[:_ROWS_OF_FIT]
        points = features.points([row.settings for row in fitted])
        scores = np.array([row.score for row in fitted])
        return cls(kept, features, most_probable(points, scores, features.groups()))

    def beliefs(self, arms: Sequence[ArmSettings], without: int | None = None) -> list[Belief]:
        """Beliefs about arms with these settings; ``without`` is an earlier task that must not count."""
        process = self._process
        if without is not None:
            others = self._tasks != without
            if others.sum() < LEAST_ARMS:
                return [STRANGER] * len(arms)
            process = GaussianProcess(self._points[others], self._scores[others], self._groups, self._hyper)
        if not arms:
            return []
        means, deviations = process.predict(self._features.points(arms))
        return [
            Belief(float(mean), float(deviation), "settings") if self._knows(arm) else STRANGER
            for arm, mean, deviation in zip(arms, means, deviations, strict=True)
        ]

    def matter(self) -> dict[str, float]:
        """How quickly scores change with each setting: the inverse of its length scale, the largest first."""
        found = dict(zip(self._features.names, np.exp(self._hyper[:-2] / 2.0).tolist(), strict=True))
        return dict(sorted(found.items(), key=lambda item: -item[1]))

    def _knows(self, arm: ArmSettings) -> bool:
        return any(name in arm for name in self._features.names)
