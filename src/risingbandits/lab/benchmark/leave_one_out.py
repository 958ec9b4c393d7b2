"""Leave one family out: choose among candidates on the other families, and report on this one."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from risingbandits._core.errors import RisingBanditsError


def best_without(scores: Mapping[str, Mapping[str, float]], left_out: str) -> str:
    """The candidate with the lowest mean over all families except one; the first among equals.

    ``scores`` has the losses by candidate, then by family. All families have the same weight. An unknown family leaves
    none out.

    >>> scores = {"quick": {"a": 0.1, "b": 0.9, "c": 0.8}, "slow": {"a": 0.9, "b": 0.2, "c": 0.7}}
    >>> best_without(scores, "a"), best_without(scores, "b"), best_without(scores, "no family")
    ('slow', 'quick', 'quick')
    """
    means = {}
    for candidate, families in scores.items():
        others = [value for family, value in families.items() if family != left_out]
        if not others:
            raise RisingBanditsError("tune needs at least two families of real curves that every candidate has played.")
        means[candidate] = float(np.mean(others))
    return min(means, key=means.__getitem__)
