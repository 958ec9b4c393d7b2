"""Optuna's trials as arms, in memory, SQLite and journal storages."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("optuna")

import optuna
from optuna.storages import InMemoryStorage, JournalStorage, RDBStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import TrialState

from risingbandits import RisingBanditsError
from risingbandits.allocation import Allocator, Pull
from risingbandits.allocation.arms.base import Outcome
from risingbandits.integrations.optuna import OptunaArms, shown_to_samplers

pytestmark = pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    level = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    yield
    optuna.logging.set_verbosity(level)


@pytest.fixture(params=["memory", "sqlite", "journal"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """A function that opens the storage, as a new process would."""
    if request.param == "memory":
        only = InMemoryStorage()
        yield lambda: only
    elif request.param == "sqlite":
        opened: list[RDBStorage] = []

        def opening() -> RDBStorage:
            opened.append(RDBStorage(f"sqlite:///{tmp_path}/study.db"))
            return opened[-1]

        yield opening
        for storage in opened:  # from 3.13 on Python complains of connections that are left open
            storage.remove_session()
            storage.engine.dispose()
    else:
        yield lambda: JournalStorage(JournalFileBackend(str(tmp_path / "journal.log")))


def make_study(storage: Any, direction: Any = "maximize") -> Any:
    return optuna.create_study(
        study_name="s",
        storage=storage,
        direction=direction,
        sampler=optuna.samplers.RandomSampler(seed=1),
        load_if_exists=True,
    )


def curve(limit: float, step: int) -> float:
    return limit * step / (step + 4)


def reward(arms: OptunaArms, pull: Pull) -> float:
    given = arms[pull.arm].pull(pull)
    assert isinstance(given, float)
    return given


def train(trial: Any) -> Iterator[float]:
    limit = trial.suggest_float("limit", 0.2, 1.0)
    for step in range(1, 200):
        yield curve(limit, step)


def test_trials_are_arms_and_end_as_the_allocation_says(storage: Any) -> None:
    study = make_study(storage())
    arms = OptunaArms(study, train, n_trials=4)
    assert list(arms) == ["trial 0", "trial 1", "trial 2", "trial 3"]
    assert arms.direction == "maximize"
    allocator = Allocator(arms, budget=40, policy="commit-ucb", direction=arms.direction)
    allocator.run(progress=False)
    best = allocator.recommend()
    assert {trial.state for trial in study.trials} == {TrialState.RUNNING}
    arms.finish(best)
    arms.finish(best)  # again changes nothing
    assert sum(len(trial.intermediate_values) for trial in study.trials) == 40
    for trial in study.trials:
        name = f"trial {trial.number}"
        rewards = allocator.rewards(name)
        assert trial.intermediate_values == dict(enumerate(rewards, start=1))
        assert trial.state == (TrialState.COMPLETE if name == best else TrialState.PRUNED)
        assert trial.value == rewards[-1]
        assert rewards[-1] == curve(trial.params["limit"], len(rewards))
    assert f"trial {study.best_trial.number}" == best


def test_running_trials_are_taken_up_again(storage: Any, tmp_path: Path) -> None:
    whole = Allocator(OptunaArms(make_study(InMemoryStorage()), train, 3), budget=40)
    whole.run(progress=False)

    first = OptunaArms(make_study(storage()), train, 3)
    with Allocator(first, budget=40, store=tmp_path / "a.sqlite") as allocator:
        for _ in range(12):
            pull = allocator.ask()
            assert pull is not None
            allocator.tell(pull, reward(first, pull))
            allocator.set_config(pull.arm, first[pull.arm].config)
        lost = allocator.ask()  # reported to the study, but the process dies before the allocator is told
        assert lost is not None
        first[lost.arm].pull(lost)
        allocator.release(lost)

    study = make_study(storage())
    study.sampler = first.study.sampler  # where it has got to is not in the storage
    begun = len(study.trials)
    second = OptunaArms(study, train, 3)
    assert list(second) == list(first)
    assert len(study.trials) == begun, "a trial is asked for in its first pull"
    with Allocator(second, budget=40, store=tmp_path / "a.sqlite") as allocator:
        allocator.run(progress=False)
        pulled = [name for name in second if whole.rewards(name)]
        assert len(study.trials) == len(pulled)
        assert not any(allocator.rewards(name) for name in second if name not in pulled)
        for name in pulled:
            assert allocator.rewards(name) == whole.rewards(name)
            assert list(second[name].frozen.intermediate_values.values()) == whole.rewards(name)
        second.finish(allocator.recommend())
    assert OptunaArms(study, train, 1).keys() == {f"trial {len(study.trials)}"}  # finished trials are no arms


def test_a_config_that_a_crash_kept_from_being_stored_is_stored_with_a_later_pull(tmp_path: Path) -> None:
    arms = OptunaArms(make_study(InMemoryStorage()), train, 2)
    with Allocator(arms, budget=12, store=tmp_path / "a.sqlite") as allocator:
        for _ in range(3):
            pull = allocator.ask()
            assert pull is not None
            allocator.tell(pull, reward(arms, pull))
        assert not any(arm.config for arm in allocator.ledger.arms)
        allocator.run(progress=False)
        again = {event.arm for event in list(allocator.store.events())[6:] if event.kind == "tell"}
        assert {arm.name for arm in allocator.ledger.arms if arm.config} == again
        for name in again:
            assert allocator.ledger.arm(name).config == arms[name].config


def test_an_objective_that_keeps_checkpoints_is_told_where_to_start() -> None:
    starts = []

    def resumed(trial: Any, start: int) -> Iterator[float]:
        starts.append(start)
        for step in range(start, 200):
            yield curve(1.0, step)

    arm = OptunaArms(make_study(None), resumed, 1)["trial 0"]
    values = [arm.pull(Pull(n, "trial 0", n)) for n in (1, 2, 2, 3, 9)]
    assert values == [curve(1.0, n) for n in (1, 2, 2, 3, 9)]
    assert starts == [1, 9], "the second pull 2 finds what was reported"


def test_an_objective_that_ends_is_complete() -> None:
    def short(trial: Any) -> Iterator[float]:
        yield from (0.1, 0.2, 0.3)

    study = make_study(None)
    arms = OptunaArms(study, short, 2)
    allocator = Allocator(arms, budget=50)
    allocator.run(progress=False)
    assert allocator.spent == 6
    arms.finish(())
    assert [trial.state for trial in study.trials] == [TrialState.COMPLETE] * 2
    assert allocator.recommend() in arms, "finished is not failed"
    assert arms["trial 0"].pull(Pull(9, "trial 0", 4)) == Outcome(finished=True)


def test_more_trials_later() -> None:
    study = make_study(None)
    arms = OptunaArms(study, train, 2)
    allocator = Allocator(arms, budget=30, policy="commit-ucb")
    for _ in range(5):
        pull = allocator.ask()
        assert pull is not None
        allocator.tell(pull, reward(arms, pull))
    allocator.add(*arms.add())
    allocator.run(progress=False)
    assert len(allocator.rewards("trial 2")) > 0
    arms.finish(["trial 0", "trial 2"])
    states = [trial.state.name for trial in study.trials]
    assert states == ["COMPLETE", "PRUNED", "COMPLETE"]


class Watched(optuna.samplers.TPESampler):
    """Notes how many results it could learn from at each ask."""

    def __init__(self) -> None:
        super().__init__(n_startup_trials=3, seed=1)
        self.seen: list[int] = []

    def infer_relative_search_space(self, study: Any, trial: Any) -> Any:
        results = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE, TrialState.PRUNED))
        assert all(result.value is not None for result in results)
        self.seen.append(len(results))
        return super().infer_relative_search_space(study, trial)


def test_the_sampler_sees_the_trials_before(storage: Any, tmp_path: Path) -> None:
    study = make_study(storage())
    study.sampler = sampler = Watched()
    arms = OptunaArms(study, train)
    assert len(arms) == 0, "as many as the budget opens"
    with Allocator(arms, budget=30, policy="round-robin", store=tmp_path / "a.sqlite") as allocator:
        assert list(arms) == [f"trial {i}" for i in range(30)]
        for _ in range(20):
            pull = allocator.ask()
            assert pull is not None
            allocator.tell(pull, reward(arms, pull))
        assert sampler.seen == list(range(20)), "10 before the 11th ask"
        assert {trial.state for trial in study.trials} == {TrialState.RUNNING}
    again = OptunaArms(make_study(storage()), train)
    assert list(again) == list(arms)
    with Allocator(again, budget=30, policy="round-robin", store=tmp_path / "a.sqlite") as allocator:
        allocator.run(progress=False)
        params = {f"trial {trial.number}": trial.params for trial in study.trials}
        assert len(params) == 30
        kept = {arm.name: arm.config for arm in allocator.ledger.arms if arm.config}
        assert kept == {name: params[name] for name in list(arms)[20:]}, "what run has opened"
        again.finish("trial 4")
    assert [trial.number for trial in study.trials if trial.state == TrialState.COMPLETE] == [4]


def test_a_prior_is_for_the_sampler(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Trial 2 of one study has nothing in common with trial 2 of another, however many say how it did."""
    earlier = {f"run {i}": {f"trial {j}": [j / 10, j / 9] for j in range(5)} for i in range(3)}
    allocators = [
        Allocator(OptunaArms(make_study(None), train, 5), 40, prior=prior, remember=tmp_path / "runs")
        for prior in (None, earlier)
    ]
    for allocator in allocators:
        allocator.run(progress=False)
    plain, told = ([allocator.rewards(name) for name in allocator.arms] for allocator in allocators)
    assert plain == told
    said = [record.message for record in caplog.records if record.message.startswith("prior is not used")]
    assert len(said) == 1
    assert "study.add_trials" in said[0]


