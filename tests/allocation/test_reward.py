"""The last line of a command's output: what is a reward, and what is a complaint."""

from __future__ import annotations

import contextlib
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from risingbandits import RisingBanditsError
from risingbandits.allocation import Outcome
from risingbandits.allocation.commands._output import LONGEST_LINE, read_reward


@pytest.mark.parametrize(
    ("printed", "reported"),
    [
        ("0.5", Outcome(0.5)),
        ("x\n-3e-2  \n\n \n", Outcome(-0.03)),
        ('{"reward": 1}', Outcome(1.0)),
        ('{"reward": 0.5, "cost": 2, "loss": [1]}\n', Outcome(0.5, 2.0)),
        ('{"cost": null, "reward": 0}', Outcome(0.0)),
        ("x" * 200_000 + "\n7", Outcome(7.0)),
        ("1\r\n", Outcome(1.0)),
        ("7\n" + " \n" * 70_000, Outcome(7.0)),
        ("0" * (LONGEST_LINE - 1) + "8\n", Outcome(8.0)),
        ("7\n" + "0" * (LONGEST_LINE - 1) + "8\n", Outcome(8.0)),
    ],
)
def test_rewards_that_are_understood(tmp_path: Path, printed: str, reported: Outcome) -> None:
    (tmp_path / "out").write_text(printed)
    assert read_reward(tmp_path / "out") == reported


@pytest.mark.parametrize(
    "printed",
    [
        *("nan", "inf", "-Infinity", "1e999", "one", "0.5 0.6", "[1]", "null", "true", '"0.5"', "{", "\xff"),
        *('{"reward": NaN}', '{"reward": "1"}', '{"reward": true}', '{"cost": 1}', "[" * 50_000, "9" * 50_000),
        *('{"reward": 1, "cost": -1}', '{"reward": 1, "cost": Infinity}', '{"reward": 1' + "0" * 5000 + "}"),
    ],
)
def test_rewards_that_are_not(tmp_path: Path, printed: str) -> None:
    (tmp_path / "out").write_text(f"0.5\n{printed}", encoding="latin-1")
    with pytest.raises(RisingBanditsError, match=r"^the last line of the output must be a finite number or .*, got "):
        read_reward(tmp_path / "out")


@given(printed=st.binary(max_size=50))
def test_no_output_gives_a_traceback(tmp_path_factory: pytest.TempPathFactory, printed: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "printed"
    path.write_bytes(printed)
    with contextlib.suppress(RisingBanditsError):
        reward = read_reward(path).reward
        assert reward is None or math.isfinite(reward)


@pytest.mark.parametrize("before", ["", "0.5\n"])
@pytest.mark.parametrize("after", ["", "\n", "\n \n" * 70_000])
@pytest.mark.parametrize("line", ["9" + "0" * 70_000, "0" * LONGEST_LINE + "8", "x" * 100_000 + " 0.5"])
def test_a_line_that_is_too_long_is_never_read_from_its_middle(
    tmp_path: Path, line: str, before: str, after: str
) -> None:
    """Of 9 and 70,000 zeros the last 65,536 bytes are the number 0."""
    (tmp_path / "out").write_text(before + line + after)
    with pytest.raises(RisingBanditsError, match=r"^the last line .* in at most 65,536 bytes, got a longer one that"):
        read_reward(tmp_path / "out")
