"""Arms without a known name are judged by their settings."""

from __future__ import annotations

import numpy as np
import pytest

from reference_process import slow_prediction, slow_surprise
from risingbandits.allocation.prior.gaussian_process import (
    GaussianProcess,
    most_probable,
    prior_of,
    squared_distances,
    surprise,
)
from risingbandits.allocation.prior.reading import Row, SettingsModel
from risingbandits.allocation.starting.prior import UNKNOWN
from risingbandits.policies.config_points import WORD, Features, Value

RNG = np.random.default_rng(3)
POINTS = RNG.random((25, 4))
POINTS[3] = POINTS[4]  # the same settings in two tasks
GROUPS = np.array([0, 1, 1, 2])
VALUES = np.sin(4 * POINTS[:, 0]) - POINTS[:, 3] + 0.1 * RNG.standard_normal(25)
HYPERS = [np.zeros(5), np.array([1.0, -2.0, 0.5, 0.3, -3.0]), np.array([-1.0, 2.0, 3.0, -1.0, 1.0])]


@pytest.mark.parametrize("hyper", HYPERS)
def test_predictions_agree_with_the_reference(hyper: np.ndarray) -> None:
    new = RNG.random((7, 4))
    new[0] = POINTS[0]
    means, deviations = GaussianProcess(POINTS, VALUES, GROUPS, hyper).predict(new)
    slow_means, slow_deviations = slow_prediction(POINTS, VALUES, GROUPS, hyper, new)
    assert means == pytest.approx(slow_means, abs=1e-5)
    assert deviations == pytest.approx(slow_deviations, abs=1e-5)


@pytest.mark.parametrize("hyper", HYPERS)
def test_density_and_gradient(hyper: np.ndarray) -> None:
    squares = squared_distances(POINTS, GROUPS)
    value, gradient = surprise(hyper, squares, VALUES)
    assert value == pytest.approx(slow_surprise(POINTS, VALUES, GROUPS, hyper, *prior_of(3)), abs=1e-4)
    step = 1e-5 * np.eye(5)
    measured = [
        (surprise(hyper + s, squares, VALUES)[0] - surprise(hyper - s, squares, VALUES)[0]) / 2e-5 for s in step
    ]
    assert gradient == pytest.approx(measured, rel=1e-4, abs=1e-4)


def test_hyper_parameters_are_at_a_maximum() -> None:
    found = most_probable(POINTS, VALUES, GROUPS)
    value, gradient = surprise(found, squared_distances(POINTS, GROUPS), VALUES)
    assert np.abs(gradient).max() < 0.02
    assert value < surprise(prior_of(3)[0], squared_distances(POINTS, GROUPS), VALUES)[0]
    assert found[0] > found[1]  # only the first and the last setting have an effect
    assert found[2] > found[1]


def test_numbers_are_placed_by_rank() -> None:
    features = Features([{"x": value} for value in (1.0, 10.0, 10.0, 1000.0)])
    placed = features.points([{"x": value} for value in (1.0, 10.0, 1000.0, 0.0, 50.0, 1e9)])
    assert placed[:, 0].tolist() == [1 / 8, 4 / 8, 7 / 8, 0.0, 6 / 8, 1.0]


def test_words_missing_values_and_constants() -> None:
    rows: list[dict[str, Value]] = [
        {"depth": 3.0, "kind": "a", "same": 1.0},
        {"depth": None, "kind": "b", "same": 1.0},
        {"depth": 5.0, "kind": 7.0, "same": 1.0},
        {"kind": "a", "same": 1.0},
    ]
    features = Features(rows)
    assert features.names == ["depth", "kind"]
    assert features.groups().tolist() == [0, 0, 1, 1, 1]
    assert features.points(rows).tolist() == [
        [0.25, 0.0, 0.0, WORD, 0.0],
        [0.5, WORD, 0.0, 0.0, WORD],
        [0.75, 0.0, WORD, 0.0, 0.0],
        [0.5, WORD, 0.0, WORD, 0.0],
    ]
    assert features.points([{"depth": "deep", "kind": "new"}]).tolist() == [[0.5, WORD, 0.0, 0.0, 0.0]]


def test_rare_words_are_one_word() -> None:
    rows: list[dict[str, Value]] = [{"word": f"w{n:02}"} for n in [*range(60), 58, 59]]
    points = Features(rows).points([{"word": "w59"}, {"word": "w57"}, {"word": "w56"}, {"word": "unheard"}])
    assert points.shape[1] == 50
    assert (points[0] != points[1]).any()
    assert points[1].tolist() == points[2].tolist() == points[3].tolist()
    assert points[1].sum() == WORD


def test_learns_from_tasks_and_can_leave_one_out() -> None:
    rng = np.random.default_rng(0)
    rows = [
        Row(task, {"lr": float(x), "junk": float(rng.random())}, 2 * x - 1) for task in (0, 1) for x in rng.random(30)
    ]
    model = SettingsModel.fit(rows)
    assert model is not None
    low, high, odd = model.beliefs([{"lr": 0.05, "junk": 0.5}, {"lr": 0.95, "junk": 0.5}, {"other": 1.0}])
    assert low.mean < -0.6
    assert high.mean > 0.6
    assert (low.source, odd) == ("settings", UNKNOWN)
    assert next(iter(model.matter())) == "lr"
    [without] = model.beliefs([{"lr": 0.95, "junk": 0.5}], without=0)
    assert without.mean > 0.5
    assert without.mean != high.mean
    assert model.beliefs([]) == []


def test_many_rows_are_drawn_with_a_seed() -> None:
    rng = np.random.default_rng(0)
    rows = [Row(0, {"lr": float(x)}, float(x)) for x in rng.random(600)]
    beliefs = []
    for seed in (0, 0, 1):
        model = SettingsModel.fit(rows, seed)
        assert model is not None
        beliefs.append(model.beliefs([{"lr": 0.3}]))
    assert beliefs[0] == beliefs[1] != beliefs[2]


def test_nothing_to_learn_from() -> None:
    assert SettingsModel.fit([]) is None
    assert SettingsModel.fit([Row(0, {"lr": 1.0}, float(n)) for n in range(5)]) is None
    model = SettingsModel.fit([Row(0, {"lr": float(n)}, float(n)) for n in range(5)])
    assert model is not None
    assert model.beliefs([{"lr": 1.0}], without=0) == [UNKNOWN]
