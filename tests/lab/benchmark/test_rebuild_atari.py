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
    (tmp_path / "alien.json").write_text("not of the family")
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


@pytest.mark.skipif(DATA is None, reason="RISINGBANDITS_DATA is not set")
def test_values_of_the_source_are_those_of_the_published_file() -> None:
    """As they stand in the source, in both forms: by agent and iteration, those of the five runs or of the last."""
    published = read_arrays(Path(str(DATA)) / "curves" / "atari.npz")
    arms = published["airraid__arms"].tolist()
    for arm, iteration, values in (
        (
            "cnn:Rainbow",
            0,
            [546.1458333333334, 558.5129310344828, 462.4773960216998, 536.7283950617284, 486.63127413127415],
        ),
        ("cnn:IQN", 198, [13053.070175438597, 13987.98076923077, 13306.25, 11784.83606557377, 12174.180327868853]),
        (
            "impala:DQN",
            198,
            [7072.631578947368, 7320.923913043478, 6988.9473684210525, 7468.888888888889, 7518.611111111111],
        ),
        ("impala:IQN", 0, [634.4262295081967, 628.7109375, 662.6609442060086, 660.5427974947808, 651.8736616702355]),
        ("tf:DQN (Adam + MSE in JAX)", 197, [9564.492753623188]),
        ("tf:DQN (Adam + MSE in JAX)", 198, [9512.5]),
    ):
        found = published["airraid"][arms.index(arm), -len(values) :, iteration]
        assert np.array_equal(found, np.array(values, np.float32))
    first = published["airraid"][arms.index("tf:DQN"), :2, [0, 1, 198]]  # iterations x runs
    assert np.array_equal(first[:2, 1], np.array([495.0858778625954, 379.06824146981626], np.float32))
    assert np.array_equal(first[:, 0], np.array([514.9805447470817, 367.6892950391645, 9007.971014492754], np.float32))
    assert "cnn:QR-DQN" not in published["montezumarevenge__arms"].tolist()  # four runs
