"""What policies are told about arms before pulls: who uses it, what the default believes, and that runs can be kept."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from risingbandits import RisingBanditsError
from risingbandits._core.jit import interpreted
from risingbandits.policies import Auto, Policy, RoundRobin
from risingbandits.policies import _config_process as process
from risingbandits.policies._config_beliefs import believed
from risingbandits.policies._knowledge import Knowledge
from risingbandits.policies.config_model import ConfigModel, Space
from risingbandits.policies.default import _comparison as comparison

CONFIGS = [{"lr": 10.0 ** -(i / 10), "opt": "ab"[i % 2]} for i in range(30)]
OBJECTIVES = pytest.mark.parametrize("objective", ["best-arm", "cumulative"])


def value(arm: int, n: int) -> float:
    return n / (n + 4) - abs(arm - 20) / 40


def play(policy: Policy, rounds: int, arms: int = 30) -> list[int]:
    asked = []
    for _ in range(rounds):
        arm = policy.ask()
        asked.append(arm)
        policy.tell(arm, value(arm, int(policy.pulls[arm]) + 1))
    return asked


def informed(objective: str, **known: Any) -> Auto:
    policy = Auto(objective=objective)
    assert policy.inform(Knowledge(**known))
    return policy.reset(30, 200, seed=5)


@OBJECTIVES
@pytest.mark.parametrize("known", [{"configs": CONFIGS[:1] * 30}, {"means": np.zeros(30)}, {}])
def test_knowledge_that_tells_no_arms_apart_changes_nothing(objective: str, known: dict[str, Any]) -> None:
    policy = Auto(objective=objective)
    assert not policy.inform(Knowledge(**known))
    assert play(policy.reset(30, 200, seed=5), 60) == play(Auto(objective=objective).reset(30, 200, seed=5), 60)


@pytest.mark.parametrize("arms", [2, 5, 30])
def test_the_model_plays_any_number_of_arms(arms: int) -> None:
    policy = Auto()
    assert policy.inform(Knowledge(CONFIGS[:arms]))
    policy.reset(arms, 200, seed=5)
    model = ConfigModel()
    model.inform(Knowledge(CONFIGS[:arms]))
    model.reset(arms, 200, seed=5)
    assert play(policy, 80) == play(model, 80)
    assert policy._takes_costs


def test_others_say_that_they_do_not_use_it() -> None:
    assert not RoundRobin().inform(Knowledge(CONFIGS))


@OBJECTIVES
def test_more_can_be_known_only_in_a_run_that_began_informed(objective: str) -> None:
    policy = Auto(objective=objective).reset(30, 200, seed=5)
    assert not policy.inform(Knowledge(CONFIGS))
    policy = informed(objective, configs=[{}, *CONFIGS[1:]])
    play(policy, 20)
    assert policy.inform(Knowledge(CONFIGS))
    play(policy, 20)
    with pytest.raises(RisingBanditsError, match="configs must be 30 mappings, one per arm, got "):
        policy.inform(Knowledge(CONFIGS[:3]))


@OBJECTIVES
def test_an_informed_run_can_be_copied_and_kept(objective: str, tmp_path: Path) -> None:
    policy = informed(objective, configs=CONFIGS, means=np.linspace(-1.0, 1.0, 30), deviations=np.full(30, 0.7))
    play(policy, 40)
    copy, kept = policy.clone(), Policy.load(policy.save(tmp_path / "policy.npz"))
    expected = play(policy, 40)
    assert play(copy, 40) == expected
    assert play(kept, 40) == expected


@OBJECTIVES
def test_a_proposal_changes_nothing_and_is_what_is_asked(objective: str) -> None:
    policy, other = (informed(objective, configs=CONFIGS) for _ in range(2))
    for _ in range(60):
        proposed = [policy._propose() for _ in range(2)]
        policy._give(proposed[0])
        assert [other.ask()] * 2 == proposed
        for each in (policy, other):
            each.tell(proposed[0], value(proposed[0], int(each.pulls[proposed[0]]) + 1))


def by_definition(space: Space, picked: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Beliefs about each arm, from the scores of all others, one arm after another."""
    scales = process.most_probable(space.points[picked], space.groups, space.prior[picked], scores)
    share = scales.signal / (scales.signal + scales.own)

    def covariance(i: int, j: int) -> float:
        gap = (space.points[i] - space.points[j]) / scales.lengths[space.groups]
        far = math.sqrt(5.0 * float(gap @ gap))
        near = share * (1.0 + far + far**2 / 3.0) * math.exp(-far) + (1.0 - share) * (i == j)
        return near * float(space.deviations[i] * space.deviations[j])

    means, deviations = np.zeros(len(space.prior)), np.zeros(len(space.prior))
    for arm in range(len(space.prior)):
        others = [k for k, other in enumerate(picked) if other != arm]
        matrix = np.array([[covariance(picked[k], picked[m]) for m in others] for k in others])
        matrix += process.NOISE * np.eye(len(others))
        cross = np.array([covariance(arm, picked[k]) for k in others])
        rest = np.linalg.solve(matrix, scores[others] - space.prior[picked[others]])
        means[arm] = space.prior[arm] + cross @ rest
        deviations[arm] = math.sqrt(covariance(arm, arm) - cross @ np.linalg.solve(matrix, cross))
    return means, deviations