def test_names_follow_first_pulls_and_others_may_ask_too() -> None:
    study = make_study(None)
    arms = OptunaArms(study, train, 3)
    allocator = Allocator(arms, budget=3, policy="round-robin")
    for i in range(3):
        pull = allocator.ask()
        assert pull is not None
        assert pull.arm == f"trial {i}"
        allocator.tell(pull, reward(arms, pull))
        study.tell(study.ask(), 0.5)  # somebody else's
    marks = [trial.user_attrs.get("risingbandits") for trial in study.trials]
    assert marks == ["trial 0", None, "trial 1", None, "trial 2", None]
    arms.finish("trial 2")
    assert [trial.state.name for trial in study.trials][::2] == ["PRUNED", "PRUNED", "COMPLETE"]


def test_bad_input() -> None:
    several = optuna.create_study(directions=["maximize", "minimize"])
    with pytest.raises(RisingBanditsError, match="study must have one objective, got 2"):
        OptunaArms(several, train, 2)
    with pytest.raises(RisingBanditsError, match="n_trials must be an integer >= 1, got 0"):
        OptunaArms(make_study(None), train, 0)
    arms = OptunaArms(make_study(None), train, 2)
    with pytest.raises(RisingBanditsError, match=r"keep must name arms, one of .*, got 'trial 9'"):
        arms.finish("trial 9")
    with pytest.raises(RisingBanditsError, match="keep must name arms that were pulled, got 'trial 1'"):
        arms.finish("trial 1")


