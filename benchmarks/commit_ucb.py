"""What the page on CommitUCB says: regrets on fresh seeds, by rule and confidence, and where a rule loses on purpose.

    python benchmarks/commit_ucb.py               # five tables, a minute
    python benchmarks/commit_ucb.py --quick       # small sizes, to see that it works

"Optimism" is `risk=None, recheck=0`. Intervals are 95 % (Student t). The seed has not been used to choose anything.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

import numpy as np

from risingbandits import Policy, Result, RisingBandit, get_policy, get_problem, simulate
from risingbandits._core.tables import TextTable
from risingbandits.lab.paper.pairs import problem_pair
from risingbandits.policies import KLUCB, CommitUCB
from risingbandits.problems import (
    Bernoulli,
    ConstantCurve,
    FunctionCurve,
    Gaussian,
    Noise,
    NoNoise,
    Tabulated,
    power_law_problem,
    random_problem,
)

SEED = 2_027
SIGMA = 0.1
PAPER = ("paper-15arms", "paper-2arms")
RULES = {"CommitUCB": CommitUCB(), "optimism": CommitUCB(risk=None, recheck=0)}


class Size(NamedTuple):
    """Numbers of runs, and what divides horizons."""

    runs: int
    many: int
    few: int
    divide: int


def played(policies: Mapping[str, Policy], problem: RisingBandit, runs: int, size: Size) -> Result:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a told sigma is too small: the page says so
        horizon = (problem.horizon or 0) // size.divide
        return simulate(dict(policies), problem, horizon=horizon, runs=runs, seed=SEED, record_at=1)


def cell(result: Result, label: str) -> str:
    """Mean regret with its interval."""
    return f"{result.final_regret[label].mean():,.0f} ± {float(result.half_width(label)[-1]):,.0f}"


def by_rule(size: Size) -> TextTable:
    """The paper's problems by rule, second chances and confidence."""
    settings: list[tuple[str, float | None, bool]] = [
        ("default", None, False),
        ("confidence=0.05", 0.05, False),
        ("confidence=1/T", 1 / 200_000, False),
        ("second chances the other way round", None, True),  # off for the default, on for optimism
    ]
    rows = []
    for name, confidence, other in settings:
        rules = {
            "default": CommitUCB(confidence=confidence, recheck=0.0 if other else 0.03),
            "optimism": CommitUCB(confidence=confidence, risk=None, recheck=0.03 if other else 0.0),
        }
        results = [played(rules, get_problem(problem), size.runs, size) for problem in PAPER]
        rows.append((name, *(cell(result, rule) for result in results for rule in rules)))
    return TextTable(("", "15 arms", "optimism", "2 arms", "optimism"), rows, frozenset(range(1, 5)))


def fresh(size: Size) -> TextTable:
    """Problems of several kinds, and a sigma that is told wrong or not at all."""
    pair = problem_pair("beta", 50_000, beta=0.7, noise=Gaussian(SIGMA))
    problems = {name: get_problem(name) for name in PAPER}
    problems |= {f"{name}, Bernoulli": get_problem(name).with_noise(Bernoulli()) for name in PAPER}
    problems |= {name: get_problem(name) for name in ("random-2", "random-3")}
    problems |= {"pair, beta 0.7: A": pair.a, "pair, beta 0.7: B": pair.b}
    rows = []
    for name, problem in problems.items():
        result = played(RULES, problem, size.runs, size)
        rows.append((name, *(cell(result, rule) for rule in RULES), f"{result.final_regret['CommitUCB'].max():,.0f}"))
    for cap in (0.8, 1.2):
        result = played({"cap": CommitUCB(cap=cap)}, get_problem(PAPER[0]), size.runs, size)
        rows.append(
            (f"{PAPER[0]}, cap told as {cap}", cell(result, "cap"), "", f"{result.final_regret['cap'].max():,.0f}")
        )
    for name, told in (("half", SIGMA / 2), ("double", 2 * SIGMA)):
        result = played({name: CommitUCB(sigma=told)}, get_problem("paper-2arms"), size.many, size)
        row = (f"paper-2arms, sigma told as {name}", cell(result, name), "", f"{result.final_regret[name].max():,.0f}")
        rows.append(row)
    for name in (*PAPER, f"{PAPER[0]}, Bernoulli", f"{PAPER[1]}, Bernoulli"):
        result = played({"auto": CommitUCB(sigma="auto", widths="gaussian")}, problems[name], size.runs, size)
        row = (f"{name}, sigma estimated", cell(result, "auto"), "", f"{result.final_regret['auto'].max():,.0f}")
        rows.append(row)
    return TextTable(("problem", *RULES, "worst run of CommitUCB"), rows, frozenset(range(1, 4)))


