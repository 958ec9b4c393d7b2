"""Sentences of the paper's section and appendix on experiments, each with a test on the study's tables.

Every sentence is judged twice: on policies as their papers define them, with Gaussian noise, and on the published
program, played as it is. So it is attributed to the definitions, to the program, or to neither. Findings and verdicts
are computed from the tables.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from risingbandits.lab.paper._csv_tables import Line, RegretData
from risingbandits.lab.paper._regret_study import PAPER_POLICIES

HOLDS, PARTLY, FAILS = "holds", "holds in part", "does not hold"

_DEFINITION, _PROGRAM = "gaussian", "program"  # panels of the studies
_DEVIATIONS = "deviations"
_INDEX_1 = "red-ucb, index 1"


class View(NamedTuple):
    """One panel of a study: the policies and their results."""

    data: RegretData
    panel: str

    @property
    def lines(self) -> dict[str, Line]:
        """Regret of the paper's policies."""
        return {label: self.data.lines[self.panel][label] for label in PAPER_POLICIES}

    @property
    def end(self) -> float:
        """T."""
        return float(self.lines["red-ucb"].rounds[-1])

    @property
    def final(self) -> dict[str, float]:
        """Final regret of all policies of the panel."""
        return self.data.final_regret(self.panel)

    def ranked(self, t: float) -> list[str]:
        """The paper's policies by mean regret at round t, least first."""
        return sorted(self.lines, key=lambda label: self.lines[label].at(t))

    def share(self, label: str, arm: int) -> float:
        """Percent of the pulls that went to an arm, counted from 1."""
        pulls = self.data.pulls[self.panel][label]
        return 100 * float(pulls[arm - 1]) / float(pulls.sum())

    def half_width(self, label: str) -> float:
        """Half of the 95 % interval of the final regret."""
        (row,) = (row for row in self.data.final if row["panel"] == self.panel and row["policy"] == label)
        return float(row["half_width"] or "nan")

    def commit_ucb(self) -> str:
        """What CommitUCB has, if it plays."""
        final = self.final
        return f"; CommitUCB, not in the paper, {_amount(final['commit-ucb'])}" if "commit-ucb" in final else ""


class Views(NamedTuple):
    """The two problems as one panel has them."""

    fifteen: View
    two: View


class Claim(NamedTuple):
    """A sentence and what the tables of a study say about it."""

    quote: str
    where: str
    judge: Callable[[Any], tuple[str, str]]  # finding, verdict


class Judgement(NamedTuple):
    """A sentence, where it stands, what we find by the definitions and by the program, and to which it is due."""

    quote: str
    where: str
    by_definition: str
    by_program: str
    attribution: str


def judge(claims: Sequence[Claim], definition: Any, program: Any) -> list[Judgement]:
    """All claims, judged by the tables of both studies."""
    judgements = []
    for claim in claims:
        (defined, first), (played, second) = claim.judge(definition), claim.judge(program)
        due_to = attributed(first, second)
        judgements.append(Judgement(claim.quote, claim.where, f"{first}: {defined}", f"{second}: {played}", due_to))
    return judgements


def judged(folder: Path) -> list[Judgement]:
    """All claims about the synthetic problems, judged by the tables in ``folder``."""
    fifteen, two = RegretData.read(folder, "15arms"), RegretData.read(folder, "2arms")
    definition, program = (Views(View(fifteen, panel), View(two, panel)) for panel in (_DEFINITION, _PROGRAM))
    return judge(CLAIMS, definition, program)


def attributed(by_definition: str, by_program: str) -> str:
    """What a sentence is due to: the definitions if it follows from them, otherwise the program, otherwise neither.

    >>> attributed("holds", "holds"), attributed("holds in part", "holds"), attributed("does not hold", "does not hold")
    ('definition', 'program', 'neither')
    >>> attributed("holds in part", "does not hold"), attributed("does not hold", "holds in part")
    ('definition, in part', 'program, in part')
    """
    for verdict, ending in ((HOLDS, ""), (PARTLY, ", in part")):
        for source, found in (("definition", by_definition), ("program", by_program)):
            if found == verdict:
                return source + ending
    return "neither"


