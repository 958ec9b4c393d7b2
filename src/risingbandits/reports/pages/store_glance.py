"""The first screen of an allocation's page: how it is going, in words.

How far it is and how long it will take, which arm leads and in what band it will end, who is being fed, what was never
tried, and what failed. All but the leader costs next to nothing to say, however long the run is.
"""

from __future__ import annotations

import math
import textwrap
import time
from collections import Counter
from collections.abc import Sequence

from risingbandits.allocation.arm_state import Flight
from risingbandits.allocation.status.arm_table import AllocationTable, ArmRow
from risingbandits.allocation.status.progress import ended
from risingbandits.allocation.status.status import left, spent
from risingbandits.reports.allocation_log import AllocationLog
from risingbandits.reports.pages.layout import Answer, Answers, Bar

_LATELY = 20  # pulls told last that say who is being fed
_MOST_NAMES = 3
_LONGEST_REASON = 120


def progress_bar(log: AllocationLog) -> Bar:
    """The share of the budget that is spent."""
    progress = log.progress()
    return Bar("progress", progress.share, f"{progress.percent()} of the budget is spent: {spent(log.ledger)}")


def leader(found: AllocationTable, finished: bool) -> Answers:
    """The arm to keep if everything ended now, and what is known of it."""
    if found.recommended is None:
        return Answers("leader", [Answer("leader", "none yet", "no reward has been told")])
    row = found[found.recommended]
    return Answers("leader", [Answer("leader", row.arm, _band(row, finished))])


def _band(row: ArmRow, finished: bool) -> str:
    """Where an arm is and will be, as far as that is known.

    >>> row = ArmRow("a", 22, 22.0, 0.5, 0.515, math.nan, 0.01, math.nan, "free", "", end_low=0.52, end_high=0.9)
    >>> _band(row, finished=False)
    'level 0.515; expected to end between 0.52 and 0.9 (90 % band)'
    >>> _band(row._replace(chance=0.25), finished=True)
    'level 0.515; its curve model says between 0.52 and 0.9 (90 % band); 25 % chance of being the best arm tried'
    >>> _band(row._replace(end_low=math.nan, end_high=math.nan), finished=False)
    'level 0.515 ± 0.01'
    """
    if math.isnan(row.end_low):
        said = f"level {row.level:.3g}" + ("" if math.isnan(row.width) else f" ± {row.width:.2g}")
    else:
        band = f"between {row.end_low:.3g} and {row.end_high:.3g} (90 % band)"
        said = f"level {row.level:.3g}; {'its curve model says' if finished else 'expected to end'} {band}"
    if math.isnan(row.chance):
        return said
    return f"{said}; {100.0 * row.chance:.0f} % chance of being the best arm tried"


def answers(log: AllocationLog, live: bool) -> Answers:
    """What is left, who is fed, what was never tried, and what failed."""
    gone = log.abandoned() if live else []
    return Answers("answers", [_left(log, live, gone), _fed(log, gone), _untried(log), _failed(log)])


def _left(log: AllocationLog, live: bool, gone: Sequence[Flight]) -> Answer:
    """The time that is left where somebody works and looks; what is left of the budget."""
    word, ledger = "time left" if live else "left", log.ledger
    if ledger.finished:
        return Answer(word, "none", "the run is over")
    progress = log.progress(time.time()) if live else log.progress()
    about, amount = progress.left(), f"{left(ledger)} left"
    if not ledger.in_flight:
        idle = Answer(word, left(ledger), "no pull is in flight")
        return Answer(word, "nothing is running", amount) if live else idle
    if gone and len(gone) == len(ledger.in_flight):
        return Answer(word, "stopped", f"{ended(gone, ledger)}: run it again to continue; {amount}", True)
    if not live:
        return Answer(word, left(ledger), f"{about} at the latest pace" if about else "")
    if not about:
        return Answer(word, "not known yet", f"no pull is done; {amount}")
    return Answer(word, about, ", ".join(said for said in (progress.throughput(), amount) if said))


def _fed(log: AllocationLog, gone: Sequence[Flight]) -> Answer:
    """Whose pulls run, and who got the last ones."""
    ledger = log.ledger
    lately = Counter(ledger.told_arms[-_LATELY:])
    shares = [f"{count} \N{MULTIPLICATION SIGN} {log.arms[arm].name}" for arm, count in lately.most_common(_MOST_NAMES)]
    others = sum(lately.values()) - sum(count for _, count in lately.most_common(_MOST_NAMES))
    shares += [f"{others} \N{MULTIPLICATION SIGN} others"] if others else []
    detail = f"of the last {sum(lately.values())} pulls: {', '.join(shares)}" if shares else ""
    running = [flight.arm.name for flight in ledger.in_flight.values() if flight not in gone]
    return Answer("being pulled", several(running) if running else "none now", detail)


def _untried(log: AllocationLog) -> Answer:
    names = [arm.name for arm in log.arms if not arm.rewards and arm.retired is None]
    if not names:
        return Answer("never tried", "none", f"all {len(log.arms):,} arms were tried or retired")
    return Answer("never tried", f"{len(names):,} of {len(log.arms):,} arms", several(names))


def _failed(log: AllocationLog) -> Answer:
    if not log.failures:
        return Answer("failed or expired", "none")
    last = log.failures[-1]
    reason = textwrap.shorten(last.text or last.kind, _LONGEST_REASON, placeholder=" \N{HORIZONTAL ELLIPSIS}")
    return Answer("failed or expired", f"{log.n_failures:,}", f"the last: {last.arm}, pull {last.n:,}: {reason}", True)


def several(names: Sequence[str]) -> str:
    """The first names, and how many more there are.

    >>> several(["a"]), several(["a", "b", "c", "d", "e"])
    ('a', 'a, b, c and 2 more')
    """
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {more:,} more" if more > 0 else "")
