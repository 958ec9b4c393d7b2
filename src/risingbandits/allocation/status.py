"""Where an allocation stands: the table of arms, the pulls in flight, and what is spent in a sentence."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

import numpy as np

from risingbandits._core.tables import TextTable
from risingbandits.allocation.arm_state import ArmState, Flight, best_pull, recent_mean
from risingbandits.allocation.arm_table import NOT_OPENED, OPENED, AllocationTable, ArmRow
from risingbandits.allocation.cost_rounds import cost_sentence
from risingbandits.allocation.forecasts import Forecasts, forecasts
from risingbandits.allocation.ledger import Ledger
from risingbandits.allocation.pull import place_of
from risingbandits.allocation.untried import untried_sentence
from risingbandits.allocation.workers import in_short, several_hosts
from risingbandits.policies.explanation import Explanation, Units
from risingbandits.policies.reasons import NEVER_PULLED, against
from risingbandits.policies.reasons import explanation as policy_explanation

_NAMED = 3  # arms that a sentence names
# What policies call the columns of `explain`, for each column here. CommitUCB's line is level, trend and width at once.
_LEVELS, _TRENDS, _WIDTHS, _VALUES = ("level",), ("trend", "slope"), ("width",), ("value", "commit value")


def allocation_table(ledger: Ledger) -> AllocationTable:
    """The table of a ledger, which is not changed."""
    following, place, opened = _next_arm(ledger)
    explanation = policy_explanation(ledger.policy, ledger.policy._state, place, Units(ledger.zero, ledger.span))
    name, why = (None, "") if following is None else (following.name, _why_next(ledger, following, explanation, opened))
    model = forecasts(ledger)
    rows = [_row(ledger, arm, explanation, model, f"next: {why}" if arm is following else "") for arm in ledger.arms]
    title = f"{ledger.policy.described()}, {spent(ledger)} spent, {len(ledger.in_flight)} in flight"
    if costs := cost_sentence(ledger):
        title = f"{title};\n{costs}"
    kept, why_kept, against = _kept(ledger, explanation, rows)
    opinion = model.sentence()
    if opinion and ledger.rounds is not None:
        opinion += (
            f"; pulls and levels in the policy's reasons are those of rounds that cost {ledger.rounds.unit:.3g} each"
        )
    said = untried_sentence(ledger), opinion
    return AllocationTable(title, rows, prior_sentence(ledger), name, why, kept, why_kept, against, *said)


def prior_sentence(ledger: Ledger) -> str:
    """Where the prior is from and how far it is confirmed, or that settings decide; empty if neither applies.

    >>> from risingbandits.allocation import Allocator
    >>> from risingbandits.allocation.prior.beliefs import Belief, Prior
    >>> prior = Prior({"a": Belief(1.0, 0.5, "12 tasks")}, tasks=12, agreement=0.61)
    >>> prior_sentence(Allocator(["a", "b"], budget=10, prior=prior).ledger)
    'prior from 12 tasks, agreement among them 0.61'
    """
    prior, rule = ledger.settings.prior, ledger.rule
    if ledger.settings.learns:
        return f"arms are opened by their settings, learnt from {sum(bool(arm.rewards) for arm in ledger.arms)} arms"
    if prior is None or rule is None:
        return ""
    said = f"prior from {prior.tasks} task{'' if prior.tasks == 1 else 's'}" if prior.tasks else "prior from scores"
    if prior.agreement is not None:
        said += f", agreement among them {prior.agreement:.2g}"
    if ledger.dropped:
        why = next((arm.bound for arm in ledger.opened if ": " in arm.bound), "the run contradicts it")
        return f"{said}, dropped: {why.partition(': ')[2] or why}"
    told = [arm for arm in ledger.opened if arm.rewards]
    if len(told) > 1:  # 1 is as much as was expected, and it may be more
        said += f", so far confirmed {rule.trust(told, math.copysign(1.0, ledger.span)):.2g} by {len(told)} arms"
    return said


def arms_table(ledger: Ledger) -> TextTable:
    """The table of a ledger as a string."""
    return allocation_table(ledger).text_table()


def flights_table(ledger: Ledger) -> TextTable:
    """The pulls in flight: which worker has them, and for how much longer."""
    now = time.time()
    slots = any(flight.slot for flight in ledger.in_flight.values())
    rows = [
        (
            flight.arm.name,
            str(flight.n),
            str(flight.attempt),
            f"{now - flight.asked:,.0f} s",
            f"{flight.deadline - now:,.0f} s",
            _host_and_process(flight),
            *((flight.slot or "-",) if slots else ()),
        )
        for flight in ledger.in_flight.values()
    ]
    header = ("arm", "pull", "attempt", "for", "lease left", "host and process", *(("slot",) if slots else ()))
    return TextTable(header, rows, frozenset({1, 2, 3, 4}), "In flight")


def _host_and_process(flight: Flight) -> str:
    return ":".join(flight.worker.split(":")[:2])


def spent(ledger: Ledger) -> str:
    """How much of the budget is spent.

    >>> from risingbandits.allocation import Allocator
    >>> spent(Allocator(["a"], budget=10).ledger)
    '0 of 10 pulls'
    """
    budget = ledger.settings.budget
    return f"{_amount(ledger.spent)} of {_amount(budget.amount)} {budget.unit}"


def left(ledger: Ledger) -> str:
    """How much of the budget is left.

    >>> from risingbandits.allocation import Allocator
    >>> left(Allocator(["a"], budget=10).ledger)
    '10 pulls'
    """
    budget = ledger.settings.budget
    return f"{_amount(max(0.0, budget.amount - ledger.spent))} {budget.unit}"


def _amount(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,g}"


def standing(ledger: Ledger) -> str:
    """What is spent and which arm to keep, in a sentence or two."""
    if not ledger.told:
        so_far = "No arm is left that can be pulled" if ledger.finished else "No pull is done yet"
        return f"Spent {spent(ledger)}. {so_far}."
    done = "The budget is spent." if ledger.spent >= ledger.settings.budget.amount else f"Spent {spent(ledger)}."
    if ledger.finished and ledger.spent < ledger.settings.budget.amount:
        done += " No arm is left that can be pulled."
    arm = ledger.arm(ledger.recommend())
    more = [said for said in (_best_sentence(ledger, arm), _failed_sentence(ledger), untried_sentence(ledger)) if said]
    return f"{done} Recommended: {arm.name}{''.join(f'. {said}' for said in more)}{'.' if more else ''}"


def _best_sentence(ledger: Ledger, arm: ArmState) -> str:
    """Which pull of an arm gave its best reward and where its checkpoint is; empty before the arm's first pull.

    >>> from risingbandits.allocation import Allocator
    >>> allocator = Allocator(["a"], budget=2)
    >>> allocator.tell(allocator.ask(), 0.75, checkpoint="512"), allocator.tell(allocator.ask(), 0.5)
    (True, True)
    >>> standing(allocator.ledger)
    'The budget is spent. Recommended: a. Its best reward is 0.75, after pull 1: a/checkpoint-1-1.'
    """
    n = best_pull(arm, ledger.settings.direction)
    if n == 0:
        return ""
    kept = arm.best is not None and arm.best.n == n
    said = f"Its best reward is {arm.rewards[n - 1]:.4g}, after pull {n}"
    said += f": {place_of(arm.name, arm.best)}" if kept else ", which left no checkpoint"
    if arm.last is not None and arm.last.n != n and arm.last.n == len(arm.rewards):
        said += f"; its last one is {arm.last.value:.4g}: {place_of(arm.name, arm.last)}"
    return said


def _failed_sentence(ledger: Ledger) -> str:
    """Which arms were given up because they failed; empty if none was.

    >>> from risingbandits.allocation import Allocator
    >>> allocator = Allocator(["a", "b", "c"], budget=3, policy="round-robin", retries=1)
    >>> allocator.fail(allocator.ask(), "no such file", retry=False)
    >>> standing(allocator.ledger)
    'Spent 0 of 3 pulls. No pull is done yet.'
    >>> _failed_sentence(allocator.ledger)
    '1 of 3 arms failed and was retired: a'
    """
    failed = [arm.name for arm in ledger.arms if arm.retired is not None and arm.failures]
    if not failed:
        return ""
    named = ", ".join(failed[:_NAMED]) + (" and others" if len(failed) > _NAMED else "")
    were = "was" if len(failed) == 1 else "were"
    return f"{len(failed):,} of {len(ledger.arms):,} arms failed and {were} retired: {named}"


# -- rows of the table -----------------------------------------------------------------------------------------------


def _next_arm(ledger: Ledger) -> tuple[ArmState | None, int | None, str]:
    """Which arm would be next, its number for the policy, and why it is opened, if it is opened only now.

    Found with a copy of the policy, because asking may change it.
    """
    if ledger.finished or ledger.committed:
        return None, None, ""
    policy, choice = ledger.policy, ledger.choice
    ledger.policy = policy.clone()
    try:
        arm = ledger.decide()
        if arm is None or arm.index >= 0:
            return arm, None if arm is None else arm.place, ""
        binding = ledger.next_binding()
        return binding.arm, arm.place, binding.reason.partition(":")[0]
    finally:
        ledger.policy, ledger.choice = policy, choice


def _row(ledger: Ledger, arm: ArmState, explanation: Explanation, model: Forecasts, why_next: str) -> ArmRow:
    level, sure = _part(explanation, arm, _LEVELS), _part(explanation, arm, ("sure",))
    trend, width = _part(explanation, arm, _TRENDS), _part(explanation, arm, _WIDTHS)
    level, sure = ledger.zero + ledger.span * level, ledger.zero + ledger.span * sure
    trend, width = ledger.span * trend, abs(ledger.span) * width
    by_cost = ledger.rounds is not None  # then what the policy knows is by rounds of equal cost, not by pulls
    if (by_cost or not any(name in explanation.columns for name in _LEVELS)) and arm.rewards:
        level = recent_mean(arm)
    if by_cost or not any(name in explanation.columns for name in (*_WIDTHS, "sure")):
        width = abs(model.units.span) * float(model.found.error[arm.index])
    if by_cost:
        sure = trend = math.nan
    brings = costs = value = math.nan
    if "price" in explanation.columns:  # OpenByValue: what a trial may bring and loses, over the rounds left
        brings, costs = (abs(ledger.span) * _part(explanation, arm, (name,)) for name in ("value", "price"))
    elif not by_cost:
        value = ledger.zero + ledger.span * _part(explanation, arm, _VALUES)
    status = _status(ledger, arm)
    row = ArmRow(
        arm.name,
        len(arm.rewards),
        arm.cost,
        arm.rewards[-1] if arm.rewards else math.nan,
        level,
        trend,
        width,
        value,
        status,
        why_next or _why(ledger, arm, status),
        sure=sure,
        end=model.of("final", arm.index),
        end_low=min(ends := [model.of(name, arm.index) for name in ("low", "high")]),
        end_high=max(ends),
        chance=float(model.found.chance[arm.index]),
        brings=brings,
        costs=costs,
        best_checkpoint=place_of(arm.name, arm.best),
        last_checkpoint=place_of(arm.name, arm.last),
    )
    if n := best_pull(arm, ledger.settings.direction):
        row = row._replace(best=arm.rewards[n - 1], best_pull=n)
    if arm.settings:
        row = row._replace(settings=" ".join(f"{name}={_setting(value)}" for name, value in arm.settings.items()))
    if ledger.settings.learns:
        return row._replace(slot=arm.place + 1, bound=arm.bound)
    if ledger.settings.prior is None:
        return row
    mean, _, source = ledger.settings.prior.of(arm.name)
    quantile = 0.5 * math.erfc(-mean / math.sqrt(2.0))
    return row._replace(prior=quantile, source=source, slot=arm.place + 1, bound=arm.bound.partition(":")[0])


def _kept(ledger: Ledger, explanation: Explanation, rows: Sequence[ArmRow]) -> tuple[str | None, str, str]:
    """The arm to keep, why, and what speaks against it: which arms are ahead of it in the table."""
    if not any(arm.rewards for arm in ledger.arms):
        return None, "", ""
    arm = ledger.arm(ledger.recommend())
    why = explanation.why_kept if arm.place == explanation.kept else "best recent rewards of the arms that are left"
    columns = {}
    for called, name in (("last reward", "last"), ("level", "level"), ("predicted end", "end")):
        rewards = np.array([getattr(row, name) for row in rows])
        columns[called] = rewards / ledger.span, [f"{reward:.4g}" for reward in rewards]
    pulls = np.array([row.pulls for row in rows])
    return arm.name, why, against(arm.index, [row.arm for row in rows], pulls, columns)


def _part(explanation: Explanation, arm: ArmState, names: tuple[str, ...]) -> float:
    for name in names:
        if name in explanation.columns and arm.place >= 0:
            return float(explanation[name][arm.place])
    return math.nan


def _status(ledger: Ledger, arm: ArmState) -> str:
    if arm.flight is not None:
        return "in flight"
    if arm.retired is not None:
        return "retired"
    if arm.place < 0 and ledger.rule is None:
        return "unopened"
    if arm.exhausted:
        return "finished"
    return "masked" if arm.masked else "free" if arm.rewards else "untried"


def _why(ledger: Ledger, arm: ArmState, status: str) -> str:
    """Why an arm cannot be next."""
    if status == "in flight" and arm.flight is not None:
        return _running(ledger, arm.flight)
    if status == "retired":
        return arm.retired or ""
    if status == "unopened":
        return "not opened (max_arms)"
    if status == "finished":
        return f"has had its {arm.limit} pulls"
    return NOT_OPENED if arm.place < 0 else ""


def _why_next(ledger: Ledger, arm: ArmState, explanation: Explanation, opened: str) -> str:
    """Why the arm is next: a rule of the allocation, or one of the policy."""
    if arm.flight is not None:
        return f"once pull {arm.flight.n} is told"
    if arm in ledger.repeat_first:
        return f"pull {len(arm.rewards) + 1} was given back"
    if not opened:
        return explanation.why
    said = f"opened {OPENED.get(opened, opened)}"
    return said if explanation.why == NEVER_PULLED else f"{said}, {explanation.why.removeprefix('opened: ')}"


def _running(ledger: Ledger, flight: Flight) -> str:
    """Which pull runs, and where, if that matters: on its slot, and on its host if there are several."""
    elsewhere = several_hosts(other.worker for other in ledger.in_flight.values())
    where = [flight.slot] if flight.slot else []
    where += [in_short(flight.worker, with_host=True)] if elsewhere else []
    return f"pull {flight.n} runs{' on ' if where else ''}{', '.join(where)}"


def _setting(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:g}"
