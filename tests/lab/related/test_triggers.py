"""Arms that make each other rise: the graph, the engine and the best policy, against their definitions."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference_graph as reference
from risingbandits import RisingBandit, RisingBanditsError, simulate
from risingbandits.lab.related.triggers import (
    TriggeredArms,
    TriggeredBandit,
    TriggerGraph,
    graph_problem,
    trigger_matrix,
    with_triggers,
)
from risingbandits.policies import RLessUCB, RoundRobin
from risingbandits.problems import (
    Bernoulli,
    Beta,
    Exponential,
    Gaussian,
    NoNoise,
    Polynomial,
    get_problem,
    power_law_problem,
)
from risingbandits.simulation._engine import Runner
from risingbandits.testing import check_same_in_all_modes
from risingbandits.theory.complexity import gaps, oracle, regret_from_pulls
from risingbandits.theory.upper_bounds import predicted_regret

WRONG: Any = 1
PATH = [[1, 1, 0], [1, 1, 1], [0, 1, 1]]  # arms 0 and 2 both trigger arm 1, which triggers both


@st.composite
def graphs(draw: st.DrawFn, n_arms: int, directed: bool = False) -> TriggerGraph:
    edges = np.array(draw(st.lists(st.booleans(), min_size=n_arms**2, max_size=n_arms**2))).reshape(n_arms, n_arms)
    if not directed:
        edges = np.triu(edges) | np.triu(edges).T
    return TriggerGraph(edges | np.eye(n_arms, dtype=bool))


def graph_of(problem: RisingBandit) -> TriggerGraph | None:
    return problem.triggers if isinstance(problem, TriggeredBandit) else None


def rising_table(n_arms: int, horizon: int, seed: int) -> np.ndarray:
    return np.sort(np.random.default_rng(seed).random((n_arms, horizon)), axis=1)


# -- the graph --------------------------------------------------------------------------------------------------------


@settings(max_examples=80, deadline=None)
@given(data=st.data(), n_arms=st.integers(1, 6), directed=st.booleans())
def test_the_graph_knows_its_groups_and_counts(data: st.DataObject, n_arms: int, directed: bool) -> None:
    graph = data.draw(graphs(n_arms, directed))
    reach = graph.matrix + graph.matrix.T > 0
    for _ in range(n_arms):
        reach = (reach.astype(int) @ reach.astype(int)) > 0
    assert {frozenset(np.flatnonzero(row).tolist()) for row in reach} == set(map(frozenset, graph.components))
    assert sorted(arm for group in graph.components for arm in group) == list(range(n_arms))
    assert graph.is_cliques == bool((graph.matrix == reach).all())
    pulls = data.draw(st.lists(st.integers(0, 5), min_size=n_arms, max_size=n_arms))
    order = [arm for arm, n in enumerate(pulls) for _ in range(n)]
    assert graph.counts(pulls).tolist() == [
        reference.triggers_of(graph.matrix.tolist(), order, arm) for arm in range(n_arms)
    ]
    assert graph == TriggerGraph(graph.matrix) == pickle.loads(pickle.dumps(graph))
    assert hash(graph) == hash(TriggerGraph(graph.matrix.astype(float)))


def test_cliques_are_written_as_groups() -> None:
    graph = TriggerGraph.of_cliques([[3, 0], [1], [2, 4]])
    assert graph.components == ((0, 3), (1,), (2, 4))
    assert graph.is_cliques
    assert not graph.is_rested
    assert not graph.is_restless
    assert repr(graph) == "TriggerGraph(5 arms, 3 cliques)"
    assert repr(TriggerGraph(PATH)) == "TriggerGraph(3 arms, 2 edges)"
    assert repr(TriggerGraph([[1, 1], [0, 1]])) == "TriggerGraph(2 arms, 1 directed edges)"
    with pytest.raises(ValueError, match="read-only"):
        graph.matrix[0, 0] = 0


def test_rested_and_restless_are_the_ends() -> None:
    problem = power_law_problem(3, 500, seed=4)
    restless = RisingBandit(problem.curves, problem.noise, 500, problem.name, restless=True)
    assert with_triggers(problem, np.eye(3)) == problem
    assert with_triggers(problem, np.ones((3, 3))) == restless
    assert with_triggers(restless, np.eye(3)) == problem
    between = with_triggers(problem, PATH)
    assert [p.rested for p in (problem, restless, between)] == [True, False, False]
    assert [trigger_matrix(p).tolist() for p in (problem, restless, between)] == [
        np.eye(3).tolist(),
        np.ones((3, 3)).tolist(),
        PATH,
    ]
    assert graph_of(between.with_noise(NoNoise()).with_horizon(9)) == TriggerGraph(PATH)
    assert pickle.loads(pickle.dumps(between)) == between != problem
    assert repr(between).endswith("horizon=500, triggers=TriggerGraph(3 arms, 2 edges))")
    assert with_triggers(RisingBandit(problem.curves[:1]), [[1]]).rested


def test_random_graphs() -> None:
    assert graph_problem(8, seed=3).curves == power_law_problem(8, seed=3).curves
    assert graph_problem(8, seed=3) == graph_problem(8, seed=3) != graph_problem(8, seed=4)
    assert graph_problem(8, seed=3).name == "graph-8arms-seed3"
    assert graph_problem(8, edges=0.0).rested
    assert graph_problem(8, edges=1.0).restless
    made = [graph_of(graph_problem(9, seed=seed)) for seed in range(60)]
    share = np.mean([(graph.matrix.sum() - 9) / 72 for graph in made if graph is not None])
    assert share == pytest.approx(0.3, abs=0.03)
    for seed in range(20):
        graph = graph_of(graph_problem(9, seed=seed, cliques=4))
        assert graph is not None
        assert graph.is_cliques
        assert len(graph.components) == 4


# -- the engine -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("noise", [Gaussian(0.1), NoNoise()], ids=repr)
def test_pulls_and_gains_equal_the_definition(noise: Any, directed: bool) -> None:
    horizon = 150
    matrix = [[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 0], [1, 0, 0, 1]] if directed else None
    problem = graph_problem(4, horizon, seed=5, noise=noise)
    if matrix is not None:
        problem = with_triggers(problem, TriggerGraph(matrix))
    assert graph_of(problem) is not None
    runner = Runner(RLessUCB(sigma=0.1), problem, horizon, np.arange(1, horizon + 1))
    for seed in (1, 2):  # the second run starts anew
        policy = RLessUCB(sigma=0.1).reset(4)
        arms, means = reference.play(policy.ask, policy.tell, problem, trigger_matrix(problem).tolist(), seed, horizon)
        fast = runner.play(np.random.SeedSequence(seed))
        assert fast.pulls.tolist() == np.bincount(arms, minlength=4).tolist()
        np.testing.assert_array_equal(fast.gained, np.cumsum(means))
        alone = problem.means(horizon)
        assert max(means) < alone.max()  # arms have not risen with every round


@pytest.mark.parametrize("noise", [Gaussian(0.1), Bernoulli(), Beta()], ids=repr)
def test_all_ways_to_play_agree(noise: Any) -> None:
    check_same_in_all_modes(RoundRobin(), graph_problem(5, 200, seed=2, noise=noise), 200, seed=3)
    check_same_in_all_modes(RLessUCB(sigma=0.1), graph_problem(5, 200, seed=2, noise=noise, cliques=2), 200, seed=3)


@pytest.mark.parametrize("restless", [False, True])
def test_counting_changes_nothing_at_the_ends(restless: bool) -> None:
    curves = get_problem("random-3").curves
    problem = RisingBandit(curves, Gaussian(0.1), 2_000, restless=restless)
    fast, counted = (simulate("red-ucb", problem, runs=2, jobs=1, arms=arms) for arms in (None, TriggeredArms))
    np.testing.assert_array_equal(fast.regret["red-ucb"], counted.regret["red-ucb"])
    np.testing.assert_array_equal(fast.pulls["red-ucb"], counted.pulls["red-ucb"])
    assert len(set(fast.pulls["red-ucb"][0].tolist())) > 2


def test_the_result_does_not_depend_on_the_number_of_threads() -> None:
    problem = graph_problem(4, 400, seed=1, cliques=2)
    one, three = (simulate("red-ucb", problem, runs=6, jobs=jobs) for jobs in (1, 3))
    np.testing.assert_array_equal(one.regret["red-ucb"], three.regret["red-ucb"])


# -- the best policy --------------------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(data=st.data(), n_arms=st.integers(2, 3), horizon=st.integers(1, 5), directed=st.booleans(), falls=st.booleans())
def test_no_order_of_pulls_gets_more_than_the_bound(
    data: st.DataObject, n_arms: int, horizon: int, directed: bool, falls: bool
) -> None:
    graph = data.draw(graphs(n_arms, directed))
    means = np.random.default_rng(data.draw(st.integers(0, 999))).random((n_arms, horizon)) - 0.2
    problem = with_triggers(RisingBandit.from_array(means if falls else np.sort(means), NoNoise()), graph)
    best = reference.best_from_here(problem.means(np.arange(1, horizon + 1)), graph.matrix.tolist())
    if isinstance(problem, TriggeredBandit):
        assert best <= problem.most_that_can_be_had(horizon) + 1e-12
        if problem.best_policy() != "unknown":
            assert problem.oracle_value() == pytest.approx(best, rel=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_the_best_clique_is_the_best_that_can_be_had(seed: int) -> None:
    """With disjoint cliques of rising arms: the sum of the largest means of one clique."""
    horizon = 12
    graph = TriggerGraph.of_cliques([[0, 2], [1, 3]])
    rested = RisingBandit.from_array(rising_table(4, horizon, seed), NoNoise())
    problem = TriggeredBandit(rested.curves, rested.noise, horizon, triggers=graph)
    means = problem.means(np.arange(1, horizon + 1))
    assert problem.best_policy() == "one clique"
    by_clique = [means[[0, 2]].max(axis=0).sum(), means[[1, 3]].max(axis=0).sum()]
    assert problem.oracle_value() == pytest.approx(max(by_clique), rel=1e-12)
    assert problem.oracle_value() == pytest.approx(reference.best_from_here(means, graph.matrix.tolist()), rel=1e-12)
    assert problem.oracle_value() == pytest.approx(problem.most_that_can_be_had(horizon), rel=1e-12)


def test_the_best_clique_need_not_have_the_best_arm() -> None:
    """Two arms that take turns in being better are worth more than the best arm alone."""
    rows = [[0.5, 0.5, 0.5, 0.5], [0.0, 0.1, 0.8, 0.9], [0.4, 0.6, 0.6, 0.6]]
    problem = with_triggers(RisingBandit.from_array(rows, NoNoise()), TriggerGraph.of_cliques([[0, 1], [2]]))
    assert problem.oracle_arm() == 2
    assert problem.oracle_prefix([0, 1, 2, 3, 4]) == pytest.approx([0.0, 0.5, 1.0, 1.8, 2.7])
    result = simulate("constant(arm=2)", problem)
    assert result.final_regret["constant(arm=2)"][0] == pytest.approx(2.7 - 2.2)


def test_cliques_of_closed_forms_and_clipped_means() -> None:
    curves = [Polynomial(1.2, 30, 1), Exponential(0.9, 0.05), Polynomial(1.4, 200, 1)]
    graph = TriggerGraph.of_cliques([[0, 1], [2]])
    for noise in (NoNoise(), Bernoulli()):
        problem = TriggeredBandit(curves, noise, 400, triggers=graph)
        means = problem.means(np.arange(1, 401))
        assert (means.max() <= 1.0) == (noise == Bernoulli())
        by_clique = [means[:2].max(axis=0).sum(), means[2].sum()]
        assert problem.oracle_value() == pytest.approx(max(by_clique), rel=1e-12)


def test_cliques_that_fall() -> None:
    """Arms that only fall: the highest next mean; a clique falls by every pull of it."""
    rows = [[0.9, 0.5, 0.1], [0.8, 0.7, 0.2], [0.6, 0.6, 0.6]]
    problem = with_triggers(RisingBandit.from_array(rows, NoNoise()), TriggerGraph.of_cliques([[0, 1], [2]]))
    assert problem.best_policy() == "greedy"
    assert problem.oracle_prefix([1, 2, 3]) == pytest.approx([0.9, 1.6, 2.2])


def test_a_word_where_the_best_policy_is_not_known() -> None:
    problem = graph_problem(6, 2_000, seed=1)
    assert isinstance(problem, TriggeredBandit)
    assert problem.best_policy() == "unknown"
    most = problem.most_that_can_be_had(2_000)
    best = problem.mean_sums().max()
    assert problem.oracle_value() == best < most
    with pytest.warns(UserWarning, match="arms trigger each other, and the best policy is not known") as said:
        result = simulate("round-robin", problem, record_at=1)
    assert f"best single arm ({best:,.6g}), and may be negative, because up to {most:,.6g} may be possible" in str(
        said[0].message
    )
    assert result.oracle[-1] == best
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        simulate("round-robin", graph_problem(6, 2_000, seed=1, cliques=2))


# -- what holds of rested arms only -----------------------------------------------------------------------------------


@pytest.mark.parametrize("function", [gaps, oracle, lambda p: regret_from_pulls(p, [100, 100, 100])])
def test_theory_refuses_arms_that_make_others_rise(function: Any) -> None:
    problem = with_triggers(power_law_problem(3, 300), PATH)
    with pytest.raises(
        RisingBanditsError, match=r"problem must have arms that do not make others rise, got TriggeredBandit\("
    ):
        function(problem)
    bound = predicted_regret(problem)
    assert bound.broken == ("arms are rested (they move with the pulls that trigger the arm)",)
    assert bound.value == np.inf
