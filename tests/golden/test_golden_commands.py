"""Commands that replay recorded curves and play live learners print what they printed in version 0.1.0.

Rows of policies that `changed` names, and what is measured against them, are as they are now.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from changed import in_words_of_today, since
from frozen import load, write_curves
from hidden import run_command

_EXPECTED = load("commands.json")


@pytest.mark.parametrize("name", sorted(_EXPECTED["replay"]))
def test_replay(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    curves, out = write_curves(tmp_path / "curves.csv"), tmp_path / "out.csv"
    options, table = _EXPECTED["replay"][name]
    assert run_command(["replay", str(curves), *in_words_of_today(options), "--out", str(out)]) == 0
    assert out.read_text() == since("replay", name, {"table": table})["table"]
    assert "Pulls spent on each arm" in capsys.readouterr().out


def test_live_learners(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    options = _EXPECTED["live"]["options"]  # the commands about the paper were not a group then
    assert run_command(["paper", *options, "--out", str(tmp_path)]) == 0
    assert (tmp_path / "predictions.csv").read_text() == since("live", "live", _EXPECTED["live"])["predictions"]
