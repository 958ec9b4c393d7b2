"""Regret of related algorithms, cited by the paper or later, beside the paper's policy and this package's.

    python benchmarks/related_algorithms.py                          # all that are registered; tables on the terminal
    python benchmarks/related_algorithms.py cure-ucb raw-ucb         # these beside the four yardsticks
    python benchmarks/related_algorithms.py --out related-algorithms.md             # and the tables into a file
    python benchmarks/related_algorithms.py --quick                  # 2 runs of 2,000 rounds, to see that it works

The problems are the paper's two and the random ones, then four on which some of them are at home: lines, lines that
become flat, an arm that falls, and arms that rise with time. Noise and horizon are told where a policy asks for them.
Cells are mean regrets with 95 % intervals, the lowest of a problem in bold.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from risingbandits import RisingBandit, RisingBanditsError, get_problem, policy_names, simulate
from risingbandits._core.files import write_whole
from risingbandits._core.tables import TextTable
from risingbandits.policies._parsing import parse_policies
from risingbandits.problems import ConstantCurve, Curve, Gaussian, Tabulated

YARDSTICKS = ("red-ucb", "commit-ucb", "auto", "kl-ucb")
RELATED = (
    "cure-ucb",
    "cure-ucb(ceiling=1)",
    "ti-ucb",
    "linear-ee",
    "linear-ae",
    "rc-be",
    "raw-ucb",
    "rest-sure",
    "cella-etc",
    "ptrr",
    "hybrid-ptrr",
    "cusum-ucb",
    "m-ucb",
    "glr-kl-ucb",
    "sw-gaussian-ts",
    "et-gaussian-ts",
    "et-sw-gaussian-ts",
    "et-beta-ts",
    "corral",
    "regret-balancing",
)
PROBLEMS = ("paper-15arms", "paper-2arms", "random-2", "random-3", "random-4", "random-5", "random-6")
HOMES = ("linear", "linear-then-flat", "falling", "restless")
HOME_HORIZON = 100_000
LINES = ((0.3, 0.0), (0.25, 0.1), (0.2, 0.2), (0.1, 0.3), (0.05, 0.95))  # start, and rise up to the end
BENT_LINES = ((0.5, 0.02), (0.4, 0.01), (0.6, 0.1), (0.9, 0.2))  # top, and the share of the rounds that it takes
CURVES = ((0.5, 0.02), (0.7, 0.1), (0.95, 0.3))  # limit, and the share of the rounds that 63 % of it take


def home(name: str, horizon: int | None) -> RisingBandit:
    """A problem on which some of the related algorithms are at home, of one shape each, with noise of 0.1."""
    rounds = HOME_HORIZON if horizon is None else horizon
    share = np.arange(1.0, rounds + 1) / rounds
    curves: list[Curve]
    if name == "linear":  # the last arm starts lowest and earns most
        curves = [Tabulated(start + rise * share) for start, rise in LINES]
    elif name == "linear-then-flat":  # the last arm takes longest and earns most
        curves = [Tabulated(top * np.minimum(1.0, share / reached)) for top, reached in BENT_LINES]
    elif name == "falling":  # the first arm is best until it has fallen to 0.4
        curves = [Tabulated(1.0 - 0.9 * share), ConstantCurve(0.4), ConstantCurve(0.3)]
    else:  # "restless": each arm is the best for a while
        curves = [Tabulated(limit * (1.0 - np.exp(-share / scale))) for limit, scale in CURVES]
    return RisingBandit(curves, Gaussian(0.1), rounds, name, restless=name == "restless")


def chosen(wanted: Sequence[str]) -> list[str]:
    """The yardsticks, then what is wanted or else all related algorithms that are registered."""
    if not wanted:
        wanted = [name for name in RELATED if name.partition("(")[0] in policy_names()]
    return [*YARDSTICKS, *(name for name in wanted if name not in YARDSTICKS)]


def measure(
    names: Sequence[str], problems: Sequence[str], runs: int, horizon: int | None, seed: int, jobs: int | None
) -> TextTable:
    """Mean regret of every policy on every problem with its 95 % interval, the lowest of a problem in bold."""
    policies = parse_policies(",".join(names), objective="cumulative")
    columns = []
    for problem in problems:
        played = home(problem, horizon) if problem in HOMES else get_problem(problem)
        result = simulate(
            policies, played, horizon=horizon, runs=runs, seed=seed, jobs=jobs, record_at=1, objective="cumulative"
        )
        means = {name: float(result.mean(name)[-1]) for name in names}
        best = min(means.values())
        cells = {
            name: f"{mean:,.0f} ± {float(result.half_width(name)[-1]):,.0f}" if runs > 1 else f"{mean:,.0f}"
            for name, mean in means.items()
        }
        columns.append({name: f"**{cell}**" if means[name] == best else cell for name, cell in cells.items()})
    rows = [(name, *(column[name] for column in columns)) for name in names]
    return TextTable(("policy", *problems), rows, frozenset(range(1, len(problems) + 1)))


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "policies", nargs="*", help="names, also with settings: 'cure-ucb(ceiling=1)'; default: all of them"
    )
    parser.add_argument("--problems", nargs="+", metavar="NAME", help="those of one table; default: two tables of all")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--horizon", type=int, default=None, help="rounds; by default each problem's own")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=None, help="threads; the result does not depend on it")
    parser.add_argument("--out", type=Path, default=None, help="a file for the table")
    parser.add_argument("--quick", action="store_true", help="2 runs of 2,000 rounds")
    options = parser.parse_args(words)
    if options.quick:
        options.runs, options.horizon = 2, 2_000
    sets = [options.problems] if options.problems else [PROBLEMS, HOMES]
    try:
        names = chosen(options.policies)
        tables = [measure(names, one, options.runs, options.horizon, options.seed, options.jobs) for one in sets]
    except RisingBanditsError as error:
        parser.error(str(error))
    text = "\n".join(table.markdown() for table in tables)
    print(text, end="")
    if options.out is not None:
        write_whole(options.out, text.encode())


if __name__ == "__main__":
    main()
