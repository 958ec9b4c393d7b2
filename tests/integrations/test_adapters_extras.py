"""Nothing is loaded before it is needed, and what is missing is named in one sentence."""

from __future__ import annotations

import subprocess
import sys

import pytest

import risingbandits.integrations as adapters


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
    assert f"pip install 'risingbandits[{library}]'" in done.stdout
    assert f"before the first release, pip install '.[{library}]' in a clone." in done.stdout
    assert len(done.stdout.splitlines()) == 1


def test_all_names_are_there() -> None:
    for name in adapters.__all__:
        assert name in dir(adapters)
        if not adapters._WHERE[name].startswith("frameworks."):  # tested where the frameworks are
            assert getattr(adapters, name).__name__ == name
    with pytest.raises(AttributeError, match="has no attribute 'Nonsense'"):
        adapters.Nonsense  # noqa: B018
