"""Nothing is loaded before it is needed, and what is missing is named in one sentence."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import risingbandits.integrations as adapters
from risingbandits import Allocator, RisingBanditsError
from risingbandits.integrations.frameworks._training import TrainingArm


@pytest.mark.parametrize(
    ("library", "name", "sentence"),
    [
        ("river", "RisingClassifier", "River is needed for RisingClassifier"),
        ("sklearn", "PartialFitArm", "scikit-learn is needed for PartialFitArm"),
        ("sklearn", "RisingSelector", "scikit-learn is needed for RisingSelector"),
        ("optuna", "OptunaArms", "Optuna is needed for OptunaArms"),
        ("torch", "TorchArm", "PyTorch is needed for TorchArm"),
        ("lightning", "LightningArm", "Lightning is needed for LightningArm"),
        ("transformers", "TrainerArm", "Transformers is needed for TrainerArm"),
        ("keras", "KerasArm", "Keras is needed for KerasArm"),
        ("ray", "RisingScheduler", "Ray is needed for RisingScheduler"),
    ],
)
def test_a_missing_library_is_named(library: str, name: str, sentence: str) -> None:
    program = f"""
import sys
import risingbandits.integrations as adapters
assert not {{"river", "sklearn", "optuna"}} & set(sys.modules)
sys.modules[{library!r}] = None
try:
    adapters.{name}
except Exception as error:
    print(type(error).__name__, error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.stdout.startswith(f"RisingBanditsError {sentence}"), done.stdout + done.stderr
    extra = {"ray": "tune"}.get(library, library)
    assert f"pip install 'risingbandits[{extra}]'" in done.stdout
    assert f"before the first release, pip install '.[{extra}]' in a clone." in done.stdout
    assert len(done.stdout.splitlines()) == 1


def test_all_names_are_there() -> None:
    for name in adapters.__all__:
        assert name in dir(adapters)
        if not adapters._WHERE[name].startswith("frameworks."):  # tested where the frameworks are
            assert getattr(adapters, name).__name__ == name
    with pytest.raises(AttributeError, match="has no attribute 'Nonsense'"):
        adapters.Nonsense  # noqa: B018


class Falling(TrainingArm):
    """Names its metric in its results only."""

    def __init__(self, metric: str) -> None:
        super().__init__(None, None, None, (), 0)
        self.named = metric

    def _trained_further(self, pull: Any) -> dict[str, float]:
        return {self.named: 1.0 / pull.n}


@pytest.mark.parametrize("metric", ["val_loss", "width"])
def test_a_metric_that_only_the_first_result_names_says_the_direction(metric: str, tmp_path: Path) -> None:
    def run(**settings: Any) -> tuple[str, float]:
        arms = {"a": Falling(metric), "b": Falling(metric)}
        with Allocator(arms, 6, store=tmp_path / "a.db", **settings) as allocator:
            allocator.run(progress=False)
            return allocator.settings.direction, allocator.spent

    if metric == "val_loss":
        with pytest.raises(RisingBanditsError, match=r"arm '[ab]' has 'minimize': if higher is better, make the arm"):
            run()
        with Allocator.open(tmp_path / "a.db") as stopped:
            assert (stopped.spent, [row.failures for row in stopped.ledger.arms]) == (0, [0, 0]), "nobody is blamed"
    assert run(direction="minimize") == ("minimize", 6)