class Unmodified:
    """An objective as written for `Study.optimize`, which counts how often each epoch of each trial is trained."""

    def __init__(self, epochs: int = 8, first: int | None = None) -> None:
        self.epochs = epochs
        self.first = first  # epochs of trial 0, where they are others
        self.trained: Counter[tuple[int, int]] = Counter()
        self.pruned: list[int] = []
        self.live = self.most_live = 0

    def __call__(self, trial: Any) -> float:
        limit: float = trial.suggest_float("limit", 0.2, 1.0)
        self.live += 1
        self.most_live = max(self.most_live, self.live)
        try:
            for epoch in range(self.epochs if trial.number or self.first is None else self.first):
                self.trained[trial.number, epoch] += 1
                trial.report(curve(limit, epoch + 1), step=10 * epoch)  # from 0, with gaps
                if trial.should_prune():
                    raise optuna.TrialPruned
        except optuna.TrialPruned:
            self.pruned.append(trial.number)
            raise
        finally:
            self.live -= 1
        return limit


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("trial-")]


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_unmodified_objective_runs(storage: Any, jobs: int) -> None:
    """Reports are pulls whatever their steps, and no epoch is trained twice."""
    study = make_study(storage())
    study.pruner = optuna.pruners.ThresholdPruner(upper=0.0)  # it would prune everything
    objective = Unmodified(20, first=2)
    arms = OptunaArms(study, objective, n_trials=4)
    allocator = Allocator(arms, budget=20, policy="round-robin", direction=arms.direction)
    allocator.run(jobs=jobs, progress=False)
    assert allocator.spent == 20
    assert set(objective.trained.values()) == {1}
    arms.finish(allocator.recommend())
    assert threads() == []
    assert len(study.trials) == 4
    for trial in study.trials:
        name = trial.user_attrs["risingbandits"]  # threads that ask at the same time may get each other's number
        rewards = allocator.rewards(name)
        assert rewards == [curve(trial.params["limit"], n) for n in range(1, len(rewards) + 1)]
        assert trial.intermediate_values == dict(enumerate(rewards, start=1))
        ended = trial.number == 0
        assert trial.value == (trial.params["limit"] if ended else rewards[-1]), "what it returned"
        complete = ended or name == allocator.recommend()
        assert trial.state == (TrialState.COMPLETE if complete else TrialState.PRUNED)
    assert sorted(objective.pruned) == [1, 2, 3], "report raises TrialPruned where the run is closed"


