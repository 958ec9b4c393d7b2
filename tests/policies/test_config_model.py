"""ConfigModel beside the definition of its Gaussian process, and what a decision may depend on."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from risingbandits import RisingBanditsError
from risingbandits.policies import _config_process as process
from risingbandits.policies import config_model
from risingbandits.policies._config_process import Points, Process, Scales
from risingbandits.policies._knowledge import Knowledge
from risingbandits.policies.config_model import ConfigModel
from risingbandits.testing import check_policy

GROUPS = np.array([0, 1, 1])
SCALES = Scales(0.7, 0.3, np.array([0.4, 1.3]))


CONFIGS, PRIOR = np.random.default_rng(0).random((6, 3)), np.random.default_rng(0).normal(size=6)


def some_points(rng: np.random.Generator, count: int) -> Points:
    arms = rng.integers(6, size=count)
    return Points(arms, rng.integers(1, 40, size=count).astype(float), CONFIGS[arms], PRIOR[arms])


def covariance_by_definition(one: Points, other: Points) -> np.ndarray:
    found = np.zeros((len(one.arms), len(other.arms)))
    for i in range(len(one.arms)):
        for j in range(len(other.arms)):
            gaps = (one.configs[i] - other.configs[j]) / SCALES.lengths[GROUPS]
            distance = math.sqrt(5.0 * float(gaps @ gaps))
            alike = (1.0 + distance + distance**2 / 3.0) * math.exp(-distance)
            n, m = math.log(one.resources[i]), math.log(other.resources[j])
            own = SCALES.own if one.arms[i] == other.arms[j] else 0.0
            found[i, j] = (SCALES.signal * alike + own) * math.exp(-abs(n - m) / 8.0)
            found[i, j] += 0.1 * (1.0 + min(n, m) / 4.0) + 0.36 * one.prior[i] * other.prior[j]
    return found


def predictions_by_definition(seen: Points, scores: np.ndarray, at: Points) -> tuple[np.ndarray, np.ndarray]:
    matrix = covariance_by_definition(seen, seen) + 0.02 * np.eye(len(scores))
    cross = covariance_by_definition(at, seen)
    mean = 0.5 * at.prior + cross @ np.linalg.solve(matrix, scores - 0.5 * seen.prior)
    return mean, np.diag(covariance_by_definition(at, at) - cross @ np.linalg.solve(matrix, cross.T))


def nothing() -> Points:
    return Points(np.zeros(0, np.int64), np.zeros(0), np.zeros((0, 3)), np.zeros(0))


def test_predictions_are_those_of_the_definition() -> None:
    rng = np.random.default_rng(1)
    seen, at, scores = some_points(rng, 70), some_points(rng, 9), rng.normal(size=70)
    found = Process(SCALES, GROUPS, seen, scores, nothing()).predict(at)
    np.testing.assert_allclose(found, predictions_by_definition(seen, scores, at), rtol=1e-7, atol=1e-9)


def test_one_more_row_of_an_arm_is_as_if_it_had_been_seen() -> None:
    rng = np.random.default_rng(2)
    seen, at, scores = some_points(rng, 30), some_points(rng, 5), rng.normal(size=30)
    own = at._replace(resources=np.array([1.0, 2.0, 7.0, 9.0, 30.0]))
    own_scores = rng.normal(size=5)
    mean, var = Process(SCALES, GROUPS, seen, scores, nothing()).predict_after(at, own, own_scores)
    for i in range(5):
        more = seen.beside(own.take([i]))
        expected = predictions_by_definition(more, np.append(scores, own_scores[i]), at.take([i]))
        np.testing.assert_allclose((mean[i], var[i]), np.ravel(expected), rtol=1e-7, atol=1e-9)


def test_pending_rows_count_as_their_predicted_means() -> None:
    rng = np.random.default_rng(3)
    seen, at, waiting, scores = some_points(rng, 30), some_points(rng, 5), some_points(rng, 4), rng.normal(size=30)
    expected = predictions_by_definition(seen, scores, waiting)[0]
    believed = predictions_by_definition(seen.beside(waiting), np.append(scores, expected), at)
    found = Process(SCALES, GROUPS, seen, scores, waiting).predict(at)
    np.testing.assert_allclose(found, believed, rtol=1e-7, atol=1e-9)


def test_scales_are_the_most_probable_ones() -> None:
    """The surprise, written from its definition, is flat at the scales that are found."""
    rng = np.random.default_rng(4)
    configs = rng.random((40, 3))
    scores = process.normal_scores(np.sin(6.0 * configs[:, 0]) + 0.1 * rng.normal(size=40))

    def surprise(logs: np.ndarray) -> float:
        gaps = (configs[:, None] - configs) / np.exp(logs[:2])[GROUPS]
        distance = np.sqrt(5.0 * (gaps**2).sum(axis=2))
        matrix = np.exp(logs[2]) * (1.0 + distance + distance**2 / 3.0) * np.exp(-distance)
        matrix += (np.exp(logs[3]) + 0.02) * np.eye(40)
        away = (logs - [0.0, 0.0, math.log(0.6), math.log(0.4)]) / [0.75, 0.75, 1.0, 1.0]
        fit = 0.5 * scores @ np.linalg.solve(matrix, scores) + 0.5 * np.linalg.slogdet(matrix)[1]
        return float(fit + 0.5 * away @ away)

    found = {}
    for steps in (15, 200):
        scales = process.most_probable(configs, GROUPS, np.zeros(40), scores, steps=steps)
        found[steps] = np.log(np.r_[scales.lengths, scales.signal, scales.own])
    slopes = [surprise(found[200] + step) - surprise(found[200] - step) for step in 1e-4 * np.eye(4)]
    np.testing.assert_allclose(np.array(slopes) / 2e-4, 0.0, atol=1e-3)
    np.testing.assert_allclose(found[15], found[200], atol=0.05)
    assert found[15][0] < found[15][1], "only the first hyperparameter matters"


def test_minimum_has_the_gradient_of_its_function() -> None:
    """The search stops where it cannot go down, which a wrong gradient would be unable to find."""

    def valley(at: np.ndarray) -> tuple[float, np.ndarray]:
        x, y = at
        return (1 - x) ** 2 + 20 * (y - x * x) ** 2, np.array([-2 * (1 - x) - 80 * x * (y - x * x), 40 * (y - x * x)])

    np.testing.assert_allclose(process.minimum(valley, np.array([-1.0, 1.0]), 4.0, 200), [1.0, 1.0], atol=1e-4)
    inside = process.minimum(valley, np.array([-1.0, 0.5]), 0.8, 200)
    assert (np.abs(inside) <= 0.8).all()
    np.testing.assert_allclose(inside, [0.8, 0.64], atol=1e-3)


@pytest.mark.parametrize("rows", [0, 1, 47, 48, 49, 131])
def test_inverse_of_a_triangle(rows: int) -> None:
    matrix = np.tril(np.random.default_rng(rows).random((rows, rows))) + 3.0 * np.eye(rows)
    np.testing.assert_allclose(process.triangular_inverse(matrix) @ matrix, np.eye(rows), atol=1e-9)


def test_contract() -> None:
    check_policy(ConfigModel())
    check_policy(ConfigModel(max_pulls=20))


def configs(count: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng(count)
    return [
        {"lr": float(10.0 ** -rng.uniform(1, 5)), "layers": int(rng.integers(1, 5)), "opt": str(rng.choice(["a", "b"]))}
        | ({} if i % 3 else {"momentum": float(rng.random())})
        for i in range(count)
    ]


def value(config: dict[str, Any], n: int) -> float:
    return float(n / (n + 4) - 0.1 * abs(math.log10(config["lr"]) + 3) + 0.05 * (config["opt"] == "a"))


def played(policy: ConfigModel, known: list[dict[str, Any]], rounds: int, limit: int = 27) -> list[int]:
    arms = []
    for _ in range(rounds):
        arm = policy.ask(policy.pulls < limit)
        policy.tell(arm, value(known[arm], int(policy.pulls[arm]) + 1))
        arms.append(arm)
    return arms


def told(policy: ConfigModel, known: list[dict[str, Any]]) -> ConfigModel:
    policy.inform(Knowledge(known))
    return policy


def new_run(known: list[dict[str, Any]], seed: int = 3, **params: Any) -> ConfigModel:
    return told(ConfigModel(**params), known).reset(len(known), 400, seed)


def test_it_finds_a_good_config() -> None:
    known = configs(300)
    worth = np.array([value(config, 27) for config in known])
    better = []
    for seed in range(3):
        policy = new_run(known, seed, max_pulls=27)
        played(policy, known, 250)
        seen = [value(config, int(n)) if n else -9.0 for config, n in zip(known, policy.pulls, strict=True)]
        better.append(int((worth > worth[np.argmax(seen)]).sum()))
        assert policy.what_matters().startswith("lr matters most")
        assert "lr matters most" in policy.explain().policy
    assert sorted(better)[1] <= 3, "of 300 configs, of which 250 pulls can train only some 30"


def test_a_decision_follows_from_the_events_alone() -> None:
    """A run that was told the same and gave out the same decides the same, whatever it had computed on the way."""
    known = configs(60)
    policy = new_run(known)
    arms = played(policy, known, 90)
    other = new_run(known)
    for arm in arms:
        other._give(arm)
        other.tell(arm, value(known[arm], int(other.pulls[arm]) + 1))
    late = ConfigModel().reset(60, 400, 3)
    for arm in arms:
        late._give(arm)
        late.tell(arm, value(known[arm], int(late.pulls[arm]) + 1))
    late.inform(Knowledge(known))  # configs that arrive late need no retelling
    learnt = [run._state.run._learn() for run in (policy, other, late)]
    assert learnt[0].point < len(arms), "the model does not know the last pulls yet"
    for again in learnt[1:]:
        np.testing.assert_array_equal(again.scales.lengths, learnt[0].scales.lengths)
        np.testing.assert_array_equal(again.hope, learnt[0].hope)
    assert played(policy, known, 60) == played(other, known, 60) == played(late, known, 60)


def test_ties_are_broken_at_random() -> None:
    """The order of a table must not count."""
    first = {ConfigModel().reset(50, 400, seed).ask() for seed in range(12)}
    assert len(first) > 6
    known = configs(50)
    starts = []
    for seed in range(6):
        policy = ConfigModel().reset(50, 400, seed)  # nothing distinguishes the arms
        starts.append(tuple(dict.fromkeys(played(policy, known, 30))))
    assert len(set(starts)) == 6
    assert np.mean([np.mean(arms[3:]) for arms in starts]) > 15.0, "not the first of the table"


def test_free_arms_below_their_rung_go_on_first() -> None:
    known = configs(40)
    policy = new_run(known)
    played(policy, known, 200)
    ladder = {0}
    while max(ladder) < 400:
        ladder.add(int(policy._state.run._rungs(np.array([max(ladder)]))[0]))
    on_its_way = [n for n in policy.pulls.tolist() if n not in ladder]
    assert len(on_its_way) <= 1
    assert {3, 5, 8} <= ladder


def test_workers_get_different_arms_and_all_pulls_are_used() -> None:
    known, rng = configs(40), np.random.default_rng(0)
    policy = new_run(known)
    flying: list[int] = []
    for _ in range(300):
        if len(flying) < 8:
            free = np.ones(40, bool)
            free[flying] = False
            arm = policy.ask(free)
            assert arm not in flying
            flying.append(arm)
        else:
            arm = flying.pop(int(rng.integers(len(flying))))
            policy.tell(arm, value(known[arm], int(policy.pulls[arm]) + 1))
    assert np.count_nonzero(policy.pulls) > 8
    assert policy.pulls.max() >= 8


def test_expensive_arms_are_tried_less() -> None:
    known = configs(60)
    shares = []
    for costly in (1.0, 30.0):
        policy = new_run(known, 1)
        for _ in range(200):
            arm = policy.ask()
            cost = costly if known[arm]["layers"] == 4 else 1.0
            policy.tell(arm, value(known[arm], int(policy.pulls[arm]) + 1), cost)
        dear = np.array([config["layers"] == 4 for config in known])
        shares.append(policy.pulls[dear].sum() / policy.pulls.sum())
    assert shares[1] < 0.7 * shares[0]


def test_a_prior_decides_the_first_arm_and_a_negated_one_is_found_out() -> None:
    known = configs(100)
    worth = process.normal_scores(np.array([value(config, 27) for config in known]))
    policy = ConfigModel().reset(100, 400, 1)
    policy.inform(Knowledge(means=worth))
    assert policy.ask() == worth.argmax()
    policy = ConfigModel().reset(100, 400, 1)
    policy.inform(Knowledge(means=-worth))
    arms = played(policy, known, 120)
    assert worth[arms[0]] == worth.min()
    assert worth[arms[60:]].mean() > 0.5, "the slope turns"


def test_rows_are_bounded_and_arms_without_rows_still_compete() -> None:
    known = configs(500)
    policy = new_run(known)
    for arm in range(500):
        for n in range(1, 4):
            policy.tell(arm, value(known[arm], n))
    run = policy._state.run
    view = run._view(1_500, np.array([7, 499]))
    assert len(view.seen.arms) <= config_model.ROWS
    assert {7, 499} <= set(view.inside.tolist())
    assert len(view.inside) + len(view.outside.arms) == 500
    chosen = policy.ask()
    levels = np.array([value(config, 3) for config in known])
    assert (levels > levels[chosen]).sum() < 50


def test_masked_arms_stay_data() -> None:
    """The best arm is finished; arms like it are still found."""
    known = configs(80)
    best = max(range(80), key=lambda arm: value(known[arm], 9))
    policy = new_run(known)
    policy._give(best)
    for n in range(1, 28):
        policy.tell(best, value(known[best], n))
    for arm in range(0, 80, 10):
        policy.tell(arm, value(known[arm], 1))
    free = np.ones(80, bool)
    free[best] = False
    view = policy._state.run._view(policy.rounds, np.zeros(0, np.int64))
    assert best in view.inside
    assert policy.ask(free) != best


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([{}] * 3, r"^configs must be 4 mappings, one per arm, got "),
        ([1, 2, 3, 4], r"^configs must be 4 mappings, one per arm, got "),
    ],
)
def test_wrong_configs_are_refused_in_one_sentence(given: Any, said: str) -> None:
    with pytest.raises(RisingBanditsError, match=said):
        told(ConfigModel(), given).reset(4)
    with pytest.raises(RisingBanditsError, match="cost must be"):
        ConfigModel().reset(4).tell(0, 0.5, -1.0)
