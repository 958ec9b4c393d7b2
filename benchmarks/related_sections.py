"""The smaller tables of the page on related algorithms, each with the problem that its methods are made for.

    python benchmarks/related_sections.py                 # all of them
    python benchmarks/related_sections.py power-laws      # one of them
    python benchmarks/related_sections.py --quick         # 2 runs of 500 rounds, to see that it works

Noise and horizon are told where a policy asks for them. Regrets are means; runs that end with a wrong arm, and standard
errors, stand beside them where the page has them.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from risingbandits import Result, RisingBandit, get_policy, get_problem, simulate
from risingbandits._core.tables import TextTable
from risingbandits.lab.related.triggers import graph_problem
from risingbandits.problems import (
    Bernoulli,
    ConstantCurve,
    Exponential,
    Gaussian,
    LinearCapped,
    NoNoise,
    PowerLaw,
    Tabulated,
)

PAPER = ("paper-2arms", "paper-15arms")
YARDSTICKS = ("red-ucb", "commit-ucb", "round-robin")
SCALES = ("", "(scale=0.01)", "(scale=0.003)", "(scale=0.001)", "(scale=0.0001)")
SIX = ((0.6, 0.1), (0.9, 0.9), (0.3, 0.2), (0.7, 0.4), (0.8, 0.7), (0.5, 0.3))  # limit and rise of power laws
LATE = ((0.3, 0.1), (0.4, 0.1), (0.5, 0.1), (0.6, 0.1), (0.75, 1.5))
JUMPS = ((0.9, 0.2, 0.2), (0.5, 0.5, 0.9), (0.2, 0.6, 0.6))  # levels of three arms, which hold for a while each

Cell = Callable[[Result, str], str]


class Size(NamedTuple):
    """How long and how often everything is played."""

    rounds: int | None = None  # the problem's own
    runs: int | None = None  # the table's own


def problem(name: str) -> RisingBandit:
    """A problem by the name that the page gives it."""
    if name == "six power laws":
        return RisingBandit([PowerLaw(limit, rise, 0.5) for limit, rise in SIX], Gaussian(0.05), 20_000)
    if name == "late power laws":
        return RisingBandit([PowerLaw(limit, rise, 0.5) for limit, rise in LATE], Gaussian(0.05), 600)
    if name == "24 of 25 stop early":
        return RisingBandit(
            [LinearCapped(1 / 20_000, 0.2 if arm < 24 else 1.0) for arm in range(25)], NoNoise(), 20_000
        )
    if name == "soon flat":
        return RisingBandit([LinearCapped(0.01, 0.1 + 0.03 * (7 * arm % 25)) for arm in range(25)], NoNoise(), 20_000)
    if name == "jumps":
        rows = [np.repeat(levels, [8_000, 6_000, 6_000]) for levels in JUMPS]
        return RisingBandit.from_array(rows, noise=Bernoulli(), restless=True)
    if name == "falling":
        fall = Tabulated(1.0 - 0.9 * np.arange(1, 20_001) / 20_000)
        return RisingBandit([fall, ConstantCurve(0.4), ConstantCurve(0.3)], Gaussian(0.1), 20_000)
    if name == "rising":
        return RisingBandit([Exponential(0.9, 0.02), Exponential(0.6, 0.5), Exponential(0.5, 0.5)], Bernoulli(), 20_000)
    if name == "claimed":
        return RisingBandit([PowerLaw(limit, 0.5, 0.5) for limit in (0.9, 0.7, 0.5, 0.5, 0.5)], Gaussian(0.1), 20_000)
    return get_problem(name)


def regret(result: Result, label: str) -> str:
    return f"{result.final_regret[label].mean():,.0f}"


def regret_and_error(result: Result, label: str) -> str:
    own = result.final_regret[label]
    return f"{own.mean():,.0f} ± {own.std(ddof=1) / np.sqrt(own.size):,.0f}"


def regret_and_wrong(result: Result, label: str) -> str:
    own = result.final_regret[label]
    return f"{own.mean():,.0f} ({round(result.error_rate(label).value * own.size)})"


def wrong(result: Result, label: str) -> str:
    return f"{100 * result.error_rate(label).value:.0f} %"


def column(
    name: str, policies: Sequence[str], runs: int, cell: Cell, size: Size, rounds: int | None = None
) -> list[str]:
    """The cells of all ``policies`` on a problem; a setting that the problem has no use for leaves its cell empty."""
    played = problem(name)
    wanted = {label: get_policy(label) for label in policies if label}
    horizon = size.rounds or rounds
    result = simulate(wanted, played, horizon=horizon, runs=size.runs or runs, seed=1, record_at=1)
    return [cell(result, label) if label else "" for label in policies]


def table(head: Sequence[str], labels: Sequence[str], columns: Sequence[Sequence[str]]) -> str:
    rows = [(label, *(cells[row] for cells in columns)) for row, label in enumerate(labels)]
    return TextTable(tuple(head), rows, frozenset(range(1, len(head)))).markdown()


def power_laws(size: Size) -> str:
    """Losses that fall like a known power."""
    labels = [f"{name}{scale}" for name in ("cella-etc", "rest-sure") for scale in SCALES]
    labels += ["model-halving", *YARDSTICKS]
    problems = (*PAPER, "six power laws")
    columns = [column(name, labels, 20, regret_and_wrong, size) for name in problems]
    return table(("regret (runs with a wrong arm)", *problems), labels, columns)


def late_power_laws(size: Size) -> str:
    """Halving by where a model of the curves ends."""
    labels = ["model-halving", "model-halving(ridge=10)", "model-halving(powers=(1.0,))", "r-ucbe", "r-sr"]
    labels.append("sequential-halving")
    horizons = (300, 600, 1_200)
    columns = [column("late power laws", labels, 200, wrong, size, rounds) for rounds in horizons]
    return table(("wrong in the end", *(f"T = {rounds:,}" for rounds in horizons)), labels, columns)


def random_round_robin(size: Size) -> str:
    """Random round robin with a bar, and the hybrid."""
    noisy = ["ptrr", "ptrr(m=0.9)", "ptrr(window=100)", "hybrid-ptrr", "hybrid-ptrr(window=100)"]
    noisy += ["hybrid-ptrr(window=1000)", *YARDSTICKS]
    still = ["ptrr", "ptrr(m=0.95)", "", "hybrid-ptrr", "", "", *YARDSTICKS]
    columns = [column(name, noisy, 20, regret, size) for name in PAPER]
    columns.append(column("soon flat", still, 20, regret, size))
    columns += [column("24 of 25 stop early", still, runs, regret, size) for runs in (20, 200)]
    head = ("regret; m = 0.95 without noise", *PAPER, "soon flat", "24 of 25 stop early", "the same, 200 runs")
    return table(head, noisy, columns)


def model_selection(size: Size) -> str:
    """Change detection, windows, forced pulls and model selection."""
    labels = ["cusum-ucb", "m-ucb", "glr-kl-ucb", "glr-kl-ucb(restart='global')", "sw-gaussian-ts", "et-ts"]
    labels += ["et-beta-ts", "et-gaussian-ts", "et-sw-gaussian-ts", "corral", "regret-balancing"]
    balancing = [f"regret-balancing({setting})" for setting in ("d=0.3", "d=3.0", "c=0.3")]
    others = ["sw-ucb", "sw-ts", "exp3-s", "ucb1", "kl-ucb", "round-robin", "red-ucb", "beta-ts", "gaussian-ts"]
    every = [*labels, *balancing, *others]
    columns = [column(name, [*labels, *balancing, *[""] * len(others)], 10, regret_and_error, size) for name in PAPER]
    homes = ("jumps", "rising", "claimed")
    columns += [column(name, every, 20, regret_and_error, size) for name in homes]
    return table(("policy", *PAPER, *homes), every, columns)


def cited(size: Size) -> str:
    """FEWA, wSWA and AdSwitch."""
    labels = ["fewa", "fewa(alpha=0.06)", "wswa", "raw-ucb", "ad-switch", "glr-kl-ucb", "corral"]
    long = ["", "", "wswa", "", "ad-switch(every=100)", "", ""]
    columns = [column(name, labels, 20, regret_and_error, size) for name in ("falling", "jumps")]
    columns += [column(name, long, 10, regret_and_error, size) for name in PAPER]
    return table(("ad-switch has every = 100 on the paper's", "falling", "jumps", *PAPER), labels, columns)


def graphs(size: Size) -> str:
    """Arms that make each other rise: regret in % of what the best policy earns."""
    labels = ["graph-red-ucb", "red-ucb", "r-less-ucb", "commit-ucb", "round-robin"]
    noises: dict[str, NoNoise | Gaussian] = {
        "no noise": NoNoise(),
        "sigma 0.01": Gaussian(0.01),
        "sigma 0.1": Gaussian(0.1),
    }
    columns = []
    for noise in noises.values():
        lost: dict[str, list[float]] = {label: [] for label in labels}
        for seed in range(20 if size.runs is None else size.runs):
            drawn = graph_problem(12, size.rounds or 20_000, seed=seed, noise=noise, cliques=4)
            result = simulate(labels, drawn, runs=2, seed=seed, record_at=1)
            for label in labels:
                lost[label].append(100 * float(result.final_regret[label].mean()) / drawn.oracle_value())
        columns.append([f"{np.mean(own):.3g} ± {np.std(own, ddof=1) / np.sqrt(len(own)):.2g}" for own in lost.values()])
    return table(("% of the best policy", *noises), labels, columns)


TABLES = {
    "power-laws": power_laws,
    "late-power-laws": late_power_laws,
    "random-round-robin": random_round_robin,
    "model-selection": model_selection,
    "cited": cited,
    "graphs": graphs,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=f"of {', '.join(TABLES)}; default: all")
    parser.add_argument("--quick", action="store_true", help="2 runs of 500 rounds")
    given = parser.parse_args()
    if unknown := set(given.tables) - set(TABLES):
        parser.error(f"tables must be among {', '.join(TABLES)}, got {', '.join(sorted(unknown))}")
    for name in given.tables or TABLES:
        summary = (TABLES[name].__doc__ or "").splitlines()[0]
        print(f"{summary}\n\n{TABLES[name](Size(500, 2) if given.quick else Size())}", flush=True)


if __name__ == "__main__":
    main()