def _amount(value: float) -> str:
    return f"{value:,.0f}".replace("-", "\N{MINUS SIGN}")


def _ordinal(rank: int) -> str:
    return {1: "first", 2: "second", 3: "third", 4: "fourth", 5: "fifth", 6: "sixth", 7: "seventh"}[rank]


def _best_at_the_end(views: Views) -> tuple[str, str]:
    final, order = views.fifteen.final, views.fifteen.ranked(views.fifteen.end)
    text = f"{order[0]} {_amount(final[order[0]])}, then {order[1]} {_amount(final[order[1]])}, {order[2]} "
    text += _amount(final[order[2]]) + views.fifteen.commit_ucb()
    return text, HOLDS if order[0] == "sw-ts" else FAILS


def _less_at_the_beginning(views: Views) -> tuple[str, str]:
    lines = views.fifteen.lines
    rounds = lines["sw-ts"].rounds
    texts, held = [], []
    for label in ("sw-ucb", "sw-kl-ucb"):
        below = lines[label].mean < lines["sw-ts"].mean
        held.append(bool(below[0]))
        when = np.flatnonzero(below)
        if not when.size:
            texts.append(f"{label} never has less than SW-TS")
            continue
        first = "the beginning" if below[0] else _amount(float(rounds[when[0]]))
        texts.append(f"{label} has less than SW-TS from {first} to about {_amount(float(rounds[when[-1]]))}")
    return "; ".join(texts), HOLDS if all(held) else PARTLY if any(held) else FAILS


def _initial_exploration(views: Views) -> tuple[str, str]:
    t = 0.1 * views.fifteen.end
    order, lines = views.fifteen.ranked(t), views.fifteen.lines
    others = [lines[label].at(t) for label in order if label != "red-ucb"]
    text = f"at t = {_amount(t)} R-ed-UCB has {_amount(lines['red-ucb'].at(t))}, the others "
    text += f"{_amount(min(others))} to {_amount(max(others))}"
    if views.fifteen.ranked(views.fifteen.end)[-1] == "red-ucb":
        text += "; it goes on paying to the end"
    return text, HOLDS if order[-1] == "red-ucb" else PARTLY if order.index("red-ucb") >= 4 else FAILS


def _second_best(views: Views) -> tuple[str, str]:
    view = views.fifteen
    final, order = view.final, view.ranked(view.end)
    rank, half_width = order.index("red-ucb") + 1, view.half_width("red-ucb")
    text = f"{_ordinal(rank)} of seven with {_amount(final['red-ucb'])} ± {_amount(half_width)}"
    second = order[1]
    within = rank > 2 and final["red-ucb"] - half_width <= final[second]
    if within:
        text += f", which includes the second, {second} with {_amount(final[second])}"
    if "round-robin" in final:
        single = View(view.data, _DEVIATIONS)
        arms = sum(float(n) > 0 for n in view.data.pulls[_DEVIATIONS][_INDEX_1])
        text += f" (round robin {_amount(final['round-robin'])}). With Beta noise and index 1 while h = 0 it has "
        text += f"{_amount(single.final[_INDEX_1])} instead of {_amount(single.final['red-ucb'])}: it then plays only "
        text += f"{arms} of the 15 arms, the first ones"
    return text, HOLDS if rank == 2 else PARTLY if within else FAILS


def _negative_before_crossing(views: Views) -> tuple[str, str]:
    lines, end = views.two.lines, views.two.end
    crossing, bound = 19 * end / 400, 0.1 * end
    step = float(next(iter(lines.values())).rounds[0])
    falling = sum(line.slope(crossing - step, crossing) < 0 for line in lines.values())
    later = sum(line.slope(bound - step, bound) < 0 for line in lines.values())
    last = sorted(float(line.rounds[line.mean < 0].max(initial=0.0)) for line in lines.values())
    text = f"just before t = {_amount(crossing)} the regret per round of {falling} of seven is negative, just before "
    text += f"{_amount(bound)} of {later}; the cumulative regret is negative until {_amount(last[0])} to "
    text += _amount(last[-1])
    return text, (HOLDS if later >= 4 else PARTLY) if falling >= 4 else FAILS


