"""Arms on a cluster: learners that live there, make room, die and come back, nodes that are lost; the store counts."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from test_finished import check as check_finished
from test_finished import makers

from chain_arm import Chain, UnsavedChain, expected
from ray_cluster import Nodes, nodes, ray
from risingbandits import Allocator, Execution
from risingbandits._core.errors import RisingBanditsError
from risingbandits.allocation.cluster.ray_arms import RayArms
from risingbandits.allocation.stores.reader import open_reader
from risingbandits.cli import run


@pytest.fixture(scope="module")
def cluster() -> Iterator[Nodes]:
    with nodes(workers=0, cpus=4) as made:
        yield made


@pytest.fixture(autouse=True)
def _whole(cluster: Nodes, request: pytest.FixtureRequest) -> None:
    """One node is enough for quick tests; slow ones have three."""
    if request.node.get_closest_marker("slow"):
        cluster.heal(2)


def chains(names: str, diary: Path, kind: type[Chain] = Chain, **settings: Any) -> dict[str, Any]:
    """A function for each arm that makes its learner."""
    return {name: (lambda name=name: kind(name, diary, **settings)) for name in names}


def told(store: Path) -> list[tuple[str, int]]:
    reader = open_reader(store)
    try:
        return [(event.arm, event.n) for event in reader.events() if event.kind == "tell"]
    finally:
        reader.close()


def check(allocator: Allocator, store: Path, budget: int) -> None:
    """All is spent, every pull counts once, and no learner has missed or repeated one."""
    assert allocator.spent == budget
    counted = told(store)
    assert len(counted) == len(set(counted)) == budget
    for name in allocator.arms:
        rewards = allocator.rewards(name)
        assert rewards == expected(name, len(rewards))


def begun(diary: Path) -> list[list[str]]:
    """Arm, n, attempt, id and process of all pulls that have begun."""
    return [line.split()[1:] for line in diary.read_text().splitlines() if line.startswith("begin")]


def at_work(diary: Path) -> set[int]:
    """The processes with a pull that has begun and not ended."""
    processes: dict[str, int] = {}
    for line in diary.read_text().splitlines():
        what, name, *_, process = line.split()
        processes[name] = int(process) if what == "begin" else 0
    return set(processes.values()) - {0}


def test_arms_of_the_allocator_as_they_are(tmp_path: Path) -> None:
    """What runs in threads and in processes runs here, by one word."""
    store, diary = tmp_path / "store.db", tmp_path / "diary"
    with Allocator(chains("abcd", diary), 12, store=store, policy="round-robin") as allocator:
        allocator.run(jobs=3, progress=False, backend="ray", keep=4)
        check(allocator, store, 12)
    assert len(begun(diary)) == 12


def test_arms_that_end_are_finished(tmp_path: Path) -> None:
    with Allocator(makers(), 1000, store=tmp_path / "store.db") as allocator:
        allocator.run(jobs=2, progress=False, backend="ray")
        check_finished(allocator)


@pytest.mark.slow
def test_learners_stay_in_memory(tmp_path: Path) -> None:
    store, diary = tmp_path / "store.db", tmp_path / "diary"
    with Allocator(list("abcd"), 40, store=store) as allocator, RayArms(chains("abcd", diary)) as arms:
        allocator.run(jobs=3, progress=False, arms=arms)
        check(allocator, store, 40)
    made = begun(diary)
    assert len(made) == 40  # nothing twice
    assert len({(arm, process) for arm, _, _, _, process in made}) == 4  # one process for each arm
    assert len({process for *_, process in made}) == 4


@pytest.mark.slow
def test_arms_that_exceed_the_cluster_make_room_and_come_back(tmp_path: Path) -> None:
    store, diary = tmp_path / "store.db", tmp_path / "diary"
    arms = RayArms(chains("abc", diary), slots=2, checkpoint_every=1_000)
    with Allocator(list("abc"), 7, store=store, policy="round-robin") as allocator, arms:
        allocator.run(jobs=1, progress=False, arms=arms)
        check(allocator, store, 7)
    made = begun(diary)
    assert len(made) == 7  # restored, not trained again
    assert len({process for *_, process in made}) > 3


@pytest.mark.slow
def test_room_is_counted_by_resources(tmp_path: Path) -> None:
    """Three nodes of 4 CPUs hold three processes of 3 CPUs and one of 1 beside each."""
    store, diary = tmp_path / "store.db", tmp_path / "diary"
    arms = RayArms(
        chains("abcdz", diary), tmp_path / "checkpoints", resources={"CPU": 3}, arm_resources={"z": {"CPU": 0.5}}
    )
    with Allocator(list("abcdz"), 8, store=store, policy="round-robin") as allocator, arms:
        allocator.run(progress=False, arms=arms)
        check(allocator, store, 8)
    processes: dict[str, set[str]] = {name: set() for name in "abcdz"}
    for name, *_, process in begun(diary):
        processes[name].add(process)
    assert len(processes["z"]) == 1
    assert sum(map(len, processes.values())) > 5


def test_a_process_that_ends_is_restored(tmp_path: Path) -> None:
    store, diary = tmp_path / "store.db", tmp_path / "diary"
    arms = RayArms(chains("ab", diary, dies_at=5), checkpoint_every=3)
    with Allocator(list("ab"), 16, store=store, policy="round-robin") as allocator, arms:
        allocator.run(jobs=2, progress=False, arms=arms)
        check(allocator, store, 16)
    of_a = [made[1:4] for made in begun(diary) if made[0] == "a"]
    again = [n for n, _, id in of_a if id == "0"]
    assert set(again) <= {"4"}  # the checkpoint was that after pull 3, or after 4 where the arm had to make room
    assert ["5", "2"] in [made[:2] for made in of_a]  # pull 5, second attempt


@pytest.mark.slow
def test_a_learner_that_cannot_be_saved_is_trained_again(tmp_path: Path) -> None:
    store, diary = tmp_path / "store.db", tmp_path / "diary"
    arms = RayArms(chains("ab", diary, UnsavedChain, dies_at=4))
    with Allocator(list("ab"), 12, store=store, policy="round-robin") as allocator, arms:
        allocator.run(progress=False, arms=arms)
        check(allocator, store, 12)
    assert [made[1] for made in begun(diary) if made[0] == "a" and made[3] == "0"] == ["1", "2", "3"]


@pytest.mark.slow
def test_an_interrupted_allocation_goes_on(tmp_path: Path) -> None:
    """In two programs, with the same store: the second begins with the checkpoints of the first."""
    store, diary = tmp_path / "store.db", tmp_path / "diary"
    for budget in (7, 20):
        with (
            Allocator(list("abc"), 20, store=store, policy="round-robin") as allocator,
            RayArms(chains("abc", diary)) as arms,
        ):
            if budget == 7:
                for _ in range(budget):
                    pull = allocator.ask()
                    assert pull is not None
                    arms.belong_to(allocator)
                    allocator.tell(pull, arms[pull.arm].pull(pull))  # type: ignore[arg-type]
            else:
                allocator.run(jobs=3, progress=False, arms=arms)
            assert allocator.spent == budget
    with Allocator.open(store) as allocator:
        check(allocator, store, 20)
    assert len(begun(diary)) == 20


def allocation_with_a_lost_node(cluster: Nodes, folder: Path) -> None:
    store, diary, budget = folder / "store.db", folder / "diary", 80
    diary.touch()
    names = "abcdef"
    before = cluster.alive
    acknowledged: list[list[tuple[str, int]]] = []
    killed, over = threading.Event(), threading.Event()
    with (
        Allocator(list(names), budget, store=store, policy="round-robin") as allocator,
        RayArms(chains(names, diary, seconds=0.1), checkpoint_every=2) as arms,
    ):

        def kill() -> None:
            deadline = time.monotonic() + 600
            while time.monotonic() < deadline:
                if len(told(store)) >= 20:
                    acknowledged.append(told(store))
                    if cluster.kill_one_at_work(lambda: at_work(diary)):
                        killed.set()
                        return
                if over.wait(0.02):
                    return

        killer = threading.Thread(target=kill)
        killer.start()
        allocator.run(jobs=5, progress=False, arms=arms)
        over.set()
        killer.join()
        check(allocator, store, budget)
    assert killed.is_set()
    cluster.wait_for(before - 1)
    assert set(acknowledged[-1]) <= set(told(store))
    assert any(attempt == "2" for _, _, attempt, _, _ in begun(diary))  # something was lost, and given again


@pytest.mark.slow
def test_a_node_lost_in_the_middle_of_an_allocation(cluster: Nodes, tmp_path: Path) -> None:
    allocation_with_a_lost_node(cluster, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("repetition", range(10))
def test_nodes_lost_in_the_middle_of_allocations(cluster: Nodes, tmp_path: Path, repetition: int) -> None:
    allocation_with_a_lost_node(cluster, tmp_path)


PLAN = """
budget = 6
policy = "round-robin"

