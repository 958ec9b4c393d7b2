"""Tests in another order, to see that none needs what another leaves behind."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

import pytest

T = TypeVar("T", bound=pytest.Item)


def in_order(items: Sequence[T], number: int) -> list[T]:
    """The files in random order, and within each its tests: what a file sets up is set up once."""
    draw = random.Random(number)
    files: dict[str, list[T]] = {}
    for item in items:
        files.setdefault(item.nodeid.partition("::")[0], []).append(item)
    groups = list(files.values())
    draw.shuffle(groups)
    for group in groups:
        draw.shuffle(group)
    return [item for group in groups for item in group]