def test_live_trials_are_limited() -> None:
    """Beyond the limit, the trial that was pulled longest ago is closed and later trained again."""
    objective = Unmodified(30)
    arms = OptunaArms(make_study(None), objective, n_trials=5, live_trials=2)
    order = [0, 1, 0, 2, 3, 3, 0, 1]
    counts: Counter[int] = Counter()
    for number in order:
        counts[number] += 1
        arms[f"trial {number}"].pull(Pull(1, f"trial {number}", counts[number]))
    assert objective.most_live == 2
    assert objective.pruned == [1, 0, 2, 3]
    assert objective.trained[0, 0] == 2, "closed for trial 3, and trained again"
    for arm in arms.values():
        arm.close()


@pytest.mark.parametrize("signals", [1, 2])
def test_an_interrupt_ends_all_threads(signals: int) -> None:
    """The first lets the step end; the second does not wait for it, and the thread ends at its next report."""
    proceed = threading.Event()

    class Interrupted(Unmodified):
        def __call__(self, trial: Any) -> float:
            if trial.number == 2:
                for _ in range(signals):
                    signal.raise_signal(signal.SIGINT)
                    time.sleep(0.2)
                if signals == 2:
                    assert proceed.wait(60), "the run waits for the step"
            return super().__call__(trial)

    arms = OptunaArms(make_study(None), Interrupted(50), n_trials=4)
    allocator = Allocator(arms, budget=100, policy="round-robin")
    with pytest.raises(KeyboardInterrupt):
        allocator.run(progress=False)
    assert allocator.spent == (3 if signals == 1 else 2)
    proceed.set()
    for _ in range(200):
        if not threads():
            break
        time.sleep(0.05)
    assert threads() == []


def test_a_grid_is_finished() -> None:
    """GridSampler stops the study when its last trial is told, which Optuna refuses outside of its own loop."""
    grid = {"limit": [0.3, 0.6, 0.9]}
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.GridSampler(grid, seed=1))
    arms = OptunaArms(study, Unmodified())
    allocator = Allocator(arms, budget=24)
    assert len(arms) == 3, "as many as the grid has"
    allocator.run(progress=False)
    arms.finish(allocator.recommend())
    assert sorted(trial.params["limit"] for trial in study.trials) == grid["limit"]
    assert study.best_params == {"limit": 0.9}
    assert TrialState.RUNNING not in {trial.state for trial in study.trials}


def test_other_forms_of_objectives() -> None:
    def only_returns(trial: Any) -> float:
        return 0.4

    def prunes_itself(trial: Any) -> float:
        trial.report(0.3, step=7)
        raise optuna.TrialPruned

    def fails_once(trial: Any) -> None:
        trial.report(0.1, step=0)
        if next(failures):
            raise OSError("disk")
        trial.report(0.2, step=1)

    def pulled(objective: Any, pulls: int) -> tuple[list[Any], Any]:
        arms = OptunaArms(make_study(None), objective, 1)
        outcomes = [arms["trial 0"].pull(Pull(n, "trial 0", n)) for n in range(1, pulls + 1)]
        return outcomes, arms.study.trials[0]

    outcomes, trial = pulled(only_returns, 2)
    assert outcomes == [Outcome(0.4, finished=True), Outcome(finished=True)]
    assert (trial.state, trial.value) == (TrialState.COMPLETE, 0.4)
    outcomes, trial = pulled(prunes_itself, 2)
    assert outcomes == [0.3, Outcome(finished=True)]
    assert (trial.state, trial.value) == (TrialState.PRUNED, 0.3)
    outcomes, trial = pulled(lambda trial: iter((0.1, 0.2)), 3)
    assert outcomes == [0.1, 0.2, Outcome(finished=True)]
    assert (trial.state, trial.value) == (TrialState.COMPLETE, 0.2)
    failures = iter([True, False])
    arm = OptunaArms(make_study(None), fails_once, 1)["trial 0"]
    assert arm.pull(Pull(1, "trial 0", 1)) == 0.1
    with pytest.raises(OSError, match="disk"):
        arm.pull(Pull(2, "trial 0", 2))
    assert arm.pull(Pull(3, "trial 0", 2, attempt=2)) == 0.2
    assert arm.pull(Pull(4, "trial 0", 3)) == Outcome(finished=True)
    assert (arm.frozen.state, arm.frozen.value) == (TrialState.COMPLETE, 0.2)
    assert threads() == []


