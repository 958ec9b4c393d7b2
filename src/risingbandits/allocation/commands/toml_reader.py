"""Reading of tables from TOML: every value is asked for once, with its type, and what nobody asked for is a mistake.

Mistakes name the file and the path of the key, such as ``plan.toml, arms[2].timeout``.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from pathlib import Path
from typing import Any

from risingbandits._core.errors import RisingBanditsError, check_choice, check_finite, shown

__all__ = ["Table", "read_toml"]

_LARGEST = 10**15  # of whole numbers: far beyond any budget, and exact as a float and in every store
_PLAIN_KEY = re.compile(r"[A-Za-z0-9_.\[\]-]+")


def read_toml(path: Path) -> Table:
    """The table of a TOML file, or a sentence that says why there is none."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise RisingBanditsError(f"{path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise RisingBanditsError(f"{path} is not a text in UTF-8: {error}.") from error
    try:
        return Table(tomllib.loads(text), str(path))
    except (ValueError, OverflowError, RecursionError) as error:
        raise RisingBanditsError(f"{path} is not a TOML file: {str(error).rstrip('.')}.") from error


class Table:
    """A TOML table whose values are taken out one by one; `done` complains about what is left.

    >>> table = Table({"jobs": 2, "tmeout": 5}, "plan.toml")
    >>> table.integer("jobs", 1), table.number("timeout", None)
    (2, None)
    >>> table.done()
    Traceback (most recent call last):
        ...
    risingbandits.RisingBanditsError: plan.toml, tmeout is not a known key, did you mean 'timeout'?
    """

    def __init__(self, values: dict[str, Any], file: str, path: str = "") -> None:
        self._values, self._file, self._path = dict(values), file, path
        self._asked: list[str] = []

    def where(self, key: str) -> str:
        """File and path of a key, as messages begin."""
        plain = key if _PLAIN_KEY.fullmatch(key) else shown(key)
        return f"{self._file}, {self._path}{plain}"

    def mistake(self, key: str, sentence: str) -> RisingBanditsError:
        """An error about the value of a key."""
        return RisingBanditsError(f"{self.where(key)} {sentence}")

    def take(self, key: str, default: Any = None) -> Any:
        """A value of any type."""
        self._asked.append(key)
        return self._values.pop(key, default)

    def is_table(self, key: str) -> bool:
        """Whether the value is a table."""
        return isinstance(self._values.get(key), dict)

    def is_text(self, key: str) -> bool:
        """Whether the value is a text."""
        return isinstance(self._values.get(key), str)

    def text(self, key: str, default: str | None = None) -> str | None:
        """A text without null characters, which no system call takes."""
        value = self.take(key, default)
        if value is not None and (not isinstance(value, str) or "\0" in value or not value.strip()):
            raise self.mistake(key, f"must be a text that is not empty, got {shown(value)}.")
        return value

    def choice(self, key: str, allowed: tuple[str, ...]) -> str | None:
        """One of the ``allowed`` texts."""
        value = self.take(key)
        return None if value is None else check_choice(self.where(key), value, allowed)

    def flag(self, key: str, default: bool) -> bool:
        """true or false."""
        value = self.take(key, default)
        if not isinstance(value, bool):
            raise self.mistake(key, f"must be true or false, got {shown(value)}.")
        return value

    def integer(self, key: str, default: int | None = None, minimum: int = 1) -> int | None:
        """A whole number of at least ``minimum``."""
        value = self.take(key, default)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not minimum <= value <= _LARGEST:
            raise self.mistake(key, f"must be an integer from {minimum} to 10^15, got {shown(value)}.")
        return value

    def number(self, key: str, default: float | None = None, *, above: float | None = None) -> float | None:
        """A finite number."""
        value = self.take(key, default)
        return None if value is None else check_finite(self.where(key), value, above=above)

    def pair(self, key: str) -> tuple[float, float] | None:
        """Two finite numbers, the lower one first."""
        value = self.take(key)
        if value is None:
            return None
        if not isinstance(value, list) or len(value) != 2:
            raise self.mistake(key, f"must be two numbers, the lower one first, got {shown(value)}.")
        low, high = (check_finite(f"{self.where(key)}[{i}]", limit) for i, limit in enumerate(value))
        if not low < high:
            raise self.mistake(key, f"must be two numbers, the lower one first, got {shown(value)}.")
        return low, high

    def texts(self, key: str) -> dict[str, str]:
        """A table of texts; numbers are taken as they are written in Python."""
        table = self.table(key)
        found = {}
        for name in list(table._values):
            value = table.take(name)
            if isinstance(value, int | float) and not isinstance(value, bool):
                value = str(value)
            if not isinstance(value, str) or "\0" in value:
                raise table.mistake(name, f"must be a text, got {shown(value)}.")
            if not name or "=" in name or "\0" in name:
                raise table.mistake(name, "must have a name without '='.")
            found[name] = value
        return found

    def table(self, key: str) -> Table:
        """A table within this one; an empty one where there is none."""
        value = self.take(key, {})
        if not isinstance(value, dict):
            raise self.mistake(key, f"must be a table, got {shown(value)}.")
        return Table(value, self._file, f"{self._path}{key}.")

    def tables(self, key: str) -> list[Table]:
        """A list of tables, written ``[[key]]``."""
        value = self.take(key, [])
        if not isinstance(value, list):
            raise self.mistake(key, f"must be tables, each headed [[{key}]], got {shown(value)}.")
        for number, entry in enumerate(value):
            if not isinstance(entry, dict):
                raise self.mistake(f"{key}[{number}]", f"must be a table, headed [[{key}]], got {shown(entry)}.")
        return [Table(entry, self._file, f"{self._path}{key}[{i}].") for i, entry in enumerate(value)]

    def done(self) -> None:
        """Complain about the first key that nobody asked for."""
        for key in self._values:
            near = difflib.get_close_matches(key, self._asked, n=1)
            known = f", did you mean {near[0]!r}?" if near else f"; known are {', '.join(sorted(set(self._asked)))}."
            raise self.mistake(key, f"is not a known key{known}")
