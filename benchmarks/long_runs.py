"""Regret where there are many rounds for each arm: what the parameter-free `auto` loses, beside CommitUCB and KL-UCB.

    python benchmarks/long_runs.py               # some ten minutes
    python benchmarks/long_runs.py --quick       # small sizes, to see that it works

The paper's two problems, both sides of the pair that its lower bound is built on (beta 0.7), random problems with
Gaussian noise and with 0/1 rewards, and arms that do not rise. The seed has not been used to choose anything.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from rich.console import Console

from risingbandits import Policy, RisingBandit, get_problem, simulate
from risingbandits._core.tables import TextTable
from risingbandits._core.types import Floats
from risingbandits.lab.paper.pairs import problem_pair
from risingbandits.policies import KLUCB, Auto, CommitUCB
from risingbandits.problems import Bernoulli, ConstantCurve, Gaussian, Noise, random_problem

SEED = 7_001
SIGMA = 0.1
BAD = 4_000  # of the regret: runs above it went wrong on the paper's problems
AUTO: dict[str, Policy] = {"auto, parameter-free": Auto("cumulative")}
SIGMA_TOLD: dict[str, Policy] = {"auto, given sigma": Auto("cumulative", sigma=SIGMA)}
HALF: dict[str, Policy] = {"auto, given half of sigma": Auto("cumulative", sigma=SIGMA / 2)}
TOLD: dict[str, Policy] = {"commit-ucb, given sigma": CommitUCB(sigma=SIGMA)}
BESIDE_KL: dict[str, Policy] = {**AUTO, "kl-ucb": KLUCB()}


class Row(NamedTuple):
    """One problem, or several drawn by number, and who plays it."""

    label: str
    problems: Sequence[Callable[[], RisingBandit]]
    runs: int
    policies: dict[str, Policy]


def constant_arms(number: int) -> RisingBandit:
    """Ten arms that do not rise, with means uniform in [0, 1]."""
    means = np.random.default_rng([SEED, number]).random(10)
    return RisingBandit([ConstantCurve(float(mean)) for mean in means], Gaussian(SIGMA), 100_000)


def drawn(noise: Noise, horizon: int, number: int) -> RisingBandit:
    """A random problem; the arms of a number are the same with any noise."""
    return random_problem(None, horizon, np.random.SeedSequence([SEED, number]), noise)


def paired(horizon: int, side: int) -> RisingBandit:
    """One side of the pair for which no policy is good on both."""
    return problem_pair("beta", horizon, beta=0.7, noise=Gaussian(SIGMA)).sides[side]


def rows(scale: int) -> list[Row]:
    """Everything that is played; ``scale`` divides numbers of runs and rounds."""
    runs, many, horizon = max(2, 300 // scale), range(max(2, 600 // scale)), max(2_000, 50_000 // scale)
    both = {**AUTO, **SIGMA_TOLD, **TOLD}
    return [
        Row("paper-15arms", [partial(get_problem, "paper-15arms")], runs, both),
        Row("paper-2arms", [partial(get_problem, "paper-2arms")], runs, {**both, **HALF}),
        Row("pair, beta 0.7, side A", [partial(paired, horizon, 0)], runs, AUTO),
        Row("pair, beta 0.7, side B", [partial(paired, horizon, 1)], runs, {**AUTO, **SIGMA_TOLD}),
        Row("random, Gaussian", [partial(drawn, Gaussian(SIGMA), horizon, i) for i in many], 1, BESIDE_KL),
        Row("random, 0/1 rewards", [partial(drawn, Bernoulli(), horizon, i) for i in many], 1, BESIDE_KL),
        Row("arms that do not rise", [partial(constant_arms, i) for i in many][:50], 2, BESIDE_KL),
    ]


def play(row: Row, quick: bool) -> dict[str, Floats]:
    """Final regrets of each policy: a row for each problem, a column for each run."""
    found: dict[str, list[Floats]] = {name: [] for name in row.policies}
    for make in row.problems:
        problem = make()
        horizon = 2_000 if quick else problem.horizon
        result = simulate(row.policies, problem, horizon, runs=row.runs, seed=SEED, record_at=1)
        for name, regrets in found.items():
            regrets.append(result.final_regret[name])
    return {name: np.array(regrets) for name, regrets in found.items()}


def ratio_of_sums(own: Floats, other: Floats) -> str:
    """A sum of regrets over another, with a 95 % interval that resamples problems: a few of them decide."""
    rng = np.random.default_rng(SEED)
    drawn_again = rng.integers(len(own), size=(2_000, len(own)))
    ratios = own.sum(axis=1)[drawn_again].sum(axis=1) / other.sum(axis=1)[drawn_again].sum(axis=1)
    low, high = np.quantile(ratios, [0.025, 0.975])
    return f"{own.sum() / other.sum():.2f} [{low:.2f}, {high:.2f}]"


def lines_of(row: Row, regrets: dict[str, Floats]) -> list[tuple[str, ...]]:
    """Lines of the table: mean with a 95 % interval, the worst run, bad ones, and the sum beside KL-UCB's."""
    lines: list[tuple[str, ...]] = []
    for name, found in regrets.items():
        means = found.mean(axis=1) if len(found) > 1 else found[0]  # what was drawn independently
        width = 1.96 * means.std(ddof=1) / np.sqrt(means.size)
        beside = regrets.get("kl-ucb")
        ratio = "" if beside is None else ratio_of_sums(found, beside)
        bad = "" if len(found) > 1 else f"{(found > BAD).sum()} of {found.size}"
        played = f"{len(found)} x {row.runs}" if len(found) > 1 else str(row.runs)  # problems, runs of each
        less = "" if beside is None or found is beside else f"{(found.sum(axis=1) < beside.sum(axis=1)).mean():.0%}"
        regret = f"{found.mean():,.0f} ± {width:,.0f}"
        lines.append((row.label, name, played, regret, f"{found.max():,.0f}", bad, ratio, less))
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few runs of 2,000 rounds")
    quick = parser.parse_args().quick
    console = Console()
    heads = ("problem", "policy", "runs", "regret", "worst", f"above {BAD:,}", "of KL-UCB's", "problems with less")
    lines: list[tuple[str, ...]] = []
    for row in rows(100 if quick else 1):
        console.print(f"{row.label} ...", style="dim")
        lines += lines_of(row, play(row, quick))
    print(TextTable(heads, lines, frozenset(range(2, len(heads)))).markdown())


if __name__ == "__main__":
    main()
