"""UCB1, KL-UCB, SW-UCB and GLR-klUCB decide as those of SMPyBandits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from SMPyBandits.Policies import SWUCB, UCB, klUCBloglog
from SMPyBandits.Policies.GLR_UCB import BernoulliGLR_IndexPolicy
from SMPyBandits.Policies.klUCB_forGLR import klUCB_forGLR

from peers.tables import TABLES, Floats, coins, jumps, shares
from risingbandits import Policy
from risingbandits.lab.related import GLRKLUCB, _restarts
from risingbandits.policies import KLUCB, UCB1
from risingbandits.policies import SWUCB as OurSWUCB

ROUNDING = 1e-9
EXACT = 1e-12  # where SMPyBandits ends a bisection


def index_of(peer: object, later: int) -> Floats:
    """The indexes that the other library would choose by, ``later`` rounds from now."""
    peer.t += later  # type: ignore[attr-defined]
    with np.errstate(divide="ignore", invalid="ignore"):
        peer.computeAllIndex()  # type: ignore[attr-defined]
    peer.t -= later  # type: ignore[attr-defined]
    return np.asarray(peer.index)  # type: ignore[attr-defined]


PAIRS: dict[str, tuple[Policy, Callable[[int], object], int]] = {
    "UCB1": (UCB1(), UCB, 0),
    "KL-UCB": (KLUCB(c=3.0), lambda n_arms: klUCBloglog(n_arms, c=3, tolerance=EXACT), 1),
    "SW-UCB": (OurSWUCB(tau=200, xi=0.6), lambda n_arms: SWUCB(n_arms, tau=200, alpha=0.6), 1),
}


@pytest.mark.parametrize("table", [coins, shares])
@pytest.mark.parametrize("name", PAIRS)
def test_index_policies(name: str, table: Callable[[int], Floats]) -> None:
    policy, make, later = PAIRS[name]
    decisions = clear = 0
    for seed in range(TABLES):
        rewards = table(seed)
        n_arms, rounds = rewards.shape
        ours, peer = policy.clone().reset(n_arms, rounds), make(n_arms)
        peer.startGame()  # type: ignore[attr-defined]
        for t in range(rounds):
            arm = ours.ask()
            index = index_of(peer, later)
            highest = float(index.max())
            assert index[arm] >= highest - ROUNDING, f"{name}, table {seed}, round {t + 1}"
            decisions += 1
            clear += int((index >= highest - ROUNDING).sum()) == 1
            reward = float(rewards[arm, ours.pulls[arm]])
            ours.tell(arm, reward)
            peer.getReward(arm, reward)  # type: ignore[attr-defined]
    assert decisions >= 10_000
    assert clear > 0.9 * decisions, "most decisions must have had one best arm"


@pytest.mark.parametrize("restart", ["local", "global"])
def test_glr_kl_ucb(restart: str) -> None:
    """Indexes and changes; forced exploration is by our schedule."""
    alpha, delta, every = 0.1, 0.01, 25
    decisions = changes = 0
    for seed in range(TABLES + 1):
        found: list[tuple[int, int]] = []
        rewards = jumps(seed)
        n_arms, rounds = rewards.shape
        ours = GLRKLUCB(restart=restart, alpha=alpha, delta=delta, c=0.0, every=every).reset(n_arms, rounds)
        peer = BernoulliGLR_IndexPolicy(
            n_arms, delta=delta, alpha0=0.0, per_arm_restart=restart == "local", use_localization=False,
            lazy_detect_change_only_x_steps=every, lazy_try_value_s_only_x_steps=1, policy=klUCB_forGLR,
        )  # fmt: skip
        peer._kwargs = {"c": 1, "tolerance": EXACT}  # of the index policy that startGame makes
        peer.startGame()
        period = _restarts.period(n_arms, alpha)
        for t in range(1, rounds + 1):
            arm = ours.ask()
            if t % period in range(1, n_arms + 1):
                assert arm == t % period - 1
            else:
                peer.policy.t_for_each_arm = t - np.asarray(peer.last_restart_times)
                index = index_of(peer.policy, 0)
                assert index[arm] >= float(index.max()) - ROUNDING, f"table {seed}, round {t}"
                decisions += 1
            reward = float(rewards[arm, ours.pulls[arm]])
            ours.tell(arm, reward)
            restarts = list(peer.last_restart_times)
            peer.getReward(arm, reward)
            if list(peer.last_restart_times) != restarts:
                found.append((t, arm))
                peer.all_rewards[arm], peer.last_pulls[arm] = [], 0  # the last reward, which SMPyBandits keeps
                peer.policy.pulls[arm], peer.policy.rewards[arm] = 0, 0.0
            known = ours._state
            assert known.pulls.tolist() == [len(own) for own in peer.all_rewards], f"table {seed}, round {t}"
        changes += len(found)
        assert known.changes.tolist() == np.bincount([arm for _, arm in found], minlength=n_arms).tolist()
    assert decisions >= 10_000
    assert changes >= 10
