"""Small real data that a wheel brings: scikit-learn's digits, as PyTorch and NumPy have them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from sklearn.datasets import load_digits

_images, _labels = load_digits(return_X_y=True)
IMAGES, LABELS = (_images / 16).astype(np.float32), _labels.astype(np.int64)
TRAIN, VALID = slice(0, 400), slice(1200, 1500)


def tensors(part: slice) -> Any:
    """A part as a data set of PyTorch."""
    return torch.utils.data.TensorDataset(torch.tensor(IMAGES[part]), torch.tensor(LABELS[part]))


def network(seed: int = 0, width: int = 16) -> Any:
    """A small network with dropout, so that training draws random numbers."""
    torch.manual_seed(seed)
    return torch.nn.Sequential(
        torch.nn.Linear(64, width), torch.nn.ReLU(), torch.nn.Dropout(0.2), torch.nn.Linear(width, 10)
    )
