"""Reasons: every policy gives them, asking for them changes nothing, and they say which rule has spoken."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest

from risingbandits.policies import (
    ASHA,
    Auto,
    ExploreThenCommit,
    Policy,
    RoundRobin,
    get_policy,
    policy_class,
    policy_names,
)
from risingbandits.policies._reasons import against, explanation
from risingbandits.policies.explanation import Explanation, Units

ROUNDS = 120


def fresh(name: str) -> Policy:
    settings = {"arm": 1} if "arm" in policy_class(name)().get_params() else {}
    return get_policy(name, **settings).reset(5, ROUNDS, seed=3)


def reward(arm: int, n: int, rng: np.random.Generator) -> float:
    return float(np.clip((0.3 + 0.1 * (arm * 3 % 5)) * n / (n + 6) + 0.02 * rng.standard_normal(), 0.0, 1.0))


def play(policy: Policy, every: int, mask: bool) -> tuple[list[int], list[Explanation]]:
    rng, masks = np.random.default_rng(4), np.random.default_rng(5)
    arms, said = [], []
    for t in range(ROUNDS):
        if every and t % every == 0:
            said += [policy.explain(), policy.explain()]
        available = masks.random(5) < 0.6 if mask else None
        if available is not None:
            available[masks.integers(5)] = True
        arms.append(policy.ask(available))
        policy.tell(arms[-1], reward(arms[-1], int(policy.pulls[arms[-1]]) + 1, rng))
    return arms, said


@pytest.mark.parametrize("mask", [False, True])
@pytest.mark.parametrize("name", policy_names())
def test_asking_why_changes_no_decision_and_every_policy_has_an_answer(name: str, mask: bool) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        arms, _ = play(fresh(name), 0, mask)
        asked, said = play(fresh(name), 7, mask)
    assert asked == arms
    assert len(said) == 36
    for first, second in zip(said[::2], said[1::2], strict=True):
        assert str(first) == str(second), "two questions in a row have the same answer"
        assert first.arm is not None
        assert first.why
        assert (first.kept is None) == (first.round == 1)
        assert bool(first.why_kept) == (first.round > 1)
        if not mask:
            assert first.arm == arms[first.round - 1], "the arm that is explained is the one that is asked for"
            assert "free" not in first.why, "all arms are"


def told(policy: Policy, *rewards: tuple[int, float]) -> Policy:
    for arm, value in rewards:
        policy.tell(arm, value)
    return policy


def test_the_rule_that_has_spoken_is_named() -> None:
    assert RoundRobin().reset(2).explain().why == "never pulled"
    assert told(RoundRobin().reset(1), (0, 0.5)).explain().why == "its turn (round robin)"
    assert told(get_policy("ucb1").reset(2), (0, 0.5), (1, 0.9)).explain().why.startswith("best index 2.")
    assert told(ExploreThenCommit(m=2).reset(2), (0, 0.5)).explain().why == "exploring: pull 1 of 2 of each arm"
    rising = told(ASHA(max_pulls=9).reset(5), (0, 0.1), (1, 0.5), (2, 0.2))
    assert rising.explain().why == "rises: among the best 1/3 of its rung"


def test_a_trial_is_explained_by_what_it_brings_and_costs_in_units_of_the_reward() -> None:
    reasons = []
    policy = Auto("cumulative", order="given").reset(30, 200)
    rng = np.random.default_rng(0)
    for _ in range(200):
        said = explanation(policy, policy._state, policy.clone().ask(), Units(0.0, 100.0))
        reasons.append((said.why, said.columns, said.arm))
        arm = policy.ask()
        policy.tell(arm, reward(arm, int(policy.pulls[arm]) + 1, rng))
    assert {"opened", "the incumbent", "tried"} <= {why.split(":")[0] for why, _, _ in reasons}
    why, columns, tried = next(row for row in reasons if "a trial is worth" in row[0])
    assert why.split(": ")[1] == f"a trial is worth {100.0 * columns['gain'][tried]:.2g} more than it costs"
    assert any(why.endswith("no other arm is worth trying now") for why, _, _ in reasons)


def test_extrapolation_is_explained_by_what_an_arm_may_pay() -> None:
    policy = Auto("cumulative", sigma=0.02).reset(3, 3_000, seed=1)
    reasons = set()
    rng = np.random.default_rng(1)
    for t in range(1_500):
        if t % 10 == 0:
            reasons.add(policy.explain().why.split(" 0.")[0].split(", up to")[0])
        arm = policy.ask()
        n = int(policy.pulls[arm]) + 1
        policy.tell(arm, [0.5, 0.9 * n / (n + 150), 0.2][arm] + 0.02 * rng.standard_normal())
    assert "all arms are tried before any is judged" in reasons
    assert "the incumbent: no other arm is worth trying now" in reasons
    assert "may pay up to" in reasons


def test_what_speaks_against_a_choice() -> None:
    pulls = np.array([12, 3, 20, 0])
    level = np.array([0.7, 0.71, 0.2, 0.9])
    end = np.array([0.8, 0.75, 0.95, np.nan])
    names = ["a", "b", "c", "d"]
    columns = {"level": (level, [f"{x}" for x in level]), "predicted end": (end, [f"{x}" for x in end])}
    expected = "b is ahead in level (0.71), with only 3 pulls; c is ahead in predicted end (0.95), with 20 pulls"
    assert against(0, names, pulls, columns) == expected
    assert against(1, names, pulls, {"level": columns["level"]}) == ""
    assert against(0, names, pulls, {"level": (np.full(4, np.nan), names)}) == ""


def test_an_explanation_as_dict_and_as_html() -> None:
    policy = told(get_policy("ucb1").reset(3), (0, 0.5), (1, 0.9))
    said = policy.explain()
    known = json.loads(json.dumps(said.to_dict(), allow_nan=False))
    assert known["columns"]["pulls"] == [1, 1, 0]
    assert known["columns"]["estimate"] == known["columns"]["level"] == [0.5, 0.9, None]
    assert (known["next"], known["recommended"]) == (2, 1)
    assert known["against"] == ""
    page = said._repr_html_()
    assert page.count("<tr>") == 4
    assert "recommended: 1, best recent level" in page
    assert str(said).splitlines()[-3:] == said.sentences()
