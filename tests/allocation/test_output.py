"""However much a command prints, little is kept, the end of it among that, and the cut is said."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from risingbandits import RisingBanditsError
from risingbandits.allocation import Outcome, Pull
from risingbandits.allocation.commands._command import Command
from risingbandits.allocation.commands._output import DEFAULT, LEAST
from risingbandits.allocation.commands._plan_arms import CommandArm
from risingbandits.allocation.commands._plan_file import read_plan

MUCH = 10_000_000
PULL = Pull(1, "a", 1)


def command(script: str, folder: Path, **settings: object) -> Command:
    given = {"directory": folder, "environment": {}, "max_output": LEAST, **settings}
    arm = CommandArm("a", ("/bin/sh", "-c", script), **given)  # type: ignore[arg-type]
    return Command(arm, folder / "logs", folder / "states", folder)


def test_head_and_tail_are_kept_and_the_cut_is_said(tmp_path: Path) -> None:
    made = command(f"echo first; yes | head -c {MUCH}; echo 0.25", tmp_path)
    assert made.pull(PULL) == Outcome(0.25)
    text = (made.logs / "1-1.out").read_text()
    said = f"\n... {len('first') + 1 + MUCH + len('0.25') + 1 - LEAST:,} bytes left out ...\n"
    assert text.startswith("first\ny\ny\n")
    assert text.endswith("y\ny\n0.25\n")
    assert text[LEAST // 2 :].startswith(said)
    assert len(text) == LEAST + len(said)
    assert set(text.replace(said, "").removeprefix("first\n").removesuffix("0.25\n")) == {"y", "\n"}


def test_errors_too(tmp_path: Path) -> None:
    made = command(f"yes | head -c {MUCH} >&2; echo 'no data' >&2; exit 1", tmp_path)
    with pytest.raises(RisingBanditsError, match=r"exit code 1 \('no data'\)"):
        made.pull(PULL)
    assert (made.logs / "1-1.out").with_suffix(".err").stat().st_size < LEAST + 100


def test_what_fits_is_left_as_it_is(tmp_path: Path) -> None:
    made = command(f"yes | head -c {LEAST - 2}; echo 1", tmp_path)
    assert made.pull(PULL) == Outcome(1.0)
    assert (made.logs / "1-1.out").read_text() == "y\n" * (LEAST // 2 - 1) + "1\n"


def test_a_command_that_prints_until_its_time_is_over_leaves_little(tmp_path: Path) -> None:
    made = command(f"yes | head -c {MUCH}; sleep 1000", tmp_path, timeout=0.5)
    with pytest.raises(RisingBanditsError, match=r"not done after 0\.5 s"):
        made.pull(PULL)
    assert sum(file.stat().st_size for file in made.logs.iterdir()) < LEAST + 100


def test_far_too_much_ends_a_command(tmp_path: Path) -> None:
    made = command("yes", tmp_path)
    with pytest.raises(RisingBanditsError, match=r"printed far more than max_output, 262,144 bytes; output"):
        made.pull(PULL)
    assert (made.logs / "1-1.out").stat().st_size < LEAST + 100


def test_a_full_disk_leaves_the_file_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(shutil, "copyfileobj", full)
    made = command(f"yes | head -c {MUCH}; echo 0.25", tmp_path)
    assert made.pull(PULL) == Outcome(0.25)
    assert sorted(os.listdir(made.logs)) == ["1-1.err", "1-1.out"]


def test_the_limit_is_a_key_of_plans(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    text = 'budget = 1\n{}\n[[arms]]\nname = "a"\ncommand = ["echo", "1"]\n'
    path.write_text(text.format(f"defaults.max_output = {LEAST}") + "max_output = 1_000_000\n")
    assert read_plan(path).arms[0].max_output == 1_000_000
    path.write_text(text.format(f"defaults.max_output = {LEAST}"))
    assert read_plan(path).arms[0].max_output == LEAST
    path.write_text(text.format(""))
    assert read_plan(path).arms[0].max_output == DEFAULT == 16 * 1024 * 1024
    path.write_text(text.format("defaults.max_output = 1000"))
    with pytest.raises(RisingBanditsError, match=r"defaults\.max_output must be an integer >= 262144, got 1000\.$"):
        read_plan(path)
