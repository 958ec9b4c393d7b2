"""States in types that ``torch.load(weights_only=True)`` reads: a file of them cannot run code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from risingbandits._core.errors import RisingBanditsError, shown

_PLAIN = (type(None), bool, int, float, complex, str, bytes)


def plain(state: Any, where: str) -> Any:
    """``state`` with arrays as tensors, if everything else in it is a number, a string or a tensor.

    >>> plain({"rate": np.float64(0.5), "steps": [1, 2]}, "state")
    {'rate': 0.5, 'steps': [1, 2]}
    >>> plain({"rates": [abs]}, "state")
    Traceback (most recent call last):
        ...
    risingbandits.RisingBanditsError: state.rates[0] must be made of numbers, strings and tensors to be saved, got ...
    """
    import torch  # here, so that the arm says what a missing library is needed for

    if isinstance(state, np.ndarray):
        return torch.from_numpy(np.array(state))
    if isinstance(state, np.generic):
        return state.item()
    if isinstance(state, Mapping):
        return {key: plain(part, f"{where}.{key}") for key, part in state.items()}
    if isinstance(state, tuple | list) and not isinstance(state, torch.Size):
        return type(state)(plain(part, f"{where}[{i}]") for i, part in enumerate(state))
    if isinstance(state, (*_PLAIN, torch.Tensor, torch.Size, torch.dtype, torch.device)):
        return state
    raise RisingBanditsError(f"{where} must be made of numbers, strings and tensors to be saved, got {shown(state)}.")
