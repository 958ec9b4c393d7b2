"""What CommitEnsemble expects of the end: the shown level, its band, and the chance to be the best."""

from __future__ import annotations

import numpy as np

from risingbandits.policies import CommitEnsemble
from risingbandits.policies.commit import _ensemble_bounds
from risingbandits.policies.commit import _ensemble_members as members


def played(sigma: float, rounds: int = 300) -> CommitEnsemble:
    rng = np.random.default_rng(1)
    policy = CommitEnsemble().reset(n_arms=4, horizon=2_000)
    for _ in range(rounds):
        arm = policy.ask() if rounds > 3 else policy.rounds  # an arm without pulls has no prediction
        n = policy.pulls[arm] + 1
        policy.tell(arm, [0.5, 0.9 * n / (n + 60), 0.3 * n / (n + 5), 0.1][arm] + sigma * rng.normal())
    return policy


def test_the_arm_that_rises_is_expected_to_be_the_best() -> None:
    columns = played(sigma=0.02).explain().columns
    assert columns["final"].argmax() == 1
    assert columns["chance"].argmax() == 1
    assert columns["chance"][1] > 0.7
    assert columns["final low"][1] < 0.9 * 2_000 / 2_060 < columns["final high"][1]
    assert np.isclose(columns["chance"].sum(), 1.0)


def test_bands_hold_the_expectation_and_lie_in_the_range() -> None:
    columns = played(sigma=0.3).explain().columns
    assert (columns["final low"] <= columns["final"]).all()
    assert (columns["final"] <= columns["final high"]).all()
    assert (columns["final low"] >= 0.0).all()
    assert (columns["final high"] <= 1.0).all()


def test_arms_without_pulls_have_no_prediction() -> None:
    columns = played(sigma=0.02, rounds=2).explain().columns
    assert np.isnan(columns["final"][2:]).all()
    assert np.isnan(columns["chance"][2:]).all()
    assert np.isclose(columns["chance"][:2].sum(), 1.0)


def test_band_and_chance_are_those_of_the_mixture() -> None:
    """Quantiles by the bisection that the bound uses, chances by integration over a grid."""
    policy = played(sigma=0.1)
    columns = policy.explain().columns
    state = policy.clone()._state
    grid = np.linspace(-2.0, 3.0, 4_001)
    cdfs = []
    for arm in range(4):
        n = float(policy.pulls[arm])
        count = _ensemble_bounds.weigh(state, arm, n, 2_000.0 - n, True)
        share, mean, spread = (state.work[row, :count].copy() for row in (members.SHARE, members.MEAN, members.SPREAD))
        # 1,000 draws: an empirical quantile lies at another probability by no more than 0.025, 3.6 standard deviations
        between = [members.upper_quantile(state.work, count, tail) for tail in (0.975, 0.925, 0.075, 0.025)]
        assert np.clip(between[0], 0, 1) <= columns["final low"][arm] <= np.clip(between[1], 0, 1)
        assert np.clip(between[2], 0, 1) <= columns["final high"][arm] <= np.clip(between[3], 0, 1)
        z = (grid[:, None] - mean) / spread
        cdfs.append(np.vectorize(members.normal_cdf)(z) @ (share / share.sum()))
    for arm in range(4):
        others = np.prod([cdfs[other] for other in range(4) if other != arm], axis=0)
        chance = float(np.sum(np.diff(cdfs[arm]) * 0.5 * (others[1:] + others[:-1])))
        assert abs(columns["chance"][arm] - chance) < 4 * np.sqrt(0.25 / 1_000)


def test_the_recommended_arm_has_the_highest_prediction_in_a_long_run_and_the_highest_level_in_a_short_one() -> None:
    policy = CommitEnsemble(sigma=0.01).reset(n_arms=2, horizon=100_000)
    for n in range(1, 2_051):
        policy.tell(0, 0.5)
        policy.tell(1, n / 10_000)
        if policy.rounds in (4_000, 4_002):
            final = policy.explain()["final"]
            assert final[1] > final[0] + 0.1
            assert policy.recommend() == int(policy.rounds > 4_000)
    assert policy.rounds == 4_100


def test_asking_why_changes_nothing() -> None:
    policy = played(sigma=0.1)
    other = policy.clone()
    first, second = str(policy.explain()), str(policy.explain())
    assert first == second
    for _ in range(50):
        arm = policy.ask()
        assert arm == other.ask()
        for one in (policy, other):
            one.tell(arm, 0.3)
