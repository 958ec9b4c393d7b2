"""A contest on a cluster has the files of one on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ray_cluster import Nodes, nodes
from risingbandits.cli.app import run
from risingbandits.lab.benchmark._cells import Cells
from risingbandits.lab.benchmark._entrants import Entrant
from risingbandits.lab.benchmark.suite import replayed_row
from risingbandits.lab.benchmark.synthetic import Sizes
from risingbandits.lab.ray_simulations import RayBlocks
from risingbandits.lab.related import RSR
from risingbandits.policies import RoundRobin
from risingbandits.simulation._backends import Threads
from tasks_of_curves import curve_task

FILES = ("tasks.csv", "arena.json", "arena.md")


@pytest.fixture(scope="module", autouse=True)
def _cluster() -> Iterator[Nodes]:
    with nodes(workers=0) as made:
        yield made


@pytest.mark.slow
def test_equal_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RISINGBANDITS_DATA", raising=False)
    arguments = ["lab", "benchmark", "--quick", "--rows", "stationary,pairs", "--policies", "sw-ts,kl-ucb"]
    for backend in ("local", "ray"):
        assert run([*arguments, "--backend", backend, "--out", str(tmp_path / backend)]) == 0
    written = [[(tmp_path / backend / name).read_bytes() for name in FILES] for backend in ("local", "ray")]
    assert written[0] == written[1]


@pytest.mark.slow  # that blocks are equal there is shown by test_ray_simulations
def test_recorded_curves(tmp_path: Path) -> None:
    tasks = [curve_task(n_arms=6, length=12, seed=seed, name=f"task {seed}") for seed in range(3)]
    row = replayed_row("family", "real", "best-arm", tasks, 3, Sizes(orders=4))
    entrants = [Entrant("r-sr", RSR()), Entrant("round-robin", RoundRobin())]
    near = Cells(tmp_path / "near", Threads(1)).of(row, entrants)
    far = Cells(tmp_path / "far", RayBlocks(2)).of(row, entrants)
    assert near == far
    assert len(near[entrants[0]].runs) == 36
