"""Configs of arms as points: numbers by their ranks, strings at equal distances from each other."""

from __future__ import annotations

import math
import numbers
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from risingbandits._core.errors import RisingBanditsError, shown
from risingbandits._core.types import Floats, Ints

Value = float | str | None  # of a hyperparameter: a number, a string, or missing
Config = Mapping[str, Value]

WORD = 0.7  #: the length of a word's coordinate: two words are about as far from each other as the ends of a number
_MOST_WORDS = 50  # of a setting; rarer ones are one word
_MISSING = "(missing)"
_RARE = "(rare)"


@dataclass(frozen=True)
class _Setting:
    """How one setting is placed: by the sorted ``numbers`` seen before, by ``words``, or by both if it has both."""

    name: str
    numbers: Floats | None
    words: tuple[str, ...]

    def place(self, values: Sequence[Value]) -> Floats:
        columns = []
        said = [_word(value) for value in values]
        if _RARE in self.words:
            said = [word if word in self.words else _RARE for word in said]
        if self.numbers is not None:
            is_number = np.array([isinstance(value, float) for value in values])
            known = np.array([value if isinstance(value, float) else 0.0 for value in values])
            below, until = (np.searchsorted(self.numbers, known, side) for side in ("left", "right"))
            ranks = (below + until) / (2.0 * len(self.numbers))
            columns.append(np.where(is_number, ranks, 0.5))
            said = ["" if number else word for number, word in zip(is_number, said, strict=True)]
        columns += [WORD * np.array([one == word for one in said]) for word in self.words]
        return np.column_stack(columns)


class Features:
    """The positions of arms by their settings; learnt from ``rows``, so that later arms are placed among them.

    A setting with the same value everywhere is left out. A missing value counts as a string of its own.

    >>> features = Features([{"lr": 0.1, "opt": "adam", "seed": 1}, {"lr": 1.0, "opt": "sgd", "seed": 1}])
    >>> features.names, features.points([{"lr": 0.5, "opt": "sgd"}]).tolist()
    (['lr', 'opt'], [[0.5, 0.0, 0.7]])
    """

    def __init__(self, rows: Sequence[Config]) -> None:
        names = dict.fromkeys(name for row in rows for name in row)
        found = [_learn(name, [row.get(name) for row in rows]) for name in names]
        self._settings = [setting for setting in found if setting is not None]

    @property
    def names(self) -> list[str]:
        """The settings that are used."""
        return [setting.name for setting in self._settings]

    def points(self, rows: Sequence[Config]) -> Floats:
        """A point for each of the rows."""
        placed = [setting.place([row.get(setting.name) for row in rows]) for setting in self._settings]
        return np.column_stack(placed) if placed else np.zeros((len(rows), 0))

    def groups(self) -> Ints:
        """The number of its setting for each coordinate of the points."""
        sizes = [(setting.numbers is not None) + len(setting.words) for setting in self._settings]
        return np.repeat(np.arange(len(sizes)), sizes)


def _learn(name: str, values: Sequence[Value]) -> _Setting | None:
    if len(set(values)) < 2:
        return None
    numbers = [value for value in values if isinstance(value, float)]
    counts = Counter(_word(value) for value in values if not isinstance(value, float))
    words = tuple(sorted(counts))
    if len(words) > _MOST_WORDS:
        often = sorted(counts, key=lambda word: (-counts[word], word))[: _MOST_WORDS - 1]
        words = (*sorted(often), _RARE)
    return _Setting(name, np.sort(np.array(numbers)) if numbers else None, words)


def _word(value: Value) -> str:
    return _MISSING if value is None else str(value)


def plain_config(config: Any, where: str = "config") -> dict[str, Value]:
    """Numbers as floats; None, in words too, and numbers that are not finite as missing; anything else as words.

    >>> plain_config({"lr": 1, "layers": (64, 64), "nesterov": True, "decay": "None"})
    {'lr': 1.0, 'layers': '(64, 64)', 'nesterov': 'True', 'decay': None}
    """
    if not isinstance(config, Mapping):
        raise RisingBanditsError(f"{where} must be a mapping of names to numbers or strings, got {shown(config)}.")
    plain: dict[str, Value] = {}
    for name, value in config.items():
        if value is None or value == "None":  # as stores keep it
            plain[str(name)] = None
        elif isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real):
            plain[str(name)] = str(value)
        else:
            plain[str(name)] = float(value) if math.isfinite(value) else None
    return plain
