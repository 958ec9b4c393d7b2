"""What a prior from earlier runs costs: processor time to read it, and of each question that opens an arm.

    python benchmarks/prior_costs.py

5 earlier tasks of 80 curves with three settings each are read for 1,000 and for 10,000 arms of other settings. The
curves are made up: only their number matters here.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from risingbandits import Allocator
from risingbandits._core.tables import TextTable
from risingbandits.allocation.prior.tasks import EarlierTask
from risingbandits.policies import get_policy

Settings = dict[str, float | str]


def settings(rng: np.random.Generator) -> Settings:
    return {"lr": float(rng.random()), "decay": float(rng.random()), "optimizer": ["sgd", "adam"][int(rng.integers(2))]}


def earlier_tasks(rng: np.random.Generator) -> list[EarlierTask]:
    """Curves whose height depends on one of the settings."""
    tasks = []
    for number in range(5):
        known = {f"arm {number} {arm}": settings(rng) for arm in range(80)}
        rise = 1 - 0.9 ** np.arange(1, 31)
        curves = {name: float(own["lr"]) * rise + 0.01 * rng.standard_normal(30) for name, own in known.items()}
        tasks.append(EarlierTask(f"task {number}", curves, settings=known))
    return tasks


def cost(n_arms: int, policy: str | None) -> tuple[float, float, float]:
    """Seconds to create the allocator, and the median and the longest of the first questions that open an arm."""
    rng = np.random.default_rng(0)
    tasks = earlier_tasks(rng)
    names = [f"new {arm}" for arm in range(n_arms)]
    known = {name: settings(rng) for name in names}
    before = time.process_time()
    chosen = None if policy is None else get_policy(policy)
    allocator = Allocator(names, 2 * n_arms, policy=chosen, prior=tasks, configs=known, seed=0)
    reading = time.process_time() - before
    questions: list[float] = []
    for _ in range(min(400, 2 * n_arms)):
        before = time.process_time()
        pull = allocator.ask()
        assert pull is not None
        if pull.n == 1:
            questions.append(time.process_time() - before)
        allocator.tell(pull, float(known[pull.arm]["lr"]) * pull.n / (pull.n + 3))
    return (
        reading,
        float(np.median(questions)),
        max(questions[1:]),
    )  # the first also compiles, or loads what was compiled


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    rows = []
    cost(100, None)  # what is loaded once
    for n_arms in (1_000, 10_000):
        for label, policy in (("default policy", None), ("round-robin, which opens all", "round-robin")):
            reading, median, longest = cost(n_arms, policy)
            rows.append(
                (f"{n_arms:,} arms, {label}", f"{reading:.2f}", f"{1_000 * median:.1f}", f"{1_000 * longest:.1f}")
            )
    print(TextTable(("", "reading, s", "opening an arm, ms", "longest"), rows, frozenset({1, 2, 3})).markdown())


if __name__ == "__main__":
    main()
