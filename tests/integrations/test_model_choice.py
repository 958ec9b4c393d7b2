"""The comparison on real data: a small one runs, and the page shows what its results say."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("river")
pytest.importorskip("sklearn")

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "model-choice" / "results.csv"


@pytest.fixture(scope="module")
def benchmark() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "benchmarks"))
        patch.setenv("OMP_NUM_THREADS", "1")  # what the program sets is set back afterwards
        patch.setenv("OPENBLAS_NUM_THREADS", "1")
        yield importlib.import_module("model_choice")
        for name in ("model_choice", "model_choice_runs"):
            sys.modules.pop(name, None)


def test_the_page_has_the_tables_of_the_results(benchmark: Any) -> None:
    scores = benchmark.from_csv(RESULTS.read_text())
    assert benchmark.as_csv(scores) == RESULTS.read_text()
    page = (ROOT / "docs" / "model-choice.md").read_text()
    for data in benchmark.DATA:
        assert benchmark.as_markdown(scores, data) in page
    assert {score.seed for score in scores} == set(range(10))


@pytest.mark.parametrize("data", ["segments", "shuttle", "digits"])
def test_a_small_comparison(benchmark: Any, data: str) -> None:
    scores = benchmark.play(data, 0, benchmark.Sizes(stream=60, pulls=30))
    names = [score.contender for score in scores]
    assert len(names) == len(set(names))
    assert names[: len(benchmark.CONTENDERS)] == list(benchmark.CONTENDERS)
    for score in scores:
        assert score.budget == (30 if data == "digits" else 60)
        assert 0.0 <= score.on_the_way <= 1.0
        assert 0.0 <= score.kept <= 1.0
        assert 0.0 < score.share <= 1.0
    assert benchmark.from_csv(benchmark.as_csv(scores))[0].kept_name == scores[0].kept_name
