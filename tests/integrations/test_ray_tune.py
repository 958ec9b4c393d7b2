"""The scheduler for Ray Tune, in small real experiments: exact budgets, recovery, restored experiments."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chain_arm import expected
from ray_cluster import nodes
from risingbandits import Allocator, Budget
from risingbandits._core.errors import RisingBanditsError
from risingbandits.logs import read_runs

tune: Any = pytest.importorskip("ray.tune", reason="Ray Tune is not installed: pip install 'risingbandits[tune]'")

from risingbandits.integrations import RisingScheduler  # noqa: E402
from tune_chain import TuneChain  # noqa: E402


@pytest.fixture(autouse=True, scope="module")
def _cluster() -> Iterator[None]:
    with nodes(workers=0, cpus=3):
        yield


@pytest.fixture(autouse=True)
def _quiet(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Tune announces its own changes, and tells what slow machines do to it."""
    monkeypatch.setenv("TUNE_DISABLE_AUTO_CALLBACK_LOGGERS", "1")
    monkeypatch.setenv("TUNE_WARN_THRESHOLD_S", "60")
    with warnings.catch_warnings():
        for kind in (DeprecationWarning, FutureWarning, ResourceWarning, UserWarning):
            warnings.filterwarnings("ignore", category=kind, module=r"ray\.|pyarrow|pydantic")
        yield


def tuner(folder: Path, scheduler: RisingScheduler, names: str, failures: int = 0, **config: Any) -> Any:
    return tune.Tuner(
        tune.with_resources(TuneChain, {"cpu": 1}),
        param_space={"name": tune.grid_search(list(names)), "marker": str(folder / "marker"), **config},
        tune_config=tune.TuneConfig(metric="score", mode="max", scheduler=scheduler),
        run_config=tune.RunConfig(
            name="experiment",
            storage_path=str(folder),
            verbose=0,
            failure_config=tune.FailureConfig(max_failures=failures),
            checkpoint_config=tune.CheckpointConfig(checkpoint_frequency=2 if failures else 0),
        ),
    )


def check(store: Path, results: Any, budget: int) -> list[int]:
    """All is spent and every reward is the one that so many iterations give; the pulls of the trials."""
    names = {result.metrics["trial_id"]: result.metrics["name"] for result in results if result.metrics}
    with Allocator.open(store) as allocator:
        assert allocator.spent == budget
        rewards = {arm: allocator.rewards(arm) for arm in allocator.arms}
        assert allocator.ledger.in_flight == {}
    assert sum(map(len, rewards.values())) == budget
    for arm, own in rewards.items():
        assert own == (expected(names[arm], len(own)) if own else [])
    return [len(own) for own in rewards.values()]


def test_the_budget_is_spent_on_trials_in_turn(tmp_path: Path) -> None:
    store = tmp_path / "store.db"
    scheduler = RisingScheduler(3, store, policy="round-robin")
    results = tuner(tmp_path, scheduler, "ab").fit()
    assert sorted(check(store, results, 3)) == [1, 2]
    assert scheduler.best_trial() in {result.metrics["trial_id"] for result in results}
    assert "3 of 3 pulls spent" in scheduler.debug_string()


@pytest.mark.slow
def test_a_trial_that_dies_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    """One trial, never paused: iteration 4 dies, the checkpoint is that after 2, and 3 does not count twice."""
    store = tmp_path / "store.db"
    results = tuner(tmp_path, RisingScheduler(6, store, jobs=2), "a", failures=2, dies_at=4).fit()
    assert check(store, results, 6) == [6]
    assert (tmp_path / "marker").exists()


@pytest.mark.slow
def test_a_restored_experiment_goes_on_from_the_store(tmp_path: Path) -> None:
    store = tmp_path / "store.db"
    first = tuner(tmp_path, RisingScheduler(8, store, policy="round-robin", jobs=2), "ab")

    class Interrupt(tune.Callback):  # type: ignore[misc]
        results = 0

        def on_trial_result(self, *arguments: Any, **more: Any) -> None:
            self.results += 1
            if self.results == 5:
                raise KeyError("interrupted")

    first._local_tuner._run_config.callbacks = [Interrupt()]
    with pytest.raises(tune.TuneError, match="interrupted"):
        first.fit()
    with Allocator.open(store) as allocator:
        spent = allocator.spent
    assert 0 < spent < 8
    restored = tune.Tuner.restore(str(tmp_path / "experiment"), tune.with_resources(TuneChain, {"cpu": 1}))
    restored._local_tuner._run_config.callbacks = []
    check(store, restored.fit(), 8)