def guide(budget: int, seed: int) -> tuple[Any, Allocator]:
    """The example of the guide; run whole, all 60 recommended the best trial."""

    def train(trial: Any) -> Iterator[float]:
        rate = trial.suggest_float("rate", 0.001, 0.1, log=True)
        for step in range(1, 51):
            yield (1 - rate) ** step

    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
    arms = OptunaArms(study, train)
    allocator = Allocator(arms, budget=budget)
    allocator.run(progress=False)
    arms.finish(allocator.recommend())
    return study, allocator


@pytest.mark.parametrize(
    ("budget", "seed"),
    [
        pytest.param(budget, seed, marks=[] if (budget, seed) in ((60, 0), (1000, 1)) else [pytest.mark.slow])
        for budget in (60, 120, 250, 500, 1000, 2000)
        for seed in range(10)
    ],
)
def test_the_example_of_the_guide_recommends_the_best(budget: int, seed: int) -> None:
    study, allocator = guide(budget, seed)
    last = {name: allocator.rewards(name)[-1] for name in allocator.arms if allocator.rewards(name)}
    ended = [value for name, value in last.items() if len(allocator.rewards(name)) == 50]
    best = allocator.recommend()
    assert last[best] == min(ended or last.values())
    assert study.best_value == last[best]
    assert f"trial {study.best_trial.number}" == best or list(last.values()).count(last[best]) > 1
    assert allocator.ledger.policy._informed, "the model plays"


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_samplers_compare_paused_trials_at_equal_resource(direction: str) -> None:
    """Beside plain comparisons of every pair: who is better at the age of the younger one is shown the better value."""
    rng = np.random.default_rng(3)
    study = make_study(None, direction)
    curves = []
    for _ in range(20):
        trial = study.ask()
        trial.set_user_attr("risingbandits", f"trial {trial.number}")
        curves.append(rng.integers(10, size=rng.integers(1, 9)) / 10)
        for step, value in enumerate(curves[-1], start=1):
            trial.report(float(value), step)
    study.add_trial(optuna.trial.create_trial(value=0.123))
    study.ask()  # somebody else's, not paused
    won = np.zeros(20)
    for i, mine in enumerate(curves):
        for other in (other for j, other in enumerate(curves) if j != i):
            age = min(len(mine), len(other)) - 1
            ahead = mine[age] - other[age] if direction == "maximize" else other[age] - mine[age]
            won[i] += 1.0 if ahead > 0 else 0.5 if ahead == 0 else 0.0
    view = shown_to_samplers(study)
    seen = view.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    shown = np.array([trial.value for trial in seen[:20]], dtype=float)
    assert seen[20].value == 0.123
    assert shown.sum() == pytest.approx(sum(curve[-1] for curve in curves)), "their own last values, in another order"
    better = shown if direction == "maximize" else -shown
    for i in range(20):
        for j in range(20):
            if won[i] == won[j]:
                assert shown[i] == shown[j]
            elif won[i] > won[j]:
                assert better[i] >= better[j]
    assert len(set(won)) > 10
    assert {trial.state for trial in study.trials[:20]} == {TrialState.RUNNING}, "nothing is told"


def test_values_that_are_not_finite_are_shown_as_the_worst() -> None:
    study = make_study(None, "minimize")
    for values in ([0.5, math.nan], [0.4], [math.inf], [0.3, 0.2]):
        trial = study.ask()
        trial.set_user_attr("risingbandits", f"trial {trial.number}")
        for step, value in enumerate(values, start=1):
            trial.report(value, step)
    shown = [trial.value for trial in shown_to_samplers(study).get_trials(deepcopy=False)]
    assert shown == [0.4, 0.4, 0.4, 0.2]
