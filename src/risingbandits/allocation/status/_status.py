"""Where an allocation stands: the table of arms, the pulls in flight, and what is spent in a sentence."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from risingbandits._core.tables import TextTable
from risingbandits._core.types import Floats
from risingbandits.allocation._arm_state import ArmState, Flight, best_pull, recent_mean
from risingbandits.allocation._ledger import Ledger
from risingbandits.allocation.budget import amount_text
from risingbandits.allocation.deciding._costs import Costs, cost_sentence
from risingbandits.allocation.pull import Saved, place_of
from risingbandits.allocation.starting._transfer import Transfer
from risingbandits.allocation.status.arm_table import KNOWN, AllocationTable, ArmRow
from risingbandits.logs.curves import direction_of_values
from risingbandits.policies._reasons import against
from risingbandits.policies._reasons import explanation as policy_explanation
from risingbandits.policies.explanation import Explanation, Units, counted

_NAMED = 3  # arms that a sentence names
_FEWEST, _LOOKED_AT = 4, 60  # rewards of a curve that says something about its direction; at most so many of it


def allocation_table(ledger: Ledger) -> AllocationTable:
    """The table of a ledger, which is not changed."""
    following, place = _next_arm(ledger)
    policy, limits = ledger.foreseen(), None if ledger.settings.reward_range is None else (0.0, 1.0)
    explanation = policy_explanation(policy, policy._state, place, Units(ledger.zero, ledger.span), limits)
    name, why = None, ""
    if following is not None:
        name, why = following.name, explanation.why
        if following in ledger.repeat_first:  # a rule of the allocation, not of the policy
            why = f"pull {len(following.rewards) + 1} was given back"
    rows = [_row(ledger, arm, explanation, f"next: {why}" if arm is following else "") for arm in ledger.arms]
    title = f"{ledger.policy._described()}, {spent(ledger)} spent, {len(ledger.in_flight)} in flight"
    if costs := cost_sentence(ledger):
        title = f"{title};\n{costs}"
    transfer = ledger.option(Transfer)
    prior = "" if transfer is None else transfer.sentence(ledger)
    kept, why_kept, against = _kept(ledger, explanation, rows)
    rounds, end, at_end = "", explanation.end, explanation.at_end
    if isinstance(ledger.teller, Costs) and ledger.told:
        rounds = f"pulls and values in the policy's reasons are those of rounds that cost {ledger.teller.unit:.3g} each"
        at_end = "" if ledger.teller.earns else f"counted in rounds that cost {ledger.teller.unit:.3g}: {at_end}"
    said = untried_sentence(ledger), rounds, direction_sentence(ledger), end, at_end
    return AllocationTable(title, rows, prior, name, why, kept, why_kept, against, *said)


def direction_sentence(ledger: Ledger) -> str:
    """That most curves go the wrong way, as losses do that are maximised; empty if they do not.

    >>> from risingbandits import Allocator
    >>> allocator = Allocator(["a", "b"], budget=12, policy="round-robin")
    >>> for pull in allocator:
    ...     _ = allocator.tell(pull, 1.0 / pull.n)
    >>> direction_sentence(allocator.ledger)
    'direction is "maximize", but the reward falls in 100% of the arms; for a loss, give direction="minimize"'
    """
    curves = [np.array(arm.rewards) for arm in ledger.arms if len(arm.rewards) >= _FEWEST]
    moving = [curve for curve in curves if _moves(curve)]
    if len(moving) < 2 or 2 * len(moving) <= len(curves):
        return ""
    way, reason = direction_of_values(moving)
    given = ledger.settings.direction
    if way is None or way == given:
        return ""
    what = "for a loss" if way == "minimize" else "if higher is better"
    return f'direction is "{given}", but the reward {reason.replace("runs", "arms")}; {what}, give direction="{way}"'


def _moves(curve: Floats) -> bool:
    """Whether a curve rises or falls more than chance explains, by the test of Mann and Kendall."""
    seen = curve[np.unique(np.linspace(0, len(curve) - 1, _LOOKED_AT).astype(int))]
    n = len(seen)
    ups = float(np.sign(np.triu(seen[None, :] - seen[:, None], 1)).sum())
    return abs(ups) >= 2.0 * math.sqrt(n * (n - 1) * (2 * n + 5) / 18.0)


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
            ":".join(flight.worker.split(":")[:2]),
            *((flight.slot or "-",) if slots else ()),
        )
        for flight in ledger.in_flight.values()
    ]
    header = ("arm", "pull", "attempt", "for", "lease left", "host and process", *(("slot",) if slots else ()))
    return TextTable(header, rows, frozenset({1, 2, 3, 4}), "In flight")


def spent(ledger: Ledger) -> str:
    """How much of the budget is spent.

    >>> from risingbandits.allocation import Allocator
    >>> spent(Allocator(["a"], budget=10).ledger)
    '0 of 10 pulls'
    """
    budget = ledger.settings.budget
    return f"{amount_text(ledger.spent)} of {amount_text(budget.amount, budget.unit)}"


def left(ledger: Ledger) -> str:
    """How much of the budget is left.

    >>> from risingbandits.allocation import Allocator
    >>> left(Allocator(["a"], budget=10).ledger)
    '10 pulls'
    """
    budget = ledger.settings.budget
    return amount_text(max(0.0, budget.amount - ledger.spent), budget.unit)


def standing(ledger: Ledger, folder: Path | None = None) -> str:
    """What is spent and which arm is recommended, in sentences; ``folder`` is that of the checkpoints, if known."""
    if not ledger.told:
        so_far = _why_over(ledger) if ledger.finished else "No pull is done yet"
        return f"Spent {spent(ledger)}. {so_far}."
    done = "The budget is spent." if ledger.spent >= ledger.settings.budget.amount else f"Spent {spent(ledger)}."
    if ledger.finished and ledger.spent < ledger.settings.budget.amount:
        done += f" {_why_over(ledger)}."
    best = ledger.recommend()
    if best is None:
        return f"{done} No arm can be recommended."
    arm = ledger.arm(best)
    more = [
        said
        for said in (
            _best_sentence(ledger, arm, folder),
            _failed_sentence(ledger),
            untried_sentence(ledger),
            direction_sentence(ledger),
        )
        if said
    ]
    return f"{done} Recommended: {arm.name}{''.join(f'. {said}' for said in more)}{'.' if more else ''}"


def _why_over(ledger: Ledger) -> str:
    return ledger.why_over() or "No arm is left that can be pulled"


def _best_sentence(ledger: Ledger, arm: ArmState, folder: Path | None) -> str:
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
    said += f": {_seen(arm, arm.best, folder)}" if kept else ", which left no checkpoint"
    if arm.last is not None and arm.last.n != n and arm.last.n == len(arm.rewards):
        said += f"; its last one is {arm.last.value:.4g}: {_seen(arm, arm.last, folder)}"
    return said


def _seen(arm: ArmState, saved: Saved | None, folder: Path | None) -> str:
    """Where a checkpoint is, and whether it is missing, if that can be seen."""
    place = place_of(arm.name, saved)
    return place if folder is None or (folder / place).exists() else f"{place} (missing)"


def _failed_sentence(ledger: Ledger) -> str:
    """Which arms were given up because they failed; empty if none was.

    >>> from risingbandits.allocation import Allocator, Execution
    >>> allocator = Allocator(["a", "b", "c"], budget=3, policy="round-robin", execution=Execution(retries=1))
    >>> allocator.fail(allocator.ask(), "no such file", retry=False)
    >>> standing(allocator.ledger)
    'Spent 0 of 3 pulls. No pull is done yet.'
    >>> _failed_sentence(allocator.ledger)
    '1 of 3 arms failed and was retired: a'
    """
    failed = [arm.name for arm in ledger.arms if arm.gave_up]
    if not failed:
        return ""
    named = ", ".join(failed[:_NAMED]) + (" and others" if len(failed) > _NAMED else "")
    were = "was" if len(failed) == 1 else "were"
    return f"{len(failed):,} of {len(ledger.arms):,} arms failed and {were} retired: {named}"


# -- rows of the table -----------------------------------------------------------------------------------------------


def _next_arm(ledger: Ledger) -> tuple[ArmState | None, int | None]:
    """Which arm would be next, and its number for the policy.

    Found with a copy of the policy, because asking may change it.
    """
    if ledger.finished or ledger.committed:
        return None, None
    policy = ledger.policy
    ledger.policy = policy.clone()
    try:
        arm = ledger.decide()
        return arm, None if arm is None else arm.place
    finally:
        ledger.policy = policy


def _row(ledger: Ledger, arm: ArmState, explanation: Explanation, why: str) -> ArmRow:
    """The row of an arm; ``why`` it is next, or empty."""
    if not why and arm.flight is not None:
        why = _running(ledger, arm.flight)
    elif not why and arm.over:
        why = arm.retired or f"after {counted(len(arm.rewards))}"
    row = ArmRow(
        arm.name,
        len(arm.rewards),
        arm.cost,
        arm.rewards[-1] if arm.rewards else math.nan,
        *_known(ledger, arm, explanation),
        arm.state,
        why,
        masked=arm.masked,
        best_checkpoint=place_of(arm.name, arm.best),
        last_checkpoint=place_of(arm.name, arm.last),
    )
    if n := best_pull(arm, ledger.settings.direction):
        row = row._replace(best=arm.rewards[n - 1], best_pull=n)
    if arm.config:
        texts = {name: value if isinstance(value, str) else f"{value:g}" for name, value in arm.config.items()}
        row = row._replace(config=" ".join(f"{name}={text}" for name, text in texts.items()))
    if ledger.settings.prior is None:
        return row
    mean, _, source = ledger.settings.prior.of(arm.name)
    quantile = 0.5 * math.erfc(-mean / math.sqrt(2.0))
    return row._replace(prior=quantile, source=source)


def _known(ledger: Ledger, arm: ArmState, explanation: Explanation) -> tuple[float, float, float, float, float, float]:
    """What is known about an arm, in the order of `KNOWN` and in the user's units."""
    if isinstance(ledger.teller, Costs) and ledger.teller.earns:  # then the policy is told rewards per cost
        nothing = math.nan
        return recent_mean(arm) if arm.rewards else nothing, nothing, nothing, nothing, nothing, nothing
    values = [float(explanation[name][arm.place]) for name in KNOWN]
    estimate, lcb, predicted, low, high = (ledger.zero + ledger.span * value for value in values[:-1])
    return estimate, lcb, predicted, min(low, high), max(low, high), values[-1]  # of losses high is the worse end


