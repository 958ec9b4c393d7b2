"""The settings of a policy as fields of its class, each declared once: default and allowed values.

A registered class gets its constructor from them, and `Policy._validate` checks them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from functools import partial
from typing import Any

from risingbandits._core.errors import check_choice, check_finite, check_positive_int, check_range

Check = Callable[[str, Any], Any]  # (name, value): complains about a value that is not allowed


def setting(default: Any, check: Check) -> Any:
    """A field that ``check`` allows; None too, if that is the default."""
    return field(default=default, metadata={"check": or_none(check) if default is None else check})


def number(default: float | None, **limits: Any) -> Any:
    """A finite number within limits, as for `check_finite`."""
    return setting(default, partial(check_finite, **limits))


def integer(default: int | None, minimum: int = 1) -> Any:
    """An integer of at least ``minimum``."""
    return setting(default, partial(check_positive_int, minimum=minimum))


def one_of(*allowed: str) -> Any:
    """One of the ``allowed`` strings, by default the first."""
    return setting(allowed[0], partial(check_choice, allowed=allowed))


def unit_range() -> Any:
    """The range of rewards that is mapped onto [0, 1], which is also the default; rewards outside are clipped."""
    return setting((0.0, 1.0), check_range)


def tie_rule() -> Any:
    """Which of several arms with the same index: the one with the lowest number, or a random one."""
    return one_of("lowest", "random")


def or_none(check: Check) -> Check:
    """The same check, which None passes."""
    return lambda name, value: None if value is None else check(name, value)


def check_settings(policy: Any) -> None:
    """Check the settings that are fields."""
    for name, declared in getattr(policy, "__dataclass_fields__", {}).items():
        if "check" in declared.metadata:
            declared.metadata["check"](name, getattr(policy, name))