@pytest.mark.slow
def test_a_trial_that_ends_by_itself_gets_no_more_pulls(tmp_path: Path) -> None:
    store = tmp_path / "store.db"
    results = tuner(tmp_path, RisingScheduler(9, store, policy="round-robin", jobs=2), "ab", ends_at=3).fit()
    assert check_finished(store, results) == [3, 3]


def check_finished(store: Path, results: Any) -> list[int]:
    return check(store, results, 6)  # of a budget of 9, the trials could take no more


@pytest.mark.slow
def test_the_example_of_the_page_runs_as_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).parents[2] / "docs" / "cluster.md").read_text(encoding="utf-8")
    program = page.partition("## Ray Tune")[2].partition("```python\n")[2].partition("```")[0]
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "__main__"}  # so that the class travels to Tune's processes by value
    exec(compile(program, "example", "exec"), names)
    with Allocator.open(tmp_path / "tune.db") as allocator:
        assert allocator.spent == 30
        assert allocator.settings.objective == "best-arm"
        last = {arm: allocator.rewards(arm)[-1] for arm in allocator.arms if allocator.rewards(arm)}
        assert names["scheduler"].best_trial() == allocator.recommend() == max(last, key=lambda arm: last[arm])


def test_bad_arguments(tmp_path: Path) -> None:
    with pytest.raises(RisingBanditsError, match="reward_range must be given with policy 'commit-ucb'"):
        RisingScheduler(5, tmp_path / "s.db", policy="commit-ucb")
    assert not (tmp_path / "s.db").exists()
    with pytest.raises(RisingBanditsError, match="mode must be one of max, min; got 'maximum'"):
        RisingScheduler(5, tmp_path / "s.db", mode="maximum")
    with pytest.raises(RisingBanditsError, match="cost must name the result"):
        RisingScheduler(Budget(cost=5.0), tmp_path / "s.db")
    with pytest.raises(RisingBanditsError, match="metric and mode must be given"):
        RisingScheduler(5, tmp_path / "s.db").set_search_properties("score", None)
    with pytest.raises(RisingBanditsError, match="holds no experiment yet"):
        RisingScheduler(5, tmp_path / "s.db").best_trial()
    assert not RisingScheduler(5, tmp_path / "s.db", metric="a", mode="min").set_search_properties("b", "min")


@pytest.mark.slow
@pytest.mark.parametrize("form", [pytest.param("csv", marks=pytest.mark.slow), "json"])
def test_the_logs_of_an_experiment_are_read(tmp_path: Path, form: str) -> None:
    """What Tune itself has written, as one of its two kinds of files."""
    from ray.tune import logger

    write: Any = getattr(logger, {"csv": "CSVLoggerCallback", "json": "JsonLoggerCallback"}[form])()
    made = tune.Tuner(
        tune.with_resources(TuneChain, {"cpu": 1}),
        param_space={"name": tune.grid_search(["a", "b"]), "ends_at": 4},
        run_config=tune.RunConfig(
            name="experiment",
            storage_path=str(tmp_path),
            verbose=0,
            callbacks=[write],
        ),
    )
    names = {result.metrics["trial_id"]: result.metrics["name"] for result in made.fit() if result.metrics}
    found = read_runs(tmp_path / "experiment")
    assert len(found.runs) == len(names) == 2
    for run in found.runs:
        [own] = [name for trial, name in names.items() if trial in run.name]
        assert run.kind in ("Ray Tune", "")
        assert run.metrics["score"].values.tolist() == expected(own, 4)
        assert run.metrics["score"].steps.tolist() == [1, 2, 3, 4]
        assert run.settings.get("name") == (own if form == "json" else None), "Tune leaves settings out of progress.csv"
