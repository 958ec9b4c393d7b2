"""A policy beside its reference: the same arm in every round."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from risingbandits import Policy, RisingBandit
from risingbandits._core.jit import interpreted
from risingbandits.problems._kernels import draw_reward, mean_at

if TYPE_CHECKING:
    import reference_index as reference


def check_decisions(
    policy: Policy,
    slow: reference.Reference,
    problem: RisingBandit,
    horizon: int,
    seed: int,
    after: Callable[[Policy], None] | None = None,
) -> npt.NDArray[np.int64]:
    """Ask both in every round of one run, with a look at the policy ``after`` each; return the pulls of each arm."""
    mean_of, draw = interpreted(mean_at), interpreted(draw_reward)
    noise_seed, policy_seed = np.random.SeedSequence(seed).spawn(2)
    noise = np.random.default_rng(noise_seed)
    slow_rng = np.random.default_rng(policy_seed)
    environment = problem.environment(horizon)
    policy = policy.clone().reset(problem.n_arms, horizon, policy_seed)
    pulls = np.zeros(problem.n_arms, dtype=np.int64)
    for t in range(1, horizon + 1):
        arm = policy.ask()
        assert arm == slow.ask(slow_rng), f"round {t}: arm {arm}"
        pulls[arm] += 1
        mean = mean_of(environment, arm, t if environment.restless else int(pulls[arm]))
        reward = draw(environment, mean, noise)
        policy.tell(arm, reward)
        slow.tell(arm, reward, slow_rng)
        if after is not None:
            after(policy)
    return pulls


def check_late_arm(policy: Policy) -> None:
    """An arm that is masked in the first half of a run is pulled in the second."""
    policy = policy.clone().reset(3, 300, seed=1)
    without = np.array([True, False, True])
    for _ in range(150):
        arm = policy.ask(without)
        assert arm != 1
        policy.tell(arm, 0.3)
    for _ in range(150):
        policy.tell(policy.ask(), 0.3)
    assert policy.pulls[1] > 0
