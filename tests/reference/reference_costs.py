"""A run of the allocator whose arms cost different amounts, in the plainest Python: who is pulled, one after another.

Whenever costs turn out to be others than those by which pulls were told, a policy is made anew and told everything.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence

from risingbandits.policies import Policy

MOST_ROUNDS, WIDEST, TOLERANCE = 50, 1000, 0.1


def means(paid: Sequence[Sequence[float]]) -> list[float]:
    """What a pull of each arm is believed to cost, by what its pulls have cost so far."""
    known = [costs for costs in paid if costs]
    if not known:
        return [1.0] * len(paid)
    own = [sum(costs) / len(costs) for costs in known]
    middle = sum(own) / len(own)
    drawn = 0.0  # how many pulls of an arm the mean of the others is worth
    between = statistics.variance(own) if len(own) > 1 else 0.0
    squares = sum((cost - sum(costs) / len(costs)) ** 2 for costs in known for cost in costs)
    within = (squares + 0.5 * between) / (1 + sum(len(costs) - 1 for costs in known))
    between -= within * sum(1 / len(costs) for costs in known) / len(known)
    same = between <= 1e-12 * middle**2
    drawn = 0.0 if same else within / between
    believed = [middle if same or not costs else (sum(costs) + drawn * middle) / (len(costs) + drawn) for costs in paid]
    highest = max(believed)
    return [max(mean, highest / WIDEST) for mean in believed] if highest > 0 else [1.0] * len(paid)


def total(paid: Sequence[Sequence[float]]) -> float:
    """What all pulls have cost, rounded once."""
    return math.fsum(cost for costs in paid for cost in costs)


def play(
    policy: Policy,
    earns: bool,
    amount: float,
    seed: int,
    warm: Sequence[Sequence[float]],
    reward: Callable[[int, int], float],
    cost: Callable[[int, int], float],
) -> tuple[list[int], int, list[str]]:
    """The arms in the order of their pulls, the arm that is kept, and which cases of the rule have come up."""
    n_arms = len(warm)
    pulled: list[tuple[int, float]] = []
    paid: list[list[float]] = [[] for _ in range(n_arms)]
    cases: list[str] = []
    taken: list[float] = []
    rate: list[float] = []
    waiting: list[list[float]] = []
    owed: list[float] = []
    unit = cheapest = 1.0
    now = policy

    def of_pulled(believed: list[float]) -> list[float]:
        return [mean for mean, costs in zip(believed, paid, strict=True) if costs] or believed

    def told_as(mean: float) -> tuple[float, float]:
        return min(mean / unit, MOST_ROUNDS), min(cheapest / mean, 1.0) if earns else 1.0

    def tell(arm: int, value: float) -> None:
        waiting[arm].append(rate[arm] * value)
        owed[arm] += taken[arm]
        rounds = int(owed[arm] + 1e-9)
        cases.append("part of a round" if rounds == 0 else "a round" if rounds == 1 else "several rounds")
        if rounds:
            owed[arm] = max(0.0, owed[arm] - rounds)
            for _ in range(rounds):
                now.tell(arm, sum(waiting[arm]) / len(waiting[arm]))
            waiting[arm].clear()

    def horizon() -> int:
        before = int(sum(len(rewards) * k for rewards, k in zip(warm, taken, strict=True)))
        done = sum(len(costs) * k for costs, k in zip(paid, taken, strict=True))
        spent = total(paid)
        rounds = done + int((amount - spent) / (spent / done)) if spent > 0 else max(done, 100 * n_arms)
        return before + max(1, n_arms, int(rounds))

    def begin() -> None:
        nonlocal now, unit, cheapest
        believed = means(paid)
        cheapest = min(of_pulled(believed))
        unit = max(cheapest, max(of_pulled(believed)) / MOST_ROUNDS)
        taken[:], rate[:] = (list(column) for column in zip(*map(told_as, believed), strict=True))
        waiting[:], owed[:] = [[] for _ in range(n_arms)], [0.0] * n_arms
        now = policy.replace().reset(n_arms, horizon(), seed=[seed, 0, 0])
        now.ask()
        for n in range(max(map(len, warm))):
            for arm, rewards in enumerate(warm):
                if n < len(rewards):
                    tell(arm, rewards[n])
        for arm, value in pulled:
            tell(arm, value)

    begin()
    while total(paid) < amount:
        arm = now.ask()
        n = len(warm[arm]) + len(paid[arm]) + 1
        pulled.append((arm, reward(arm, n)))
        paid[arm].append(cost(arm, n))
        believed = means(paid)
        if len(paid[arm]) == 1:
            taken[arm], rate[arm] = told_as(believed[arm])
        tell(*pulled[-1])
        if total(paid) >= amount:
            break
        planned = now.horizon or 1
        again = abs(horizon() - planned) > TOLERANCE * planned
        cases.append("another horizon" if again else "")
        lowest = min(of_pulled(believed))
        new_unit = max(lowest, max(of_pulled(believed)) / MOST_ROUNDS)
        for other, costs in enumerate(paid):
            if costs:
                changes = [min(believed[other] / new_unit, MOST_ROUNDS) / taken[other]]
                if earns:
                    changes.append(lowest / believed[other] / rate[other])
                if any(change > 1 + TOLERANCE or change < 1 / (1 + TOLERANCE) for change in changes):
                    cases.append("other costs")
                    again = True
        if again:
            begin()
    return [arm for arm, _ in pulled], now.recommend(), cases
