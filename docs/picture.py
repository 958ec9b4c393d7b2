"""Draw the picture of the README: the two learners of its example, and what three policies lose on them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import risingbandits as rb
from risingbandits.reports.figure_data import policy_places
from risingbandits.reports.style import look, styled, tidy

PICTURE = Path(__file__).parent / "readme.png"
_LEARNERS = {
    "fast": rb.problems.Exponential(limit=0.4, rate=0.02),
    "slow": rb.problems.LinearCapped(slope=1 / 1_000, cap=0.9),
}
_POLICIES = ("kl-ucb", "red-ucb", "commit-ucb")
_PLACES = {"kl-ucb": (-22, -6), "red-ucb": (-4, 5), "commit-ucb": (-4, -10)}  # of the names, beside the end of the line


def picture() -> Figure:
    """Learning curves on the left, regret on the right."""
    problem = rb.RisingBandit(list(_LEARNERS.values()), noise=rb.problems.Gaussian(0.02), horizon=20_000)
    result = rb.simulate(_POLICIES, problem, runs=20)
    with styled():
        figure = Figure(figsize=(7.2, 2.6), layout="constrained")
        left, right = figure.subplots(1, 2)
        pulls = np.arange(1, 2_001)
        for position, (name, curve) in enumerate(_LEARNERS.items(), start=2):  # in colours of no policy here
            left.plot(pulls, curve(pulls), color=look(position).color)
            left.annotate(f"{name} learner", (2_000, curve(pulls)[-1]), (-4, 5), textcoords="offset points", ha="right")
        for name, position in policy_places(_POLICIES).items():
            regret = result.mean(name)
            right.plot(result.record_at, regret, color=look(position).color)
            end = (result.record_at[-1], regret[-1])
            right.annotate(name, end, _PLACES[name], textcoords="offset points", ha="right")
        left.set(title="Learners get better with use ...", xlabel="pulls of the learner", ylabel="mean reward")
        left.set_ylim(0, 1)
        right.set_ylim(-900, 10_000)
        right.set(title="... and a good policy waits for the best", xlabel="round", ylabel="regret (units of reward)")
        for axes in (left, right):
            tidy(axes)
        return figure


if __name__ == "__main__":
    picture().savefig(PICTURE, dpi=150, metadata={"Software": None})  # equal figures, equal bytes
