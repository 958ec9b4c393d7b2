"""How regret grows with the horizon, beside the exponents that theory predicts.

    python benchmarks/scaling.py                 # under a minute; table on the terminal
    python benchmarks/scaling.py --out docs      # and scaling.csv, scaling.png, scaling.svg
    python benchmarks/scaling.py --quick         # small sizes, to see that it works

Three arms. The first rises to 0.8 with increments of order l^(-c) or e^(-l); with c < 1 there is no limit, and the
curve is scaled to reach 0.8 at the horizon. The second is constant at 0.8, so that the first one never pays but long
looks as if it might. The third is constant at 0.5: what it costs is the price of the noise alone.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure
from rich.console import Console

from risingbandits import RisingBandit, policy_names, simulate
from risingbandits._core.files import write_whole
from risingbandits._core.tables import TextTable
from risingbandits.problems import ConstantCurve, Curve, Exponential, Gaussian, NoNoise, PowerLaw, Tabulated
from risingbandits.reports._figure_data import policy_places
from risingbandits.reports._matplotlib_figures import save_figure
from risingbandits.reports._style import look, styled
from risingbandits.theory.complexity import regret_rate

LIMIT = 0.8
LOWER = 0.5
SIGMA = 0.1
DECAYS = (0.8, 1.2, 1.5, 2.0, 3.0, math.inf)  # inf stands for e^(-l)
POLICIES = ("red-ucb", "commit-ucb")
HORIZONS = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)


class Series(NamedTuple):
    """Mean regret of one policy in one setting at each horizon."""

    c: float
    policy: str
    setting: str
    regret: list[float]
    error: list[float]


def problem(c: float, horizon: int, noisy: bool) -> RisingBandit:
    """The rising arm and the constant one."""
    rising: Curve
    if math.isinf(c):
        rising = Exponential(LIMIT, 1.0)
    elif c > 1.0:
        rising = PowerLaw(LIMIT, LIMIT, c - 1.0)
    else:
        sums = np.cumsum(np.arange(1.0, horizon) ** -c)
        rising = Tabulated(LIMIT * np.append(0.0, sums / sums[-1]))
    arms = [rising, ConstantCurve(LIMIT), ConstantCurve(LOWER)]
    return RisingBandit(arms, Gaussian(SIGMA) if noisy else NoNoise(), horizon, f"c={c:g}")


def measure(c: float, policy: str, noisy: bool, horizons: tuple[int, ...], runs: int) -> Series:
    """Simulate one line of the figure."""
    means, errors = [], []
    for horizon in horizons:
        repeats = runs if noisy else 1
        final = simulate(policy, problem(c, horizon, noisy), runs=repeats, record_at=1).final_regret[policy]
        means.append(float(final.mean()))
        errors.append(float(final.std(ddof=1)) / math.sqrt(repeats) if repeats > 1 else 0.0)
    return Series(c, policy, "stochastic" if noisy else "deterministic", means, errors)


def fitted(series: Series, horizons: tuple[int, ...]) -> float:
    """Slope of log regret in log T over the upper half of the horizons."""
    half = len(horizons) // 2
    regret = np.maximum(series.regret[half:], 1e-9)
    return float(np.polyfit(np.log(horizons[half:]), np.log(regret), 1)[0])


def last_step(series: Series, horizons: tuple[int, ...]) -> float:
    """The same slope between the last two horizons."""
    return math.log(series.regret[-1] / series.regret[-2]) / math.log(horizons[-1] / horizons[-2])


def predicted(series: Series) -> str:
    decay, c = ("exponential", 1.0) if math.isinf(series.c) else ("polynomial", series.c)
    rate = regret_rate(decay, c, series.setting)
    return f"{rate.exponent:.2f}" + (" + log" if rate.log_power else "")


def _slope(value: float) -> str:
    return f"{value:.2f}".replace("-0.00", "0.00")


def name_of(c: float) -> str:
    return "e^-l" if math.isinf(c) else f"l^-{c:g}"


def table(lines: list[Series], horizons: tuple[int, ...]) -> TextTable:
    rows = [
        (
            name_of(line.c),
            line.setting,
            line.policy,
            f"{line.regret[-1]:,.1f} ± {line.error[-1]:,.1f}",
            f"{100 * line.regret[-1] / (LIMIT * horizons[-1]):.2f} %",
            _slope(fitted(line, horizons)),
            _slope(last_step(line, horizons)),
            predicted(line) if line.policy == "red-ucb" else "-",
        )
        for line in lines
    ]
    header = (
        "increments",
        "setting",
        "policy",
        f"regret at {horizons[-1]:,}",
        "of J*",
        "fitted",
        "last step",
        "theorem",
    )
    return TextTable(header, rows, frozenset({3, 4, 5, 6, 7}), "Exponents of T")


def figure(lines: list[Series], horizons: tuple[int, ...]) -> Figure:
    with styled():
        drawn = Figure(figsize=(6.6, 4.2), layout="constrained")
        axes = drawn.subplots(2, 3, sharex=True, sharey=True).ravel()
        for ax, c in zip(axes, DECAYS, strict=True):
            for line in (line for line in lines if line.c == c):
                noisy = line.setting == "stochastic"
                ax.errorbar(
                    horizons,
                    np.maximum(line.regret, 0.1),
                    yerr=line.error,
                    color=look(policy_places(POLICIES)[line.policy]).color,
                    linestyle="-" if noisy else (0, (4, 2)),
                    marker="o" if noisy else "s",
                    markersize=2.5,
                    label=f"{line.policy}, {'sigma 0.1' if noisy else 'no noise'}",
                )
            ax.plot(horizons, LIMIT * np.array(horizons), color="0.6", linewidth=0.8, label="J*")
            ax.set(xscale="log", yscale="log", title=f"increments ~ ${name_of(c).replace('^', '^{')}}}$")
            ax.grid(True, color="0.9", linewidth=0.5)
        handles, labels = axes[0].get_legend_handles_labels()
        drawn.legend(handles, labels, loc="outside upper center", ncols=5)
        drawn.supxlabel("horizon T", fontsize=8)
        drawn.supylabel("mean regret", fontsize=8)
    return drawn


def csv(lines: list[Series], horizons: tuple[int, ...]) -> str:
    rows = ["increments,setting,policy,horizon,mean_regret,standard_error"]
    for line in lines:
        for horizon, regret, error in zip(horizons, line.regret, line.error, strict=True):
            cells = (name_of(line.c), line.setting, line.policy, str(horizon), f"{regret:.6g}", f"{error:.3g}")
            rows.append(",".join(cells))
    return "\n".join(rows) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--runs", type=int, default=10)
    arguments = parser.parse_args()
    horizons = HORIZONS[:3] if arguments.quick else HORIZONS
    runs = 2 if arguments.quick else arguments.runs
    known = [policy for policy in POLICIES if policy in policy_names()]
    lines = [measure(c, policy, noisy, horizons, runs) for c in DECAYS for noisy in (False, True) for policy in known]
    result = table(lines, horizons)
    Console(width=140).print(result)
    if arguments.out is not None:
        arguments.out.mkdir(parents=True, exist_ok=True)
        write_whole(arguments.out / "scaling.csv", csv(lines, horizons).encode())
        print(result.markdown())
        save_figure(figure(lines, horizons), arguments.out, "scaling")


if __name__ == "__main__":
    main()
