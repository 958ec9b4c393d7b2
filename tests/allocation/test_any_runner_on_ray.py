"""A learner that is pulled here, on Ray and as a command, in any order on one store: pull n is its n-th step."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from any_runner import a_command, an_object, take_turns
from chain_arm import Chain
from programs import PATIENCE, program, until
from ray_cluster import Nodes, nodes
from risingbandits import Allocator
from risingbandits.allocation.cluster.ray_arms import RayArms
from risingbandits.allocation.stores.reader import open_reader


@pytest.fixture(scope="module")
def cluster() -> Iterator[Nodes]:
    with nodes(workers=0, cpus=2) as made:
        yield made


def on_ray(allocator: Allocator, folder: Path) -> Mapping[str, Any]:
    arms = RayArms({"a b": lambda: Chain("a b", folder / "diary")})
    arms.belong_to(allocator)
    return arms


ORDERS = list(itertools.permutations([an_object, on_ray, a_command]))
BY_ALL = ORDERS[0], ORDERS[3]  # in which Ray goes on with what another has begun, and another with what Ray has


@pytest.mark.parametrize(
    "order",
    [pytest.param(order, marks=[] if order in BY_ALL else [pytest.mark.slow]) for order in ORDERS],
    ids=lambda order: "-".join(runner.__name__ for runner in order),
)
def test_every_order(order: tuple[Any, ...], cluster: Nodes, tmp_path: Path) -> None:
    take_turns(list(order), tmp_path)


@pytest.mark.parametrize(
    ("signals", "code"),
    [
        pytest.param([signal.SIGINT], 130, marks=pytest.mark.slow),
        ([signal.SIGINT] * 2, 130),
        pytest.param([signal.SIGTERM], 143, marks=pytest.mark.slow),
    ],
)
def test_interrupted_commands(signals: list[signal.Signals], code: int, cluster: Nodes, tmp_path: Path) -> None:
    """The rules of Ctrl-C are those of commands on this machine."""
    plan = tmp_path / "plan.toml"
    wait = "echo $$ > {plan}/pid; while [ ! -e {plan}/go ]; do sleep 0.02; done; echo 0.5"
    plan.write_text(f'budget = 3\n[[arms]]\nname = "a"\ncommand = ["sh", "-c", "{wait}"]\n')
    pid, shown = tmp_path / "pid", tmp_path / "shown"
    words = [sys.executable, "-m", "risingbandits", "run", str(plan), "--backend", "ray"]
    environment = {**os.environ, "RAY_ADDRESS": cluster.cluster.address}
    with (
        shown.open("w") as output,
        program(words, env=environment, stdout=output, stderr=subprocess.STDOUT) as process,
    ):
        until(lambda: pid.exists() and pid.read_text().strip(), shown.read_text)
        for number in signals:
            process.send_signal(number)
            if number == signal.SIGINT:
                until(lambda: "Interrupted: finishing 1 running pull." in shown.read_text(), shown.read_text)
        if len(signals) == 1 and code == 130:
            (tmp_path / "go").touch()
        assert process.wait(PATIENCE) == code, shown.read_text()
    until(lambda: not Path(f"/proc/{pid.read_text().strip()}").exists())
    with open_reader(tmp_path / "plan.db") as history:
        kinds = [event.kind for event in history.events()]
    assert kinds == ["ask", "tell" if (tmp_path / "go").exists() else "expire"]
