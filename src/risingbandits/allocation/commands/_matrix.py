"""The table ``[matrix]`` of a plan: lists of values, and an arm for each combination of them.

The values of an arm are its config, and replace their names in braces in the common command and environment.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from risingbandits._core.errors import RisingBanditsError, shown
from risingbandits.allocation.commands._placeholders import PLACEHOLDERS, check_placeholders, expand, names_in
from risingbandits.allocation.commands._toml import check_text, key_path, read_table

Value = bool | int | float | str
MOST_ARMS = 10_000  #: combinations of a matrix, those that are excluded among them
_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_NO_LISTS = ("exclude", "name")  # keys that mean something else


class Combination(NamedTuple):
    """An arm of a matrix: its name, and its value from each list."""

    name: str
    values: dict[str, Value]


class Matrix(NamedTuple):
    """What the table says."""

    keys: tuple[str, ...] = ()
    arms: tuple[Combination, ...] = ()


def read_matrix(where: str, table: Any) -> Matrix:
    """The arms of a matrix: the last list varies fastest.

    Examples
    --------
    >>> matrix = read_matrix("matrix", {"lr": [0.1, 0.01], "width": [64, 128], "exclude": [{"lr": 0.1, "width": 128}]})
    >>> [arm.name for arm in matrix.arms]
    ['lr=0.1,width=64', 'lr=0.01,width=64', 'lr=0.01,width=128']
    >>> read_matrix("matrix", {"width": [64, 128], "bias": [True], "name": "net-{width}"}).arms[0]
    Combination(name='net-64', values={'width': 64, 'bias': True})
    """
    given = read_table(f"{where}.", table, None)
    lists = {key: _values(key_path(f"{where}.", key), key, given[key]) for key in given if key not in _NO_LISTS}
    if not lists:
        raise RisingBanditsError(f"{where} must have one list of values or more, such as lr = [0.1, 0.01].")
    product = math.prod(map(len, lists.values()))
    if product > MOST_ARMS:
        raise RisingBanditsError(f"{where} must have at most {MOST_ARMS:,} combinations, got {product:,}.")
    template = _template(f"{where}.name", given["name"], lists) if "name" in given else None
    excluded = _excluded(f"{where}.exclude", given.get("exclude", []), lists)
    arms = []
    for values in (dict(zip(lists, chosen, strict=True)) for chosen in itertools.product(*lists.values())):
        if not any(all(_same(values[key], value) for key, value in entry.items()) for entry in excluded):
            name = default_name(values) if template is None else expand(template, written_values(values), strict=True)
            arms.append(Combination(name, values))
    if not arms:
        raise RisingBanditsError(f"{where}.exclude must leave an arm, but excludes all {product:,} combinations.")
    _check_names(where, arms, template)
    return Matrix(tuple(lists), tuple(arms))


def default_name(values: Mapping[str, Value]) -> str:
    """The name of an arm by its values.

    >>> default_name({"lr": 0.1, "width": 64})
    'lr=0.1,width=64'
    """
    return ",".join(f"{key}={text}" for key, text in written_values(values).items())


def written_values(values: Mapping[str, Any], keys: Sequence[str] | None = None) -> dict[str, str]:
    """Values as commands get them, of these ``keys`` only: numbers as Python writes them, booleans as TOML does.

    >>> written_values({"lr": 1e-5, "bias": True, "opt": "adam"})
    {'lr': '1e-05', 'bias': 'true', 'opt': 'adam'}
    """
    return {
        key: str(value).lower() if isinstance(value, bool) else str(value)
        for key, value in values.items()
        if keys is None or key in keys
    }


def check_used(where: str, keys: Sequence[str], texts: Sequence[str]) -> None:
    """Raise an error for a list that neither command nor environment, ``texts``, use: its arms would be the same."""
    used = {name for text in texts for name in names_in(text)}
    if "arm" in used or any(PLACEHOLDERS["arm"][0] in text for text in texts):
        return
    for key in keys:
        if key not in used:
            raise RisingBanditsError(
                f"{where}.{key} must be used: write {{{key}}} in defaults.command or defaults.environment."
            )


# -- parts of the table ----------------------------------------------------------------------------------------------


def _values(where: str, key: str, value: Any) -> list[Value]:
    if not _KEY.fullmatch(key):
        raise RisingBanditsError(f"{where} must begin with a letter and have only letters, digits, _ and -.")
    if key in PLACEHOLDERS:
        raise RisingBanditsError(
            f"{where} must have another name, because {{{key}}} is the {PLACEHOLDERS[key][1].partition(':')[0]}."
        )
    if not isinstance(value, list) or not value:
        raise RisingBanditsError(f"{where} must be a list of values, not empty, got {shown(value)}.")
    for number, entry in enumerate(value):
        _check_value(f"{where}[{number}]", entry)
        if any(_same(entry, before) for before in value[:number]):
            raise RisingBanditsError(f"{where} must have different values, got {shown(entry)} twice.")
    return value


def _check_value(where: str, value: Any) -> None:
    if not isinstance(value, bool | int | float | str):
        raise RisingBanditsError(f"{where} must be a number, a string or a boolean, got {shown(value)}.")
    if isinstance(value, float) and not math.isfinite(value):
        raise RisingBanditsError(f"{where} must be a finite number, got {value}.")
    if isinstance(value, str) and not value.isprintable():
        raise RisingBanditsError(f"{where} must be a printable string, got {shown(value)}.")


def _same(value: Value, other: Value) -> bool:
    """Whether two values are one: 1 and 1.0 are, 1 and true are not."""
    return isinstance(value, bool) == isinstance(other, bool) and value == other


def _template(where: str, value: Any, lists: Mapping[str, Any]) -> str:
    text = check_text(where, value)
    check_placeholders(where, text, tuple(lists))
    for name in names_in(text):
        if name not in lists:
            raise RisingBanditsError(f"{where} has {{{name}}}, which is not in the matrix: {', '.join(lists)}.")
    return text


def _excluded(where: str, value: Any, lists: Mapping[str, list[Value]]) -> list[dict[str, Value]]:
    if not isinstance(value, list):
        raise RisingBanditsError(f"{where} must be a list of tables such as {{lr = 0.1}}, got {shown(value)}.")
    for number, entry in enumerate(value):
        path = f"{where}[{number}]"
        if not isinstance(entry, dict) or not entry:
            raise RisingBanditsError(f"{path} must be a table of values such as {{lr = 0.1}}, got {shown(entry)}.")
        for key, unwanted in entry.items():
            if key not in lists:
                raise RisingBanditsError(
                    f"{key_path(f'{path}.', key)} must be a list of the matrix: {', '.join(lists)}."
                )
            if not any(_same(unwanted, known) for known in lists[key]):
                raise RisingBanditsError(
                    f"{key_path(f'{path}.', key)} excludes nothing: {shown(unwanted)} is not in {shown(lists[key])}."
                )
    return value


def _check_names(where: str, arms: Sequence[Combination], template: str | None) -> None:
    """Different values must have different names."""
    known: dict[str, Combination] = {}
    for arm in arms:
        other = known.setdefault(arm.name.casefold(), arm)
        if other is not arm:
            there = f"{default_name(other.values)} and {default_name(arm.values)}"
            at = f"{where}.name" if template is not None else where
            raise RisingBanditsError(f"{at} must tell all arms apart, but {there} would both be {shown(arm.name)}.")
