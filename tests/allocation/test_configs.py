"""Configs of arms: where they come from, where they are kept and shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from risingbandits import Allocator, RisingBanditsError


def test_configs_of_arms_are_kept_and_shown(tmp_path: Path) -> None:
    class Tuned:
        config = {"lr": 0.001, "opt": "adam", "layers": [1, 2], "nest": True}  # noqa: RUF012 - a list is left out

        def pull(self, pull: Any) -> float:
            return 0.5

    arms: dict[str, Any] = {"a": Tuned(), "b": lambda pull: 0.5}
    with Allocator(arms, 4, configs={"b": {"lr": np.float64(0.1), "depth": 3}}, store=tmp_path / "x.db") as allocator:
        allocator.run(progress=False)
        allocator.add("c", Tuned())
        allocator.set_config("c", {"lr": 0.5})
        allocator.set_config("c", {"lr": 0.5})  # again: nothing
    with Allocator.open(tmp_path / "x.db") as allocator:
        found = {arm.name: arm.config for arm in allocator.ledger.arms}
        assert found == {
            "a": {"lr": 0.001, "opt": "adam", "nest": "True"},
            "b": {"lr": 0.1, "depth": 3},
            "c": {"lr": 0.5},
        }
        table = allocator.explain().text_table()
        assert table.header[-1] == "config"
        assert [row[-1] for row in table.rows] == ["lr=0.001 opt=adam nest=True", "lr=0.1 depth=3", "lr=0.5"]
        assert [event.kind for event in allocator.store.events()].count("config") == 2
    with pytest.raises(RisingBanditsError, match="configs of a, x must be a finite number or a string, got nan"):
        Allocator(["a"], 4, configs={"a": {"x": float("nan")}})
    with pytest.raises(RisingBanditsError, match="configs must name arms that exist, got 'b'"):
        Allocator(["a"], 4, configs={"b": {}})
    with pytest.raises(RisingBanditsError, match="configs of a must map hyperparameters to numbers or strings"):
        Allocator(["a"], 4, configs={"a": 3})  # type: ignore[dict-item]
    with pytest.raises(RisingBanditsError, match="config of a must be at most 2000 characters, got"):
        Allocator(["a"], 4).set_config("a", {"x": "y" * 3000})


def test_numbers_in_names_are_configs_unless_an_arm_has_others() -> None:
    allocator = Allocator(["mlp lr=0.02,wd=1e-4", "act=relu", "x=inf"], 4, configs={"act=relu": {"depth": 2}})
    found = {arm.name: arm.config for arm in allocator.ledger.arms}
    assert found["mlp lr=0.02,wd=1e-4"] == {"lr": 0.02, "wd": 1e-4}
    assert found["act=relu"] == {"depth": 2}
    assert found["x=inf"] == {"x": "inf"}
