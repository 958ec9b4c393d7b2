"""The command reproduce: all its files, resuming, killing, equal bytes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from programs import program, until
from risingbandits import REdUCB, RisingBanditsError, get_problem, simulate
from risingbandits.cli import run
from risingbandits.paper import claims
from risingbandits.paper.kept_runs import BLOCK_RUNS, Blocks, Panel, remove_leftovers
from risingbandits.paper.reproduce import EXPERIMENTS, QUICK, reproduce
from risingbandits.paper.tables_on_disk import RegretData

ROOT = Path(__file__).parents[2]
QUICK_STUDY = ["reproduce", "2arms", "--quick", "--no-extra", "--jobs", "2"]


def files_of(folder: Path) -> dict[str, bytes]:
    """All files below a folder with their contents."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An uninterrupted study."""
    folder = tmp_path_factory.mktemp("finished")
    assert run([*QUICK_STUDY, "--out", str(folder)]) == 0
    return folder


def panel_of(runs: int, seed: int = 0) -> Panel:
    return Panel("one", "one", get_problem("paper-2arms"), {"red-ucb": REdUCB()}, 500, runs, seed, 5)


def test_all_experiments_end_to_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["reproduce", "--quick", "--runs", "2", "--out", str(tmp_path), "--jobs", "1"]) == 0
    assert "Tables, figures and data" in capsys.readouterr().out
    summary = json.loads((tmp_path / "summary.json").read_text())
    page = (tmp_path / "summary.md").read_text()
    assert summary["command"] == "risingbandits reproduce all --runs 2 --seed 0 --quick"
    assert list(summary["experiments"]) == list(EXPERIMENTS)
    for name, content in summary["experiments"].items():
        assert content["figures"], name
        for stem in content["figures"]:
            assert f"]({stem}.png)" in page
            assert (tmp_path / f"{stem}.png").stat().st_size > 3_000
            assert (tmp_path / f"{stem}.svg").stat().st_size > 3_000
    assert len(summary["experiments"]["15arms"]["final"]) == 9 + 9 + 10
    assert (tmp_path / "15arms" / "gaussian" / "result.npz").exists()
    before = files_of(tmp_path)
    for path in tmp_path.glob("rates*.png"):
        path.unlink()
    assert run(["reproduce", "rates", "--redraw", "--out", str(tmp_path)]) == 0
    assert files_of(tmp_path) == before


