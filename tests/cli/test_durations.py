"""Times as users and Slurm write them, in seconds."""

from __future__ import annotations

import math

import pytest

from risingbandits import RisingBanditsError
from risingbandits.cli._options import parse_duration

TIMES = {
    "55m": 3_300.0,
    "1h30m": 5_400.0,
    "2d3h4m5.5s": 2 * 86_400 + 3 * 3_600 + 4 * 60 + 5.5,
    "3300": 3_300.0,
    "0.5": 0.5,
    "05:30": 330.0,  # minutes and seconds
    "01:05:30": 3_930.0,
    "1-02:03": 86_400 + 2 * 3_600 + 3 * 60.0,  # after days come hours
    "1-02:03:04": 86_400 + 2 * 3_600 + 3 * 60 + 4.0,
    "0-00:55": 3_300.0,
    " 10S ": 10.0,
    "unlimited": math.inf,
}


@pytest.mark.parametrize(("text", "seconds"), TIMES.items())
def test_times(text: str, seconds: float) -> None:
    assert parse_duration("time", text) == seconds


@pytest.mark.parametrize("text", ["", "0", "-5", "nan", "inf", "5x", "1h 3", "1:2:3:4", "00:00", "m", "1e400"])
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(RisingBanditsError, match=r"^t must be a time > 0 such as 55m"):
        parse_duration("t", text)
