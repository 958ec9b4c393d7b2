"""PTRR and its hybrid: equal to their definitions where arms are given up, m is guessed or an arm is committed to."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import reference_round_robin as slow
from reference import play_policy
from reference_phases import play
from risingbandits import Policy, RisingBandit, get_problem, simulate
from risingbandits.lab.related import PTRR, HybridPTRR
from risingbandits.problems import ConstantCurve, Gaussian, LinearCapped, NoNoise, Polynomial
from risingbandits.testing import check_policy

HORIZON = 1_500


def worst_case(n_arms: int, horizon: int) -> RisingBandit:
    """Nobody knows that arm 0 goes on rising, but the others stop at 1 / sqrt(K); no two slopes are tied."""
    slopes = [(1 + 0.01 * arm**0.7) / horizon for arm in range(n_arms)]
    curves = [LinearCapped(slope, n_arms**-0.5 if arm else 1.0) for arm, slope in enumerate(slopes)]
    return RisingBandit(curves, NoNoise(), horizon=horizon)


WORST = worst_case(9, HORIZON)
BENIGN = get_problem("random-3").with_noise(NoNoise())
CLOSE = RisingBandit([Polynomial(limit, 3.0, 1.0) for limit in (0.5, 0.9, 0.8)], NoNoise(), horizon=HORIZON)
NOISY = get_problem("paper-15arms")


@pytest.mark.parametrize(
    ("problem", "settings", "rules"),
    [
        (WORST, {"m": 0.9}, {"given up"}),
        (WORST, {"m": 0.9, "alpha": 0.5}, {"given up"}),
        (BENIGN, {"m": 3.0, "alpha": 2.0}, {"given up", "all given up"}),
        (WORST, {}, {"guess"}),
        (BENIGN, {"alpha": 0.5}, {"guess"}),
        (NOISY, {"m": 0.8, "window": 5}, {"given up"}),
        (NOISY, {"window": 3}, {"guess"}),
    ],
)
def test_ptrr_decides_as_defined(problem: RisingBandit, settings: dict[str, Any], rules: set[str]) -> None:
    said: list[str] = []
    for seed in range(4):
        expected = play(slow.ptrr(said, **settings), problem, HORIZON, seed)
        assert play_policy(PTRR(**settings), problem, HORIZON, seed) == expected
    assert rules <= {word.partition(" of ")[0].rstrip(" 0123456789") for word in said}


@pytest.mark.parametrize(
    ("problem", "settings", "rules"),
    [
        (BENIGN, {}, {"committed"}),
        (CLOSE, {}, {"committed"}),
        (WORST, {"m": 0.9}, {"given up"}),
        (WORST, {"B": 200, "alpha": 0.5}, {"guess"}),
        (NOISY, {"window": 10}, {"committed"}),
        (WORST.with_noise(Gaussian(0.01)), {"window": 30}, {"guess"}),
        (WORST.with_noise(Gaussian(0.01)), {"window": 20, "m": 0.9}, {"given up"}),
    ],
)
def test_hybrid_decides_as_defined(problem: RisingBandit, settings: dict[str, Any], rules: set[str]) -> None:
    said: list[str] = []
    told = {"alpha": settings.get("alpha", 1.0), "first": settings.get("B"), "m": settings.get("m")}
    for seed in range(3):
        expected = play(slow.hybrid(said, **told, window=settings.get("window", 1)), problem, HORIZON, seed)
        assert play_policy(HybridPTRR(**settings), problem, HORIZON, seed) == expected
    assert rules <= {word.partition(" of ")[0].rstrip(" 0123456789") for word in said}


def test_scales_of_the_guess_are_all_drawn() -> None:
    """T / (2K) pulls of a line leave a factor of 2K = 18 open: 1, 2, 4, 8, 16."""
    said: list[str] = []
    for seed in range(40):
        play(slow.ptrr(said), WORST, 300, seed)
    guesses = {word for word in said if word.startswith("guess")}
    assert guesses == {f"guess {j} of 5" for j in range(5)}


def test_the_order_is_drawn_evenly() -> None:
    first = [PTRR(m=1.0).reset(5, 100, seed=seed).ask() for seed in range(500)]
    assert np.all(np.abs(np.bincount(first, minlength=5) - 100) < 40)


def test_the_worst_case_is_earned_better_than_by_round_robin() -> None:
    """9 arms: the best is found in time whatever the order, where a fixed policy may be led astray."""
    result = simulate({"ptrr": PTRR(m=0.9), "round-robin": "round-robin"}, WORST, runs=40, seed=1)
    assert result.final_regret["ptrr"].mean() < 0.8 * result.final_regret["round-robin"].mean()


def test_hybrid_commits_for_good() -> None:
    curves = [ConstantCurve(0.2), ConstantCurve(0.7), ConstantCurve(0.4)]
    problem = RisingBandit(curves, NoNoise(), horizon=100)
    running = HybridPTRR().reset(3, 100, seed=1)
    for _ in range(100):
        arm = running.ask()
        running.tell(arm, float(problem.means(1)[arm]))
    assert running.pulls.tolist() == [2, 96, 2]
    assert running.recommend() == 1
    assert running.explain().why == "its lower bound was above all other upper bounds"
    assert running.ask([True, False, True]) == 2, "the better of those that are free"


def test_tells_before_the_first_question() -> None:
    running = PTRR(m=1.0).reset(4, 100, seed=3)
    for arm in (0, 1, 3):
        running.tell(arm, 0.0)
    assert running.ask() == 2
    assert running.explain()["given up"].tolist() == [1.0, 1.0, 0.0, 1.0]
    running.tell(2, -1.0)
    assert running.explain().why == "all arms were given up, and it had the best level 0"


def test_reasons_name_the_rule() -> None:
    running = PTRR().reset(3, 120, seed=1)
    reasons = set()
    for _ in range(120):
        reasons.add(running.explain().why.split(" 0.")[0].split(":")[0])
        arm = running.ask()
        running.tell(arm, 0.001 * (running.pulls[arm] + 1))
    assert {"never pulled", "looked at before m is guessed", "level"} <= reasons
    hybrid = HybridPTRR(m=0.5).reset(3, 60, seed=1)
    for _ in range(60):
        reasons.add(hybrid.explain().why)
        hybrid.tell(hybrid.ask(), 0.01 * hybrid.rounds)
    assert {"too few pulls for bounds", "widest bounds of what it comes to"} <= reasons


@pytest.mark.parametrize(
    "policy",
    [PTRR(m=0.5, alpha=0.3, window=4), PTRR(m=0.0), HybridPTRR(B=10), HybridPTRR(m=0.7, window=3)],
    ids=repr,
)
def test_settings_keep_the_contract(policy: Policy) -> None:
    check_policy(policy)


def test_with_noise_a_window_helps() -> None:
    curves = [LinearCapped(0.01, 0.3), LinearCapped(0.01, 0.8)]
    problem = RisingBandit(curves, Gaussian(0.1), horizon=2_000)
    result = simulate({"1": HybridPTRR(), "100": HybridPTRR(window=100)}, problem, runs=40, seed=2)
    assert result.final_regret["100"].mean() < result.final_regret["1"].mean()
