"""Studies on a cluster: equal bytes, lost nodes, continued files, refusals."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from ray_cluster import Nodes, nodes, ray
from risingbandits import Policy, get_policy, simulate
from risingbandits._core.errors import RisingBanditsError
from risingbandits.cli import run
from risingbandits.lab import ray_simulations as ray_backend
from risingbandits.lab.paper._regret_study import POLICIES, Size
from risingbandits.lab.paper._stored_results import KEPT
from risingbandits.lab.paper.reproduce import reproduce
from risingbandits.lab.ray_simulations import RayBlocks, play_block, program_stamp
from risingbandits.simulation._backends import Threads


@pytest.fixture(scope="module")
def cluster() -> Iterator[Nodes]:
    with nodes(workers=0) as made:
        yield made


@pytest.fixture(autouse=True)
def _whole(cluster: Nodes, request: pytest.FixtureRequest) -> None:
    """One node is enough for quick tests; slow ones have three."""
    if request.node.get_closest_marker("slow"):
        cluster.heal(2)


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_simulate_gives_equal_files(tmp_path: Path) -> None:
    policies: list[str | Policy] = list(POLICIES)
    told: dict[str, list[int]] = {name: [] for name in POLICIES}
    far = simulate(
        policies,
        "paper-15arms",
        horizon=3_000,
        runs=12,
        seed=5,
        backend="ray",
        progress=lambda name, done: told[name].append(done),
    )
    near = simulate(policies, "paper-15arms", horizon=3_000, runs=12, seed=5)
    assert files(far.save(tmp_path / "ray")) == files(near.save(tmp_path / "local"))
    assert all(done == list(range(1, 13)) for done in told.values())


@pytest.mark.slow
def test_reproduce_gives_equal_files_and_continues_what_threads_began(tmp_path: Path) -> None:
    size = Size(runs=12, horizon=1_000, record_at=10)
    assert reproduce(["15arms"], tmp_path / "local", size, 2, "command") > 0
    assert reproduce(["15arms"], tmp_path / "ray", size, None, "command", backend="ray") > 0
    assert files(tmp_path / "ray") == files(tmp_path / "local")
    shutil.rmtree(min((tmp_path / "ray" / KEPT).iterdir()))
    assert reproduce(["15arms"], tmp_path / "ray", size, 3, "command", backend="ray") in (12 * 9, 12 * 10)
    assert files(tmp_path / "ray") == files(tmp_path / "local")


@pytest.mark.slow
def test_commands_give_equal_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sklearn")
    small = ["--dataset", "digits", "--horizon", "200", "--runs", "2", "--curve-runs", "3", "--arms", "2"]
    for backend in ("local", "ray"):
        (tmp_path / backend).mkdir()
        monkeypatch.chdir(tmp_path / backend)  # reports name their folder
        options = ["--out", "out", "--backend", backend]
        assert run(["lab", "paper", "imdb", "run", *small, "--policies", "commit-ucb,sw-ts", *options]) == 0
    assert files(tmp_path / "ray") == files(tmp_path / "local")
    assert {"out/predictions.csv", "out/curves.csv"} <= set(files(tmp_path / "ray"))


@dataclass(frozen=True)
class Diary:
    """Items that write down where they begin and that they end, and take their time; the outcome is their own."""

    path: Path
    seconds: float

    def __call__(self, label: str) -> Callable[[int], float]:
        def one(item: int) -> float:
            self.note("begin", f"{label}{item}")
            time.sleep(self.seconds)
            self.note("end", f"{label}{item}")
            return float(np.random.default_rng([len(label), item]).random())

        return one

    def note(self, what: str, item: str) -> None:
        with self.path.open("a") as file:
            file.write(f"{what} {item} {os.getpid()}\n")

    def begun(self) -> list[str]:
        """All items that have begun, as often as they have."""
        return [line.split()[1] for line in self.path.read_text().splitlines() if line.startswith("begin")]

    def at_work(self) -> set[int]:
        """The processes with an item that has begun and not ended."""
        processes: dict[str, int] = {}
        for line in self.path.read_text().splitlines():
            what, item, process = line.split()
            processes[item] = int(process) if what == "begin" else 0
        return set(processes.values()) - {0}


def study_with_a_lost_node(cluster: Nodes, folder: Path) -> None:
    labels, runs = ["a", "bb", "ccc"], range(40)
    diary = Diary(folder / "ray", 0.1)
    finished: list[tuple[str, int]] = []
    killed: list[bool] = []

    def progress(label: str, done: int) -> None:
        finished.append((label, done))
        if not killed and cluster.kill_one_at_work(diary.at_work):
            killed.append(True)

    before = cluster.alive
    far = RayBlocks().play_all(diary, labels, runs, progress)
    assert far == Threads(2).play_all(Diary(folder / "local", 0.0), labels, runs)
    assert sorted(finished) == [(label, done) for label in labels for done in range(1, 41)]  # each counted once
    assert len(killed) == 1
    cluster.wait_for(before - 1)
    begun = diary.begun()
    assert len(set(begun)) == 120
    assert len(begun) > 120  # what was lost was begun again


@pytest.mark.slow
def test_a_node_lost_in_the_middle_of_a_study(cluster: Nodes, tmp_path: Path) -> None:
    study_with_a_lost_node(cluster, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("repetition", range(10))
def test_nodes_lost_in_the_middle_of_studies(cluster: Nodes, tmp_path: Path, repetition: int) -> None:
    study_with_a_lost_node(cluster, tmp_path)


@pytest.mark.slow
def test_the_15_arm_study_gives_equal_files(tmp_path: Path) -> None:
    reproduce(["15arms"], tmp_path / "ray", Size(), None, "command", backend="ray")
    reproduce(["15arms"], tmp_path / "local", Size(), None, "command")
    assert files(tmp_path / "ray") == files(tmp_path / "local")


def test_blocks_are_neither_short_nor_long(tmp_path: Path) -> None:
    """Of items of 5 ms: but for the first and the last of a label, blocks take 0.1 s, and few tasks are needed."""
    begin = Diary(tmp_path / "diary", 0.005)
    block = play_block_here(begin, range(400), ray_backend.LEAST_SECONDS)
    assert 2 <= len(block.outcomes) <= 1 + 0.1 / 0.005
    assert block.seconds >= 0.005
    assert len(play_block_here(begin, range(30), float("inf")).outcomes) == 30
    for seconds, slots in [(1e-4, 2), (0.003, 6), (0.03, 6), (0.7, 4), (30.0, 8)]:
        cut = ray_backend._cut(range(1000), seconds, slots)
        assert [item for block in cut for item in block] == list(range(1000))
        sizes = {len(block) for block in cut}
        assert max(sizes) * seconds <= max(2.0, seconds) * 2
        assert min(sizes) * seconds >= min(0.1, 1000 * seconds) * 0.9 or min(sizes) == 1 <= seconds / 0.1


def play_block_here(begin: Diary, items: range, limit: float) -> ray_backend._Played:
    work = ray.put(ray.cloudpickle.dumps(begin))
    return play_block([work], "a", items, limit, program_stamp())


class Stubborn(Diary):
    def __call__(self, label: str) -> Callable[[int], float]:
        def one(item: int) -> float:
            if item == 3:
                raise RisingBanditsError(f"item {item} cannot be played.")
            return 0.0

        return one


class Deadly(Diary):
    def __call__(self, label: str) -> Callable[[int], float]:
        return lambda item: os._exit(3)


def test_errors_reach_the_caller_and_end_the_study(tmp_path: Path) -> None:
    with pytest.raises(RisingBanditsError, match=r"^item 3 cannot be played\.$"):
        RayBlocks().play_all(Stubborn(tmp_path, 0.0), ["a"], range(9))


@pytest.mark.slow
def test_a_block_that_kills_its_workers_ends_the_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_backend, "_RETRIES", 1)
    with pytest.raises(RisingBanditsError, match="a block of runs was lost 2 times on the cluster"):
        RayBlocks().play_all(Deadly(tmp_path, 0.0), ["a"], range(1))


def test_nodes_with_another_program_are_refused(tmp_path: Path) -> None:
    work = ray.put(ray.cloudpickle.dumps(Diary(tmp_path / "diary", 0.0)))
    with pytest.raises(RisingBanditsError, match="must have the program and the versions"):
        play_block([work], "a", range(1), 1.0, "another")


@pytest.mark.slow
def test_a_policy_in_the_middle_of_a_run_travels_by_its_settings() -> None:
    policy = get_policy("red-ucb", eps=0.1).reset(2, 50)
    policy.tell(0, 0.5)
    far = simulate(policy, "paper-2arms", horizon=200, runs=2, backend="ray")
    assert (
        far.final_regret["red-ucb"] == simulate(policy, "paper-2arms", horizon=200, runs=2).final_regret["red-ucb"]
    ).all()


def test_bad_arguments() -> None:
    with pytest.raises(RisingBanditsError, match="backend must be one of local, ray; got 'rays'"):
        simulate("red-ucb", "paper-2arms", horizon=10, backend="rays")
    with pytest.raises(RisingBanditsError, match="jobs must be an integer >= 1, got 0"):
        simulate("red-ucb", "paper-2arms", horizon=10, jobs=0, backend="ray")


WITHOUT_RAY = """
import sys
sys.modules["ray"] = None  # as if it were not installed
from risingbandits.cli import run
sys.exit(run({arguments!r}))
"""


@pytest.mark.parametrize("command", [["reproduce", "2arms", "--quick"], ["imdb", "curves"]], ids=" ".join)
def test_without_ray_one_sentence(command: list[str], tmp_path: Path) -> None:
    if "imdb" in command:
        pytest.importorskip("sklearn")
        command = [*command, "--dataset", "digits"]
    program = WITHOUT_RAY.format(
        arguments=["lab", "paper", *command, "--backend", "ray", "--out", str(tmp_path / "out")]
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    sentence = (
        "risingbandits: Ray is needed for backend 'ray': pip install 'risingbandits[ray]' or, "
        "before the first release, pip install '.[ray]' in a clone.\n"
    )
    assert (done.returncode, done.stderr) == (2, sentence)
