"""Files that are written whole or not at all, and brought to the disk."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from risingbandits import RisingBanditsError
from risingbandits._core.files import flush, whole, write_whole


def test_readers_see_the_old_file_until_the_new_one_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "result"
    path.write_text("old")
    with whole(path) as temporary:
        assert temporary.parent == path.parent, "on one file system, where renaming is one step"
        temporary.write_text("ne")
        assert path.read_text() == "old"
        temporary.write_text("new")
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["result"]


@pytest.mark.parametrize("trouble", [OSError, KeyboardInterrupt])
def test_what_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path, trouble: type[BaseException]) -> None:
    path = tmp_path / "result"
    path.write_text("old")

    def fail() -> None:
        with whole(path) as temporary:
            temporary.write_text("half of the ne")
            raise trouble

    with pytest.raises(trouble):
        fail()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["result"]


def test_a_folder_takes_the_place_of_a_folder(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    path.mkdir()
    (path / "old").touch()
    with whole(path) as temporary:
        temporary.mkdir()
        (temporary / "new").touch()
        assert os.listdir(path) == ["old"]
    assert os.listdir(path) == ["new"]


def test_a_file_never_takes_the_place_of_a_folder(tmp_path: Path) -> None:
    """``store export run.db -o results`` has once removed the folder of that name with all in it."""
    path = tmp_path / "results"
    path.mkdir()
    (path / "mine").touch()
    with pytest.raises(RisingBanditsError, match="results must be a file to be written"):
        write_whole(path, b"curves")
    assert [file.name for file in tmp_path.rglob("*")] == ["results", "mine"]


def test_bytes_are_on_the_disk_before_the_file_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, brought = tmp_path / "result", []
    real = os.fsync

    def watched(descriptor: int) -> None:
        brought.append((os.readlink(f"/proc/self/fd/{descriptor}"), path.exists()))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", watched)
    write_whole(path, b"new")
    assert [(Path(name).parent, named) for name, named in brought] == [(tmp_path, False), (tmp_path.parent, True)]
    assert path.read_bytes() == b"new"


def test_all_files_of_a_folder_are_brought_to_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    for name in ("one", "a/two", "a/b/three"):
        (tmp_path / name).touch()
    brought: list[str] = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: brought.append(os.readlink(f"/proc/self/fd/{descriptor}")))
    flush(tmp_path)
    names = [Path(name).name for name in brought]
    assert sorted(names[:3]) == ["one", "three", "two"]
    assert sorted(names[3:]) == ["a", "b", tmp_path.name], "then the folders that name them"
