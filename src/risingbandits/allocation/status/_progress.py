"""How far an allocation is: the share of the budget spent, the time left, and the pulls per minute."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import NamedTuple

from risingbandits._core.platform import is_gone
from risingbandits.allocation._arm_state import Flight
from risingbandits.allocation._ledger import Ledger
from risingbandits.allocation.arms._pace import Pace

_MINUTE, _HOUR, _DAY = 60.0, 3_600.0, 86_400.0


class Progress(NamedTuple):
    """How far it is.

    Examples
    --------
    >>> print(Progress(0.383, 741.0, 4.2))
    38 %, about 12 min left, 4.2 pulls a minute
    >>> print(Progress(0.0, None, None))
    0 %
    """

    share: float  #: of the budget, from 0 to 1
    seconds_left: float | None  #: None if unknown
    per_minute: float | None  #: pulls, None if unknown

    def percent(self) -> str:
        """The share; 100 % only when all is spent.

        >>> Progress(0.999, None, None).percent(), Progress(1.0, None, None).percent()
        ('99 %', '100 %')
        """
        return f"{math.floor(100.0 * self.share + 1e-9)} %"

    def left(self) -> str:
        """The time that is left in words."""
        return "" if self.seconds_left is None else f"about {in_words(self.seconds_left)}"

    def throughput(self) -> str:
        """Pulls per second, minute or hour, whichever has some.

        >>> [Progress(0.5, None, rate).throughput() for rate in (600.0, 4.2, 0.05)]
        ['10 pulls a second', '4.2 pulls a minute', '3 pulls an hour']
        """
        if self.per_minute is None:
            return ""
        for factor, unit in ((1 / 60.0, "second"), (1.0, "minute")):
            if self.per_minute * factor >= 1.0:
                return f"{_two_digits(self.per_minute * factor)} pulls a {unit}"
        return f"{_two_digits(60.0 * self.per_minute)} pulls an hour"

    def __str__(self) -> str:
        left = self.left()
        return ", ".join(part for part in (self.percent(), f"{left} left" if left else "", self.throughput()) if part)


def progress_of(ledger: Ledger, pace: Pace, now: float | None = None, gone: Collection[Flight] = ()) -> Progress:
    """How far ``ledger`` is, if pulls take as long as recently, with as many at a time.

    ``now`` is the time by the store's clock; without it, the progress of running pulls does not count. ``gone`` are the
    pulls in flight that are `abandoned`: nobody makes them, and if all are, nobody is at work and no time can be told.
    """
    share = min(1.0, ledger.spent / ledger.settings.budget.amount)
    seconds, left = pace.seconds(), _pulls_left(ledger, pace)
    running = [flight for flight in ledger.in_flight.values() if flight not in gone]
    if ledger.finished or seconds is None or left is None or (gone and not running):
        return Progress(share, None, None)
    # At the end there are fewer pulls than workers, and the last ones take as long as any.
    workers = max(1.0, min(max(pace.workers() - len(gone), len(running)), left))
    done = 0.0
    for flight in running:
        so_far = 0.0 if now is None else now - flight.asked
        done += min(max(0.0, so_far), pace.usual(flight.arm.name) or 0.0)
    rate = 60.0 * workers / seconds if seconds > 0.0 else None
    return Progress(share, max(0.0, left * seconds - done) / workers, rate)


def abandoned(ledger: Ledger, one_machine: bool) -> list[Flight]:
    """The pulls in flight whose process ran on this machine and has ended: whoever goes on repeats them."""
    if not ledger.settings.reclaim:  # then another process may tell what that one has asked for
        return []
    flights = ledger.in_flight.values()
    gone = {worker: is_gone(worker, one_machine) for worker in {flight.worker for flight in flights}}
    return [flight for flight in flights if gone[flight.worker]]


def ended(gone: Collection[Flight], ledger: Ledger) -> str:
    """Who has ended, as a sentence without its full stop; ``gone`` are the `abandoned` pulls, at least one."""
    total, count = len(ledger.in_flight), len(gone)
    one = len({flight.worker for flight in gone}) == 1
    pulls = f"{count} of the {total} pulls" if count < total else "the pull" if total == 1 else f"the {total} pulls"
    return f"the {'process' if one else 'processes'} of {pulls} in flight {'has' if one else 'have'} ended"


def _pulls_left(ledger: Ledger, pace: Pace) -> float | None:
    """Pulls until the budget is spent, or all arms have had theirs; None if their cost is unknown."""
    left = ledger.settings.budget.amount - ledger.spent
    if ledger.settings.budget.pulls is None:
        costs = [_mean_cost(ledger, name) for name in pace.lately() if name in ledger.by_name]
        if not sum(costs) > 0.0:
            return None
        left *= len(costs) / sum(costs)
    able = (arm for arm in ledger.arms if not arm.over)
    return max(0.0, min(left, sum(arm.most_pulls - len(arm.rewards) for arm in able)))


def _mean_cost(ledger: Ledger, name: str) -> float:
    arm = ledger.by_name[name]
    pulls = len(arm.rewards) - arm.warm
    return arm.cost / pulls if pulls else 0.0


def in_words(seconds: float) -> str:
    """A length of time with one or two units.

    >>> [in_words(seconds) for seconds in (0.2, 45, 741, 12_060, 200_000)]
    ['1 s', '45 s', '12 min', '3 h 21 min', '2 d 8 h']
    """
    if seconds < _MINUTE:
        return f"{max(1, math.ceil(seconds))} s"
    if seconds < _HOUR:
        return f"{round(seconds / _MINUTE)} min"
    if seconds < _DAY:
        hours, rest = divmod(round(seconds / _MINUTE), 60)
        return f"{hours} h {rest} min"
    days, rest = divmod(round(seconds / _HOUR), 24)
    return f"{days} d {rest} h"


def _two_digits(value: float) -> str:
    return f"{value:,.0f}" if value >= 10.0 else f"{value:.2g}"