def test_beliefs_are_those_of_the_other_arms() -> None:
    rng = np.random.default_rng(2)
    known = Knowledge(CONFIGS, rng.normal(size=30), rng.uniform(0.4, 1.0, 30))
    space, picked = Space.of(known, 30), rng.permutation(30)[:12]
    scores = process.normal_scores(rng.normal(size=12) - np.abs(picked - 20) / 10)
    for found, expected in zip(believed(space, picked, scores), by_definition(space, picked, scores), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-7)


def test_without_configs_the_default_believes_earlier_runs() -> None:
    means, deviations = np.linspace(-1.0, 1.0, 30), np.full(30, 0.6)
    policy = informed("cumulative", means=means, deviations=deviations)
    np.testing.assert_array_equal(policy._state.beliefs, np.column_stack([means, deviations]))
    assert policy.ask() == 29
    assert policy._state.order.tolist() == list(range(29, -1, -1))


def test_slope_and_standing_are_those_of_least_squares() -> None:
    """Leads are slope times belief less standing; the slope is believed to be 1 +- 1, the standing anything."""
    rng = np.random.default_rng(3)
    wrong = -process.normal_scores(np.array([value(arm, 30) for arm in range(30)]))
    policy = informed("cumulative", means=wrong, deviations=rng.uniform(0.4, 1.0, 30))
    compared = 0
    for _ in range(150):
        arm = policy.ask()
        policy.tell(arm, value(arm, int(policy.pulls[arm]) + 1))
        state, plan = policy._state, policy._state.plan
        opened = np.flatnonzero(policy.pulls)
        if plan["spread"][0] == 0.0:
            continue
        interpreted(comparison._learn_slope)(state, plan)
        unit = interpreted(comparison.unit)(state, plan)
        leads = np.array([interpreted(comparison.ahead)(state, plan, i) for i in opened]) / unit
        leads[opened == plan["incumbent"][0]] = 0.0
        blur = np.array([interpreted(comparison._blur)(state, plan, policy.pulls[i]) for i in opened]) / unit**2
        root = np.sqrt(state.beliefs[opened, 1] ** 2 + blur)
        rows = np.column_stack([state.beliefs[opened, 0], -np.ones(len(opened))]) / root[:, None]
        precision = rows.T @ rows + np.diag([1.0, 0.0])
        found = np.linalg.solve(precision, rows.T @ (leads / root) + [1.0, 0.0])
        spread = np.linalg.inv(precision)
        if len(opened) > 1:  # a standard error more
            found[1] += 1.0 / math.sqrt((1.0 / root**2).sum())
        expected = [*found, spread[0, 0], spread[1, 1], spread[0, 1]]
        names = ("slope", "standing", "slope_variance", "standing_variance", "covariance")
        np.testing.assert_allclose([plan[name][0] for name in names], expected, rtol=1e-6)
        compared = max(compared, len(opened))
    assert compared > 2


@pytest.mark.parametrize(("sign", "least"), [(1.0, 1), (-1.0, 0)])
def test_a_trusted_favourite_plays_alone_and_a_reversed_prior_is_dropped(sign: float, least: int) -> None:
    """Beliefs that come true leave one arm; opposite ones are found out, and an arm that is good is played."""
    tops = np.linspace(0.2, 0.9, 12)
    scores = sign * (tops - tops.mean()) / tops.std()
    policy = Auto(objective="cumulative")
    assert policy.inform(Knowledge(None, scores, np.full(12, 0.5)))
    policy.reset(12, 120, seed=1)
    for _ in range(120):
        arm = policy.ask()
        policy.tell(arm, float(tops[arm] * policy.pulls[arm] / (policy.pulls[arm] + 1)) + 0.05)
    if least:
        assert policy.pulls[11] > 100
    else:
        assert policy.pulls[9:].sum() > 80, policy.pulls


def test_configs_say_which_arm_is_started_next_for_cumulative_reward() -> None:
    policy = informed("cumulative", configs=CONFIGS)
    assert policy._state.plan["believes"][0] == 0.0, "nothing is known yet"
    for n in range(1, 6):
        for arm in range(0, 30, 3):
            policy.tell(arm, value(arm, n))
    means = policy._state.beliefs[:, 0]
    unopened = policy._state.order[10:]
    assert set(unopened.tolist()) == {arm for arm in range(30) if arm % 3}
    assert abs(int(unopened[0]) - 20) <= 2
    assert means[unopened[0]] == max(means[unopened])
    assert np.corrcoef(means, [value(arm, 5) for arm in range(30)])[0, 1] > 0.6
