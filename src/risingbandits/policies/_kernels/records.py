"""Records: arrays whose items have named numbers, so that kernels say ``state.arms["pulls"][arm]``.

Compiled code and plain NumPy read them alike, the field first (a field of one item costs four times as much in plain
NumPy). Compiled code takes a record array as one argument, whatever its items hold. A call from Python spends some
40 ns more on it than on a plain array, so records pay if one of them replaces several arrays; a policy with one
small array of marks keeps it plain and names its places.

Saved policies hold plain arrays, as they did before there were records: the numbers of a record form groups of one
type, and each group is an array of its own with a row per item, or without rows where there is one record only.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]


class _Layout(NamedTuple):
    groups: dict[str, tuple[str, ...]]
    single: bool


_LAYOUTS: dict[np.dtype[Any], _Layout] = {}


def record_type(groups: dict[str, tuple[type, str]], single: bool = False) -> np.dtype[Any]:
    """A type of records: for every group the type of its numbers and their names; ``single`` where there is one record.

    >>> arms = np.zeros(2, record_type({"pulled": (np.int64, "pulls last"), "lines": (np.float64, "level slope")}))
    >>> arms["pulls"][1] = 3
    >>> to_plain("arms", arms)["pulled"].tolist()
    [[0, 0], [3, 0]]
    """
    names = {group: tuple(text.split()) for group, (_, text) in groups.items()}
    made = np.dtype([(name, groups[group][0]) for group in groups for name in names[group]])
    _LAYOUTS[made] = _Layout(names, single)
    return made


def to_plain(name: str, array: Array) -> dict[str, Array]:
    """A field of a state as the plain arrays of a file, by their names there."""
    if array.dtype.names is None:
        return {name: array.copy()}
    layout = _LAYOUTS[array.dtype]
    rows = {group: np.stack([array[field] for field in fields], axis=-1) for group, fields in layout.groups.items()}
    return {group: values[0] for group, values in rows.items()} if layout.single else rows


def from_plain(name: str, fresh: Array, stored: dict[str, Array]) -> Array:
    """The field of a state like ``fresh``, out of the plain arrays of a file; KeyError or TypeError if they differ."""
    if fresh.dtype.names is None:
        if stored[name].dtype != fresh.dtype or stored[name].ndim != fresh.ndim:
            raise TypeError(name)
        return np.array(stored[name], order="C")  # a copy owns its memory, which buffers that grow need
    made = np.empty_like(fresh)
    for group, like in to_plain(name, fresh).items():
        if stored[group].dtype != like.dtype or stored[group].shape != like.shape:
            raise TypeError(group)
        for column, field in enumerate(_LAYOUTS[fresh.dtype].groups[group]):
            made[field] = stored[group][..., column]
    return made