def _on_par(views: Views) -> tuple[str, str]:
    lines, t = views.two.lines, 0.1 * views.two.end
    others = [line.at(t) for label, line in lines.items() if label != "red-ucb"]
    mine = lines["red-ucb"].at(t)
    text = (
        f"at t = {_amount(t)} R-ed-UCB has {_amount(mine)}, the others {_amount(min(others))} to {_amount(max(others))}"
    )
    near = min(others) - 1_000 <= mine <= max(others) + 1_000
    return text, HOLDS if near else FAILS


def _outperforms(views: Views) -> tuple[str, str]:
    final, order = views.two.final, views.two.ranked(views.two.end)
    parts = [f"{label} {_amount(final[label])} ± {_amount(views.two.half_width(label))}" for label in order[:3]]
    return ", ".join(parts) + views.two.commit_ucb(), HOLDS if order[0] == "red-ucb" else FAILS


def _slopes(views: Views) -> tuple[str, str]:
    lines, end = views.two.lines, views.two.end
    bends = {label: _bend(lines[label]) for label in ("rexp3", "ser4")}
    texts = []
    for label, bend in bends.items():
        slope, late = lines[label].slope(0.125 * end, 0.175 * end), lines[label].slope(0.8 * end, end)
        texts.append(f"{label}: {slope:.2f} per round around 30,000, {late:.2f} at the end, bend near {_amount(bend)}")
    near = [abs(bend - 40_000) <= 15_000 for bend in bends.values()]
    bent = all(bend < end for bend in bends.values())  # at a bend the slope has fallen to half
    return "; ".join(texts), (HOLDS if all(near) else PARTLY) if bent else FAILS


def _bend(line: Line) -> float:
    """The first round after T/10 at which the slope has fallen to half of the largest before; the horizon if none."""
    slopes = np.diff(np.append(0.0, line.mean)) / np.diff(np.append(0.0, line.rounds))
    highest = np.maximum.accumulate(slopes)
    found = np.flatnonzero((slopes < highest / 2) & (line.rounds > 0.1 * line.rounds[-1]) & (highest > 0))
    return float(line.rounds[found[0]]) if found.size else float(line.rounds[-1])


def _late_reaction(views: Views) -> tuple[str, str]:
    line, end = views.two.lines["sw-ts"], views.two.end
    before, after = line.slope(0.3 * end, 0.5 * end), line.slope(0.8 * end, end)
    text = f"SW-TS gains {before:.3f} of regret a round before t = {_amount(0.5 * end)} and {after:.3f} at the end; "
    text += f"{views.two.share('sw-ts', 2):.0f} % of its pulls are of arm 2"
    return text, HOLDS if after < before / 2 else FAILS


def _large_at_first(views: Views) -> tuple[str, str]:
    lines, end = views.two.lines, views.two.end
    shares = {label: 100 * lines[label].at(0.4 * end) / lines[label].at(end) for label in ("rexp3", "ser4", "sw-ts")}
    text = f"of its final regret each has by t = {_amount(0.4 * end)}: "
    text += ", ".join(f"{label} {share:.0f} %" for label, share in shares.items())
    early = [share > 50 for share in shares.values()]
    return text, HOLDS if all(early) else PARTLY if any(early) else FAILS


def _linear(views: Views) -> tuple[str, str]:
    lines, end = views.two.lines, views.two.end
    slopes = {label: lines[label].slope(0.8 * end, end) for label in ("kl-ucb", "sw-ucb", "sw-kl-ucb")}
    text = "regret per round at the end: " + ", ".join(f"{label} {slope:.3f}" for label, slope in slopes.items())
    linear = [slope > 0.3 for slope in slopes.values()]
    if not linear[-1]:
        text += f"; SW-KL-UCB's window of 252 lets it find arm 2 near {_amount(_bend(lines['sw-kl-ucb']))}"
    return text, HOLDS if all(linear) else PARTLY if any(linear) else FAILS


