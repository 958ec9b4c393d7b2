"""Instances at the edges of what is assumed: arms that start at nothing and jump, straight lines, constants 0 and 1."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from risingbandits import Policy, RisingBandit, simulate
from risingbandits.policies import Auto, CommitUCB
from risingbandits.problems import ConstantCurve, Gaussian, NoNoise, PowerLaw

RECOMMENDED: dict[str, Policy] = {
    "default": CommitUCB(),
    "optimism": CommitUCB(risk=None),
    "sunk cost": CommitUCB(risk="sunk-cost"),
}
AUTO: dict[str, Policy] = {"auto": Auto("cumulative")}  # parameter-free; the others know how noisy rewards are


def lost(problem: RisingBandit, policies: dict[str, Policy], runs: int = 1) -> dict[str, float]:
    """The mean regret of each policy as a share of what the best arm earns."""
    result = simulate(policies, problem, runs=runs, seed=3, jobs=1)
    assert problem.horizon is not None
    best = problem.mean_sums(problem.horizon).max()
    return {name: float(result.final_regret[name].mean() / best) for name in policies}


def a_late_start(n_arms: int, horizon: int, sigma: float = 0.0) -> RisingBandit:
    """Constant arms near 1/2, and one whose means are 0, .6, .711, ... up to .8: the last one is the best."""
    curves = [ConstantCurve(0.5 - 0.001 * arm) for arm in range(n_arms - 1)]
    return RisingBandit([*curves, PowerLaw(0.8, 0.8, 2.0)], Gaussian(sigma) if sigma > 0 else NoNoise(), horizon)


def table(curves: list[npt.NDArray[np.float64]]) -> RisingBandit:
    return RisingBandit.from_array(np.stack(curves), NoNoise(), curves[0].size)


@pytest.mark.parametrize(("n_arms", "horizon"), [(6, 2_000), (10, 5_000)])
def test_an_arm_that_starts_at_nothing_is_not_locked_out(n_arms: int, horizon: int) -> None:
    """An early version lost 37.5 %: the line from the origin does not hold for such an arm."""
    problem = a_late_start(n_arms, horizon)
    assert max(lost(problem, RECOMMENDED).values()) < 0.01
    assert lost(problem, AUTO)["auto"] < 0.04  # all arms are tried before any is judged


@pytest.mark.compiled
@pytest.mark.parametrize(("n_arms", "horizon"), [(6, 700), (10, 1_500), (50, 9_000)])
def test_nor_where_pulls_are_few(n_arms: int, horizon: int) -> None:
    """One reward of 0 says nothing: where it was believed the default lost 37.5 %."""
    assert lost(a_late_start(n_arms, horizon), AUTO, runs=10)["auto"] < 0.07


@pytest.mark.parametrize("n_arms", [2, 10, 50])
def test_extremes_cost_a_few_pulls_of_each_arm(n_arms: int) -> None:
    """The best arm is (0, c, c, ...), or constant at 1 among zeros, or zero like all others. Nothing is noisy, so a few
    pulls of a rival tell all: three, and second chances, one pull each time that the rounds have doubled.
    """
    horizon = 40 * n_arms
    chances = 3 + np.log2(horizon)
    one, zero = np.ones(horizon), np.zeros(horizon)
    jump = np.concatenate([[0.0], np.full(horizon - 1, 0.9)])
    for best, other in ((jump, 0.4 * one), (one, zero), (zero, zero)):
        problem = table([*[other] * (n_arms - 1), best])
        result = simulate(RECOMMENDED, problem, seed=1, jobs=1)
        worst = chances * (n_arms - 1) * max(0.0, best[-1] - other[-1]) + best[-1] - best[0]
        for name, regret in result.final_regret.items():
            assert regret.max() <= worst + 1e-9, (name, best[-1], other[-1])


def test_a_straight_slow_starter_is_found_by_optimism_alone() -> None:
    """Proposition 1: it costs the risk rules T/4. Where it stops at the incumbent's level, optimism pays T/16."""
    horizon = 4_000
    rise = 2.0 * np.arange(horizon) / horizon
    half = np.full(horizon, 0.5)
    policies = {name: RECOMMENDED[name] for name in ("default", "sunk cost")}
    policies["optimism"] = CommitUCB(risk=None, recheck=0.0)
    blooms, stops = (
        simulate(policies, table([half, np.minimum(top, rise)]), jobs=1).final_regret for top in (1.0, 0.5)
    )
    for rule in ("default", "sunk cost"):
        assert blooms[rule][0] == pytest.approx(horizon / 4, rel=0.02)
        assert stops[rule][0] < 10
    assert blooms["optimism"][0] < 5
    assert stops["optimism"][0] == pytest.approx(horizon / 16, rel=0.02)
