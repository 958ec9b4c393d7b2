"""TensorBoard's event files, written by the real library."""

from __future__ import annotations

import math
import struct
from pathlib import Path

import numpy as np
import pytest
from tensorboardX import SummaryWriter

from risingbandits import RisingBanditsError
from risingbandits.logs import _event_files as event_files
from risingbandits.logs import read_runs
from risingbandits.logs._event_files import (
    is_event_file,
    masked_checksum,
    masked_checksums,
    read_event_file,
    scalars,
)


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


def messages_of(path: Path) -> list[bytes]:
    content, at, messages = path.read_bytes(), 0, []
    while at < len(content):
        (length,) = struct.unpack("<Q", content[at : at + 8])
        messages.append(content[at + 12 : at + 12 + length])
        at += 16 + length
    return messages


def record(message: bytes) -> bytes:
    length = struct.pack("<Q", len(message))
    return length + struct.pack("<I", masked_checksum(length)) + message + struct.pack("<I", masked_checksum(message))


def test_the_quick_way_reads_the_same_in_messages_of_any_form(tmp_path: Path) -> None:
    messages = messages_of(written(tmp_path / "run", {"acc": [0.25, 0.5, 0.75], "loss": [math.inf] * 300}))
    rng = np.random.default_rng(5)
    quick = 0
    for _ in range(20_000):
        changed = bytearray(messages[rng.integers(len(messages))])
        changed[rng.integers(len(changed))] = int(rng.integers(256))
        found = event_files._usual_number(bytes(changed))
        if found is not None:
            assert repr([found]) == repr(list(event_files._numbers(bytes(changed))))
            quick += 1
    assert quick > 5_000


def test_numbers_in_tensors(tmp_path: Path) -> None:
    path = tmp_path / "events"
    single = b"\x08\x01\x12\x00\x2a\x04" + struct.pack("<f", 0.25)
    double = b"\x08\x02\x12\x00\x22\x08" + struct.pack("<d", 0.1)
    several = b"\x08\x01\x22\x08" + struct.pack("<ff", 1.0, 2.0)
    content = b""
    for tensor in (single, double, several):
        value = b"\x0a\x01t\x42" + bytes([len(tensor)]) + tensor + b"\x4a\x02\x0a\x00"
        content += record(b"\x10\x05\x2a" + bytes([len(value) + 2]) + b"\x0a" + bytes([len(value)]) + value)
    path.write_bytes(content)
    assert list(scalars(path)) == [("t", 5.0, 0.25, 0.0), ("t", 5.0, 0.1, 0.0)]


def test_blocks_of_a_long_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "run", {"a": [float(n) for n in range(200)], "b": [0.5 * n for n in range(200)]})
    monkeypatch.setattr(event_files, "_BLOCK", 100)
    found = read_event_file(path)
    assert found["b"].values.tolist() == [0.5 * n for n in range(200)]
    assert found["b"].steps.tolist() == list(range(200))
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(RisingBanditsError, match=f"the record before byte {len(content)} is wrong"):
        read_event_file(path)


def slow_checksum(content: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in content:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def test_checksums() -> None:
    rng = np.random.default_rng(6)
    content = rng.bytes(9_000)
    for length in (0, 1, 3, 4, 1023, 1024, 1025, 1027, 2048, 2049, 5000):
        assert masked_checksum(content[:length]) == slow_checksum(content[:length])
    starts = rng.integers(5_000, size=40)
    ends = starts + rng.integers(1_500, size=40) * rng.integers(2, size=40)
    expected = [slow_checksum(content[start:end]) for start, end in zip(starts, ends, strict=True)]
    assert masked_checksums(content, starts, ends).tolist() == expected
