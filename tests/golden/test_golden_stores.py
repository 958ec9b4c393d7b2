"""Stores that version 0.1.0 wrote are read to the byte and continued as they would have been there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from allocations import OUTPUTS, Allocation, entries
from frozen import load, unpack
from hidden import run_command

from risingbandits import Allocator

_STORES: dict[str, dict[str, Any]] = load("stores.json")
_NAMES = sorted(_STORES)


@pytest.mark.parametrize("name", _NAMES)
def test_log_export_and_show(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = unpack("stores.zip", name, tmp_path)
    before = (folder / "run.db").read_bytes()
    for file in _STORES[name]["outputs"]:
        command, *options = OUTPUTS[file]
        out = [str(tmp_path / file)] if options[-1:] == ["--out"] else []
        capsys.readouterr()
        assert run_command([command, str(folder / "run.db"), *options, *out]) == 0
        printed = capsys.readouterr().out
        assert ((tmp_path / file).read_text() if out else printed) == (folder / file).read_text(), file
    assert (folder / "run.db").read_bytes() == before


@pytest.mark.parametrize("reopened", [False, True], ids=["opened", "given the same settings"])
@pytest.mark.parametrize("name", _NAMES)
def test_the_next_decisions(name: str, reopened: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    expected = _STORES[name]
    allocation = Allocation(*expected["allocation"])
    folder = unpack("stores.zip", name, tmp_path)
    store = folder / "run.db"
    opened = Allocator(**allocation.arguments(), store=store) if reopened else Allocator.open(store)
    with opened as allocator:
        assert not caplog.records  # no warning that the policy now decides otherwise than in the store
        for id, arm, n in expected["in_flight"]:
            allocation.tell(allocator, id, arm, n)
        assert allocation.go_on(allocator, expected["steps"]) == expected["trace"]
        assert (allocator.recommend(), allocator.spent) == (expected["recommended"], expected["spent"])
    assert run_command(["export", str(store), "--events", "--out", str(tmp_path / "events.csv")]) == 0
    assert entries(tmp_path / "events.csv", expected["events"]) == (folder / "next.txt").read_text()
