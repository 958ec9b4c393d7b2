"""Returns of Atari agents, from small files of the form they have in google/dopamine."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from curves import atari, sources
from risingbandits._core.errors import RisingBanditsError
from risingbandits.lab.benchmark.curve_tasks import read_arrays

DATA = os.environ.get("RISINGBANDITS_DATA")


def run_after_run(agent: str, returns: Any) -> Iterator[dict[str, Any]]:
    """As in GAME.json."""
    for run in returns:
        for iteration, value in enumerate(run):
            yield {"Iteration": iteration, "Value": float(value), "Agent": agent}


def iteration_after_iteration(agent: str, returns: Any) -> Iterator[dict[str, Any]]:
    """As in GAME_CNN.json and GAME_Impala.json, whose last iteration is one more."""
    for iteration, of_runs in enumerate(zip(*returns, strict=True)):
        for value in of_runs:
            yield {"Iteration": iteration, "Value": float(value), "Agent": agent}


def write(path: Path, *records: Iterator[dict[str, Any]]) -> None:
    path.write_text(json.dumps([record for each in records for record in each]))


def small(folder: Path, game: str = "boxing") -> None:
    """Two runs of two iterations; a third iteration, a third run, and two agents with too little."""
    write(
        folder / f"{game}.json",
        run_after_run("DQN", [[1, 2], [3, 4]]),
        run_after_run("C51", [[1, 2], [3]]),  # a run that ended early
    )
    write(
        folder / f"{game}_CNN.json",
        iteration_after_iteration("Rainbow", [[5, 6, -1], [7, 8, -1], [0, 0, 0]]),
        iteration_after_iteration("DQN", [[9, 10, -1], [11, 0.1, -1]]),
    )
    write(folder / f"{game}_Impala.json", iteration_after_iteration("DQN", [[1, 1, 1]]))  # one run only


def test_agents_runs_iterations(tmp_path: Path) -> None:
    small(tmp_path)
    (tmp_path / "alien.json").write_text("not of the benchmark")
    arrays = atari.convert(tmp_path, ["boxing"], runs=2, iterations=2)
    assert list(arrays) == ["boxing", "boxing__arms"]
    assert arrays["boxing__arms"].tolist() == ["tf:DQN", "cnn:Rainbow", "cnn:DQN"]
    assert arrays["boxing"].dtype == np.float32
    assert arrays["boxing"].tolist() == [[[1, 2], [3, 4]], [[5, 6], [7, 8]], [[9, 10], [11, float(np.float32(0.1))]]]


def test_other_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(RisingBanditsError, match=r"data of a copy of google/dopamine, got .* has no airraid\.json"):
        sources.rebuild("atari", tmp_path / "out", tmp_path)
    small(tmp_path)
    with pytest.raises(RisingBanditsError, match=r"boxing\.json must have 4 runs of 2 iterations"):
        atari.convert(tmp_path, ["boxing"], runs=4, iterations=2)
    for content in ("{", '["text"]', '[{"Iteration": 0}]'):
        (tmp_path / "boxing_CNN.json").write_text(content)
        with pytest.raises(RisingBanditsError, match=r"boxing_CNN\.json must have a list of records with Iteration"):
            atari.convert(tmp_path, ["boxing"])
    assert not (tmp_path / "out").exists()


@pytest.mark.skipif(DATA is None, reason="RISINGBANDITS_DATA is not set")
def test_published_file_written_as_json_comes_back(tmp_path: Path) -> None:
    published = read_arrays(Path(str(DATA)) / "curves" / "atari.npz")
    assert tuple(name for name in published if not name.endswith("__arms")) == atari.GAMES
    for game in atari.GAMES:
        of_game = dict(zip(published[f"{game}__arms"].tolist(), published[game], strict=True))
        for tag, ending in atari.PARTS.items():
            form = iteration_after_iteration if ending else run_after_run
            agents = {arm.removeprefix(f"{tag}:"): runs for arm, runs in of_game.items() if arm.startswith(f"{tag}:")}
            write(tmp_path / f"{game}{ending}.json", *(form(agent, runs) for agent, runs in agents.items()))
    assert sources.rebuild("atari", tmp_path / "out", tmp_path) == {"atari.npz": "as published"}