[defaults]
command = ["/bin/sh", "{plan}/learn.sh"]

[[arms]]
name = "a"

[[arms]]
name = "b"
"""
LEARN = """
old=0; [ -f "$RISINGBANDITS_PREVIOUS" ] && old=$(cat "$RISINGBANDITS_PREVIOUS")
echo $((old + 1)) > "$RISINGBANDITS_CHECKPOINT"
[ "$RISINGBANDITS_PULL$RISINGBANDITS_ATTEMPT" = 21 ] && exit 9
echo "0.$((old + 1))"
"""


def test_commands_of_a_plan_run_on_the_cluster(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each command counts its own pulls; the first attempt at every second pull fails after it has counted."""
    (tmp_path / "plan.toml").write_text(PLAN)
    (tmp_path / "learn.sh").write_text(LEARN)
    plan = str(tmp_path / "plan.toml")
    assert run(["run", plan, "--backend", "ray", "--jobs", "2", "--resources", "CPU=0.5"]) == 0
    store = next(line.removeprefix("Store: ") for line in capsys.readouterr().out.splitlines() if "Store: " in line)
    with Allocator.open(store) as allocator:
        assert allocator.spent == 6
        for name in "ab":
            rewards = allocator.rewards(name)
            assert rewards == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6][: len(rewards)]
    assert run(["run", plan, "--resources", "CPU=2"]) == 2
    assert run(["run", plan, "--backend", "ray", "--resources", "2"]) == 2
    assert run(["run", plan, "--backend", "cloud"]) == 2
    errors = capsys.readouterr().err
    assert "resources are for --backend ray, got 'CPU=2'" in errors
    assert "resources must be like CPU=2,GPU=0.5, got '2'" in errors
    assert "backend must be one of local, ray; got 'cloud'" in errors