def beside_kl(size: Size) -> TextTable:
    """Problems drawn at random, one run each, in % of J*: mean (median), and the ratio of the means."""
    drawn: dict[str, Callable[[int], RisingBandit]] = {
        f"random, {name}": partial(_random, noise, 50_000 // size.divide)
        for name, noise in (("Gaussian 0.1", Gaussian(SIGMA)), ("0/1 rewards", Bernoulli()))
    }
    for n_arms, horizon in ((50, 200_000), (200, 20_000)):
        drawn[f"power laws, K = {n_arms}, T = {horizon:,}"] = partial(_power, n_arms, horizon // size.divide)
    rows = []
    for name, draw in drawn.items():
        problems = [draw(number) for number in range(2 * size.few if name.startswith("power") else 2 * size.many)]
        shares = []
        for problem in problems:
            result = simulate({"own": CommitUCB(), "kl": KLUCB()}, problem, runs=1, seed=SEED, record_at=1)
            lost = [result.final_regret[label][0] for label in ("own", "kl")]
            shares.append(100 * np.array(lost) / problem.oracle_value(result.horizon))
        own, other = np.array(shares).T
        again = np.random.default_rng(SEED).integers(len(own), size=(2_000, len(own)))
        low, high = np.quantile(own[again].mean(axis=1) / other[again].mean(axis=1), [0.025, 0.975])
        each = (f"{values.mean():.2f} ({np.median(values):.2f})" for values in (own, other))
        rows.append((name, str(len(own)), *each, f"{own.mean() / other.mean():.2f} [{low:.2f}, {high:.2f}]"))
    return TextTable(("problems", "how many", "CommitUCB", "KL-UCB", "ratio"), rows, frozenset(range(1, 5)))


def _random(noise: Noise, horizon: int, number: int) -> RisingBandit:
    return random_problem(None, horizon, np.random.SeedSequence([SEED, number]), noise)


def _power(n_arms: int, horizon: int, number: int) -> RisingBandit:
    return power_law_problem(n_arms, horizon, np.random.SeedSequence([SEED, number]), Gaussian(SIGMA))


def from_zero(size: Size) -> TextTable:
    """Constant arms beside one that starts at 0 and is the best from its second pull on, in % of J*."""
    rows = []
    for n_arms, horizon in ((6, 700), (6, 2_000), (10, 1_500), (10, 5_000), (50, 9_000), (50, 20_000)):
        curves = [ConstantCurve(0.5 - 0.001 * arm) for arm in range(n_arms - 1)]
        rising = FunctionCurve(lambda n: 0.8 - 0.8 / n**2, horizon=horizon)
        for sigma in (0.0, 1e-4, 1e-3):
            problem = RisingBandit([*curves, rising], Gaussian(sigma) if sigma else NoNoise(), horizon)
            policies: dict[str, Policy] = {
                "default": CommitUCB(sigma=sigma),
                "recheck=0": CommitUCB(sigma=sigma, recheck=0),
                "risk=None": CommitUCB(sigma=sigma, risk=None),
                "auto, parameter-free": get_policy("auto", objective="cumulative"),
                "R-ed-UCB": get_policy("red-ucb", sigma=sigma),
                "KL-UCB": get_policy("kl-ucb"),
            }
            result = played(policies, problem, size.few, size)
            best = problem.oracle_value(result.horizon)
            shares = (f"{100 * result.final_regret[label].mean() / best:.2f}" for label in policies)
            rows.append((f"{n_arms}, {result.horizon:,}", f"{sigma:g}", *shares))
    return TextTable(("K, T", "sigma", *policies), rows, frozenset(range(2, 9)))


def straight(size: Size) -> TextTable:
    """A constant arm at 1/2 and one that rises in a straight line to 1, or stops at 1/2, without noise."""
    rules = {
        "shared": CommitUCB(sigma=0),
        "sunk-cost": CommitUCB(sigma=0, risk="sunk-cost"),
        "risk=None": CommitUCB(sigma=0, risk=None, recheck=0),
    }
    rows = []
    for horizon in (10_000, 100_000):
        for top in (1.0, 0.5):
            rounds = horizon // size.divide
            rise = Tabulated(np.minimum(top, 2 * np.arange(rounds) / rounds))
            problem = RisingBandit([ConstantCurve(0.5), rise], NoNoise(), rounds)
            result = simulate(dict(rules), problem, runs=1, seed=SEED, record_at=1)
            rows.append((f"{rounds:,}", f"{top:g}", *(f"{result.final_regret[rule][0]:,.0f}" for rule in rules)))
    return TextTable(("T", "the line stops at", *rules), rows, frozenset(range(2, 5)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="2 runs, a tenth of the rounds")
    size = Size(2, 2, 2, 10) if parser.parse_args().quick else Size(50, 400, 10, 1)
    for table in (by_rule, fresh, beside_kl, from_zero, straight):
        print(f"{table.__doc__}\n\n{table(size).markdown()}")


if __name__ == "__main__":
    main()
