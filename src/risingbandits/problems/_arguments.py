"""Checks of what a problem is made from."""

from __future__ import annotations

from collections.abc import Iterable

from risingbandits._core.errors import RisingBanditsError, check_positive_int, shown
from risingbandits.problems.base import Curve


def checked_curves(curves: Iterable[Curve]) -> tuple[Curve, ...]:
    """The curves of at least one arm."""
    if isinstance(curves, Curve) or not isinstance(curves, Iterable):
        raise RisingBanditsError(f"curves must be a list of curves, got {shown(curves)}.")
    checked = tuple(curves)
    if not checked:
        raise RisingBanditsError("curves must hold at least one curve, got none.")
    for arm, curve in enumerate(checked):
        if not isinstance(curve, Curve):
            raise RisingBanditsError(f"curves must hold curves only, got {shown(curve)} at index {arm}.")
    return checked


def checked_names(names: Iterable[str] | None, n_arms: int) -> tuple[str, ...]:
    """As many different names as there are arms."""
    if names is None:
        return tuple(f"arm {arm}" for arm in range(1, n_arms + 1))
    checked = tuple(names)
    if any(not isinstance(name, str) for name in checked):
        raise RisingBanditsError(f"arm_names must be strings, got {shown(list(checked))}.")
    if len(checked) != n_arms or len(set(checked)) != n_arms:
        raise RisingBanditsError(f"arm_names must be {n_arms} different strings, got {shown(list(checked))}.")
    return checked


def checked_limits(limits: int | Iterable[int] | None, n_arms: int) -> tuple[int, ...] | None:
    """How often each arm can be pulled, from one number for all or one for each."""
    if limits is None:
        return None
    if isinstance(limits, Iterable) and not isinstance(limits, (str, bytes)):
        each = tuple(check_positive_int("max_pulls", limit) for limit in limits)
        if len(each) != n_arms:
            raise RisingBanditsError(f"max_pulls must be one number or {n_arms}, one for each arm, got {len(each)}.")
        return each
    return (check_positive_int("max_pulls", limits),) * n_arms
