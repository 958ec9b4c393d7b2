"""UCB1 and the greedy part of epsilon-greedy decide as those of MABWiser."""

from __future__ import annotations

import pytest
from mabwiser.mab import MAB, LearningPolicy

from peers.tables import TABLES, coins, shares
from risingbandits import Policy
from risingbandits.policies import UCB1, EpsilonGreedy

ROUNDING = 1e-9
PAIRS = {
    "UCB1": (UCB1(), LearningPolicy.UCB1(alpha=1)),
    "epsilon-greedy": (EpsilonGreedy(epsilon=0.0), LearningPolicy.EpsilonGreedy(epsilon=0)),
}


@pytest.mark.parametrize("name", PAIRS)
def test_decisions(name: str) -> None:
    policy: Policy = PAIRS[name][0]
    decisions = 0
    for seed, table in [(seed, table) for seed in range(TABLES) for table in (coins, shares)]:
        rewards = table(seed)
        n_arms, rounds = rewards.shape
        ours, peer = policy.clone().reset(n_arms, rounds, seed=0), MAB(list(range(n_arms)), PAIRS[name][1])
        for arm in range(n_arms):  # MABWiser needs a first reward of each arm, which is how ours begin
            assert ours.ask() == arm
            ours.tell(arm, float(rewards[arm, 0]))
        peer.fit(list(range(n_arms)), rewards[:, 0].tolist())
        for t in range(n_arms, rounds):
            arm = ours.ask()
            index = peer.predict_expectations()
            assert index[arm] >= max(index.values()) - ROUNDING, f"{name}, table {seed}, round {t + 1}"
            decisions += 1
            reward = float(rewards[arm, ours.pulls[arm]])
            ours.tell(arm, reward)
            peer.partial_fit([arm], [reward])
    assert decisions >= 10_000
