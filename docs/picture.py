"""Draw the pictures of the pages: the default policy at work, and the figure of the page on papers.

The README has the default on curves that cross, light and dark; the page on how it decides has it on recorded curves,
too, which need RISINGBANDITS_DATA. The figure of the page on papers is what the script on its page draws.
"""

from __future__ import annotations

import csv
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import risingbandits as rb
from risingbandits._core.types import Floats, Ints
from risingbandits.lab.benchmark._crossing import SCANNED
from risingbandits.lab.benchmark.suite import load_tasks
from risingbandits.reports._style import look, styled, tidy

_DOCS = Path(__file__).parent
_DARK = {"figure.facecolor": "#131416", "axes.facecolor": "#131416"} | dict.fromkeys(
    ("text.color", "axes.labelcolor", "axes.titlecolor", "axes.edgecolor", "xtick.color", "ytick.color"), "#cfd0d0"
)  # the dark background of the site, and its text
_GRID = "#303335"
_WHITE_FOR_BLACK = {"#000000": "#ffffff"}
_CROSSING = dict(zip(("fast", "slow", "poor"), SCANNED["three arms"], strict=True))
_HORIZON = 500
_REAL = ("scikit-learn", 4, 10)  # family, task, pulls per arm
_BENCHMARKS = {"taskset": "TaskSet", "lcbench": "LCBench"}
_SEARCHED = {  # rows of benchmarks/searches.py and searches_peers.py, and what the picture calls them
    "model": "config-model",
    "model, earlier tasks": "config-model with earlier runs",
    "Syne Tune ASHA": "Syne Tune: ASHA",
    "Optuna TPE, halving": "Optuna: TPE, halving",
    "SMAC": "SMAC: forest, Hyperband",
    "DEHB": "DEHB",
}
_NAMED = 4  # arms of a real task that are not grey: those with most pulls


class Played(NamedTuple):
    """A run of the default for cumulative reward."""

    names: list[str]  # of the arms; those without one are grey
    means: Floats  # (arms, pulls)
    pulls: Ints  # (rounds, arms): of each arm so far


def play(means: Floats, rounds: int, sigma: float) -> Ints:
    """The pulls of each arm after every round."""
    rng = np.random.default_rng(3)
    policy = rb.get_policy("auto(objective='cumulative')").reset(len(means), rounds, seed=1)
    pulls = np.zeros((rounds + 1, len(means)), dtype=np.int64)
    for t in range(rounds):
        arm = policy.ask()
        policy.tell(arm, means[arm, min(pulls[t, arm], means.shape[1] - 1)] + sigma * rng.standard_normal())
        pulls[t + 1] = policy.pulls
    return pulls


def crossing() -> Played:
    """The three arms whose curves cross."""
    means = np.array([curve(np.arange(1, _HORIZON + 1)) for curve in _CROSSING.values()])
    return Played(list(_CROSSING), means, play(means, _HORIZON, 0.01))


def real() -> Played:
    """A recorded task."""
    family, number, per_arm = _REAL
    means = load_tasks(os.environ.get("RISINGBANDITS_DATA"))[0][family][number].observed
    pulls = play(means, per_arm * len(means), 0.0)
    most = np.argsort(-pulls[-1], kind="stable")[:_NAMED].tolist()
    return Played([f"arm {arm}" if arm in most else "" for arm in range(len(means))], means, pulls)


