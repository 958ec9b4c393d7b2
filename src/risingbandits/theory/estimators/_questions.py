"""What measured curves of several arms mean for the choice of a policy: one verdict for each question.

Each verdict says what was seen and what follows from it, or that too little was measured. Thresholds are
round numbers for reading, not tests, except those of the shapes, which are those of `check_curve`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from risingbandits._core.stats import rank_correlation
from risingbandits._core.types import Floats
from risingbandits.theory.estimators._measured import CurveReport, noise_level

SHARES = (0.1, 0.2, 0.5)  # of a curve, at which its rank is compared with that in the end
_ASKED = 0.2  # the share that the verdict about ranks is about
_WHOLE = 0.8  # of the longest curve: shorter ones were stopped early, and their ends say nothing
_FEW = 5  # arms below which ranks or a schedule cannot be seen
_LEAST_VALUES = 10
_EARLY, _LATE = 0.8, 0.5  # rank correlations above and below which early values tell much, or little
_QUIET, _LOUD = 0.1, 0.5  # noise of one value, as a share of how far arms are apart in the end
_SOME = 0.1  # of the arms may violate a shape: with many, one in twenty does by chance
_MOST, _HALF = 0.8, 0.5  # of the arms have a feature: then it is one of all, or of part of them
_CALM = 0.35  # of its fluctuation in the middle that a curve has at its end: then something has calmed it
_OFTEN = 1 / 3  # of the second differences of a curve change their sign: noise does so in 3 of 4, a smooth curve never
_LEAST_FOR_CALM = 25  # values
_ROUNDING = 1e-12  # of the values, by which the ends of equal arms may differ


class Verdict(NamedTuple):
    """The answer to one question about curves, and what it means."""

    question: str
    answer: str
    meaning: str


def check_curves(
    curves: Mapping[str, npt.ArrayLike], reports: Sequence[CurveReport], restarted: Sequence[str] = ()
) -> list[Verdict]:
    """Verdicts on curves where more is better.

    Parameters
    ----------
    curves : dict of name -> values
    reports : sequence of CurveReport
        Those of the curves.
    restarted : sequence of str
        Arms whose log went back to an earlier step.

    Examples
    --------
    >>> from risingbandits.theory.estimators import check_curve
    >>> curves = {f"net {k}": [0.1 * k * (1 - 0.9**n) for n in range(1, 41)] for k in range(1, 9)}
    >>> reports = [check_curve(values, noise=0.0, name=name) for name, values in curves.items()]
    >>> for verdict in check_curves(curves, reports):
    ...     print(f"{verdict.question}: {verdict.answer}.")
    rising: yes, 8 of 8 arms.
    concave: yes, 8 of 8 arms.
    early ranks: tell who wins: rank correlation with the end (1: same order) 1.00 at 10 %, 1.00 at 20 %, 1.00 at 50 %.
    noise: small, 0.09 % of how far apart arms are in the end.
    schedule: none seen.
    restarts: none seen.
    """
    values = {name: np.asarray(own, dtype=np.float64) for name, own in curves.items()}
    _, table = whole_curves(values)
    return [
        _shape(reports, "rising"),
        _shape(reports, "concave"),
        _ranks(table),
        _noise(table),
        _schedule(table),
        _restarts(restarted, len(values)),
    ]


def whole_curves(curves: Mapping[str, Floats]) -> tuple[list[str], Floats]:
    """Names and values of the curves that were not stopped early, cut to a common length.

    >>> whole_curves({"a": np.arange(10.0), "stopped": np.arange(3.0), "b": np.arange(9.0)})[0]
    ['a', 'b']
    """
    longest = max(len(own) for own in curves.values())
    whole = {name: own for name, own in curves.items() if len(own) >= _WHOLE * longest}
    common = min(len(own) for own in whole.values())
    return list(whole), np.array([own[:common] for own in whole.values()])


def early_ranks(table: Floats, shares: Sequence[float] = SHARES) -> Floats:
    """Rank correlation (Spearman) of the arms' values at shares of their curves with those in the end.

    One row of ``table`` for each arm; the end is the mean of the last 5 %. NaN if all values are equal.

    >>> early_ranks(np.array([[1.0, 2.0, 3.0], [2.0, 2.5, 2.9], [0.0, 0.1, 0.2]]), [0.4, 1.0]).round(2).tolist()
    [0.5, 1.0]
    """
    end, length = ends_of(table), table.shape[1]
    found = [rank_correlation(table[:, max(1, math.ceil(share * length)) - 1], end) for share in shares]
    return np.array([math.nan if value is None else value for value in found])


def ends_of(table: Floats) -> Floats:
    """What each arm is worth in the end: the mean of the last 5 % of its row."""
    last: Floats = table[:, -max(1, math.ceil(0.05 * table.shape[1])) :].mean(axis=1)
    return last


def _shape(reports: Sequence[CurveReport], shape: str) -> Verdict:
    wrong = sum(getattr(report, shape).violated for report in reports)
    count = f"{len(reports) - wrong} of {len(reports)} arms"
    expected = {
        "rising": "arms get better with use, which policies here expect",
        "concave": "arms gain less and less with use, so that policies can tell how far one may still come",
    }
    meanings = {
        "rising": "an arm that gets worse with use is stopped too late by policies that expect it to rise",
        "concave": "arms may rise late, so that policies that extrapolate, such as commit-ucb, may miss them; "
        "best-arm policies promise nothing either, but compare more evenly",
    }
    if wrong > _SOME * len(reports):
        return Verdict(shape, f"no, {count}", meanings[shape])
    return Verdict(shape, f"yes, {count}", expected[shape])


def _too_small(question: str, table: Floats) -> Verdict | None:
    """That nothing can be said, if so, and what to record."""
    arms, length = table.shape
    if arms < _FEW:
        answer = f"cannot say: it takes {_FEW} runs that were not stopped early, and there {_are(arms)}"
        return Verdict(question, answer, "record more runs to their end")
    if length < _LEAST_VALUES:
        answer = f"cannot say: it takes {_LEAST_VALUES} values of each run, and there {_are(length)}"
        return Verdict(question, answer, "record values more often, or train for longer")
    return None


def _are(count: int) -> str:
    return "is 1" if count == 1 else f"are {count}"


def _ranks(table: Floats) -> Verdict:
    question = "early ranks"
    if too_small := _too_small(question, table):
        return too_small
    found = early_ranks(table)
    if np.isnan(found).any():
        return Verdict(question, "cannot say: all arms are equal early or in the end", "any policy will do")
    text = ", ".join(f"{value:.2f} at {share:.0%}" for value, share in zip(found, SHARES, strict=True))
    text = f"rank correlation with the end (1: same order) {text.replace('%', ' %')}"
    at = float(found[SHARES.index(_ASKED)])
    if at >= _EARLY:
        return Verdict(
            question, f"tell who wins: {text}", "early stopping is safe: halving and small budgets lose little"
        )
    if at >= _LATE:
        return Verdict(
            question, f"tell in part who wins: {text}", "stop the worst half early, and keep several until the middle"
        )
    return Verdict(
        question,
        f"do not tell who wins: {text}",
        "arms overtake each other late: a small budget finds the best one by luck",
    )


def _noise(table: Floats) -> Verdict:
    question = "noise"
    if table.shape[0] < 2 or table.shape[1] < 3:
        answer = "cannot say: it takes 2 runs that were not stopped early, with 3 values each"
        return Verdict(question, answer, "record more runs to their end")
    tails = table[:, table.shape[1] // 3 :] if table.shape[1] >= 9 else table
    noise = math.sqrt(float(np.mean([noise_level(own) ** 2 for own in tails])))
    apart = float(np.std(ends_of(table), ddof=1))
    if apart <= _ROUNDING * float(np.abs(table).max()):
        return Verdict(question, "cannot say: all arms end at the same value", "any policy will do")
    share = f"{100 * noise / apart:.2g} % of how far apart arms are in the end"
    if noise <= _QUIET * apart:
        return Verdict(question, f"small, {share}", "one value tells arms apart")
    if noise <= _LOUD * apart:
        return Verdict(question, f"some, {share}", "compare means of several values; a wider --step makes them")
    return Verdict(
        question, f"large, {share}", "the best arm of these curves may be the best only by chance: measure more exactly"
    )


def _schedule(table: Floats) -> Verdict:
    """Whether most curves calm down, or speed up, towards their end, which curves without a planned end do not."""
    question = "schedule"
    if too_small := _too_small(question, table):
        return too_small
    found = {
        "gain more in the last fifth than in the one before": (gains_late(table), len(table)),
        "fluctuate far less at the end than in the middle": calm_at_the_end(table),
    }
    for what, (count, of) in found.items():
        if count >= _MOST * of and of >= max(_FEW, len(table) / 2):
            return Verdict(
                question,
                f"likely, {count} of {of} arms {what}",
                "as with a learning rate that falls towards a planned end (cosine): values on the way are too low, and "
                "only those of runs with the same planned end can be compared",
            )
    for what, (count, of) in found.items():
        if count >= _HALF * of and of >= max(_FEW, len(table) / 2):
            return Verdict(
                question,
                f"in part, {count} of {of} arms {what}",
                "some arms may have a learning rate that falls towards a planned end (cosine): do not compare their "
                "values on the way with those of the others",
            )
    return Verdict(question, "none seen", "values on the way can be taken as they are")


def gains_late(table: Floats) -> int:
    """How many curves gain more in their last fifth than in the one before, which a flattening curve does not."""
    length = table.shape[1]
    block = max(1, length // 20)
    ends = [table[:, round(share * length) - block : round(share * length)].mean(axis=1) for share in (0.6, 0.8, 1.0)]
    faster = ends[2] - 2.0 * ends[1] + ends[0]
    noise = np.array([noise_level(own) for own in table[:, length // 3 :]])
    sure = faster > 2.0 * noise * math.sqrt(6.0 / block)
    return int(np.count_nonzero(sure & (ends[2] > ends[1])))


def calm_at_the_end(table: Floats) -> tuple[int, int]:
    """How many curves fluctuate far less in their last tenth than in the middle, and for how many that can be said.

    With a learning rate that falls to 0, training steps become too small to see. It cannot be said for curves that are
    smooth in the middle, whose second differences keep their sign, nor for those that stand still at the end: they may
    just have ended, or be as good as possible.

    >>> rng = np.random.default_rng(0)
    >>> noise = rng.normal(0, 0.01, (8, 60))
    >>> calm_at_the_end(noise), calm_at_the_end(noise * np.linspace(1, 0.01, 60)), calm_at_the_end(np.ones((8, 60)))
    ((0, 8), (8, 8), (0, 0))
    """
    length = table.shape[1]
    if length < _LEAST_FOR_CALM:
        return 0, 0
    middle = table[:, round(0.35 * length) : round(0.65 * length)]
    late = table[:, -max(5, math.ceil(0.1 * length)) :]
    signs = np.sign(np.diff(middle, n=2, axis=1))
    fluctuates = (signs[:, 1:] * signs[:, :-1] < 0).mean(axis=1) >= _OFTEN
    before, after = (np.array([noise_level(own) for own in part]) for part in (middle, late))
    told = fluctuates & (after > 0.0)
    return int(np.count_nonzero(told & (after <= _CALM * before))), int(np.count_nonzero(told))


def _restarts(restarted: Sequence[str], arms: int) -> Verdict:
    if not restarted:
        return Verdict("restarts", "none seen", "nothing was measured twice")
    names = ", ".join(restarted[:3]) + (", ..." if len(restarted) > 3 else "")
    return Verdict(
        "restarts",
        f"{len(restarted)} of {arms} arms ({names})",
        "what was written last counts; the hours of the first attempt are in the times",
    )
