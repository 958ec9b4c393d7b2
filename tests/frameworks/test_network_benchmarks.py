"""The benchmarks of networks run, made short."""

from __future__ import annotations

from pathlib import Path

import pytest

import digits_networks
import switch_overhead


def test_digits_networks(capsys: pytest.CaptureFixture[str]) -> None:
    digits_networks.main(["--seeds", "2", "--epochs", "5"])
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| ")]
    assert [row.split(" | ")[0] for row in rows[2:]] == [
        "| all",
        "| allocator, 20%",
        "| equal shares, 20%",
        "| allocator, 30%",
        "| equal shares, 30%",
        "| allocator, 40%",
        "| equal shares, 40%",
    ]


def test_switch_overhead(tmp_path: Path) -> None:
    make, plain = switch_overhead.MAKERS["TorchArm"]
    save, load, pull, _, size = switch_overhead.measure(make, plain, 16, tmp_path)
    assert min(save, load, pull, size) > 0
