"""Beliefs by name follow from the model of scores: theta of the arm plus what the task does."""

from __future__ import annotations

import numpy as np
import pytest

from risingbandits.allocation.prior.reading import beliefs_by_name, common_share


def test_half_agreement_is_one_pseudo_task() -> None:
    scores = [0.3, 1.2, -0.4, 0.9]
    belief = beliefs_by_name([{"a": score} for score in scores], 0.5)["a"]
    assert belief.mean == pytest.approx(sum(scores) / 5)
    assert belief.source == "4 tasks"


@pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 0.9])
@pytest.mark.parametrize("n", [1, 2, 7])
def test_beliefs_are_the_conditional_distribution(share: float, n: int) -> None:
    """The score of a further task, given n scores, from the joint normal distribution of all n + 1."""
    scores = np.random.default_rng(n).standard_normal(n)
    joint = share * np.ones((n + 1, n + 1)) + (1 - share) * np.eye(n + 1)
    weights = joint[n, :n] @ np.linalg.inv(joint[:n, :n])
    belief = beliefs_by_name([{"a": float(score)} for score in scores], share)["a"]
    assert belief.mean == pytest.approx(weights @ scores)
    assert belief.deviation**2 == pytest.approx(joint[n, n] - weights @ joint[:n, n])


def test_the_share_is_found_in_tasks_that_follow_the_model() -> None:
    rng = np.random.default_rng(1)
    for share in (0.1, 0.5, 0.8):
        theta = rng.normal(0, share**0.5, 200)
        tasks = [
            {str(arm): float(score) for arm, score in enumerate(theta + rng.normal(0, (1 - share) ** 0.5, 200))}
            for _ in range(40)
        ]
        assert common_share(tasks) == pytest.approx(share, abs=0.1)


def test_the_share_of_few_tasks_is_near_one_half() -> None:
    same, other = {"a": 1.0, "b": -1.0}, {"c": 1.0, "d": -1.0}
    assert common_share([]) == common_share([same]) == common_share([same, other]) == 0.5
    assert common_share([same, same]) == pytest.approx((3 * 0.5 + 1) / 4)
    assert common_share([same, same, other]) == common_share([same, same])  # the third has no arm in common
    assert common_share([same] * 50) == 0.9
    assert common_share([same, {"a": -1.0, "b": 1.0}] * 1) < 0.5
    assert common_share([{"a": 1.0}, {"a": -1.0}, {"b": 1.0}, {"b": -1.0}]) == 0.0
