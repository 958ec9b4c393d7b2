"""What races recommend before they are over, who stays among equals, and the chances of masked draws."""

from __future__ import annotations

import math

import pytest

from risingbandits.lab.related import RSR, RUCBE, SuccessiveRejects
from risingbandits.policies import ASHA, CommitUCB, Hyperband, SequentialHalving
from risingbandits.policies.best_arm._phases import PhasePolicy

LEVELS = (0.3, 0.5, 0.4)


@pytest.mark.parametrize("policy", [RSR, SuccessiveRejects, SequentialHalving])
def test_a_race_that_is_not_over_recommends_the_best_recent_mean(policy: type[PhasePolicy]) -> None:
    running = policy().reset(3, 300)
    for _ in range(6):
        arm = running.ask()
        running.tell(arm, LEVELS[arm])
    assert running.explain()["active"].tolist() == [1, 1, 1]
    assert running.recommend() == 1


def test_r_ucbe_recommends_by_its_estimate_alone() -> None:
    """The arm with few pulls has the wider width, which is a reason to explore it and none to keep it."""
    running = RUCBE(sigma=0.1).reset(2, 1_000)
    for arm, pulls in ((0, 200), (1, 12)):
        for _ in range(pulls):
            running.tell(arm, LEVELS[1 - arm])
    known = running.explain()
    assert known["value"][1] > known["value"][0]
    assert known["level"][1] + known["trend"][1] < known["level"][0] + known["trend"][0]
    assert (running.ask(), running.recommend()) == (1, 0)


def test_of_equal_arms_hyperband_keeps_the_first() -> None:
    running = Hyperband(max_pulls=9).reset(9, 1_000)
    while running.explain()["active"].sum() == 9:
        running.tell(running.ask(), 0.5)
    assert running.explain()["active"].tolist() == [1, 1, 1, 0, 0, 0, 0, 0, 0]


def test_rungs_of_asha_are_judged_by_the_mean_of_the_last_rewards() -> None:
    running = ASHA(eta=2, share=0.5).reset(1, 100)
    for reward in (0.2, 0.6, 0.1, 0.4, 0.0, 0.1, 0.2, 0.5):
        running.tell(0, reward)
    assert running._state.targets[:4].tolist() == [1, 2, 4, 8]
    assert running._state.value[0, :4].tolist() == pytest.approx([0.2, 0.6, 0.25, 0.2])


def test_past_exploration_counts_for_no_more_than_exploring_has_to_cost() -> None:
    """Arm 1 has cost 50 at the level of arm 0, of which 3 log 200 = 15.9 count; waiting for arm 2 may gain 21."""
    running = CommitUCB(sigma=0.0, risk="sunk-cost").reset(3, horizon=200)
    for arm, rewards in ((0, [0.5] * 20), (1, [0.0] * 100), (2, [0.02 * n for n in range(1, 21)])):
        for reward in rewards:
            running.tell(arm, reward)
    left, gain = 60, running.explain()["commit value"][2] - 0.5
    assert 3 * math.log(200) < gain * left < 50
    assert running.ask() == 2
