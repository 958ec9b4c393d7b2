"""Error against budget of the policies that look for the best arm, on the five arms of Mussi et al. (2024).

    python benchmarks/best_arm.py --out results

writes ``best_arm.csv``, ``best_arm.png`` and ``best_arm.svg`` and prints the table. Equal settings give equal bytes.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from risingbandits import simulate
from risingbandits._core.files import write_whole
from risingbandits.reports._figure_data import policy_places
from risingbandits.reports._matplotlib_figures import label_lines, save_figure
from risingbandits.reports._style import look, new_axes, styled, tidy
from risingbandits.simulation.result import Result

INSTANCE = "mussi-5arms"
POLICIES = ("r-ucbe", "r-sr", "successive-rejects", "sequential-halving")
MARKERS = (("o", 3.5, "full"), ("s", 3.5, "full"), ("D", 7.0, "none"), ("^", 4.0, "full"))  # lines lie on each other
BUDGETS = tuple(range(100, 1_501, 100))


def measure(runs: int, seed: int, jobs: int | None) -> dict[int, Result]:
    """A simulation for every budget."""
    return {budget: simulate(POLICIES, INSTANCE, horizon=budget, runs=runs, seed=seed, jobs=jobs) for budget in BUDGETS}


def as_csv(results: dict[int, Result]) -> str:
    """One line per policy and budget."""
    lines = ["policy,budget,runs,error_rate,low,high,simple_regret"]
    for label in POLICIES:
        for budget, result in results.items():
            rate = result.error_rate(label)
            regret = float(result.simple_regret(label).mean())
            lines.append(f"{label},{budget},{result.runs},{rate.value:.4f},{rate.low:.4f},{rate.high:.4f},{regret:.5f}")
    return "\n".join(lines) + "\n"


def as_markdown(results: dict[int, Result]) -> str:
    """Error rate and, in brackets, mean simple regret: a row for every budget."""
    lines = [f"| budget T | {' | '.join(POLICIES)} |", f"| ---: |{' ---: |' * len(POLICIES)}"]
    for budget, result in results.items():
        cells = [
            f"{100 * result.error_rate(label).value:.1f} % ({result.simple_regret(label).mean():.4f})"
            for label in POLICIES
        ]
        lines.append(f"| {budget:,} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def draw(results: dict[int, Result], folder: Path) -> list[Path]:
    """Error rate with Wilson intervals above, simple regret below."""
    budgets = np.array(list(results))
    with styled():
        ax = new_axes(4.2, 4.2)
        figure = ax.get_figure(root=True)
        assert figure is not None
        ax.remove()
        above, below = figure.subplots(2, 1, sharex=True)
        for (label, position), (marker, size, fill) in zip(policy_places(POLICIES).items(), MARKERS, strict=True):
            line = look(position)
            rates = np.array([result.error_rate(label) for result in results.values()])
            regrets = [float(result.simple_regret(label).mean()) for result in results.values()]
            style: dict[str, Any] = {
                "color": line.color,
                "linestyle": line.linestyle,
                "marker": marker,
                "markersize": size,
                "fillstyle": fill,
                "clip_on": False,
            }
            above.plot(budgets, 100 * rates[:, 0], **style)
            above.fill_between(budgets, 100 * rates[:, 1], 100 * rates[:, 2], color=line.color, alpha=0.2, linewidth=0)
            below.plot(budgets, regrets, label=label, **style)
        for ax in (above, below):
            tidy(ax)
        above.set_ylim(-4, 104)
        below.set_ylim(bottom=0)
        runs = next(iter(results.values())).runs
        above.set_title(f"{INSTANCE}: {runs} runs, bands: 95 % confidence (Wilson)")
        above.set_ylabel("wrong recommendations (%)")
        below.set_ylabel("simple regret")
        below.set_xlabel("budget T (pulls)")
        label_lines(below, below.get_lines()[: len(POLICIES)])
        return save_figure(figure, folder, "best_arm")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder for the table and the figure")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=None, help="threads; the result does not depend on it")
    options = parser.parse_args()
    results = measure(options.runs, options.seed, options.jobs)
    options.out.mkdir(parents=True, exist_ok=True)
    write_whole(options.out / "best_arm.csv", as_csv(results).encode())
    draw(results, options.out)
    print(as_markdown(results), end="")


if __name__ == "__main__":
    main()
