"""R-ed-UCB on trigger counts equals its definition, R-ed-UCB and, as far as that is so, R-less-UCB."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reference_graph as reference
from risingbandits import Policy, RisingBandit, RisingBanditsError, get_policy, simulate
from risingbandits.lab.related import GraphREdUCB
from risingbandits.lab.related.triggers import (
    TriggerGraph,
    graph_problem,
    trigger_matrix,
    triggered_pull,
    with_triggers,
)
from risingbandits.policies import REdUCB, RLessUCB
from risingbandits.problems import Gaussian, NoNoise, get_problem, power_law_problem
from risingbandits.simulation._engine import Runner, compiled_loop
from risingbandits.testing import check_same_in_all_modes
from risingbandits.theory.upper_bounds import predicted_regret

PATH = ((1, 1, 0, 0), (1, 1, 1, 0), (0, 1, 1, 1), (0, 0, 1, 1))
TEACHER = ((1, 1, 1, 1), (0, 1, 0, 0), (0, 0, 1, 1), (0, 0, 1, 1))  # directed: arm 0 makes all others rise


def problem_with(sigma: float, horizon: int, triggers: Any = PATH, seed: int = 6) -> RisingBandit:
    problem = power_law_problem(4, horizon, seed=seed, noise=Gaussian(sigma) if sigma else NoNoise())
    return with_triggers(problem, TriggerGraph(triggers))


@pytest.mark.parametrize("triggers", [PATH, TEACHER], ids=["path", "teacher"])
@pytest.mark.parametrize("sigma", [0.0, 0.01, 0.1])
def test_decisions_equal_the_reference(sigma: float, triggers: Any) -> None:
    horizon = 260
    problem = problem_with(sigma, horizon, triggers)
    matrix = trigger_matrix(problem).tolist()
    policy = GraphREdUCB(sigma=sigma, triggers=matrix).reset(4)
    slow = reference.GraphREdUCB(4, horizon)
    slow.sigma, slow.matrix = sigma, matrix
    apart = 0

    def ask() -> int:
        nonlocal apart
        arm = policy.ask()
        assert arm == slow.ask(None), f"round {slow.t}"
        np.testing.assert_allclose(policy.explain().columns["value"], slow.index(), rtol=1e-9)
        apart += len(slow.own(arm)) != reference.triggers_of(matrix, slow.arms.tolist(), arm)
        return arm

    def tell(arm: int, reward: float) -> None:
        policy.tell(arm, reward)
        slow.tell(arm, reward, None)

    arms, means = reference.play(ask, tell, problem, matrix, 3, horizon)
    assert apart > horizon / 4  # trigger counts are not pulls
    fast = Runner(GraphREdUCB(sigma=sigma, triggers=matrix), problem, horizon, np.array([horizon]))
    run = fast.play(np.random.SeedSequence(3))
    assert run.pulls.tolist() == np.bincount(arms, minlength=4).tolist()
    assert run.gained[0] == pytest.approx(sum(means), rel=1e-12)


@pytest.mark.parametrize("sigma", [0.0, 0.1])
@pytest.mark.parametrize("given", [False, True])
def test_with_the_identity_it_is_red_ucb(sigma: float, given: bool) -> None:
    problem = get_problem("random-3").with_noise(Gaussian(0.1) if sigma else NoNoise())
    graph = GraphREdUCB(sigma=sigma, triggers=np.eye(problem.n_arms) if given else None)
    result = simulate({"red": REdUCB(sigma=sigma), "graph": graph}, problem, horizon=3_000, runs=2, jobs=1)
    np.testing.assert_array_equal(result.pulls["red"], result.pulls["graph"])
    np.testing.assert_array_equal(result.regret["red"], result.regret["graph"])


@pytest.mark.parametrize("sigma", [0.0, 0.1])
def test_with_the_identity_the_indexes_are_those_of_red_ucb(sigma: float) -> None:
    """The same bits without noise; with it the sums are made in another order."""
    policies = [REdUCB(sigma=sigma).reset(3), GraphREdUCB(sigma=sigma).reset(3)]
    rng = np.random.default_rng(1)
    for _ in range(400):
        arm, reward = int(rng.integers(3)), 0.5 + 0.1 * rng.standard_normal()
        for policy in policies:
            policy.tell(arm, reward)
    red, graph = (policy.explain().columns["value"] for policy in policies)
    np.testing.assert_allclose(graph, red, rtol=0.0 if sigma == 0.0 else 1e-11)


def test_with_all_ones_it_is_r_less_ucb_without_noise_alone() -> None:
    for sigma in (0.0, 0.1):
        curves = get_problem("random-3").curves
        problem = RisingBandit(curves, Gaussian(0.1) if sigma else NoNoise(), 3_000, restless=True)
        policies = {"r-less": RLessUCB(sigma=sigma), "graph": GraphREdUCB(sigma=sigma)}
        result = simulate(policies, problem, runs=1, jobs=1, record_at=10)
        same = np.array_equal(result.pulls["r-less"], result.pulls["graph"])
        assert same == (sigma == 0.0)
        if same:
            np.testing.assert_array_equal(result.regret["r-less"], result.regret["graph"])


def test_lines_are_above_the_curve_and_below_those_over_pulls() -> None:
    """Without noise in the rewards, the windows' lines: above the mean at round t, if that is to come."""
    problem = problem_with(0.0, 2_000, seed=8)
    matrix = trigger_matrix(problem)
    policies = [GraphREdUCB(sigma=0.1, triggers=matrix).reset(4), REdUCB(sigma=0.1).reset(4)]
    rng, risen = np.random.default_rng(4), np.zeros(4, dtype=np.int64)
    lower = 0
    for t in range(1, 601):
        arm = int(rng.integers(4))
        risen += matrix[arm]
        for policy in policies:
            policy.tell(arm, float(problem.means(int(risen[arm]))[arm]))
        if t % 50 == 0 and policies[0].pulls.min() >= 4:
            parts = [policy.explain().columns for policy in policies]
            graph, pulls = (columns["level"] + columns["trend"] for columns in parts)
            assert (graph >= problem.means(t + 1) - 1e-12).all()
            assert (graph <= pulls + 1e-12).all()
            lower += int((graph < pulls - 1e-6).sum())
    assert lower > 20


