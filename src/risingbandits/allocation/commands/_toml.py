"""Reading tables from TOML by a list of keys, each with a check of its value.

Errors name the file and the path of the key, such as ``plan.toml, arms[2].timeout``.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from risingbandits._core.errors import RisingBanditsError, shown
from risingbandits.allocation.settings import Check

_PLAIN_KEY = re.compile(r"[A-Za-z0-9_.\[\]-]+")


def read_toml(path: Path) -> dict[str, Any]:
    """The content of a TOML file, or an error that says why there is none."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise RisingBanditsError(f"{path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise RisingBanditsError(f"{path} is not a text file in UTF-8: {error}.") from error
    try:
        return tomllib.loads(text)
    except (ValueError, OverflowError, RecursionError) as error:
        raise RisingBanditsError(f"{path} is not a TOML file: {str(error).rstrip('.')}.") from error


def read_table(where: str, values: Any, keys: Mapping[str, Check | None] | None) -> dict[str, Any]:
    """The values of a table as the checks of their keys return them; without ``keys`` or a check as they are.

    ``where`` is the path of the table with the separator at its end.

    >>> from risingbandits._core.errors import check_positive_int
    >>> read_table("plan.toml, ", {"jobs": 2}, {"jobs": check_positive_int, "seed": check_positive_int})
    {'jobs': 2}
    >>> read_table("plan.toml, ", {"job": 2}, {"jobs": check_positive_int})
    Traceback (most recent call last):
        ...
    risingbandits.RisingBanditsError: plan.toml, job is not a known key, did you mean 'jobs'?
    """
    if not isinstance(values, dict):
        raise RisingBanditsError(f"{where.rstrip(', .')} must be a table, got {shown(values)}.")
    if keys is None:
        return values
    for key in values:
        if key not in keys:
            near = difflib.get_close_matches(key, keys, n=1)
            known = f", did you mean {near[0]!r}?" if near else f"; known are {', '.join(sorted(keys))}."
            raise RisingBanditsError(f"{key_path(where, key)} is not a known key{known}")
    checks = ((key, value, keys[key]) for key, value in values.items())
    return {key: value if check is None else check(where + key, value) for key, value, check in checks}


def check_text(where: str, value: Any) -> str:
    """A string without null characters, which no system call accepts."""
    if not isinstance(value, str) or "\0" in value or not value.strip():
        raise RisingBanditsError(f"{where} must be a non-empty string, got {shown(value)}.")
    return value


def key_path(where: str, key: str) -> str:
    """The path of a key in the table at ``where``."""
    return where + (key if _PLAIN_KEY.fullmatch(key) else shown(key))
