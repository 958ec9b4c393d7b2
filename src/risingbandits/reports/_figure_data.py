"""The data of each figure of a study, for any plotting library: `matplotlib_figures` and `pages` (Plotly)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import NamedTuple

import numpy as np

from risingbandits._core.errors import RisingBanditsError, check_choice
from risingbandits._core.tables import TextTable
from risingbandits._core.types import Floats
from risingbandits.problems import RisingBandit
from risingbandits.simulation.result import Result

MUTED = -1  # place of what is grey: many arms together
BLACK = 6  # place of black, or of white where it is dark
_MOST_ARMS = 20  # of a table of shares; the others together
_MOST_CURVES = 7  # in colour, one colour each; the others grey
_TABLE_ROWS = 10


# One look for a policy wherever it is drawn. The first seven places are plain colours; the next ones are dashed.
_POLICY_PLACES = {
    **{
        name: at for at, name in enumerate(("red-ucb", "kl-ucb", "sw-ucb", "sw-kl-ucb", "sw-ts", "rexp3", "commit-ucb"))
    },
    **{name: at for at, name in enumerate(("ser4", "round-robin"), start=7)},
    "auto": 13,
}


def policy_places(labels: Sequence[str]) -> dict[str, int]:
    """The place in the palette of each policy on a figure: see `style.look`.

    The paper's policies, CommitUCB, Auto and round robin have places of their own; any others get those that are left,
    in their order.

    >>> policy_places(["mine", "commit-ucb", "red-ucb", "another"])
    {'mine': 1, 'commit-ucb': 6, 'red-ucb': 0, 'another': 2}
    """
    taken = {_POLICY_PLACES[label] for label in labels if label in _POLICY_PLACES}
    left = (place for place in count() if place not in taken)
    return {label: _POLICY_PLACES[label] if label in _POLICY_PLACES else next(left) for label in labels}


def coloured(number: int) -> int:
    """Places in the palette without black, which is too heavy for areas: 0 to 5, 7 to 12 and so on.

    >>> [coloured(number) for number in (0, 5, 6, 12)]
    [0, 5, 7, 14]
    """
    return number + number // BLACK


class Line(NamedTuple):
    """A line, an area or a row of bars."""

    name: str  # what the legend calls it; grey lines may share a name
    place: int  # its place in the palette, see `style.look`; `MUTED` is grey
    x: Floats
    y: Floats
    half: Floats | None = None  # half the width of the band around it
    bold: bool = False  # whether it is drawn thicker than the others


class Shares(NamedTuple):
    """A table of shades: shares in percent, with a name for each row and each column."""

    rows: Sequence[str]
    columns: Sequence[str]
    values: Floats

    def texts(self) -> list[list[str]]:
        """What the cells say.

        >>> Shares(["a"], ["1", "2", "3"], np.array([[0.0, 0.2, 99.6]])).texts()
        [['0', '<1', '100']]
        """
        return [["<1" if 0 < share < 0.5 else f"{share:.0f}" for share in row] for row in self.values]


class Curves(NamedTuple):
    """True means of some arms at some pulls."""

    pulls: list[int]  # the pulls, or whatever else moves an arm (of a restless problem: rounds)
    means: dict[int, list[float]]  # by the arm's number, its mean rewards there; the largest sum first

    @staticmethod
    def of(problem: RisingBandit, horizon: int, points: int, most_arms: int | None = None) -> Curves:
        """The curves up to ``horizon`` at ``points`` pulls on each of two scales, linear and logarithmic."""
        even = np.linspace(1, horizon, points).round().astype(np.int64)
        pulls = np.union1d(even, np.geomspace(1, horizon, points).round().astype(np.int64))
        ranked = np.argsort(-problem.mean_sums(horizon), kind="stable")[:most_arms]
        means = problem.means(pulls)
        return Curves(pulls.tolist(), {int(arm): means[arm].tolist() for arm in ranked})


def regret_lines(result: Result, policies: Sequence[str] | None = None, bands: bool = True) -> list[Line]:
    """Mean policy regret over the rounds, from 0 on, with ``bands`` of 95 % confidence if there are several runs.

    Of these policies, each with its place in the palette among all of the result.
    """
    if policies is not None and (isinstance(policies, str) or not policies):
        raise RisingBanditsError(f"policies must be one or more of the result's labels, got {policies!r}.")
    for label in policies or ():
        check_choice("policies", label, result.policies)
    rounds = np.append(0.0, result.record_at)
    tiny = 1e-9 * abs(float(result.oracle[-1]))  # only rounding of equal runs
    lines = []
    for policy, place in policy_places(result.policies).items():
        if policies is not None and policy not in policies:
            continue
        half = None
        if bands and result.runs > 1:
            half = np.append(0.0, result.half_width(policy))
            half[half < tiny] = 0.0
        lines.append(Line(policy, place, rounds, np.append(0.0, result.mean(policy)), half))
    return lines


def pull_shares(result: Result, arms: Sequence[str] | None = None, best: int | None = None) -> Shares:
    """Mean share of the pulls that each policy gave to each arm; the ``best`` arm has a star.

    Of many arms those pulled most (and the best one) have columns, in their own order, and the others one together.
    """
    values = 100 * np.array([result.pulls[policy].mean(axis=0) for policy in result.policies]) / result.horizon
    arm_count = values.shape[1]
    names = [str(arm + 1) if arms is None or arms[arm] == f"arm {arm + 1}" else arms[arm] for arm in range(arm_count)]
    highest = values.max(axis=0)
    if best is not None:
        names[best] += "*"
        highest[best] = np.inf
    if arm_count > _MOST_ARMS:
        order = np.argsort(-highest, kind="stable")
        shown, others = np.sort(order[:_MOST_ARMS]), order[_MOST_ARMS:]
        names = [*(names[arm] for arm in shown), f"{others.size:,} others"]
        values = np.hstack([values[:, shown], values[:, others].sum(axis=1, keepdims=True)])
    return Shares(result.policies, names, values)


def curve_lines(curves: Curves, arms: Sequence[str], best: int | None = None) -> list[Line]:
    """Learning curves of the arms: grey ones first, then those with the largest sums in colour, the ``best`` bold."""
    pulls = np.array(curves.pulls, dtype=float)
    others = f"{len(arms) - _MOST_CURVES:,} others"
    lines = []
    for rank, (arm, means) in enumerate(curves.means.items()):
        y = np.array(means)
        if rank >= _MOST_CURVES:
            lines.append(Line(others, MUTED, pulls, y))
        else:
            name = arms[arm] + (" (best)" if arm == best else "")
            lines.append(Line(name, rank, pulls, y, bold=arm == best))
    return lines[_MOST_CURVES:] + lines[:_MOST_CURVES]


def lines_table(title: str, unit: str, lines: Sequence[Line], x_form: str, y_form: str) -> TextTable:
    """Some points of lines over the same x; ``x_form`` and ``y_form`` are format specifications.

    >>> line = Line("a", 0, np.array([1.0, 2000.0]), np.array([0.5, 0.75]))
    >>> lines_table("Means", "pull", [line], ",.0f", ".2f").rows
    [('1', '0.50'), ('2,000', '0.75')]
    """
    if not lines:
        return TextTable((unit,), [], frozenset(), title)
    x = lines[0].x
    at = np.unique(np.linspace(0, x.size - 1, min(_TABLE_ROWS, x.size)).round().astype(int))
    rows = [(f"{x[i]:{x_form}}", *(f"{line.y[i] + 0.0:{y_form}}" for line in lines)) for i in at]
    header = (unit, *(line.name for line in lines))
    return TextTable(header, rows, frozenset(range(len(header))), title)
