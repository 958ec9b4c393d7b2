"""The listener for TensorBoard with tensorboardX; tests/frameworks has it with PyTorch's writer, and the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from risingbandits import Allocator
from risingbandits.logs import read_runs


def test_what_is_logged_is_what_counts(tmp_path: Path) -> None:
    pytest.importorskip("tensorboardX")
    from risingbandits.integrations import TensorBoardListener

    listener = TensorBoardListener(tmp_path / "log")
    arms = {"a": lambda pull: pull.n / (pull.n + 1), "b": lambda pull: 0.5}
    with Allocator(arms, 6, policy="round-robin", on_tell=listener) as allocator:
        allocator.run(progress=False)
        told = {name: allocator.rewards(name) for name in arms}
    listener.close()
    found = {run.name: run.metrics["reward"].values.tolist() for run in read_runs([tmp_path / "log"]).runs}
    assert found == {name: pytest.approx(rewards) for name, rewards in told.items()}