def picture(played: Played, titles: tuple[str, str], dark: bool = False) -> Figure:
    """Learning curves on the left, what the policy has seen in bold; on the right who gets the pulls."""
    with styled():
        if dark:
            matplotlib.rcParams.update(_DARK)
        figure = Figure(figsize=(7.2, 2.6), layout="constrained")
        left, right = figure.subplots(1, 2)
        shown = [arm for arm, name in enumerate(played.names) if name]
        n = np.arange(1, played.means.shape[1] + 1)
        for arm in sorted(range(len(played.names)), key=lambda arm: arm in shown):  # grey below
            colour = _colour(shown.index(arm) if arm in shown else -1, dark)
            seen = min(int(played.pulls[-1, arm]), len(n))
            left.plot(n, played.means[arm], color=colour, linewidth=0.6, alpha=0.7)
            if seen:
                left.plot(n[:seen], played.means[arm, :seen], color=colour, linewidth=1.8)
            if arm in shown or seen:
                right.plot(played.pulls[:, arm], color=colour, linewidth=1.4)
        _name_ends(right, {played.names[arm]: int(played.pulls[-1, arm]) for arm in shown}, len(played.pulls), dark)
        left.set(title=titles[0], xlabel="pulls of the arm", ylabel="mean reward")
        right.set(title=titles[1], xlabel="round", ylabel="pulls of each arm")
        right.set_xlim(0, 1.12 * (len(played.pulls) - 1))
        for axes in (left, right):
            tidy(axes)
            if dark:
                axes.grid(True, color=_GRID)
        return figure


def _name_ends(axes: Axes, ends: dict[str, int], end: int, dark: bool) -> None:
    """Write the names beside the ends of their lines, one above the other where these are close."""
    apart = 0.075 * max(ends.values())
    height = -apart
    for name, value in sorted(ends.items(), key=lambda item: item[1]):
        height = max(float(value), height + apart)
        axes.annotate(
            name, (end, height), (3, -3), textcoords="offset points", color=_colour([*ends].index(name), dark)
        )


def _colour(position: int, dark: bool) -> str:
    colour = look(position).color
    return _WHITE_FOR_BLACK.get(colour, "0.35" if dark and position < 0 else colour) if dark else colour


def searches(dark: bool = False) -> Figure:
    """Regret over time of searches among 1,000 configurations, with 95 % intervals, from `docs/searches.csv`."""
    with (_DOCS / "searches.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["arms"] == "1000"]
    with styled():
        if dark:
            matplotlib.rcParams.update(_DARK)
        figure = Figure(figsize=(7.2, 3.0), layout="constrained")
        for axes, (benchmark, title) in zip(figure.subplots(1, 2), _BENCHMARKS.items(), strict=True):
            for position, (name, label) in enumerate(_SEARCHED.items()):
                own = [row for row in rows if (row["benchmark"], row["row"]) == (benchmark, name)]
                step, mean, low, high = (
                    np.array([float(row[key]) for row in own]) for key in ("step", "mean", "low", "high")
                )
                colour, width = _colour(position, dark), 1.8 if name.startswith("model") else 1.0
                axes.fill_between(step, low, high, color=colour, alpha=0.12, linewidth=0)
                axes.plot(step, mean, color=colour, linewidth=width, label=label)
            axes.set(title=title, xlabel="epochs trained, of all configurations", ylabel="regret (%)", ylim=(0, 40))
            tidy(axes)
            if dark:
                axes.grid(True, color=_GRID)
        figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
        return figure


def save(figure: Figure, name: str) -> None:
    figure.savefig(_DOCS / name, dpi=150, metadata={"Software": None})  # equal figures, equal bytes


def draw_paper_figure() -> None:
    """Run the script of the page, which draws a file for LaTeX, with a picture for the page in its place."""
    page = _DOCS / "paper-with-this-library.md"
    blocks: list[str] = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    script = next(block for block in blocks if not block.startswith(">>>"))
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "study.py")
        program.write_text(script.replace("regret.pdf", str(page.with_name("paper-figure.png"))))
        subprocess.run([sys.executable, program], cwd=folder, check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    crossed = crossing()
    for name, dark in (("readme.png", False), ("readme-dark.png", True)):
        save(
            picture(crossed, ("A slow arm can be the best in the end ...", "... and the default finds it"), dark), name
        )
    for name, dark in (("searches.png", False), ("searches-dark.png", True)):
        save(searches(dark), name)
    if os.environ.get("RISINGBANDITS_DATA"):
        save(
            picture(real(), ("Thirty models, one of them the best ...", "... and the default starts few of them")),
            "how-real.png",
        )
    draw_paper_figure()
