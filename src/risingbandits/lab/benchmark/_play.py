"""Play policies on benchmarks, on a backend, reusing what was played before."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from risingbandits._core.errors import RisingBanditsError, check_choice, check_positive_int
from risingbandits._core.progress import Advance
from risingbandits.lab.benchmark._cells import Cell, Cells
from risingbandits.lab.benchmark._policies import LabelledPolicy, default_policies, given_policies
from risingbandits.lab.benchmark._problems import OBJECTIVES, Benchmark
from risingbandits.lab.benchmark.suite import suite
from risingbandits.lab.benchmark.synthetic import Sizes
from risingbandits.policies import Policy
from risingbandits.simulation._backends import Backend, backend_for

Bar = Callable[[int], AbstractContextManager[Advance]]
"""A progress bar for the given number of runs."""


@dataclass(frozen=True)
class Outcome:
    """What every policy got on every benchmark; ``labels`` says what each label stands for."""

    cells: Mapping[Benchmark, Mapping[str, Cell]]
    labels: Mapping[str, str]
    left_out: Sequence[str] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    played: int = 0  # runs that the folder did not have


def play_benchmarks(
    policies: str | Sequence[str] | Mapping[str, str | Policy | None] | None = None,
    *,
    folder: Path,
    benchmarks: Sequence[str] | None = None,
    objectives: Sequence[str] = OBJECTIVES,
    sizes: Sizes | None = None,
    seed: int = 0,
    data: str | None = None,
    backend: str | Backend = "local",
    jobs: int | None = None,
    bar: Bar | None = None,
) -> Outcome:
    """Play what is not in the folder yet.

    Parameters
    ----------
    policies : dict of label -> policy, sequence of str or str, optional
        Policies, as objects or as strings with parameters: "red-ucb(eps=0.1)"; None is the recommended policy. By
        default a selection for each objective.
    folder : path
        Where the runs are kept.
    benchmarks : sequence of str, optional
        Their names, groups or kinds ("real", "made", "synthetic"); by default all.
    objectives : sequence of str
        "cumulative", "best-arm" or both.
    sizes : Sizes, optional
        How much work.
    seed : int
        Decides instances, noise and draws.
    data : str, optional
        The folder that holds ``curves/``; by default that of RISINGBANDITS_DATA.
    """
    for objective in objectives:
        check_choice("objective", objective, OBJECTIVES)
    check_positive_int("seed", seed, minimum=0)
    sizes = Sizes() if sizes is None else sizes
    data = os.environ.get("RISINGBANDITS_DATA") if data is None else data
    chosen, left_out = suite(benchmarks, objectives, seed, sizes, data)
    if not chosen:
        raise RisingBanditsError(" ".join(left_out) or "benchmarks must leave at least one to play, got none.")
    asked = {
        objective: _labelled(default_policies(objective, sizes.quick) if policies is None else given_policies(policies))
        for objective in objectives
    }
    total = sum(benchmark.runs * len(asked[benchmark.objective]) for benchmark in chosen)
    found: dict[Benchmark, Mapping[str, Cell]] = {}
    with backend_for(backend, jobs) as players, (bar or _no_bar)(total) as advance:
        cells = Cells(folder, players)
        for benchmark in chosen:
            cells.advance = lambda label, run, name=benchmark.name: advance(f"{name}: {label}", run)  # type: ignore[misc]
            found[benchmark] = cells.of(benchmark, asked[benchmark.objective])
    shown = {each.label: each.text for objective in OBJECTIVES for each in asked.get(objective, ())}
    return Outcome(found, shown, left_out, {"seed": seed, **vars(sizes)}, cells.played)


def _labelled(policies: Mapping[str, Policy | None]) -> list[LabelledPolicy]:
    return [LabelledPolicy(label, policy) for label, policy in policies.items()]


def _no_bar(_total: int) -> AbstractContextManager[Advance]:
    return nullcontext(lambda _label, _run: None)
