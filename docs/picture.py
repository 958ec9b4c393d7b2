"""Draw the pictures of the pages: that of the README, light and dark, and the figure of the page on papers.

The README's has the learners of its example, and what three policies lose on them. The other is what the script on its
page draws.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure

import risingbandits as rb
from risingbandits.reports.figure_data import policy_places
from risingbandits.reports.style import look, styled, tidy

PICTURES = {False: Path(__file__).parent / "readme.png", True: Path(__file__).parent / "readme-dark.png"}
_LEARNERS = {
    "fast": rb.problems.Exponential(limit=0.4, rate=0.02),
    "slow": rb.problems.LinearCapped(slope=1 / 1_000, cap=0.9),
}
_POLICIES = ("kl-ucb", "red-ucb", "commit-ucb")
_DARK = {"figure.facecolor": "#131416", "axes.facecolor": "#131416"} | dict.fromkeys(
    ("text.color", "axes.labelcolor", "axes.titlecolor", "axes.edgecolor", "xtick.color", "ytick.color"), "#cfd0d0"
)  # the dark background of the site, and its text
_GRID = "#303335"
_WHITE_FOR_BLACK = {"#000000": "#ffffff"}
_PLACES = {"kl-ucb": (-22, -6), "red-ucb": (-4, 5), "commit-ucb": (-4, -10)}  # of the names, beside the end of the line


def picture(result: rb.Result, dark: bool) -> Figure:
    """Learning curves on the left, regret on the right."""
    with styled():
        if dark:
            matplotlib.rcParams.update(_DARK)
        figure = Figure(figsize=(7.2, 2.6), layout="constrained")
        left, right = figure.subplots(1, 2)
        pulls = np.arange(1, 2_001)
        for position, (name, curve) in enumerate(_LEARNERS.items(), start=2):  # in colours of no policy here
            left.plot(pulls, curve(pulls), color=_colour(position, dark))
            left.annotate(f"{name} learner", (2_000, curve(pulls)[-1]), (-4, 5), textcoords="offset points", ha="right")
        for name, position in policy_places(_POLICIES).items():
            regret = result.mean(name)
            right.plot(result.record_at, regret, color=_colour(position, dark))
            end = (result.record_at[-1], regret[-1])
            right.annotate(name, end, _PLACES[name], textcoords="offset points", ha="right")
        left.set(title="Learners get better with use ...", xlabel="pulls of the learner", ylabel="mean reward")
        left.set_ylim(0, 1)
        right.set_ylim(-900, 10_000)
        right.set(title="... and a good policy waits for the best", xlabel="round", ylabel="regret (units of reward)")
        for axes in (left, right):
            tidy(axes)
            if dark:
                axes.grid(True, color=_GRID)
        return figure


def _colour(position: int, dark: bool) -> str:
    colour = look(position).color
    return _WHITE_FOR_BLACK.get(colour, colour) if dark else colour


def draw_paper_figure() -> None:
    """Run the script of the page, which draws a file for LaTeX, with a picture for the page in its place."""
    page = Path(__file__).parent / "paper-with-this-library.md"
    blocks: list[str] = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    script = next(block for block in blocks if not block.startswith(">>>"))
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "study.py")
        program.write_text(script.replace("regret.pdf", str(page.with_name("paper-figure.png"))))
        subprocess.run([sys.executable, program], cwd=folder, check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    problem = rb.RisingBandit(list(_LEARNERS.values()), noise=rb.problems.Gaussian(0.02), horizon=20_000)
    played = rb.simulate(_POLICIES, problem, runs=20)
    for dark, path in PICTURES.items():
        picture(played, dark).savefig(path, dpi=150, metadata={"Software": None})  # equal figures, equal bytes
    draw_paper_figure()
