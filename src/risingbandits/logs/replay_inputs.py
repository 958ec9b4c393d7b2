"""What a replay is given: curves as a dict or as loaded from logs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from risingbandits._core.errors import RisingBanditsError, check_choice, check_range, shown
from risingbandits._core.types import Floats
from risingbandits.policies.base import DIRECTIONS


class LoadedCurves(Protocol):
    """Curves with what is known about them, as `load_curves` returns them."""

    @property
    def values(self) -> Mapping[str, Floats]: ...
    @property
    def direction(self) -> str: ...
    @property
    def hours(self) -> Mapping[str, Floats]: ...
    @property
    def step(self) -> float: ...


class Given(NamedTuple):
    """Curves in [0, 1], where more is better, and what they were."""

    names: tuple[str, ...]
    scaled: list[Floats]
    direction: str
    low: float
    high: float
    hours: Mapping[str, Floats]
    step: float | None


def given_curves(
    curves: Mapping[str, npt.ArrayLike] | LoadedCurves,
    direction: str | None,
    reward_range: tuple[float, float] | None,
) -> Given:
    """Curves as played; direction and range as given, otherwise as loaded, otherwise more is better and 0 to 1."""
    if isinstance(curves, Mapping) or not hasattr(curves, "direction"):
        values: Mapping[str, npt.ArrayLike] = curves  # type: ignore[assignment]
        known_direction, known_range = "maximize", (0.0, 1.0)
        hours: Mapping[str, Floats] = {}
        step: float | None = None
    else:
        values = curves.values
        known_direction, known_range = curves.direction, range_of(curves.values)
        hours, step = curves.hours, curves.step
    way = check_choice("direction", known_direction if direction is None else direction, DIRECTIONS)
    low, high = check_range("reward_range", known_range if reward_range is None else reward_range)
    if not isinstance(values, Mapping) or not values:
        raise RisingBanditsError(f"curves must be a dict with at least one arm and its values, got {shown(values)}.")
    scaled = [_scaled(name, own, way, low, high) for name, own in values.items()]
    return Given(tuple(str(name) for name in values), scaled, way, low, high, hours, step)


def _scaled(name: str, values: npt.ArrayLike, direction: str, low: float, high: float) -> Floats:
    try:
        curve = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        curve = np.empty(0)
    if curve.ndim != 1 or curve.size == 0 or not np.isfinite(curve).all():
        raise RisingBanditsError(f"curves[{name!r}] must be a list of finite numbers, got {shown(values)}.")
    if curve.min() < low or curve.max() > high:
        raise RisingBanditsError(
            f"curves[{name!r}] must lie in the reward range, {low:g} to {high:g}, "
            f"has {curve.min():g} to {curve.max():g}: give the range of the values."
        )
    found: Floats = (curve - low) / (high - low) if direction == "maximize" else (high - curve) / (high - low)
    return found


def range_of(curves: Mapping[str, Floats]) -> tuple[float, float]:
    """0 to 1 if all values lie in it, otherwise the least and the greatest.

    >>> range_of({"a": np.array([0.2, 0.9])}), range_of({"a": np.array([2.0, 3.0]), "b": np.array([1.5])})
    ((0.0, 1.0), (1.5, 3.0))
    """
    low = min(float(values.min()) for values in curves.values())
    high = max(float(values.max()) for values in curves.values())
    if low >= 0.0 and high <= 1.0:
        return 0.0, 1.0
    return low, high if high > low else low + 1.0