@pytest.mark.slow
def test_exceptions_of_a_learner_are_failures(tmp_path: Path) -> None:
    def raises(pull: Any) -> float:
        raise ArithmeticError("diverged")

    with Allocator(list("ab"), 6, store=tmp_path / "s.db", execution=Execution(retries=2)) as allocator:
        arms = RayArms({"a": lambda: raises, "b": lambda: lambda pull: 0.5})
        with arms:
            allocator.run(progress=False, arms=arms)
        assert (allocator.spent, allocator.rewards("a")) == (6, [])
        reasons = {arm.name: arm.retired for arm in allocator.ledger.arms}
    assert "ArithmeticError: diverged" in str(reasons["a"])


def test_bad_arguments(tmp_path: Path) -> None:
    with pytest.raises(RisingBanditsError, match="arms must map names to functions that make learners"):
        RayArms({"a": 3})  # type: ignore[dict-item]
    with pytest.raises(RisingBanditsError, match="arm_resources must name arms, got 'b'"):
        RayArms({"a": list}, arm_resources={"b": {"CPU": 1}})
    with pytest.raises(RisingBanditsError, match=r"resources\['CPU'\] must be a finite number >= 0, got -1"):
        RayArms({"a": list}, resources={"CPU": -1})
    with pytest.raises(RisingBanditsError, match="checkpoint_every must be an integer >= 1, got 0"):
        RayArms({"a": list}, checkpoint_every=0)
    with pytest.raises(RisingBanditsError, match="slots must be an integer >= 1, got 0"):
        RayArms({"a": list}, slots=0)
    for arms, complaint in [
        (RayArms({"a": lambda: Chain("a")}), "folder must be given"),
        (RayArms({"a": lambda: Chain("a")}, tmp_path, resources={"GPU": 8}), "which no node of the cluster has"),
    ]:
        with (
            arms,
            Allocator(list("a"), 3, execution=Execution(retries=1)) as allocator,
            pytest.raises(RisingBanditsError, match=complaint),
        ):
            allocator.run(progress=False, arms=arms)


def test_a_program_that_is_connected_stays_so(tmp_path: Path) -> None:
    with RayArms({"a": lambda: Chain("a")}, tmp_path) as arms, Allocator(list("a"), 2) as allocator:
        allocator.run(progress=False, arms=arms)
    assert ray.is_initialized()


def test_without_ray_one_sentence() -> None:
    program = (
        "import sys; sys.modules['ray'] = None; from risingbandits.allocation import RayArms; RayArms({'a': list})"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    sentence = (
        "RisingBanditsError: Ray is needed for RayArms: pip install 'risingbandits[ray]' or, before the first release, "
        "pip install '.[ray]' in a clone."
    )
    assert done.stderr.strip().endswith(sentence)
