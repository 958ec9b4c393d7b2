"""Configs of all kinds become points; what is no different says nothing."""

from __future__ import annotations

import numpy as np
import pytest

from risingbandits.policies._config_points import WORD, Config, Features, plain_config

ROWS: list[Config] = [
    {"lr": 1e-4, "layers": 1.0, "opt": "adam", "seed": 1.0, "decay": None},
    {"lr": 1e-3, "layers": 2.0, "opt": "sgd", "seed": 1.0, "decay": 0.1, "momentum": 0.9},
    {"lr": 1e-2, "layers": 4.0, "opt": "sgd", "seed": 1.0, "decay": 0.2, "momentum": 0.5},
    {"lr": 1e-1, "layers": 4.0, "opt": "lion", "seed": 1.0, "decay": 0.3},
]


def coordinates(name: str, rows: list[Config] = ROWS) -> list[list[float]]:
    features = Features(rows)
    own = features.groups() == features.names.index(name)
    return [point.tolist() for point in features.points(rows)[:, own]]


def test_numbers_count_by_rank_whatever_their_scale() -> None:
    assert coordinates("lr") == [[0.125], [0.375], [0.625], [0.875]]
    in_logs: list[Config] = [{**row, "lr": float(np.log10(row["lr"]))} for row in ROWS]  # type: ignore[arg-type]
    assert coordinates("lr", in_logs) == coordinates("lr")
    assert coordinates("layers") == [[0.125], [0.375], [0.75], [0.75]], "whole numbers that tie share their rank"


def test_words_are_equally_different() -> None:
    points = np.array(coordinates("opt"))
    apart = np.linalg.norm(points[:, None] - points, axis=2)
    assert apart[1, 2] == 0.0
    assert [apart[0, 1], apart[0, 3], apart[1, 3]] == pytest.approx([WORD * np.sqrt(2.0)] * 3)


@pytest.mark.parametrize(("name", "has"), [("decay", [1, 2, 3]), ("momentum", [1, 2])])
def test_what_is_missing_is_a_value_of_its_own(name: str, has: list[int]) -> None:
    """Whether it is None, or belongs to some other choice alone, as momentum belongs to sgd."""
    points = coordinates(name)
    missing = [row for row in range(4) if row not in has]
    assert all(points[row] == [0.5, WORD] for row in missing)
    assert all(points[row][1] == 0.0 for row in has)


def test_what_never_differs_is_left_out_and_what_is_new_has_a_place() -> None:
    features = Features(ROWS)
    assert features.names == ["lr", "layers", "opt", "decay", "momentum"]
    new = features.points([{"lr": 0.05, "opt": "rmsprop"}])
    assert new[0, 0] == 0.75
    assert new[0, features.groups() == features.names.index("opt")].tolist() == [0.0, 0.0, 0.0]


def test_numbers_beside_words_and_none_keep_their_order() -> None:
    """Such as a depth of 3, 5, 7 or None, and a rate of 0.1, 0.2 or "auto"."""
    features = Features([plain_config({"d": d}) for d in (3, 5, 7, "None", "auto")])
    placed = features.points([plain_config({"d": d}) for d in (3, 5, 7, None, "auto")])
    np.testing.assert_allclose(placed[:3, 0], [1 / 6, 1 / 2, 5 / 6])
    np.testing.assert_allclose(placed[3:, 0], 1 / 2)
    assert not placed[:3, 1:].any()
    assert (placed[3:, 1:] > 0.0).sum(axis=1).tolist() == [1, 1]
    many = Features([{"d": 1.0}, *({"d": f"word {i}"} for i in range(60))])
    assert many.points([{"d": 1.0}])[0, 1:].tolist() == [0.0] * 50, "a number is no rare word"
