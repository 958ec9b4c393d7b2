"""Known lengths of curves: finished arms are masked or go on paying, and the run ends when none is left."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from risingbandits import Policy, RisingBandit, RisingBanditsError, get_policy, get_problem, policy_names, simulate
from risingbandits._core.jit import interpreted
from risingbandits.policies import CommitUCB
from risingbandits.problems import ConstantCurve, Gaussian, NoNoise, Polynomial
from risingbandits.problems._kernels import draw_reward, mean_at
from risingbandits.simulation._engine import Run, Runner, loop


def ending_problem(limits: int | list[int] | None = None, noise: float = 0.1) -> RisingBandit:
    curves = [Polynomial(0.3 + 0.2 * arm, 5.0 + 3.0 * arm, 1.0) for arm in range(4)]
    return RisingBandit(curves, Gaussian(noise), 60, max_pulls=limits)


def masked_by_hand(policy: Policy, problem: RisingBandit, horizon: int, seed: int) -> Run:
    """The run by asking with a mask and telling, as slowly and obviously as can be."""
    mean_of, draw = interpreted(mean_at), interpreted(draw_reward)
    noise_seed, policy_seed = np.random.SeedSequence(seed).spawn(2)
    noise = np.random.default_rng(noise_seed)
    environment = problem.environment(horizon)
    running = policy.clone().reset(problem.n_arms, horizon, policy_seed)
    gained: list[float] = []
    lengths = problem.lengths
    assert lengths is not None
    while len(gained) < horizon and (running.pulls < lengths).any():
        arm = running.ask(running.pulls < lengths)
        mean = mean_of(environment, arm, int(running.pulls[arm]) + 1)
        running.tell(arm, draw(environment, mean, noise))
        gained.append((gained[-1] if gained else 0.0) + mean)
    gained += [gained[-1]] * (horizon - len(gained))
    return Run(np.array(gained), running.pulls, running.recommend())


FEW = ("successive-halving", "asha", "commit-ucb", "sw-ts")  # one of each kind; machine code takes seconds


@pytest.mark.parametrize(
    "name", [*FEW, *(pytest.param(name, marks=pytest.mark.slow) for name in policy_names() if name not in FEW)]
)
def test_masked_runs_are_those_of_asking_with_a_mask(name: str) -> None:
    problem = ending_problem([3, 20, 7, 15])
    for horizon in (30, 60):
        policy = get_policy(name)._for_problem(problem, horizon)
        record_at = np.arange(1, horizon + 1)
        by_hand = masked_by_hand(policy, problem, horizon, seed=2)
        run = Runner(policy, problem, horizon, record_at, after_end="stop").play(np.random.SeedSequence(2))
        assert np.array_equal(run.pulls, by_hand.pulls)
        assert np.array_equal(run.gained, by_hand.gained)
        assert run.recommended == by_hand.recommended
        assert (run.pulls <= [3, 20, 7, 15]).all()
        assert run.pulls.sum() == min(horizon, 45)


def test_interpreted_masked_run() -> None:
    problem, policy = ending_problem(9), CommitUCB(sigma=0.1)
    slow = interpreted(loop, **policy._kernels_for(4)._asdict())
    one = Runner(policy, problem, 50, np.arange(1, 51), loop=slow, after_end="stop").play(np.random.SeedSequence(1))
    other = Runner(policy, problem, 50, np.arange(1, 51), after_end="stop").play(np.random.SeedSequence(1))
    assert np.array_equal(one.gained, other.gained)
    assert one.pulls.tolist() == other.pulls.tolist() == [9, 9, 9, 9]


def test_a_run_ends_when_no_arm_is_left() -> None:
    result = simulate("round-robin", ending_problem(5), horizon=100, after_end="stop", record_at=[10, 20, 21, 90])
    assert result.pulls["round-robin"].tolist() == [[5, 5, 5, 5]]
    gained = result.oracle - result.regret["round-robin"][0]
    assert gained[1] == pytest.approx(ending_problem().mean_sums(5).sum())
    assert gained[1:].tolist() == pytest.approx([gained[1]] * 4)


def test_paying_arms_go_on_as_if_nothing_were_said() -> None:
    for policy in ("red-ucb", "round-robin"):
        told, untold = (simulate(policy, ending_problem(limits), seed=3) for limits in (5, None))
        assert np.array_equal(told.regret[policy], untold.regret[policy])
        assert np.array_equal(told.final_means, untold.final_means)


def test_the_best_arm_is_that_with_the_highest_end() -> None:
    curves = [[0.1, 0.9], [0.2, 0.3, 0.4, 0.95], [0.5, 0.6, 0.7]]
    problem = RisingBandit.from_array(curves, NoNoise())
    assert problem.lengths is not None
    assert problem.lengths.tolist() == [2, 4, 3]
    result = simulate("r-sr", problem, horizon=3, after_end="stop")
    assert result.final_means.tolist() == [0.9, 0.4, 0.7]
    assert simulate("r-sr", problem, horizon=9, after_end="stop").final_means.tolist() == [0.9, 0.95, 0.7]


def test_lengths_of_instances() -> None:
    assert get_problem("paper-2arms").lengths is None
    assert ending_problem(7).lengths.tolist() == [7] * 4  # type: ignore[union-attr]
    assert ending_problem([1, 2, 3, 4]).longest == 4
    mixed = RisingBandit([ConstantCurve(0.5), *RisingBandit.from_array([[0.1, 0.2]]).curves])
    assert mixed.lengths is not None
    assert mixed.lengths[1] == 2
    assert mixed.longest is None
    copy = pickle.loads(pickle.dumps(ending_problem([1, 2, 3, 4])))
    assert copy.max_pulls == (1, 2, 3, 4)
    assert ending_problem(3).with_horizon(9).max_pulls == (3, 3, 3, 3)
    assert ending_problem(3).oracle_value(9) == ending_problem().oracle_value(9)


@settings(max_examples=25, deadline=None)
@given(limits=st.lists(st.integers(1, 12), min_size=4, max_size=4), horizon=st.integers(1, 60))
def test_no_arm_is_pulled_beyond_its_end(limits: list[int], horizon: int) -> None:
    result = simulate(
        ["r-sr", "successive-halving", "commit-ucb"], ending_problem(limits), horizon=horizon, after_end="stop", jobs=1
    )
    for pulls in result.pulls.values():
        assert (pulls[0] <= limits).all()
        assert pulls[0].sum() == min(horizon, sum(limits))


def test_tables_of_both_objectives() -> None:
    result = simulate(["r-sr", "round-robin"], "mussi-5arms", horizon=200, runs=4)
    rows = result.summary("best-arm")
    assert [row["policy"] for row in rows] == ["r-sr", "round-robin"]
    for row in rows:
        rate = result.error_rate(row["policy"])
        assert (row["error_value"], row["error_low"], row["error_high"]) == rate
        assert row["simple_regret"] == result.simple_regret(row["policy"]).mean()
    assert {"regret", "top_arm_share"} <= set(result.summary()[0])
    with pytest.raises(RisingBanditsError, match="objective must be one of"):
        result.summary("fast")
