"""Earlier tasks: the learning curves of arms from earlier runs."""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from risingbandits._core.errors import RisingBanditsError, check_choice, shown
from risingbandits._core.types import Floats
from risingbandits.policies.base import DIRECTIONS
from risingbandits.policies.config_points import Config, Value

ArmSettings = Config

_NUMBERED = re.compile(r"trial[ _-]?\d+", re.IGNORECASE)  # a name that means another arm in every study


@dataclass(frozen=True)
class EarlierTask:
    """What an earlier run, or a file, says about arms.

    Parameters
    ----------
    name : str
        What messages and tables call it.
    curves : mapping of arms to rewards
        In the order of the pulls. Values may be NaN or infinite if training diverged.
    settings : mapping of arms to their settings
        Numbers, strings or None by setting name, for arms that have any.
    direction : {"maximize", "minimize"}
        Whether high or low values are good.
    failed : set of arms
        Those that were given up because they failed; they are worse than all others.
    named : bool
        Whether an arm of the same name is the same arm in another task. "trial 3" never is.
    identity : str or None
        Identity of the store that it is from, so that a run does not learn from itself.
    suggests : (direction or None, str)
        Which direction the values of a file suggest, and why, such as "falls in 100% of the runs".

    Examples
    --------
    >>> task = EarlierTask("may", {"adam": [0.3, 0.6], "sgd": [0.2, 0.5], "never pulled": []})
    >>> task.arms, task.means_the_same("adam"), task.means_the_same("trial 7")
    (['adam', 'sgd'], True, False)
    """

    name: str
    curves: Mapping[str, Iterable[float]]
    settings: Mapping[str, ArmSettings] = field(default_factory=dict)
    direction: str = "maximize"
    failed: frozenset[str] = frozenset()
    named: bool = True
    identity: str | None = None
    suggests: tuple[str | None, str] = (None, "")

    def __post_init__(self) -> None:
        check_choice("direction", self.direction, DIRECTIONS)
        curves = {arm: _rewards(f"{self.name}, {arm}", curve) for arm, curve in self.curves.items()}
        object.__setattr__(self, "curves", curves)
        settings = {
            arm: known_settings(f"{self.name}, settings of {arm}", given) for arm, given in self.settings.items()
        }
        object.__setattr__(self, "settings", settings)

    @property
    def arms(self) -> list[str]:
        """Those that were pulled, or failed."""
        return [arm for arm, curve in self._curves.items() if len(curve) or arm in self.failed]

    @property
    def pulls(self) -> int:
        """Of all arms."""
        return sum(len(curve) for curve in self._curves.values())

    def gains(self) -> list[Floats]:
        """The curves of `arms` so that high is good; NaN for those that failed."""
        sign = 1.0 if self.direction == "maximize" else -1.0
        failure = np.array([math.nan])
        return [failure if arm in self.failed else sign * self._curves[arm] for arm in self.arms]

    def means_the_same(self, arm: str) -> bool:
        """Whether an arm of this name in another task would be the same arm."""
        return self.named and not _NUMBERED.fullmatch(arm.strip())

    @property
    def _curves(self) -> dict[str, Floats]:
        return self.curves  # type: ignore[return-value]  # made so above


def known_settings(where: str, given: Any) -> dict[str, Value]:
    """Settings of an arm as numbers, strings, and None for missing values.

    >>> known_settings("a", {"lr": 0.1, "layers": (64, 64), "nesterov": True, "decay": None})
    {'lr': 0.1, 'layers': '(64, 64)', 'nesterov': 'True', 'decay': None}
    """
    if not isinstance(given, Mapping):
        raise RisingBanditsError(f"{where} must be a mapping of names to numbers or strings, got {shown(given)}.")
    return {str(name): _value(value) for name, value in given.items()}


def _value(value: Any) -> Value:
    if value is None or value == "None":  # as stores keep it
        return None
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real):
        return str(value)
    return None if math.isnan(value) else float(value)


def _rewards(where: str, curve: Any) -> Floats:
    try:
        rewards = np.array(curve if isinstance(curve, np.ndarray) else list(curve), dtype=float)
        if rewards.ndim == 1:
            return rewards
    except (TypeError, ValueError):
        pass
    raise RisingBanditsError(f"{where} must be a list of numbers, got {shown(curve)}.")