def _arms_13_and_1(views: Views) -> tuple[str, str]:
    view = views.fifteen
    order = [int(arm) + 1 for arm in np.argsort(-view.data.pulls[view.panel]["red-ucb"])]
    top = ", ".join(f"arm {arm} {view.share('red-ucb', arm):.1f} %" for arm in order[:4])
    text = f"{top}; the least pulled has {view.share('red-ucb', order[-1]):.1f} %"
    return text, HOLDS if set(order[:2]) == {1, 13} else FAILS


def _identified(views: Views) -> tuple[str, str]:
    share = views.two.share("red-ucb", 2)
    return f"{share:.0f} % of its pulls are of arm 2", HOLDS if share > 80 else FAILS


def _not_identified(views: Views) -> tuple[str, str]:
    shares = {label: views.two.share(label, 2) for label in ("kl-ucb", "sw-ucb", "sw-kl-ucb")}
    text = "pulls of arm 2: " + ", ".join(f"{label} {share:.1f} %" for label, share in shares.items())
    missed = [share < 50 for share in shares.values()]
    return text, HOLDS if all(missed) else PARTLY if any(missed) else FAILS


def _slightly_more(views: Views) -> tuple[str, str]:
    shares = {label: views.two.share(label, 2) for label in ("ser4", "rexp3", "sw-ts")}
    text = "pulls of arm 2: " + ", ".join(f"{label} {share:.0f} %" for label, share in shares.items())
    near = [50 < share < 65 for share in shares.values()]
    return text, HOLDS if all(near) else PARTLY if any(near) else FAILS


_FIFTEEN, _TWO = "Rested setting, 15 arms", "Rested setting, 2 arms"
_PULLS_15, _PULLS_2 = "Pulls of each arm, 15 arms", "Pulls of each arm, 2 arms"

CLAIMS = (
    Claim("SW-TS is confirmed as the best algorithm at the end of the time horizon", _FIFTEEN, _best_at_the_end),
    Claim(
        "other algorithms (SW-UCB and SW-KL-UCB) suffer less regret at the beginning of learning",
        _FIFTEEN,
        _less_at_the_beginning,
    ),
    Claim("R-ed-UCB pays the price of the initial exploration", _FIFTEEN, _initial_exploration),
    Claim("at the end of the horizon, it manages to achieve the second-best performance", _FIFTEEN, _second_best),
    Claim(
        "the expected (instantaneous) regret may be negative for t < 19T/400, and this is the case for most of the "
        "algorithms for t < 20,000",
        _TWO,
        _negative_before_crossing,
    ),
    Claim("for the first ≈ 20,000 rounds R-ed-UCB is on par with the other algorithms", _TWO, _on_par),
    Claim("it outperforms all the other policies over a longer run", _TWO, _outperforms),
    Claim("the regret for Rexp3 and Ser4 is decreasing the slope for t > 40,000", _TWO, _slopes),
    Claim("SW-TS starts reacting even later, at around t ≈ 100,000", _TWO, _late_reaction),
    Claim("they ... collect a large regret in the first part of the learning process", _TWO, _large_at_first),
    Claim("The other algorithms suffer a linear regret at the end of the time horizon", _TWO, _linear),
    Claim("R-ed-UCB explored arms 13 and 1 more than the others", _PULLS_15, _arms_13_and_1),
    Claim("R-ed-UCB undoubtedly identified which arm is the best (arm 2)", _PULLS_2, _identified),
    Claim("KL-UCB, SW-UCB, SW-KL-UCB do not identify the best arm", _PULLS_2, _not_identified),
    Claim("Ser4, Rexp3 and SW-TS pulled the best arm slightly more than 50% of the times", _PULLS_2, _slightly_more),
)
