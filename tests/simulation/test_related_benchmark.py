"""The benchmark of related algorithms: who takes part, its own problems, its tables, and the page that shows them."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from risingbandits import policy_names

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def benchmark() -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "benchmarks"))
        yield importlib.import_module("related_algorithms")
        sys.modules.pop("related_algorithms", None)


def test_tables(benchmark: Any, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = ["raw-ucb", "cure-ucb(ceiling=1)", "kl-ucb", "--quick", "--jobs", "1"]
    benchmark.main(
        [*words, "--problems", "paper-2arms", "falling", "restless", "--out", str(tmp_path / "related-algorithms.md")]
    )
    text = capsys.readouterr().out
    assert (tmp_path / "related-algorithms.md").read_text() == text
    rows = [line.strip("| ").split(" | ") for line in text.splitlines()]
    assert rows[0] == ["policy", "paper-2arms", "falling", "restless"]
    assert [row[0] for row in rows[2:]] == [*benchmark.YARDSTICKS, "raw-ucb", "cure-ucb(ceiling=1)"]
    for column in (1, 2, 3):
        cells = [row[column] for row in rows[2:]]
        means = [float(cell.strip("*").split(" ± ")[0].replace(",", "")) for cell in cells]
        bold = [mean for mean, cell in zip(means, cells, strict=True) if cell.startswith("**")]
        assert bold == [min(means)] * len(bold)
        assert len(bold) >= 1
    assert rows[6][2].startswith("**"), "an arm that falls is what RAW-UCB is for"


def test_all_that_are_registered_take_part(benchmark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark, "RELATED", ("cure-ucb(ceiling=1)", "nobody", "raw-ucb"))
    assert benchmark.chosen([]) == [*benchmark.YARDSTICKS, "cure-ucb(ceiling=1)", "raw-ucb"]


def test_unknown_policies_are_refused(benchmark: Any, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        benchmark.main(["raw-ubc", "--quick"])
    assert "did you mean 'raw-ucb'" in capsys.readouterr().err


def test_problems_are_what_they_are_called(benchmark: Any) -> None:
    rounds = 20_000
    means = {
        name: np.array([curve(np.arange(1, rounds + 1)) for curve in benchmark.home(name, rounds).curves])
        for name in benchmark.HOMES
    }
    for name, flat in (("linear", 0.0), ("linear-then-flat", 0.8)):
        best = means[name].sum(axis=1).argmax()
        assert best == len(means[name]) - 1
        assert means[name][:, :1_000].sum(axis=1).argmax() != best, "it takes time to see it"
        assert np.isclose(np.diff(means[name][best]), 0.0, atol=1e-12).mean() == pytest.approx(flat, abs=0.01)
    assert benchmark.home("falling", rounds).best_policy(rounds) == "greedy"
    assert benchmark.home("restless", rounds).restless
    assert set(means["restless"].argmax(axis=0)) == {0, 1, 2}
    assert benchmark.home("linear", None).horizon == benchmark.HOME_HORIZON


def test_the_page_has_every_one_of_them(benchmark: Any) -> None:
    page = (ROOT / "docs" / "related-algorithms.md").read_text()
    registered = [name for name in benchmark.RELATED if name in policy_names()]
    assert len(registered) >= 6
    assert [name for name in registered if f"`{name}`" not in page or f"| {name} |" not in page] == []
