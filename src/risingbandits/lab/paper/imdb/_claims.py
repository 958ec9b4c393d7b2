"""Sentences of the paper about the IMDB experiment, each with a test on the tables of two studies.

As with the synthetic problems every sentence is judged twice: on what the paper prints (10,000 words, LR with the
rate beta and LR(t) with beta/t, policies as their papers define them) and on the published program (1,000 words, LR(t)
with beta/sqrt(t), its own policies). Findings and verdicts are computed: they say what the tables say.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from risingbandits._core.types import Floats
from risingbandits.lab.paper._claims import FAILS, HOLDS, PARTLY, Claim, Judgement, judge
from risingbandits.lab.paper._csv_tables import read_rows
from risingbandits.lab.paper._regret_study import PAPER_POLICIES
from risingbandits.lab.paper.imdb._study import AS_PRINTED

_CLEARLY = 3.0  # standard errors
_HALVINGS = 8  # of the pulls, into blocks whose means tell the shape of a curve
_SMALLEST_BLOCK = 20  # pulls, where two curves are compared
_MOST_OF_THE_PULLS = 80  # percent, as for the synthetic problem

Row = dict[str, str]


class Curve(NamedTuple):
    """An averaged learning curve: the last pull of each bin, the mean reward in it, and from how many runs."""

    ends: Floats
    means: Floats
    runs: int

    def total(self, pulls: Floats) -> Floats:
        """Mean right predictions up to some pulls."""
        sums = np.cumsum(self.means * np.diff(self.ends, prepend=0.0))
        return np.asarray(np.interp(pulls, np.append(0.0, self.ends), np.append(0.0, sums)))

    def blocks(self, edges: Floats) -> tuple[Floats, Floats]:
        """The mean reward between edges, and its standard error where rewards are independent coins."""
        widths = np.diff(edges)
        return np.diff(self.total(edges)) / widths, np.sqrt(0.25 / (widths * self.runs))


class View(NamedTuple):
    """What one study left in its folder."""

    curves: dict[str, Curve]  # by learner
    learners: list[Row]
    played: dict[str, dict[str, Row]]  # by problem, then policy

    @staticmethod
    def read(folder: Path) -> View:
        """The tables that ``paper imdb run`` wrote."""
        learners, bins = read_rows(folder / "learners.csv"), read_rows(folder / "curves.csv")
        ends = np.array([float(row["last pull"]) for row in bins])
        curves = {
            row["learner"]: Curve(ends, np.array([float(line[row["learner"]]) for line in bins]), int(row["runs"]))
            for row in learners
        }
        played: dict[str, dict[str, Row]] = {}
        for row in read_rows(folder / "predictions.csv"):
            played.setdefault(row["problem"], {})[row["policy"]] = row
        return View(curves, learners, played)

    @property
    def horizon(self) -> float:
        return float(next(iter(self.curves.values())).ends[-1])

    def policies(self, arms: int) -> dict[str, Row]:
        """Who played with so many arms."""
        (found,) = (rows for problem, rows in self.played.items() if problem.endswith(f"-{arms}arms"))
        return found

    def seven(self, arms: int) -> dict[str, Row]:
        """The paper's seven policies by regret, least first; R-ed-UCB with the paper's sigma where it has several."""
        rows = self.policies(arms)
        own = {label: rows[AS_PRINTED if label == "red-ucb" and AS_PRINTED in rows else label] for label in _SEVEN}
        return dict(sorted(own.items(), key=lambda item: float(item[1]["regret"])))


def judged(definition: Path, program: Path) -> list[Judgement]:
    """All claims, judged by the tables in the folders of the two studies."""
    return judge(CLAIMS, View.read(definition), View.read(program))


def _amount(value: float) -> str:
    return f"{value:,.0f}"


def _with_interval(row: Row, what: str) -> str:
    half = row[f"{what}_half_width"]
    return _amount(float(row[what])) + (f" ± {_amount(float(half))}" if half else "")


def _outperforms(view: View, arms: int) -> tuple[str, str]:
    """First by regret; only in part where its interval and that of the second meet."""
    seven, rows = view.seven(arms), view.policies(arms)
    order = list(seven)
    place = order.index("red-ucb") + 1
    other = order[1] if place == 1 else order[0]
    text = f"R-ed-UCB has place {place} of seven by regret, {_with_interval(seven['red-ucb'], 'regret')}, with "
    text += f"{_with_interval(seven['red-ucb'], 'right')} right predictions; {other} has "
    text += f"{_with_interval(seven[other], 'regret')} and {_with_interval(seven[other], 'right')}"
    if AS_PRINTED in rows:
        text += f"; R-ed-UCB with sigma = 1/2 {_with_interval(rows['red-ucb'], 'regret')}"
    for label, name in (("round-robin", "round robin"), ("commit-ucb", "CommitUCB, not in the paper,")):
        if label in rows:
            text += f"; {name} {_with_interval(rows[label], 'regret')}"
    if place > 1:
        return text, FAILS
    ends = [float(seven[label]["regret_half_width"] or "inf") for label in order[:2]]
    apart = float(seven[other]["regret"]) - float(seven["red-ucb"]["regret"]) > sum(ends)
    return text, HOLDS if apart else PARTLY


def _with_seven_arms(view: View) -> tuple[str, str]:
    return _outperforms(view, 7)


def _with_two_arms(view: View) -> tuple[str, str]:
    return _outperforms(view, 2)


def _single_runs(view: View) -> tuple[str, str]:
    falling = {row["learner"]: float(row["falling_share"]) for row in view.learners}
    shares = ", ".join(f"{learner} {100 * share:.0f} %" for learner, share in falling.items())
    text = f"single runs in which a tenth of the pulls lies clearly below an earlier one: {shares}"
    return text, HOLDS if any(falling.values()) else FAILS


def _halved(horizon: float, smallest: float) -> Floats:
    """0, ..., T/4, T/2, T."""
    edges = [horizon]
    while edges[-1] / 2 >= smallest:
        edges.append(edges[-1] / 2)
    return np.array([0.0, *edges[::-1]])


def _increasing_and_concave(view: View) -> tuple[str, str]:
    edges = _halved(view.horizon, view.horizon / 2**_HALVINGS)
    apart = np.diff((edges[1:] + edges[:-1]) / 2)
    falls, bends = [], {}
    for learner, curve in view.curves.items():
        means, errors = curve.blocks(edges)
        steps, of_steps = np.diff(means), np.hypot(errors[1:], errors[:-1])
        if (steps < -_CLEARLY * of_steps).any():
            falls.append(learner)
        slopes, of_slopes = steps / apart, of_steps / apart
        up = np.flatnonzero(np.diff(slopes) > _CLEARLY * np.hypot(of_slopes[1:], of_slopes[:-1]))
        if up.size:
            bends[learner] = edges[up[-1] + 2]
    text = "in blocks of doubling length " + (f"{', '.join(falls)} clearly fall" if falls else "all of them rise")
    if bends:
        shown = (f"{learner} until {_amount(pull)}" for learner, pull in bends.items())
        text += f"; clearly steeper than before are {', '.join(shown)} pulls"
    else:
        text += ", and none is clearly steeper than before"
    return text, FAILS if falls else PARTLY if bends else HOLDS


def _not_globally(view: View) -> tuple[str, str]:
    down = {learner: int((np.diff(curve.means) < 0).sum()) for learner, curve in view.curves.items()}
    bins = len(next(iter(view.curves.values())).means) - 1
    runs = sorted({curve.runs for curve in view.curves.values()})
    text = f"of {bins} bins of an averaged curve {min(down.values())} to {max(down.values())} lie below the bin before "
    text += f"({' and '.join(f'{number:,}' for number in runs)} runs)"
    return text, HOLDS if all(down.values()) else PARTLY if any(down.values()) else FAILS


def _leads(view: View) -> tuple[list[tuple[float, float, str]], Floats]:
    """Blocks of pulls in which LR(t) or LR is clearly ahead, in order; right predictions of both by the horizon."""
    edges = _halved(view.horizon, _SMALLEST_BLOCK)
    one, other = view.curves["LR(t)"], view.curves["LR"]
    (means, errors), (others, of_others) = one.blocks(edges), other.blocks(edges)
    difference, error = means - others, np.hypot(errors, of_others)
    leads: list[tuple[float, float, str]] = []
    for first, last, ahead, unsure in zip(edges[:-1], edges[1:], difference, error, strict=True):
        leader = "LR(t)" if ahead > _CLEARLY * unsure else "LR" if ahead < -_CLEARLY * unsure else ""
        if leader and leads and leads[-1][2] == leader:
            leads[-1] = (leads[-1][0], float(last), leader)
        elif leader:
            leads.append((float(first), float(last), leader))
    end = np.array([view.horizon])
    return leads, np.concatenate([one.total(end), other.total(end)])


def _intersect(view: View) -> tuple[str, str]:
    leads, (decreasing, constant) = _leads(view)
    parts = [f"{leader} from pull {_amount(first + 1)} to {_amount(last)}" for first, last, leader in leads]
    text = f"clearly ahead are {', '.join(parts)}; right predictions in {_amount(view.horizon)} pulls: LR(t) "
    text += f"{_amount(float(decreasing))}, LR {_amount(float(constant))}"
    return text, HOLDS if len({leader for *_, leader in leads}) == 2 else FAILS


def _analogy(view: View) -> tuple[str, str]:
    """There the better arm starts behind, and R-ed-UCB finds it."""
    leads, (decreasing, constant) = _leads(view)
    better = "LR(t)" if decreasing > constant else "LR"
    behind = bool(leads) and leads[0][2] != better
    row = view.seven(2)["red-ucb"]
    share = 100 * float(row["pulls_1" if better == "LR" else "pulls_2"]) / view.horizon
    text = f"the better arm, {better}, {'starts behind' if behind else 'leads from the start'}, and R-ed-UCB gives it "
    text += f"{share:.0f} % of its pulls"
    found = share > _MOST_OF_THE_PULLS
    return text, HOLDS if behind and found else PARTLY if behind or found else FAILS


_SEVEN = PAPER_POLICIES
_MAIN, _APPENDIX = "IMDB dataset", "IMDB Experiment, appendix"

CLAIMS: Sequence[Claim] = (
    Claim("R-ed-UCB, with ε = 1/32, outperforms the considered baselines", f"{_MAIN}, 7 arms", _with_seven_arms),
    Claim(
        "the average learning curves of the classification algorithms are not guaranteed to be non-decreasing nor "
        "concave on a single run",
        _MAIN,
        _single_runs,
    ),
    Claim(
        "from a qualitative perspective, the average learning curves are increasing and concave",
        _APPENDIX,
        _increasing_and_concave,
    ),
    Claim(
        "due to the limited number of simulations, [the assumptions] are not globally satisfied",
        _APPENDIX,
        _not_globally,
    ),
    Claim(
        "The analogy between this result and the one of the 2-arms synthetic rested bandit is clear",
        f"{_APPENDIX}, 2 arms",
        _analogy,
    ),
    Claim("indeed R-ed-UCB outperforms the other baselines", f"{_APPENDIX}, 2 arms", _with_two_arms),
    Claim(
        "the learning curves of the base algorithms at some point intersects one another",
        f"{_APPENDIX}, 2 arms",
        _intersect,
    ),
)