@pytest.mark.parametrize("sigma", [0.0, 0.1, "auto"])
def test_all_ways_to_play_agree(sigma: Any) -> None:
    problem = problem_with(0.1, 300)
    check_same_in_all_modes(GraphREdUCB(sigma=sigma, triggers=trigger_matrix(problem)), problem, 300, seed=2)


def test_pruning_changes_nothing() -> None:
    problem = graph_problem(150, 2_500, seed=1, cliques=40)
    for sigma in (0.0, 0.1):
        policy = GraphREdUCB(sigma=sigma)._for_problem(problem, 2_500)
        pruned = Runner(policy, problem, 2_500, np.array([2_500])).play(np.random.SeedSequence(1))
        state_class: Any = type(policy._new_state(150, 1, 1))
        full_scan = compiled_loop(policy.kernels, state_class, triggered_pull)
        plain = Runner(policy, problem, 2_500, np.array([2_500]), loop=full_scan)
        np.testing.assert_array_equal(plain.play(np.random.SeedSequence(1)).pulls, pruned.pulls)


def test_the_problem_tells_its_triggers() -> None:
    problem = problem_with(0.1, 50)
    told = GraphREdUCB()._for_problem(problem, 50)
    assert np.array_equal(told.triggers, trigger_matrix(problem))
    assert told.sigma == 0.1
    assert GraphREdUCB()._for_problem(power_law_problem(3), 50).triggers is None
    own = GraphREdUCB(triggers=np.eye(4))
    assert own._for_problem(problem, 50).triggers is own.triggers


def test_it_goes_on_from_a_file(tmp_path: Path) -> None:
    policy = get_policy("graph-red-ucb(sigma=0.1, triggers=[[1, 1], [0, 1]])").reset(2)
    for n in range(150):
        policy.tell(n % 2, 0.01 * n)
    again = Policy.load(policy.save(tmp_path / "policy.npz"))
    assert again.get_params()["triggers"] == ((1, 1), (0, 1))
    for one in (policy, again):
        for n in range(150):
            one.tell(n % 3 % 2, 0.002 * n)
    for column, values in policy.explain().columns.items():
        np.testing.assert_array_equal(again.explain().columns[column], values)


def test_refusals() -> None:
    with pytest.raises(RisingBanditsError) as error:
        GraphREdUCB(triggers=[[1, 2], [0, 1]]).reset(2)
    assert str(error.value) == "triggers must hold 0 and 1 only, got 2 at [0, 1]."
    with pytest.raises(RisingBanditsError) as error:
        GraphREdUCB(triggers=[[1, 0], [0, 1]]).reset(3)
    assert str(error.value) == "triggers must be a 3 x 3 matrix, a row and a column for each arm, got 2 x 2."
    broken = predicted_regret(get_problem("paper-2arms"), policy=GraphREdUCB(triggers=[[1, 1], [1, 1]])).broken
    assert "the index is that of the theorem (triggers)" in broken
