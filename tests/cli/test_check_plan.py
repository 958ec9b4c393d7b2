"""``run --check`` refuses every plan that ``run`` refuses, in the same words, and makes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from risingbandits import Allocator, Execution
from risingbandits.allocation import open_reader
from risingbandits.cli import run

ARMS = '\n[[arms]]\nname = "a"\ncommand = ["echo", "1"]\n[[arms]]\nname = "b"\ncommand = ["echo", "1"]\n'


def files(folder: Path) -> dict[Path, int]:
    """All files and when they were written, but for those that SQLite needs also to read."""
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if not path.name.endswith(("-shm", "-wal"))}


def refused(capsys: pytest.CaptureFixture[str], folder: Path, head: str, *options: str) -> str:
    """What a check says about a plan that cannot be run; a run says the same."""
    (folder / "plan.toml").write_text(head + ARMS)
    before = files(folder)
    complaints = []
    for more in (["--check"], []):
        assert run(["run", str(folder / "plan.toml"), *options, *more]) == 2
        text = capsys.readouterr()
        assert text.out == ""
        complaints.append(text.err)
        if more:
            assert files(folder) == before
    assert complaints[0] == complaints[1]
    return complaints[0]


@pytest.mark.parametrize(
    ("head", "complaint"),
    [
        ('budget = 1\npolicy = "oracle"', "arm must be given to the oracle outside simulate"),
        ('budget = 1\npolicy = "constant(arm=7)"', "arm must be 0 to 1, got 7."),
        (
            "budget = 3\nreward_range = [0, 1]\nwarm_start = {a = [5]}",
            "warm_start of a must lie in reward_range (0, 1), got 5.0; reward_range=None, in plans",
        ),
        ('budget = 3\nstore = "."', "cannot be read: Is a directory."),
        ('budget = 3\nstore = "postgresql://127.0.0.1:1/x"', "Connection refused"),
    ],
)
def test_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path, head: str, complaint: str) -> None:
    if "postgresql" in head:
        pytest.importorskip("psycopg")
    assert complaint in refused(capsys, tmp_path, head)


def test_a_store_with_other_settings(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text("budget = 4" + ARMS)
    assert run(["run", str(tmp_path / "plan.toml")]) == 0
    assert run(["run", str(tmp_path / "plan.toml"), "--check"]) == 0
    capsys.readouterr()
    said = refused(capsys, tmp_path, "budget = 4\nseed = 5")
    assert "holds another allocation: seed is 0 in the store, got 5; that cannot change in a run: give it as" in said
    assert said.endswith("To start over, use run --fresh, which keeps the old store.\n")
    assert run(["run", str(tmp_path / "plan.toml"), "--check", "--fresh"]) == 0
    assert not (tmp_path / "plan.db.1").exists()


def test_a_store_with_an_arm_that_the_plan_does_not_know(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text("budget = 4" + ARMS)
    with Allocator(["a", "b"], 4, store=tmp_path / "plan.db", execution=Execution(lease=60.0)) as allocator:
        allocator.add("c")
    (tmp_path / "plan.db.state").mkdir()
    (tmp_path / "plan.db.state" / ".running").touch()
    assert "arms must include all arms of the store, which also has 'c'." in refused(capsys, tmp_path, "budget = 4")


def test_foreign_files(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "plan.db").write_text("my notes")
    (tmp_path / "plan.db.state").mkdir()
    assert "is not a store of risingbandits." in refused(capsys, tmp_path, "budget = 4")


def test_folders_that_cannot_be_made(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text('budget = 4\nstore = "plan.toml/x.db"' + ARMS)
    for more in (["--check"], []):
        assert run(["run", str(tmp_path / "plan.toml"), *more]) == 2
        assert "plan.toml/x.db" in capsys.readouterr().err


def test_fresh(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    said = refused(capsys, tmp_path, 'budget = 4\nstore = "postgresql://host/x"', "--fresh")
    assert "store must be another one for a fresh run" in said


def test_a_prior_is_read_for_a_new_store_only(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert "gone.db does not exist." in refused(capsys, tmp_path, 'budget = 4\nprior = "gone.db"')
    (tmp_path / "last.csv").write_text("a,b,c\n0.1,0.9,0.5\n0.2,0.9,0.5\n")
    (tmp_path / "plan.toml").write_text('budget = 4\nprior = "last.csv"' + ARMS)
    assert run(["run", str(tmp_path / "plan.toml")]) == 0
    assert "prior from 1 task" in capsys.readouterr().out
    (tmp_path / "last.csv").unlink()
    for options in ([], ["--check"]):
        assert run(["run", str(tmp_path / "plan.toml"), *options]) == 0
    with open_reader(tmp_path / "plan.db") as reader:
        assert next(event.arm for event in reader.events() if event.kind == "ask") == "b"
