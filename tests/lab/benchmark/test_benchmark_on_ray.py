"""The benchmark on a cluster writes the files that it writes on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ray_cluster import Nodes, nodes
from risingbandits.cli.app import run
from risingbandits.lab.benchmark._cells import Cells
from risingbandits.lab.benchmark._policies import LabelledPolicy
from risingbandits.lab.benchmark.suite import replayed_benchmark
from risingbandits.lab.benchmark.synthetic import Sizes
from risingbandits.lab.ray_simulations import RayBlocks
from risingbandits.lab.related import RSR
from risingbandits.policies import RoundRobin
from risingbandits.simulation._backends import Threads
from tasks_of_curves import curve_task

FILES = ("tasks.csv", "benchmark.json", "benchmark.md")


@pytest.fixture(scope="module", autouse=True)
def _cluster() -> Iterator[Nodes]:
    with nodes(workers=0) as made:
        yield made


@pytest.mark.slow
def test_equal_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RISINGBANDITS_DATA", raising=False)
    arguments = ["lab", "benchmark", "--quick", "--benchmarks", "stationary,pairs", "--policies", "sw-ts,kl-ucb"]
    for backend in ("local", "ray"):
        assert run([*arguments, "--backend", backend, "--out", str(tmp_path / backend)]) == 0
    written = [[(tmp_path / backend / name).read_bytes() for name in FILES] for backend in ("local", "ray")]
    assert written[0] == written[1]


@pytest.mark.slow  # that blocks are equal there is shown by test_ray_simulations
def test_recorded_curves(tmp_path: Path) -> None:
    tasks = [curve_task(n_arms=6, length=12, seed=seed, name=f"task {seed}") for seed in range(3)]
    benchmark = replayed_benchmark("made", "real", "best-arm", tasks, 3, Sizes(orders=4))
    policies = [LabelledPolicy("r-sr", RSR()), LabelledPolicy("round-robin", RoundRobin())]
    near = Cells(tmp_path / "near", Threads(1)).of(benchmark, policies)
    far = Cells(tmp_path / "far", RayBlocks(2)).of(benchmark, policies)
    assert near == far
    assert len(near["r-sr"].runs) == 36
