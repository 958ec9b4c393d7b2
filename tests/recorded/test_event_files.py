"""TensorBoard's event files, written by the real library."""

from __future__ import annotations

import math
import struct
from pathlib import Path

import numpy as np
import pytest
from tensorboardX import SummaryWriter

from risingbandits import RisingBanditsError
from risingbandits.recorded import event_scan, read_runs
from risingbandits.recorded.event_files import EventFiles, is_event_file, masked_checksum, scalars
from risingbandits.recorded.event_scan import scan


def written(folder: Path, values: dict[str, list[float]], first: int = 0) -> Path:
    """An event file with these values at steps first, first + 1, ..."""
    before = set(folder.glob("*")) if folder.exists() else set()
    with SummaryWriter(str(folder), filename_suffix=f".{len(before)}") as writer:
        for tag, own in values.items():
            for step, value in enumerate(own, start=first):
                writer.add_scalar(tag, value, step, walltime=1000.0 + 60.0 * step)
        writer.add_text("a/text", "not a number", 0)
        writer.add_histogram("weights", np.arange(100.0), 0)
    [path] = set(folder.glob("*")) - before
    return path


def test_numbers_come_back_with_steps_and_times(tmp_path: Path) -> None:
    path = written(tmp_path / "run", {"eval/acc": [0.25, 0.5, 0.625], "loss": [2.0, math.nan, -1.5e30]})
    found = list(scalars(path))
    assert [each[:3] for each in found[:3]] == [
        ("eval/acc", 0.0, 0.25),
        ("eval/acc", 1.0, 0.5),
        ("eval/acc", 2.0, 0.625),
    ]
    assert [each[3] for each in found[:3]] == [1000.0, 1060.0, 1120.0]
    assert {each[0] for each in found} == {"eval/acc", "loss"}, "texts and histograms are no numbers"
    assert math.isnan(found[4][2])
    assert found[5][2] == np.float32(-1.5e30)


def test_a_folder_of_runs(tmp_path: Path) -> None:
    written(tmp_path / "small" / "v1", {"acc": [0.1, 0.2]})
    written(tmp_path / "large", {"acc": [0.3, 0.4, 0.5]})
    found = read_runs(tmp_path)
    assert {run.name: run.metrics["acc"].values.tolist() for run in found.runs} == {
        "large": pytest.approx([0.3, 0.4, 0.5]),
        "small/v1": pytest.approx([0.1, 0.2]),
    }
    assert [run.kind for run in found.runs] == ["TensorBoard"] * 2
    seconds = found.runs[0].metrics["acc"].seconds
    assert seconds is not None
    assert np.diff(seconds).tolist() == [60.0, 60.0]


def test_a_run_that_was_resumed_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    written(tmp_path / "run", {"acc": [0.1, 0.2, 0.3, 0.4]})
    written(tmp_path / "run", {"acc": [0.35, 0.5]}, first=2)
    found = read_runs(tmp_path / "run")
    assert found.runs[0].metrics["acc"].values.tolist() == pytest.approx([0.1, 0.2, 0.35, 0.5])
    assert found.notes == ["run went back by 2 values, as after a restart; what it wrote last counts."]


def test_the_end_of_a_file_that_is_being_written_may_be_missing(tmp_path: Path) -> None:
    path = written(tmp_path / "run", {"acc": [0.25, 0.5, 0.75]})
    content = path.read_bytes()
    seen = set()
    for length in range(len(content) - 400, len(content)):
        path.write_bytes(content[:length])
        seen.add(len(list(scalars(path))))
    assert seen <= {0, 1, 2, 3}
    assert max(seen) == 3


def test_damage_is_said(tmp_path: Path) -> None:
    path = written(tmp_path / "run", {"acc": [0.25, 0.5, 0.75]})
    content = path.read_bytes()
    rng = np.random.default_rng(3)
    for _ in range(300):
        damaged = bytearray(content)
        damaged[rng.integers(len(damaged))] ^= int(rng.integers(1, 256))
        path.write_bytes(damaged)
        with pytest.raises(RisingBanditsError, match=r"is damaged: .*\.$"):
            list(scalars(path))


