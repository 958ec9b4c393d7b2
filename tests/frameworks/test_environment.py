"""The environment of `make test-frameworks` has all that its extra names, in the versions that the constraints pin."""

from __future__ import annotations

import importlib
import re
from importlib.metadata import version
from pathlib import Path

import pytest

import risingbandits.integrations as adapters

ROOT = Path(__file__).parents[2]
LIBRARIES = {
    "catboost": "catboost",
    "keras": "keras",
    "lightgbm": "lightgbm",
    "lightning": "lightning",
    "mlflow": "mlflow-skinny",
    "tensorboard": "tensorboard",
    "torch": "torch",
    "transformers": "transformers",
    "wandb": "wandb",
    "xgboost": "xgboost-cpu",
}


@pytest.mark.parametrize("module", LIBRARIES)
def test_library_is_there_in_the_pinned_version(module: str) -> None:
    text = (ROOT / "constraints-frameworks.txt").read_text()
    pinned = dict(re.findall(r"^([\w.-]+)==(\S+)$", text, re.MULTILINE))
    assert version(LIBRARIES[module]).partition("+")[0] == pinned[LIBRARIES[module]]
    importlib.import_module(module)


def test_nothing_for_graphics_cards_is_pinned() -> None:
    """They take gigabytes; torch must come without them."""
    names = re.findall(r"^([\w.-]+)==", (ROOT / "constraints-frameworks.txt").read_text(), re.MULTILINE)
    assert [name for name in names if name.startswith(("nvidia", "cuda", "triton"))] == []


def test_all_names_are_there() -> None:
    names = [name for name, module in adapters._WHERE.items() if module.startswith("frameworks.")]
    for name in names:
        assert getattr(adapters, name).__name__ == name
