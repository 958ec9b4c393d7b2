"""A learner that is pulled here, on Ray and as a command, in any order on one store: pull n is its n-th step."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from any_runner import a_command, an_object, take_turns
from chain_arm import Chain
from ray_cluster import Nodes, nodes
from risingbandits import Allocator
from risingbandits.allocation.cluster.ray_arms import RayArms


@pytest.fixture(scope="module")
def cluster() -> Iterator[Nodes]:
    with nodes(workers=0, cpus=2) as made:
        yield made


def on_ray(allocator: Allocator, folder: Path) -> Mapping[str, Any]:
    arms = RayArms({"a b": lambda: Chain("a b", folder / "diary")})
    arms.belong_to(allocator)
    return arms


ORDERS = list(itertools.permutations([an_object, on_ray, a_command]))


@pytest.mark.parametrize("order", ORDERS, ids=lambda order: "-".join(runner.__name__ for runner in order))
def test_every_order(order: tuple[Any, ...], cluster: Nodes, tmp_path: Path) -> None:
    take_turns(list(order), tmp_path)
