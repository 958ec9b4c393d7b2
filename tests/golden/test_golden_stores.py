"""Stores that version 0.1.0 wrote are read to the byte and continued as they would have been there.

With a policy that `changed` names they are read just so; that it decides otherwise now is said, and it does.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from allocations import OUTPUTS, Allocation, entries
from changed import all_changed, concerned, has_changed, since, without_new_settings
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
        expected = since("stores", name, {}).get(file, (folder / file).read_text())
        if file == "show.txt":
            assert facts(without_new_settings(printed)) == facts(expected)
            continue
        assert without_new_settings((tmp_path / file).read_text() if out else printed) == expected, file
    assert (folder / "run.db").read_bytes() == before


def facts(shown: str) -> tuple[str, str, list[tuple[str, str, str]]]:
    """What a table shows whatever else it explains: title, where the run stands, and arm, pulls and last reward."""
    title, _, header, _, *lines = shown.rstrip("\n").splitlines()
    names = re.split(r"  +", header.strip())
    rows = [re.split(r"  +", line.strip()) for line in lines[: lines.index(" " * len(header))]]
    stands = re.sub(r"\. [\d,]+ of [\d,]+ arms failed and w.*", "", lines[-1])  # which 0.1.0 did not say
    return title.strip(), stands, [(row[0], row[1], row[names.index("last")]) for row in rows]


@pytest.mark.parametrize("reopened", [False, True], ids=["opened", "given the same settings"])
@pytest.mark.parametrize("name", _NAMES)
def test_the_next_decisions(name: str, reopened: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    expected = since("stores", name, _STORES[name])
    came = next_decisions(name, reopened, tmp_path)
    warned = [record for record in caplog.records if "decides differently" in record.getMessage()]
    assert len(warned) == int(has_changed("stores", name))
    events = expected.get("next.txt", (tmp_path / name / "next.txt").read_text())
    assert came == {**{key: expected[key] for key in ("trace", "recommended", "spent")}, "next.txt": events}


def next_decisions(name: str, reopened: bool, tmp_path: Path) -> dict[str, Any]:
    """What comes next in a store, and the events that say so."""
    expected = _STORES[name]
    allocation = Allocation(*expected["allocation"])
    folder = unpack("stores.zip", name, tmp_path)
    store = folder / "run.db"
    opened = Allocator(**allocation.arguments(), store=store) if reopened else Allocator.open(store)
    with opened as allocator:
        for id, arm, n in expected["in_flight"]:
            allocation.tell(allocator, id, arm, n)
        trace = allocation.go_on(allocator, expected["steps"])
        recommended, spent = allocator.recommend(), allocator.spent
    assert run_command(["export", str(store), "--events", "--out", str(tmp_path / "events.csv")]) == 0
    events = entries(tmp_path / "events.csv", expected["events"])
    return {"trace": trace, "recommended": recommended, "spent": spent, "next.txt": events}


def test_only_stores_of_named_policies_have_changed() -> None:
    assert all_changed("stores")
    for name in all_changed("stores"):
        settings, *_ = _STORES[name]["allocation"]
        assert concerned(settings.get("policy", "open-arms"), {})
