"""From earlier runs to beliefs: names first, then settings, arms without earlier runs in between."""

from __future__ import annotations

import logging
import math
from pathlib import Path

import numpy as np
import pytest

from risingbandits import Allocator, load_curves
from risingbandits.allocation.prior.reading import look_back, read_prior
from risingbandits.allocation.prior.sources import Sources, read_sources
from risingbandits.allocation.prior.tasks import EarlierTask
from risingbandits.allocation.starting.prior import Prior
from risingbandits.policies.config_points import Value

Z3 = 0.967421566101701  # the normal score of the best of three


def order(*arms: str) -> dict[str, list[float]]:
    """Curves of arms, the best first."""
    return {arm: [-float(place)] for place, arm in enumerate(arms)}


def test_names_are_judged_by_all_tasks() -> None:
    prior = read_prior({"one": order("a", "b", "c"), "two": order("a", "c", "b")}, ["c", "a", "b", "d"])
    assert list(prior.beliefs) == ["c", "a", "b"]
    assert (prior.tasks, prior.of("a").source, prior.of("d").source) == (2, "2 tasks", "unknown")
    assert prior.of("a").mean > prior.of("b").mean == prior.of("c").mean
    assert prior.agreement == pytest.approx(0.5)
    assert Prior.from_dict(prior.to_dict()) == prior


def test_one_task_is_shrunk_by_half() -> None:
    prior = read_prior({"one": order("a", "b", "c")}, "abc")
    assert prior.of("a").mean == pytest.approx(Z3 / 2)
    assert prior.of("a").deviation == pytest.approx(math.sqrt(0.75))
    assert (prior.of("a").source, prior.tasks, prior.agreement) == ("1 task", 1, None)


def test_direction_turns_the_order() -> None:
    up, down = (read_prior({"one": order("a", "b", "c")}, "abc", direction=way) for way in ("maximize", "minimize"))
    assert [up.of(arm).mean for arm in "abc"] == [down.of(arm).mean for arm in "cba"]
    turned = [
        read_prior({"a": 3, "b": 2, "c": 1}, "abc", direction=way).of("a").mean for way in ("maximize", "minimize")
    ]
    assert turned[0] == -turned[1] > 0


def test_scores_of_the_user() -> None:
    prior = read_prior({"a": 100, "b": 2, "c": 1}, "abcd")
    assert prior.of("a").mean == pytest.approx(Z3 / 2)
    assert [prior.of(arm).source for arm in "abcd"] == ["score", "score", "score", "unknown"]
    assert (prior.tasks, prior.agreement) == (0, None)
    both = read_prior([{"one": order("a", "b", "c")}, {"c": 2, "a": 1, "d": 0}], "abcd")
    assert [both.of(arm).source for arm in "abcd"] == ["1 task", "1 task", "1 task", "score"]
    assert both.of("c").mean == pytest.approx(0)


def test_tasks_with_two_arms_are_left_out() -> None:
    found = look_back(read_sources({"small": order("a", "b"), "large": order("b", "a", "c")}))
    assert (found.left_out, [task.name for task in found.tasks]) == (["small"], ["large"])
    assert found.prior.of("b").mean > 0


def test_each_task_beside_the_others() -> None:
    orders = {"one": "abcd", "two": "abdc", "three": "bacd", "odd": "dcba", "apart": "xyz"}
    found = look_back(read_sources({name: order(*arms) for name, arms in orders.items()}))
    agreement = {task.name: task.agreement for task in found.tasks}
    assert agreement["apart"] is None
    assert agreement["odd"] is not None
    assert agreement["odd"] < 0
    known = [value for value in agreement.values() if value is not None]
    assert len(known) == 4
    assert found.prior.agreement == pytest.approx(sum(known) / 4)
    assert [(task.arms, task.pulls) for task in found.tasks] == [(4, 4)] * 4 + [(3, 3)]


