"""Checks of arguments: numbers of NumPy pass, everything doubtful is refused in one sentence."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from risingbandits._core.errors import (
    RisingBanditsError,
    check_choice,
    check_counts,
    check_finite,
    check_positive_int,
)


def test_accepted_values_become_plain_numbers() -> None:
    assert type(check_positive_int("n", np.int32(3))) is int
    assert check_positive_int("n", 0, minimum=0) == 0
    assert type(check_finite("x", np.float32(0.5))) is float
    assert check_finite("x", 1, minimum=1, maximum=1) == 1.0
    assert check_choice("c", "a", ["a", "b"]) == "a"
    assert check_counts("n", np.uint8(3)).dtype == np.int64
    assert check_counts("n", 3).shape == ()
    assert check_counts("n", []).shape == (0,)


@pytest.mark.parametrize("value", [0, -1, True, np.True_, 1.0, np.float64(2), "1", None, math.nan])
def test_integers(value: Any) -> None:
    with pytest.raises(RisingBanditsError, match=r"^n must be an integer >= 1, got .*\.$"):
        check_positive_int("n", value)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, True, np.False_, "1", None, 1j, 10**400, [1.0]])
def test_finite_numbers(value: Any) -> None:
    with pytest.raises(RisingBanditsError, match=r"^x must be a finite number, got "):
        check_finite("x", value)


@pytest.mark.parametrize(
    ("value", "limits"), [(0, {"above": 0}), (1, {"below": 1}), (-1, {"minimum": 0}), (2, {"maximum": 1})]
)
def test_limits(value: float, limits: dict[str, float]) -> None:
    with pytest.raises(RisingBanditsError, match=rf"x must be a finite number [<>]=? \d, got {value}\."):
        check_finite("x", value, **limits)


def test_two_limits_in_one_sentence() -> None:
    with pytest.raises(RisingBanditsError, match=r"^x must be a finite number > 0 and <= 0.5, got 1\.$"):
        check_finite("x", 1, above=0, maximum=0.5)


def test_choices() -> None:
    with pytest.raises(RisingBanditsError, match=r"^c must be one of red, blue; got 'bleu', did you mean 'blue'\?$"):
        check_choice("c", "bleu", ["red", "blue"])
    with pytest.raises(RisingBanditsError, match=r"^c must be one of red, blue; got 7\.$"):
        check_choice("c", 7, ["red", "blue"])


def test_many_choices_are_listed_only_where_none_is_close() -> None:
    colours = ["blue", *(f"shade-{number}" for number in range(20))]
    with pytest.raises(RisingBanditsError, match=r"^c must be one of 21 names; got 'bleu', did you mean 'blue'\?$"):
        check_choice("c", "bleu", colours)
    with pytest.raises(RisingBanditsError, match=r"^c must be one of blue, shade-0, .*, shade-19; got 'xyz'\.$"):
        check_choice("c", "xyz", colours)


@pytest.mark.parametrize("value", [[[1], [1, 2]], [0.5], [True], 2**63, ["a"]])
def test_counts(value: Any) -> None:
    with pytest.raises(RisingBanditsError, match=r"^n must .*integers >= 0, got "):
        check_counts("n", value)