def _kept(ledger: Ledger, explanation: Explanation, rows: Sequence[ArmRow]) -> tuple[str | None, str, str]:
    """The recommended arm, why, and what speaks against it: which arms are ahead of it in the table."""
    best = ledger.recommend()
    if best is None:
        return None, "", ""
    arm = ledger.arm(best)
    why = explanation.why_kept if arm.place == explanation.kept else "highest predicted value of the arms that are left"
    columns = {}
    for called, name in (("last reward", "last"), ("estimate", "estimate"), ("predicted value", "predicted")):
        rewards = np.array([getattr(row, name) for row in rows])
        columns[called] = rewards / ledger.span, [f"{reward:.4g}" for reward in rewards]
    chances = np.array([row.p_best for row in rows])
    columns["p_best"] = chances, [f"{chance:.2f}" for chance in chances]
    pulls = np.array([row.pulls for row in rows])
    return arm.name, why, against(arm.index, [row.arm for row in rows], pulls, columns)


def _running(ledger: Ledger, flight: Flight) -> str:
    """Which pull runs, and where, if that matters: on its slot, and on its host if there are several."""
    elsewhere = several_hosts(other.worker for other in ledger.in_flight.values())
    where = [flight.slot] if flight.slot else []
    where += [in_short(flight.worker, with_host=True)] if elsewhere else []
    return f"pull {flight.n} runs{' on ' if where else ''}{', '.join(where)}"


