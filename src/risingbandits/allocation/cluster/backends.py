"""One set of arms, wherever they are pulled: in threads of this process, in processes of this machine, or on Ray."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

from risingbandits._core.errors import RisingBanditsError, check_choice, shown
from risingbandits.allocation.arms.base import as_arm, makes_arm
from risingbandits.allocation.cluster.process_arms import ProcessArms
from risingbandits.allocation.cluster.ray_arms import RayArms
from risingbandits.allocation.cluster.remote_arms import itself

BACKENDS = ("threads", "processes", "ray")


@contextmanager
def arms_on(backend: str, arms: Mapping[str, Any], jobs: int) -> Iterator[Mapping[str, Any]]:
    """``arms`` as a backend pulls them, ``jobs`` at a time; its processes end with the context."""
    check_choice("backend", backend, BACKENDS)
    if backend == "threads":
        yield arms
        return
    if hasattr(arms, "belong_to"):
        raise RisingBanditsError(f"backend must be left out for {type(arms).__name__}, which already run elsewhere.")
    if not arms:
        raise RisingBanditsError("arms must be functions that make learners for run, got only names.")
    recipes = {name: recipe(name, arm, backend) for name, arm in arms.items()}
    processes = max(jobs, os.cpu_count() or 1)
    with ProcessArms(recipes, processes=processes) if backend == "processes" else RayArms(recipes) as remote:
        yield remote


def recipe(name: str, arm: Any, backend: str) -> Any:
    """What makes an arm elsewhere: as given, or something that returns a function of the pull, which has no state.

    >>> recipe("a", lambda: object(), "ray") is None
    False
    """
    if makes_arm(arm):
        return arm
    if hasattr(arm, "pull"):
        raise RisingBanditsError(
            f"arm {name!r} must be a function that makes it for backend={backend!r}, where another process makes and "
            f"keeps it, got an object: {shown(arm)}."
        )
    return partial(itself, as_arm(arm))
