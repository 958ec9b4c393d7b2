"""The command reproduce: all its files, resuming, killing, equal bytes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from programs import program, until
from risingbandits import Policy, RisingBanditsError, get_problem, simulate
from risingbandits.cli import run
from risingbandits.lab.paper import _claims as claims
from risingbandits.lab.paper._csv_tables import RegretData
from risingbandits.lab.paper._regret_study import Panel, Size
from risingbandits.lab.paper._stored_results import KEPT
from risingbandits.lab.paper.reproduce import EXPERIMENTS, QUICK, reproduce
from risingbandits.policies import REdUCB
from risingbandits.simulation._backends import Threads

ROOT = Path(__file__).parents[3]
QUICK_STUDY = ["lab", "paper", "reproduce", "2arms", "--quick", "--no-extra", "--jobs", "2"]


def files_of(folder: Path) -> dict[str, bytes]:
    """All files below a folder with their contents."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An uninterrupted study."""
    folder = tmp_path_factory.mktemp("finished")
    assert run([*QUICK_STUDY, "--out", str(folder)]) == 0
    return folder


def test_all_experiments_end_to_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["lab", "paper", "reproduce", "--quick", "--runs", "2", "--out", str(tmp_path), "--jobs", "1"]) == 0
    assert "Tables, figures and data" in capsys.readouterr().out
    summary = json.loads((tmp_path / "summary.json").read_text())
    page = (tmp_path / "summary.md").read_text()
    assert summary["command"] == "risingbandits lab paper reproduce all --runs 2 --seed 0 --quick"
    assert list(summary["experiments"]) == list(EXPERIMENTS)
    for name, content in summary["experiments"].items():
        assert content["figures"], name
        for stem in content["figures"]:
            assert f"]({stem}.png)" in page
            assert (tmp_path / f"{stem}.png").stat().st_size > 3_000
            assert (tmp_path / f"{stem}.svg").stat().st_size > 3_000
    assert len(summary["experiments"]["15arms"]["final"]) == 9 + 9 + 10 + 7
    assert (tmp_path / "15arms" / "gaussian" / "result.npz").exists()
    before = files_of(tmp_path)
    for path in tmp_path.glob("rates*.png"):
        path.unlink()
    assert run(["lab", "paper", "reproduce", "rates", "--redraw", "--out", str(tmp_path)]) == 0
    assert files_of(tmp_path) == before


def test_resuming_plays_nothing_twice_and_leaves_equal_bytes(
    finished: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = files_of(finished)
    assert run([*QUICK_STUDY, "--out", str(finished)]) == 0
    assert "All runs were already there." in capsys.readouterr().out
    assert files_of(finished) == before


@pytest.mark.parametrize("files", [1, *(pytest.param(number, marks=pytest.mark.slow) for number in (2, 4, 8))])
def test_killed_at_any_moment_and_continued(finished: Path, tmp_path: Path, files: int) -> None:
    """As soon as so many files are there, however long that takes: in the middle of the study, or near its end."""
    command = [sys.executable, "-m", "risingbandits", *QUICK_STUDY, "--out", str(tmp_path)]
    with program(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        until(lambda: process.poll() is not None or sum(len(names) for _, _, names in os.walk(tmp_path)) >= files)
        process.kill()
    assert subprocess.run(command, stdout=subprocess.DEVNULL).returncode == 0
    left = {name: data for name, data in files_of(tmp_path).items() if not name.endswith(".tmp")}
    assert left == files_of(finished)


def test_other_settings_never_mix(finished: Path, tmp_path: Path) -> None:
    (kept,) = (finished / KEPT).iterdir()
    assert run([*QUICK_STUDY, "--out", str(tmp_path), "--seed", "1"]) == 0
    (other,) = (tmp_path / KEPT).iterdir()
    assert run([*QUICK_STUDY, "--out", str(tmp_path)]) == 0  # both seeds in one folder
    assert {path.name for path in (tmp_path / KEPT).iterdir()} == {kept.name, other.name}
    found = files_of(tmp_path)
    assert all(found[name] == data for name, data in files_of(finished).items())


def test_panels_are_kept_and_damaged_ones_played_again(tmp_path: Path) -> None:
    policies: dict[str, Policy] = {"red-ucb": REdUCB()}
    panel = Panel("one", get_problem("paper-2arms"), policies, 500, 4, 0, 5)
    assert panel.kept(tmp_path) is None
    played = panel.play(tmp_path, Threads(1))
    kept = panel.kept(tmp_path)
    whole = simulate(policies, "paper-2arms", horizon=500, runs=4, record_at=5)
    for result in (played, kept):
        assert result is not None
        np.testing.assert_array_equal(result.regret["red-ucb"], whole.regret["red-ucb"])
        assert result.settings == whole.settings
    for other in (
        replace(panel, seed=1),
        replace(panel, runs=5),
        replace(panel, policies={"red-ucb": REdUCB(eps=0.1)}),
    ):
        assert other.kept(tmp_path) is None
    for damaged in (b"", b"something else"):
        (panel.kept_in(tmp_path) / "result.npz").write_bytes(damaged)
        assert panel.kept(tmp_path) is None


def test_refused_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["lab", "paper", "reproduce", "16arms", "--out", str(tmp_path)]) == 2
    assert "did you mean '15arms'?" in capsys.readouterr().err
    assert run(["lab", "paper", "reproduce", "--runs", "0", "--out", str(tmp_path)]) == 2
    assert "runs must be an integer >= 1, got 0." in capsys.readouterr().err
    assert run(["lab", "paper", "reproduce", "rates", "--redraw", "--out", str(tmp_path / "none")]) == 2
    assert "play the study before drawing it" in capsys.readouterr().err
    with pytest.raises(RisingBanditsError, match="does not exist"):
        RegretData.read(tmp_path, "15arms")


def test_without_extra_panels(tmp_path: Path) -> None:
    reproduce(["2arms"], tmp_path, replace(QUICK, runs=1, extra=False), 1, "command")
    assert list(RegretData.read(tmp_path, "2arms").lines) == ["gaussian"]
    assert not (tmp_path / "2arms-regret-extra.png").exists()


def test_panels_beside_the_paper_have_fewer_runs_and_say_so() -> None:
    assert {panel.runs for panel in EXPERIMENTS["15arms"].panels(Size()) if panel.name == "program"} == {1_000}
    study = EXPERIMENTS["2arms"]
    assert {panel.name: panel.runs for panel in study.panels(Size())} == {
        "gaussian": 100,
        "bernoulli": 30,
        "deviations": 30,
        "program": 100,
    }
    assert {panel.runs for panel in study.panels(Size(runs=3))} == {3}
    titles = [table.title for table in study.tables(ROOT / "docs" / "reproduction")]
    assert [title.rsplit(", ", 1)[1] for title in titles] == ["100 runs", "30 runs", "30 runs", "100 runs"]


def test_page_says_what_the_tables_say() -> None:
    page = (ROOT / "docs" / "what-reproduces.md").read_text()
    folder = ROOT / "docs" / "reproduction"
    judgements = claims.judged(folder)
    assert (folder / "claims.csv").read_text().count("\n") == 1 + len(judgements)
    assert len(judgements) == len(claims.CLAIMS)
    for judgement in judgements:
        assert judgement.quote in page
        assert f"| {judgement.by_definition} | {judgement.by_program} | {judgement.attribution} |" in page
    for path in folder.glob("*.csv"):
        assert path.stat().st_size < 110_000