def test_other_files_are_none() -> None:
    assert not is_event_file(b"")
    assert not is_event_file(b"step,value\n1,2\n3,4\n")
    assert not is_event_file(struct.pack("<Q", 24) + b"\0\0\0\0")


def compared(path: Path) -> bool:
    """Whether the reader in machine code has read a file; then what it says is what the one in plain Python does."""
    blocks = scan(path)
    if blocks is None:
        return False
    found = [
        (block.names[tag], step, value, time)
        for block in blocks
        for tag, step, value, time in zip(block.tag, block.steps, block.values, block.times, strict=True)
    ]
    assert repr(found).replace("np.float64", "float") == repr(
        [(tag, np.float64(a), np.float64(b), np.float64(c)) for tag, a, b, c in scalars(path)]
    ).replace("np.float64", "float")
    return True


def test_machine_code_reads_the_same(tmp_path: Path) -> None:
    values = {f"tag {k}": [0.1 * k + n for n in range(-5, 300)] for k in range(7)}
    path = written(tmp_path / "run", values | {"loss": [math.nan, math.inf, -0.0]}, first=-3)
    assert compared(path)
    path = written(tmp_path / "short", {"acc": [0.25, 0.5, 0.75], "loss": [math.nan, 2.0]}, first=-3)
    content = path.read_bytes()
    for length in range(len(content) - 300, len(content)):
        path.write_bytes(content[:length])
        assert compared(path)


def test_machine_code_leaves_damage_to_plain_python(tmp_path: Path) -> None:
    path = written(tmp_path / "run", {"acc": [0.25, 0.5, 0.75]})
    content = path.read_bytes()
    rng = np.random.default_rng(4)
    for _ in range(300):
        damaged = bytearray(content)
        damaged[rng.integers(len(damaged))] ^= int(rng.integers(1, 256))
        path.write_bytes(damaged)
        assert scan(path) is None
        with pytest.raises(RisingBanditsError, match="is damaged"):
            EventFiles(patience=0).read(path)


def test_messages_of_any_form_are_read_alike(tmp_path: Path) -> None:
    """Records with right checksums around messages that were changed at random: nothing is read in two ways."""
    path = written(tmp_path / "run", {"acc": [0.25, 0.5, 0.75], "b": [3.0]})
    content, at, messages = path.read_bytes(), 0, []
    while at < len(content):
        (length,) = struct.unpack("<Q", content[at : at + 8])
        messages.append(content[at + 12 : at + 12 + length])
        at += 16 + length
    tensor = b"\x08\x02\x12\x00\x22\x08" + struct.pack("<d", 0.1)
    value = b"\x0a\x01t\x42" + bytes([len(tensor)]) + tensor
    messages.append(b"\x10\x05\x2a" + bytes([len(value) + 2]) + b"\x0a" + bytes([len(value)]) + value)
    rng = np.random.default_rng(5)
    read = 0
    for _ in range(600):
        changed = bytearray(messages[rng.integers(len(messages))])
        changed[rng.integers(len(changed))] = int(rng.integers(256))
        length = struct.pack("<Q", len(changed))
        records = length + struct.pack("<I", masked_checksum(length))
        path.write_bytes(records + changed + struct.pack("<I", masked_checksum(bytes(changed))))
        try:
            list(scalars(path))
        except RisingBanditsError:
            assert scan(path) is None
        else:
            read += compared(path)
    assert read > 100


def test_blocks_of_a_long_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "run", {"a": [float(n) for n in range(200)], "b": [0.5 * n for n in range(200)]})
    monkeypatch.setattr(event_scan, "_BLOCK", 1000)
    monkeypatch.setattr(event_scan, "_MOST_NUMBERS", 7)
    assert compared(path)
    for patience in (0, 1 << 30):
        found = EventFiles(patience).read(path)
        assert found["b"].values.tolist() == [0.5 * n for n in range(200)]
        assert found["b"].steps.tolist() == list(range(200))
