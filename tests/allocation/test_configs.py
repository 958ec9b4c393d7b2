"""Configs of arms: where they come from, where they are kept and shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from risingbandits import Allocator, RisingBanditsError


def test_configs_of_arms_are_kept_and_shown(tmp_path: Path) -> None:
    class Tuned:
        config = {"lr": 0.001, "opt": "adam", "layers": [1, 2], "nest": True, "loss": print}  # noqa: RUF012

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
            "a": {"lr": 0.001, "opt": "adam", "layers": "(1, 2)", "nest": "True"},
            "b": {"lr": 0.1, "depth": 3},
            "c": {"lr": 0.5},
        }
        table = allocator.explain().text_table()
        assert table.header[-1] == "config"
        assert [row[-1] for row in table.rows] == [
            "lr=0.001 opt=adam layers=(1, 2) nest=True",
            "lr=0.1 depth=3",
            "lr=0.5",
        ]
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
    allocator.add("net --lr=0.1")
    assert allocator.ledger.arm("net --lr=0.1").config == {"lr": 0.1}


@pytest.mark.parametrize(
    ("name", "config"),
    [
        ("train.py --lr=0.1 --opt=sgd", {"lr": 0.1, "opt": "sgd"}),
        ("lr=1e-3_weight_decay=0.1_opt=adam_w", {"lr": 0.001, "weight_decay": 0.1, "opt": "adam_w"}),
        ("weight_decay=0.1", {"weight_decay": 0.1}),
        ("a/b=3 c", {"b": 3.0}),
    ],
)
def test_names_as_people_write_them(name: str, config: dict[str, Any]) -> None:
    assert Allocator([name], 4).settings.configs[name] == config


def test_a_default_counts_where_another_arm_differs_from_it() -> None:
    """Three learning rates, one of which is the default, are three numbers and not two and a gap."""
    sklearn = pytest.importorskip("sklearn.linear_model")
    integrations = pytest.importorskip("risingbandits.integrations")
    data = np.zeros((4, 1)), np.array([0, 1, 0, 1])
    given = {
        "usual": sklearn.SGDClassifier(),
        "more": sklearn.SGDClassifier(alpha=np.float64(0.1), n_iter_no_change=np.int64(3)),
        "other": sklearn.Perceptron(),
    }
    arms = {name: integrations.PartialFitArm(model, *data, *data) for name, model in given.items()}
    assert Allocator(arms, 4).settings.configs == {
        "usual": {"model": "SGDClassifier", "alpha": 0.0001, "n_iter_no_change": 5},
        "more": {"model": "SGDClassifier", "alpha": 0.1, "n_iter_no_change": 3},
        "other": {"model": "Perceptron", "alpha": 0.0001, "n_iter_no_change": 5},
    }
