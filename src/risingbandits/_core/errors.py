"""Errors of the package and the checks of arguments that raise them.

Every error about input is one sentence that names the argument, the value it got and what is allowed.
"""

from __future__ import annotations

import difflib
import math
import numbers
import re
import reprlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from risingbandits._core.types import Ints


class RisingBanditsError(ValueError):
    """Input that the package cannot use; the base of all its errors about arguments and files."""

    __module__ = "risingbandits"  # where users import it from, and what tracebacks name


def missing(library: str, purpose: str, extra: str) -> RisingBanditsError:
    """The error for a library that is not installed, which says how to get it."""
    return RisingBanditsError(
        f"{library} is needed for {purpose}: pip install 'risingbandits[{extra}]' or, before the first release, "
        f"pip install '.[{extra}]' in a clone."
    )


_MOST_BITS = 14_000  # of an integer that is written out: Python refuses to write more than 4,300 digits


class _Short(reprlib.Repr):
    """Short strings for values, also for integers of more digits than Python writes out."""

    def repr_int(self, x: int, level: int) -> str:
        bits = x.bit_length()
        return super().repr_int(x, level) if bits < _MOST_BITS else f"an integer of {bits:,} bits"


def shown(value: object, longest: int = 30) -> str:
    """A short string for ``value`` in an error message, with NumPy numbers printed as plain numbers.

    Of a string with more than ``longest`` characters the middle is left out.

    >>> shown([1.5, "abc"]), shown("x" * 50), shown(1 << 20_000)
    ("[1.5, 'abc']", "'xxxxxxxxxxxx...xxxxxxxxxxxxx'", 'an integer of 20,001 bits')
    """
    short = _Short()
    short.maxstring = longest
    return short.repr(value.item() if isinstance(value, np.generic) else value)


def check_positive_int(name: str, value: Any, minimum: int = 1) -> int:
    """``value`` as an int, if it is an integer of at least ``minimum`` (a bool does not count).

    >>> check_positive_int("horizon", 0)
    Traceback (most recent call last):
        ...
    risingbandits.RisingBanditsError: horizon must be an integer >= 1, got 0.
    """
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Integral) or value < minimum:
        raise RisingBanditsError(f"{name} must be an integer >= {minimum}, got {shown(value)}.")
    return int(value)


def check_finite(
    name: str,
    value: Any,
    *,
    minimum: float | None = None,
    maximum: float | None = None,
    above: float | None = None,
    below: float | None = None,
) -> float:
    """``value`` as a float, if it is a finite number within the given closed or open limits.

    >>> check_finite("rate", 0.5, above=0)
    0.5
    >>> check_finite("rate", 0, above=0)
    Traceback (most recent call last):
        ...
    risingbandits.RisingBanditsError: rate must be a finite number > 0, got 0.
    """
    if not isinstance(value, (bool, np.bool_)) and isinstance(value, numbers.Real):
        try:
            number = float(value)
        except OverflowError:  # an int beyond the largest float
            number = math.inf
        if (
            math.isfinite(number)
            and (minimum is None or number >= minimum)
            and (maximum is None or number <= maximum)
            and (above is None or number > above)
            and (below is None or number < below)
        ):
            return number + 0.0  # no -0.0, which SQLite would give back as 0.0
    limits = ((">=", minimum), (">", above), ("<=", maximum), ("<", below))
    allowed = " and ".join(f"{sign} {limit:g}" for sign, limit in limits if limit is not None)
    raise RisingBanditsError(f"{name} must be a finite number {allowed}".rstrip() + f", got {shown(value)}.")


def check_flag(name: str, value: Any) -> bool:
    """``value``, if it is a bool."""
    if not isinstance(value, bool):
        raise RisingBanditsError(f"{name} must be true or false, got {shown(value)}.")
    return value


def check_range(name: str, value: Any) -> tuple[float, float]:
    """``value`` as (low, high), if it is two finite numbers, the lower one first, whose distance can be divided by.

    >>> check_range("reward_range", [1, 0])
    Traceback (most recent call last):
        ...
    risingbandits.RisingBanditsError: reward_range must be two numbers, the lower one first, got [1, 0].
    """
    if isinstance(value, tuple | list) and len(value) == 2:
        low, high = (check_finite(f"{name}[{i}]", limit) for i, limit in enumerate(value))
        if low < high and math.isfinite(high - low) and math.isfinite(1.0 / (high - low)):
            return low, high
    raise RisingBanditsError(f"{name} must be two numbers, the lower one first, got {shown(value)}.")


_MOST_LISTED = 12  # choices that are listed beside a suggestion; more would hide it


def check_choice(name: str, value: Any, allowed: Iterable[str], listed_by: str = "") -> str:
    """``value``, if it is one of the ``allowed`` strings; otherwise an error that suggests the closest one.

    Many choices are listed only where none of them is close and no command lists them.

    >>> check_choice("backend", "loca", ["local", "ray"])
    Traceback (most recent call last):
        ...
    risingbandits.RisingBanditsError: backend must be one of local, ray; got 'loca', did you mean 'local'?
    """
    choices = list(allowed)
    if isinstance(value, str) and value in choices:
        return value
    close = difflib.get_close_matches(value, choices, n=1) if isinstance(value, str) else []
    ending = f", did you mean {close[0]!r}?" if close else "."
    many = len(choices) > _MOST_LISTED
    listed = f"{len(choices)} names" if many and (close or listed_by) else ", ".join(one or "''" for one in choices)
    if many and listed_by and not close:
        ending = f": `{listed_by}` lists them."
    raise RisingBanditsError(f"{name} must be one of {listed}; got {shown(value)}{ending}")


def check_counts(name: str, value: Any, minimum: int = 0) -> Ints:
    """``value`` (an integer or an array of integers, none below ``minimum``) as an int64 array of the same shape.

    >>> check_counts("n", [1, 2, 3])
    array([1, 2, 3])
    """
    try:
        array = np.asarray(value)
    except ValueError as error:  # rows of different lengths
        raise RisingBanditsError(f"{name} must be an array of integers >= {minimum}, got {shown(value)}.") from error
    if array.size == 0:
        return np.zeros(array.shape, np.int64)
    if array.dtype.kind not in "iu" or array.min() < minimum or array.max() > np.iinfo(np.int64).max:
        raise RisingBanditsError(f"{name} must hold integers >= {minimum}, got {shown(value)}.")
    return np.ascontiguousarray(array, dtype=np.int64).reshape(array.shape)


def hide_password(address: str) -> str:
    """The address of a store as it may be printed.

    >>> hide_password("postgresql://me:secret@host/runs?schema=a&sslpassword=x"), hide_password("run.db")
    ('postgresql://me:***@host/runs?schema=a&sslpassword=***', 'run.db')
    """
    address = re.sub(r"(://[^/?#]*?:)[^/?#]*(@)", r"\1***\2", address)
    return re.sub(r"(?i)([?&](?:ssl)?password=)[^&]*", r"\1***", address)