def several_hosts(workers: Iterable[str]) -> bool:
    """Whether the processes with these names are on different hosts."""
    return len({worker.partition(":")[0] for worker in workers}) > 1


def in_short(worker: str, with_host: bool) -> str:
    """The name of a process for people, with its host only if there are several.

    >>> in_short("vm:29919:289425:4026531836:1f0c", False), in_short("vm:29919:289425:4026531836:1f0c", True)
    ('process 29919', 'vm, process 29919')
    """
    host, _, rest = worker.partition(":")
    number = rest.partition(":")[0]
    return f"{host}, process {number}" if with_host else f"process {number}" if number else host


def untried_sentence(ledger: Ledger) -> str:
    """How many arms a finished run never tried; empty if it tried all.

    >>> from risingbandits import Allocator
    >>> allocator = Allocator(["a", "b", "c", "d"], budget=2, policy="round-robin")
    >>> while (pull := allocator.ask()) is not None:
    ...     _ = allocator.tell(pull, 0.5)
    >>> untried_sentence(allocator.ledger)
    '2 of 4 arms were never tried'
    """
    untried = [arm for arm in ledger.arms if not (arm.rewards or arm.over)]
    if not (untried and ledger.told and ledger.finished):
        return ""
    were, they = ("was", "it is") if len(untried) == 1 else ("were", "they are")
    masked = f": {they} masked" if all(arm.masked for arm in untried) else ""
    return f"{len(untried):,} of {len(ledger.arms):,} arms {were} never tried{masked}"


# -- for programs: what `show --json` prints --------------------------------------------------------------------------


def status_dict(ledger: Ledger, table: AllocationTable | None = None) -> dict[str, Any]:
    """The policy, the budget, what is spent, the pulls in flight, and the ``table`` of the arms with its reasons."""
    settings, now = ledger.settings, time.time()
    return {
        "policy": ledger.policy._described(),
        "objective": settings.objective,
        "direction": settings.direction,
        "budget": settings.budget.amount,
        "unit": settings.budget.unit,
        "spent": ledger.spent,
        "finished": ledger.finished,
        **(allocation_table(ledger) if table is None else table).to_dict(),
        "in_flight": [
            {
                "arm": flight.arm.name,
                "pull": flight.n,
                "attempt": flight.attempt,
                "seconds": now - flight.asked,
                "lease_left": flight.deadline - now,
                "worker": flight.worker,
            }
            for flight in ledger.in_flight.values()
        ],
    }