def test_resuming_plays_nothing_twice_and_leaves_equal_bytes(
    finished: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = files_of(finished)
    assert run([*QUICK_STUDY, "--out", str(finished)]) == 0
    assert "All runs were there." in capsys.readouterr().out
    assert files_of(finished) == before


def test_killed_at_any_moment_and_continued(finished: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "risingbandits", *QUICK_STUDY, "--out", str(tmp_path)]
    blocks = int(np.random.default_rng(0).integers(1, 6))
    with program(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        until(lambda: process.poll() is not None or len(list(tmp_path.glob("blocks/*.npz"))) >= blocks)
        process.kill()
    kept = len(list(tmp_path.glob("blocks/*.npz")))
    (tmp_path / "blocks" / "half.npz.999999999.tmp").write_bytes(b"half a block")  # as if killed while writing
    assert subprocess.run(command, stdout=subprocess.DEVNULL).returncode == 0, f"after {kept} blocks"
    assert files_of(tmp_path) == files_of(finished), f"killed after {kept} blocks"


def test_other_settings_never_mix(finished: Path, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    kept = finished / "blocks"
    assert run([*QUICK_STUDY, "--out", str(shared), "--seed", "1"]) == 0
    names = {path.name for path in (shared / "blocks").iterdir()}
    assert not names & {path.name for path in kept.iterdir()}
    assert run([*QUICK_STUDY, "--out", str(shared)]) == 0  # both seeds in one folder
    assert {path.name for path in (shared / "blocks").iterdir()} == names | {path.name for path in kept.iterdir()}
    results = files_of(finished)
    found = files_of(shared)
    assert all(found[name] == data for name, data in results.items())


def test_blocks_equal_one_simulation_and_more_runs_extend_them(tmp_path: Path) -> None:
    short, long = panel_of(BLOCK_RUNS), panel_of(2 * BLOCK_RUNS + 3)
    blocks = Blocks(tmp_path, jobs=2)
    blocks.play([short])
    assert blocks.played == BLOCK_RUNS
    result = blocks.play([long])["one"]
    assert blocks.played == long.runs
    whole = simulate({"red-ucb": REdUCB()}, "paper-2arms", 500, long.runs, checkpoints=5)
    np.testing.assert_array_equal(result.regret["red-ucb"], whole.regret["red-ucb"])
    np.testing.assert_array_equal(result.pulls["red-ucb"], whole.pulls["red-ucb"])
    np.testing.assert_array_equal(result.oracle, whole.oracle)
    assert result.settings == whole.settings


def test_damaged_blocks_are_played_again(tmp_path: Path) -> None:
    Blocks(tmp_path, jobs=1).play([panel_of(2)])
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()
    for damaged in (b"", whole[:-20], b"something else"):
        path.write_bytes(damaged)
        blocks = Blocks(tmp_path, jobs=1)
        blocks.play([panel_of(2)])
        assert (blocks.played, path.read_bytes()) == (2, whole)
    other = Blocks(tmp_path, jobs=1)
    other.play([panel_of(2, seed=1)])
    assert other.played == 2


def test_progress_counts_only_what_is_missing(tmp_path: Path) -> None:
    from collections.abc import Callable, Iterator
    from contextlib import contextmanager

    told: list[int] = []

    @contextmanager
    def progress(total: int) -> Iterator[Callable[[str, int], None]]:
        told.append(-total)
        yield lambda _label, runs: told.append(runs)

    Blocks(tmp_path, 1).play([panel_of(BLOCK_RUNS)])
    Blocks(tmp_path, 1, progress).play([panel_of(BLOCK_RUNS + 4)])
    assert told == [-4, 4]


def test_leftovers_of_living_programs_stay(tmp_path: Path) -> None:
    living, dead = tmp_path / "a.npz.1.tmp", tmp_path / "a.npz.999999999.tmp"
    living.touch()
    dead.touch()
    remove_leftovers(tmp_path)
    assert living.exists()
    assert not dead.exists()


def test_refused_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["reproduce", "16arms", "--out", str(tmp_path)]) == 2
    assert "did you mean '15arms'?" in capsys.readouterr().err
    assert run(["reproduce", "--runs", "0", "--out", str(tmp_path)]) == 2
    assert "runs must be an integer >= 1, got 0." in capsys.readouterr().err
    assert run(["reproduce", "rates", "--redraw", "--out", str(tmp_path / "none")]) == 2
    assert "play the study before drawing it" in capsys.readouterr().err
    with pytest.raises(RisingBanditsError, match="does not exist"):
        RegretData.read(tmp_path, "15arms")


def test_without_extra_panels(tmp_path: Path) -> None:
    from dataclasses import replace

    reproduce(["2arms"], tmp_path, replace(QUICK, runs=1, extra=False), 1, "command")
    assert list(RegretData.read(tmp_path, "2arms").lines) == ["gaussian"]
    assert not (tmp_path / "2arms-regret-extra.png").exists()


def test_page_says_what_the_tables_say() -> None:
    page = (ROOT / "docs" / "what-reproduces.md").read_text()
    folder = ROOT / "docs" / "reproduction"
    judgements = claims.judged(folder)
    assert (folder / "claims.csv").read_text().count("\n") == 1 + len(judgements)
    assert len(judgements) == len(claims.CLAIMS)
    for judgement in judgements:
        assert judgement.quote in page
        assert f"| {judgement.finding} | {judgement.verdict} |" in page
    for path in folder.glob("*.csv"):
        assert path.stat().st_size < 110_000