def settings_task(name: str, rng: np.random.Generator, named: bool = True) -> EarlierTask:
    """Arms that are the better the higher x is; y does nothing."""
    settings = {f"arm {name} {n}": {"x": float(rng.random()), "y": float(rng.random())} for n in range(25)}
    return EarlierTask(name, {arm: [values["x"]] for arm, values in settings.items()}, settings, named=named)


def test_settings_judge_arms_without_a_known_name() -> None:
    rng = np.random.default_rng(5)
    tasks = [settings_task("one", rng), settings_task("two", rng)]
    old = tasks[0].settings["arm one 0"]
    today = {"new low": {"x": 0.02, "y": 0.5}, "new high": {"x": 0.98, "y": 0.5}, "arm one 0": old}
    prior = read_prior(tasks, [*today, "bare"], today)
    assert prior.of("new high").mean > 1.0 > -1.0 > prior.of("new low").mean
    assert [prior.of(arm).source for arm in (*today, "bare")] == ["settings", "settings", "1 task", "unknown"]

    found = look_back(Sources(tasks, []))
    assert next(iter(found.matter)) == "x"
    assert found.prior.agreement is not None
    assert found.prior.agreement > 0.9


def test_trials_are_never_matched_by_name() -> None:
    rng = np.random.default_rng(5)
    study = settings_task("study", rng, named=False)
    prior = read_prior([study, {"t": order("trial 0", "trial 1", "b")}], [*study.arms, "trial 0", "b"])
    assert list(prior.beliefs) == ["b"]
    known = read_prior(study, ["trial 0"], {"trial 0": {"x": 0.95, "y": 0.1}})
    assert known.of("trial 0").source == "settings"


def test_a_name_with_other_settings_is_another_arm() -> None:
    def task(name: str, lr: float) -> EarlierTask:
        settings: dict[str, dict[str, Value]] = {"a": {"lr": lr}, "b": {"lr": 2.0}, "c": {"lr": 3.0, name: 1.0}}
        return EarlierTask(name, order("a", "b", "c"), settings)

    found = look_back(Sources([task("one", 1.0), task("two", 9.0)], []))
    assert found.ambiguous == ["a"]
    assert {arm: belief.source for arm, belief in found.prior.beliefs.items()} == {"b": "2 tasks", "c": "2 tasks"}
    today = read_prior([task("one", 1.0)], ["a", "b", "c"], {"a": {"lr": 5.0}, "b": {"lr": 2.0}, "c": {"depth": 1.0}})
    assert [today.of(arm).source for arm in "abc"] == ["settings", "1 task", "1 task"]


def test_a_file_of_losses_that_counts_as_rewards_is_warned_of(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    path = tmp_path / "c.csv"
    path.write_text("a,b,c\n0.9,0.9,0.95\n0.2,0.5,0.8\n0.1,,0.7\n")
    with caplog.at_level(logging.WARNING, "risingbandits"):
        told = read_prior(path, "abc", direction="minimize")
        assert read_prior(load_curves(path, direction="minimize"), "abc").of("a") == told.of("a")
        assert not caplog.messages
        assert read_prior(path, "abc").of("a").mean < 0.0 < told.of("a").mean
    [message] = caplog.messages
    assert message.startswith("c falls in 100% of the runs, but high values count as good in it, as direction is max")


def test_nothing_is_known(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "risingbandits"):
        assert read_prior({"one": order("a", "b", "c")}, ["x"]).beliefs == {}
    assert caplog.messages == ["the earlier runs say nothing about the arms of this one."]


def test_stores_that_the_allocator_wrote(tmp_path: Path) -> None:
    tops = {"good": 0.9, "fair": 0.6, "poor": 0.3}
    for name in ("may", "june"):
        with Allocator(list(tops), budget=30, policy="commit-ucb", store=tmp_path / f"{name}.db") as allocator:
            for pull in allocator:
                allocator.tell(pull, tops[pull.arm] * pull.n / (pull.n + 2))
    prior = read_prior(f"{tmp_path}/*.db", tops)
    assert sorted(tops, key=lambda arm: -prior.of(arm).mean) == ["good", "fair", "poor"]
    assert prior.tasks == 2
    assert prior.agreement == pytest.approx(1.0)
