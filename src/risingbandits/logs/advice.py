"""What a replay means, in words: which policy to use, what it recommends and saves, how certain, and from when on.

Costs are compared with training every arm to the end, as most recorded runs were. A policy that looks for
the best arm leaves it half trained, so the pulls that finish it count as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from risingbandits._core.errors import RisingBanditsError, shown
from risingbandits._core.stats import half_width
from risingbandits._core.types import Floats, Ints
from risingbandits.logs.replay import Replay
from risingbandits.policies.explanation import counted
from risingbandits.policies.objectives import Objective

__all__ = ["Advice", "Cost", "advise", "policy_for"]

NEAR = 0.01  # of the reward range: an arm this close to the best one is as good
_LEAST_ARMS, _LEAST_VALUES, _LEAST_ORDERS = 3, 5, 5
_PREFERRED = "auto"  # among policies that do equally well: the default of an allocation
_LITTLE = 0.1  # of what a random arm loses
_ROUNDING = 1e-9  # of the reward range, by which equal arms may differ
_MOST_ROUNDS = 5_000  # replayed pull by pull, to see when the decision was clear


@dataclass(frozen=True)
class Cost:
    """Pulls, and the hours that they took, if that was recorded."""

    pulls: float
    hours: float | None = None

    def __str__(self) -> str:
        return f"{self.pulls:,.0f} pulls" + ("" if self.hours is None else f" ({self.hours:,.3g} hours)")

    def __sub__(self, other: Cost) -> Cost:
        hours = None if self.hours is None or other.hours is None else self.hours - other.hours
        return Cost(self.pulls - other.pulls, hours)


@dataclass(frozen=True)
class Advice:
    """What to use, and why; ``str`` gives the sentences.

    Attributes
    ----------
    policy : str or None
        The label of the policy to use; None if the curves cannot tell.
    arm : str or None
        The arm that it recommends in most orders.
    short, uncertainty : float
        How far it falls short of the best arm, as the mean over the orders, and half the width of its 95 % interval;
        NaN with too few orders.
    equals : tuple of str
        Other policies that cannot be told apart from it.
    cost, whole_cost : Cost
        Of the policy, with training the arm that it recommends to the end; and of training every arm to the end.
    decided : float
        Pulls after which the decision could have been made, the median of the orders; infinite if never.
    sentences : tuple of str
        All of it in words.
    """

    policy: str | None
    arm: str | None
    short: float
    uncertainty: float
    equals: tuple[str, ...]
    cost: Cost | None
    whole_cost: Cost
    decided: float
    sentences: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(self.sentences)


def advise(outcome: Replay, objective: str | Objective | None = None) -> Advice:
    """Advice from a replay; ``objective`` is another than the replay's to compare policies by.

    >>> from risingbandits.logs.replay import replay
    >>> curves = {f"net {k}": [0.1 * k * (1 - 0.9**n) for n in range(1, 41)] for k in range(1, 9)}
    >>> print(advise(replay(curves, ["successive-halving", "constant"], 80, orders=10)))
    Use successive-halving: in each of 10 orders of the arms it recommends the best one, net 8 with 0.7875.
    Training every arm to the end takes 320 pulls; the policy takes 80, and 15 more train the arm that it recommends to
    the end, 30 % of that in all: it saves 225 pulls.
    The decision could have been made after 32 pulls (the median of 10 orders, which range from 2 to 42): from then on
    the arm that it would recommend is as good as the best one, to within 1 % of the range of the values.
    This is about these curves alone: other tasks may differ by more than the orders do.
    """
    wanted = Objective.get(outcome.objective if objective is None else objective)
    whole = _cost(outcome, outcome.lengths)
    if reason := _too_little(outcome, wanted):
        nothing = f"Cannot say which policy to use: {reason}"
        return Advice(None, None, np.nan, np.nan, (), None, whole, np.nan, (nothing,))
    figures = {label: wanted.replay_regret(outcome, label) for label in outcome.reward}
    policy, equals = _chosen(figures, wanted.random_regret(outcome))
    short = figures[policy]
    spent = outcome.pulls[policy]
    pulls = spent if wanted.sums_rewards else _with_the_rest(outcome, policy)
    cost = _cost(outcome, pulls)
    # Nothing is saved by recommending an arm that is not as good.
    misses = not (wanted.sums_rewards or (short <= NEAR * outcome.unit).any())
    said = [
        _what_to_use(outcome, policy, short, wanted),
        *([f"As far as {_orders(outcome)} tell, {_listed(equals)} as well."] if equals else []),
        *([] if misses else [_saving(spent, pulls, cost, whole)]),
    ]
    if outcome.orders < _LEAST_ORDERS:
        said.append(
            f"Cannot say how sure that is: {_orders(outcome)} of the arms {'is' if outcome.orders == 1 else 'are'} too "
            f"few, at least {_LEAST_ORDERS} are needed."
        )
    decided = np.nan
    if not wanted.sums_rewards:
        decided, sentence = _when(outcome, policy)
        said.append(sentence)
    said.append("This is about these curves alone: other tasks may differ by more than the orders do.")
    arm = Counter(outcome.recommended[policy].tolist()).most_common(1)[0][0]
    width = float(half_width(short)) if outcome.orders >= _LEAST_ORDERS else np.nan
    return Advice(
        policy, outcome.arms[arm], float(short.mean()), width, tuple(equals), cost, whole, decided, tuple(said)
    )


def policy_for(outcomes: Sequence[Replay], objective: str | Objective | None = None) -> tuple[str, tuple[str, ...]]:
    """The policy to use for tasks like those of several replays, and which others cannot be told apart from it.

    A task counts with the mean of its orders, as a share of what a random arm loses, so that all tasks have the same
    weight.

    >>> from risingbandits.logs.replay import replay
    >>> tasks = [{f"net {k}": [0.1 * k * (1 - r**n) for n in range(1, 41)] for k in range(1, 9)} for r in (0.9, 0.8)]
    >>> policy_for([replay(task, ["successive-halving", "constant"], 80, orders=10) for task in tasks])
    ('successive-halving', ())
    """
    if not outcomes or len({tuple(sorted(outcome.reward)) for outcome in outcomes}) > 1:
        raise RisingBanditsError(f"outcomes must be replays of the same policies, got {shown(list(outcomes))}.")
    means: dict[str, list[float]] = {label: [] for label in outcomes[0].reward}
    for outcome in outcomes:
        wanted = Objective.get(outcome.objective if objective is None else objective)
        random = wanted.random_regret(outcome)
        for label in outcome.reward:
            means[label].append(float(wanted.replay_regret(outcome, label).mean()) / random if random else 0.0)
    policy, equals = _chosen({label: np.array(own) for label, own in means.items()}, 1.0)
    return policy, tuple(equals)


def _too_little(outcome: Replay, objective: Objective) -> str:
    """Why nothing can be said, if so."""
    if len(outcome.arms) < _LEAST_ARMS:
        few = "1 arm is" if len(outcome.arms) == 1 else f"{len(outcome.arms)} arms are"
        return f"{few} too few to choose from, at least {_LEAST_ARMS} are needed."
    longest = int(outcome.lengths.max())
    if longest < _LEAST_VALUES:
        return f"the longest curve has {longest} values, at least {_LEAST_VALUES} are needed."
    if outcome.budget >= outcome.lengths.sum():
        return (
            f"{outcome.budget:,} pulls train every arm to the end, so nothing had to be chosen; "
            f"{outcome.lengths.sum():,} pulls are all that was recorded. Give a smaller budget."
        )
    if not objective.sums_rewards and objective.random_regret(outcome) <= _ROUNDING * outcome.unit:
        return f"all arms are worth the same in the end, {outcome.final[0]:.4g}, so that any policy keeps a best one."
    return ""


def _chosen(figures: Mapping[str, Floats], random: float) -> tuple[str, list[str]]:
    """The policy with the least mean, or the preferred one if it does as well, and all others that do.

    One does as well if it cannot be told apart and loses little more, relative to a ``random`` arm: a policy that is
    far worse in some orders cannot be told apart either, and yet is not as good.
    """
    best = min(figures, key=lambda label: float(figures[label].mean()))
    equals = []
    for label, values in figures.items():
        more = values - figures[best]
        width = float(half_width(more)) if len(more) >= _LEAST_ORDERS else 0.0
        if float(more.mean()) <= max(min(width, _LITTLE * random), 1e-9 * random):
            equals.append(label)
    policy = _PREFERRED if _PREFERRED in equals else best
    return policy, [label for label in equals if label != policy]


def _what_to_use(outcome: Replay, policy: str, short: Floats, objective: Objective) -> str:
    orders = f"{_orders(outcome)} of the arms"
    if objective.sums_rewards:
        way = "more" if short.mean() < 0 else "less"
        return (
            f"Use {policy}: over {orders} its mean reward per pull is {outcome.reward[policy].mean():.4g}, "
            f"{_about(abs(float(short.mean())), short)} {way} than the best single arm, which has "
            f"{outcome.best_constant:.4g}."
        )
    best = f"{outcome.arms[outcome.best_arm]} with {outcome.final[outcome.best_arm]:.4g}"
    if not short.any():
        where = "with the arms as listed" if outcome.orders == 1 else f"in each of {orders}"
        return f"Use {policy}: {where} it recommends the best one, {best}."
    kept = float(outcome.final[outcome.recommended[policy]].mean())
    keeps = (
        f"over {orders} it recommends an arm that is worth {kept:.4g} in the end, "
        f"{_about(float(short.mean()), short)} short of the best one, {best}"
    )
    near = int((short <= NEAR * outcome.unit).sum())
    if not near:
        return (
            f"{policy} comes closest, but with {counted(outcome.budget)} it finds an arm as good as the best one in no "
            f"order: {keeps}. A larger budget may help."
        )
    where = f"{near} of {_orders(outcome)}"
    return f"Use {policy}: {keeps}; in {where} it is as good, to within 1 % of the range of the values."


def _about(mean: float, values: Floats) -> str:
    """A mean with its interval, if there is one: of equal values there is none."""
    told = len(values) >= _LEAST_ORDERS and np.ptp(values) > 0.0
    return f"{mean:.2g}" + (f" ± {float(half_width(values)):.2g}" if told else "")


def _orders(outcome: Replay) -> str:
    return "1 order" if outcome.orders == 1 else f"{outcome.orders} orders"


def _listed(labels: list[str]) -> str:
    if len(labels) == 1:
        return f"{labels[0]} does"
    return f"{', '.join(labels[:-1])} and {labels[-1]} do"


def _saving(spent: Ints, pulls: Ints, cost: Cost, whole: Cost) -> str:
    finishing = float((pulls - spent).sum(axis=1).mean())
    more = f", and {finishing:,.0f} more train the arm that it recommends to the end," if finishing else ","
    return (
        f"Training every arm to the end takes {whole}; the policy takes {spent.sum(axis=1).mean():,.0f}{more} "
        f"{100 * cost.pulls / whole.pulls:.0f} % of that{' in all' if finishing else ''}: it saves {whole - cost}."
    )


def _when(outcome: Replay, policy: str) -> tuple[float, str]:
    """The pull from which on the recommended arm is close to the best one, as the median of the orders."""
    again = max(1, min(outcome.orders, _MOST_ROUNDS // outcome.budget))
    short = np.abs(outcome.final - outcome.final[outcome.best_arm])
    good = short <= NEAR * outcome.unit * (1.0 + 1e-9)
    found = np.array([_first_of_the_last_good(good[outcome.course(policy, number).kept]) for number in range(again)])
    never = int(np.isinf(found).sum())
    if 2 * never >= again:
        where = "this order" if again == 1 else f"{never} of {again} orders"
        return np.inf, (
            f"Cannot say when the decision could have been made: in {where} the arm that it recommends is worse than "
            "the best one, by more than 1 % of the range of the values."
        )
    middle = float(np.median(found))
    known = found[np.isfinite(found)]
    spread = f" (the median of {again} orders, which range from {known.min():,.0f} to {known.max():,.0f})"
    also = f"; in {never} of {again} orders never" if never else ""
    return middle, (
        f"The decision could have been made after {counted(round(middle))}"
        f"{spread if known.min() < known.max() else ''}: from then on the arm that it would recommend is as good as "
        f"the best one, to within 1 % of the range of the values{also}."
    )


def _first_of_the_last_good(good: npt.NDArray[np.bool_]) -> float:
    """Pulls after which everything is good; infinite if the last is not.

    >>> _first_of_the_last_good(np.array([True, False, True, True])), _first_of_the_last_good(np.array([True, False]))
    (3.0, inf)
    """
    bad = np.flatnonzero(~good)
    if not len(bad):
        return 1.0
    return float(bad[-1] + 2) if bad[-1] + 1 < len(good) else np.inf


def _cost(outcome: Replay, pulls: Ints) -> Cost:
    """Of pulls of each arm, or the mean over several such rows; beyond its end an arm costs nothing."""
    rows = np.atleast_2d(pulls)
    hours = None
    if outcome.hours:
        clocks = [outcome.hours[arm] for arm in outcome.arms]
        hours = float(np.mean([sum(map(_hours_of, clocks, row)) for row in rows.tolist()]))
    return Cost(float(rows.sum(axis=1).mean()), hours)


def _hours_of(clock: Floats, pulls: int) -> float:
    return float(clock[min(pulls, len(clock)) - 1]) if pulls else 0.0


def _with_the_rest(outcome: Replay, label: str) -> Ints:
    """The pulls of a policy, and those that train the arm that it recommends to the end."""
    pulls, kept = outcome.pulls[label].copy(), outcome.recommended[label]
    rows = np.arange(len(pulls))
    pulls[rows, kept] = np.maximum(pulls[rows, kept], outcome.lengths[kept])
    return pulls
