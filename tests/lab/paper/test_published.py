"""The deviations of the published program do what their names say, and the definitions are untouched."""

from __future__ import annotations

import math

import numpy as np
import pytest

from risingbandits import RisingBanditsError, simulate
from risingbandits.lab.paper.published.red_ucb import PublishedREdUCB
from risingbandits.policies import REdUCB, policy_names
from risingbandits.theory.estimators._paper import concentration_width, window_estimate


def test_defaults_are_the_papers_and_nothing_is_registered() -> None:
    policies = {"paper": REdUCB(), "published": PublishedREdUCB()}
    result = simulate(policies, "paper-15arms", horizon=3_000, runs=2)
    np.testing.assert_array_equal(result.regret["paper"], result.regret["published"])
    assert "red-ucb-published" not in policy_names()
    with pytest.raises(RisingBanditsError, match="first_index"):
        PublishedREdUCB(first_index=math.nan)._validate()


def test_index_1_leaves_most_arms_alone() -> None:
    result = simulate({"one": PublishedREdUCB(first_index=1.0)}, "paper-15arms", horizon=5_000, runs=3)
    assert (result.pulls["one"] > 0).sum(axis=1).max() <= 3


@pytest.mark.parametrize("refresh", [True, False])
@pytest.mark.parametrize("first_index", [1.0, math.inf])
def test_follows_its_definition(first_index: float, refresh: bool) -> None:
    policy = PublishedREdUCB(first_index=first_index, refresh=refresh, sigma=0.1, alpha=4.0).reset(n_arms=3)
    rng = np.random.default_rng(0)
    rewards: list[list[float]] = [[], [], []]
    last_pull = [0, 0, 0]
    for t in range(1, 400):
        indexes = []
        for arm in range(3):
            n = len(rewards[arm])
            h = int(0.25 * n + 1e-12)
            if h == 0:
                indexes.append(first_index)
                continue
            estimate = window_estimate(rewards[arm], h, t if refresh else last_pull[arm] + 1)
            indexes.append(estimate + concentration_width(n, h, t, 0.1, float(t) ** -4.0))
        arm = policy.ask()
        assert indexes[arm] >= max(indexes) - 1e-9
        reward = float(0.3 * arm + 0.1 * rng.standard_normal())
        rewards[arm].append(reward)
        last_pull[arm] = t
        policy.tell(arm, reward)
