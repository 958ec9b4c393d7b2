"""Learners of other libraries as arms, and our policies inside other libraries.

Each library is loaded when one of its names is first used; see docs/adapters.md.

Stability: experimental, because it follows changes in other libraries.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from risingbandits.integrations.frameworks.catboost import CatBoostArm
    from risingbandits.integrations.frameworks.keras import KerasArm
    from risingbandits.integrations.frameworks.lightgbm import LightGBMArm
    from risingbandits.integrations.frameworks.lightning import LightningArm
    from risingbandits.integrations.frameworks.listeners import MlflowListener, TensorBoardListener, WandbListener
    from risingbandits.integrations.frameworks.torch import TorchArm
    from risingbandits.integrations.frameworks.transformers import TrainerArm
    from risingbandits.integrations.frameworks.xgboost import XGBoostArm
    from risingbandits.integrations.optuna import OptunaArms, TrialArm
    from risingbandits.integrations.ray_tune import RisingScheduler
    from risingbandits.integrations.river import RisingClassifier, RisingRegressor
    from risingbandits.integrations.sklearn import PartialFitArm, WarmStartArm
    from risingbandits.integrations.sklearn_selector import RisingSelector

__all__ = [
    "CatBoostArm",
    "KerasArm",
    "LightGBMArm",
    "LightningArm",
    "MlflowListener",
    "OptunaArms",
    "PartialFitArm",
    "RisingClassifier",
    "RisingRegressor",
    "RisingScheduler",
    "RisingSelector",
    "TensorBoardListener",
    "TorchArm",
    "TrainerArm",
    "TrialArm",
    "WandbListener",
    "WarmStartArm",
    "XGBoostArm",
]

_MODULES = {
    "frameworks.catboost": ("CatBoostArm",),
    "frameworks.lightgbm": ("LightGBMArm",),
    "frameworks.listeners": ("MlflowListener", "TensorBoardListener", "WandbListener"),
    "frameworks.xgboost": ("XGBoostArm",),
    "frameworks.keras": ("KerasArm",),
    "frameworks.lightning": ("LightningArm",),
    "frameworks.torch": ("TorchArm",),
    "frameworks.transformers": ("TrainerArm",),
    "optuna": ("OptunaArms", "TrialArm"),
    "ray_tune": ("RisingScheduler",),
    "river": ("RisingClassifier", "RisingRegressor"),
    "sklearn": ("PartialFitArm", "WarmStartArm"),
    "sklearn_selector": ("RisingSelector",),
}
_WHERE = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_WHERE[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
