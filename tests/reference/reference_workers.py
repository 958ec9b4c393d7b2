"""Who is pulled next by several workers, in the plainest Python: for every question all is told again from the start.

With one worker's pull in flight or more, the policy is asked for any arm; if that one is in flight, the same policy is
asked that was told of the free arms alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from risingbandits.policies import Policy


def rounded(rounds: float) -> int:
    """The nearest power of 1.05, by its exponent."""
    return round(1.05 ** round(math.log(rounds) / math.log(1.05)))


def answer(
    policy: Policy,
    log: Sequence[tuple[str, int, float]],
    warm: Sequence[Sequence[float]],
    in_flight: Sequence[int],
    barred: Sequence[int],
    budget: int,
    seed: int,
) -> tuple[int, str]:
    """The next arm and why: ``log`` has ("ask", -1, nan) where the policy was asked and ("tell", arm, reward)."""
    n_arms = len(warm)
    earlier = [
        (arm, rewards[n]) for n in range(max(map(len, warm))) for arm, rewards in enumerate(warm) if n < len(rewards)
    ]
    told = earlier + [(arm, reward) for kind, arm, reward in log if kind == "tell"]
    eligible = [arm not in barred for arm in range(n_arms)]
    whole = policy.replace().reset(n_arms, len(earlier) + budget, seed=[seed, 0, 0])
    for arm, reward in earlier:
        whole.tell(arm, reward)
    for kind, arm, reward in log:
        if kind == "tell":
            whole.tell(arm, reward)
        else:
            whole.ask(None if all(eligible) else eligible)
    wanted = whole.ask(None if all(eligible) else eligible)
    if wanted not in in_flight:
        return wanted, "wanted" if in_flight else "alone"
    free = [arm for arm in range(n_arms) if eligible[arm] and arm not in in_flight]
    known = [(free.index(arm), reward) for arm, reward in told if arm in free]
    left = max(1, len(earlier) + budget - len(told) - len(in_flight))
    horizon = max(len(known) + 1, rounded(len(known) + math.ceil(left / (len(in_flight) + 1))))
    few = policy.replace().reset(len(free), horizon, seed=[seed, 0, 0])
    for number, reward in known:
        few.tell(number, reward)
    chosen = free[few.ask()]
    return chosen, "opened" if all(arm != chosen for arm, _ in told) else "of the free arms"
