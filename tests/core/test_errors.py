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


def test_many_choices_are_listed_only_where_none_is_close() -> None:
    colours = ["blue", *(f"shade-{number}" for number in range(20))]
    with pytest.raises(RisingBanditsError, match=r"^c must be one of 21 names; got 'bleu', did you mean 'blue'\?$"):
        check_choice("c", "bleu", colours)
    with pytest.raises(RisingBanditsError, match=r"^c must be one of blue, shade-0, .*, shade-19; got 'xyz'\.$"):
        check_choice("c", "xyz", colours)
