"""From earlier runs to beliefs: what is expected of configs, what names add to that, and what is unknown."""

from __future__ import annotations

import logging
import math
import time
from pathlib import Path

import numpy as np
import pytest

from risingbandits import Allocator, load_curves
from risingbandits.allocation.starting.earlier_runs import EarlierTask, read_sources
from risingbandits.allocation.starting.prior import Prior, look_back, read_prior
from risingbandits.policies._config_points import Value

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


def test_one_task_is_shrunk() -> None:
    prior = read_prior({"one": order("a", "b", "c")}, "abc")
    weight = 2 / 3  # compared as far as any run, with two others of three
    share = weight / (weight + 1.0)  # half of the variance belongs to arms
    assert prior.of("a").mean == pytest.approx(Z3 * share)
    assert prior.of("a").deviation == pytest.approx(math.sqrt(1.0 - 0.5 * share))
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
    assert prior.of("a").mean == pytest.approx(Z3 / 2)  # as of one task whose every arm was trained to the end
    assert [prior.of(arm).source for arm in "abcd"] == ["score", "score", "score", "unknown"]
    assert (prior.tasks, prior.agreement) == (0, None)
    both = read_prior([{"one": order("a", "b", "c")}, {"c": 2, "a": 1, "d": 0}], "abcd")
    assert [both.of(arm).source for arm in "abcd"] == ["1 task", "1 task", "1 task", "score"]
    assert both.of("a").mean > both.of("c").mean > both.of("b").mean, "the guess counts for a little more than a run"


def test_tasks_with_two_arms_are_left_out() -> None:
    found = look_back(read_sources({"small": order("a", "b"), "large": order("b", "a", "c")}))
    assert (found.left_out, [run.name for run in found.runs]) == (["small"], ["large"])
    assert found.prior.of("b").mean > 0


def test_each_task_beside_the_others() -> None:
    orders = {"one": "abcd", "two": "abdc", "three": "bacd", "odd": "dcba", "apart": "xyz"}
    found = look_back(read_sources({name: order(*arms) for name, arms in orders.items()}))
    agreement = dict(zip([run.name for run in found.runs], found.agreements, strict=True))
    assert agreement["apart"] is None
    assert agreement["odd"] is not None
    assert agreement["odd"] < 0
    known = [value for value in agreement.values() if value is not None]
    assert len(known) == 4
    assert found.prior.agreement == pytest.approx(sum(known) / 4)
    assert [(len(run.scores), run.pulls) for run in found.runs] == [(4, 4)] * 4 + [(3, 3)]


def task_of_configs(name: str, rng: np.random.Generator, named: bool = True) -> EarlierTask:
    """Arms that are the better the higher x is; y does nothing."""
    configs = {f"arm {name} {n}": {"x": float(rng.random()), "y": float(rng.random())} for n in range(25)}
    return EarlierTask(name, {arm: [values["x"]] for arm, values in configs.items()}, configs, named=named)


def test_configs_judge_arms_without_a_known_name() -> None:
    rng = np.random.default_rng(5)
    tasks = [task_of_configs("one", rng), task_of_configs("two", rng)]
    old = tasks[0].configs["arm one 0"]
    today = {"new low": {"x": 0.02, "y": 0.5}, "new high": {"x": 0.98, "y": 0.5}, "arm one 0": old}
    prior = read_prior(tasks, [*today, "bare"], today)
    assert prior.of("new high").mean > 1.0 > -1.0 > prior.of("new low").mean
    said = [prior.of(arm).source for arm in (*today, "bare")]
    assert said == ["configs", "configs", "1 task and configs", "unknown"]
    assert prior.of("new high").deviation < 0.6

    found = look_back(read_sources(tasks), list(today), today)
    assert list(found.lengths) == ["x", "y"], "x matters most"


def test_a_name_adds_to_what_its_config_leads_us_to_expect() -> None:
    rng = np.random.default_rng(5)
    tasks = []
    for number in range(4):
        task = task_of_configs(str(number), rng)
        curves = {arm: [float(v) for v in c] for arm, c in task.curves.items()} | {"special": [0.95], "plain": [0.1]}
        tasks.append(EarlierTask(str(number), curves, {**task.configs, "special": {"x": 0.1}, "plain": {"x": 0.1}}))
    today = {"special": {"x": 0.1}, "plain": {"x": 0.1}, "other": {"x": 0.1}}
    prior = read_prior(tasks, today, today)
    assert prior.of("special").mean > prior.of("other").mean + 0.5 > prior.of("plain").mean + 1.0
    assert prior.of("special").source == "4 tasks and configs"


def test_runs_in_which_little_was_compared_count_little() -> None:
    """Such as runs for cumulative reward, which pull one arm nearly always."""
    rng = np.random.default_rng(3)
    arms = [f"arm {i}" for i in range(8)]
    whole = {arm: [i / 10.0] * 40 for i, arm in enumerate(arms)}
    short = {f"short {n}": {arm: [float(rng.random())] * (1 + 39 * (arm == arms[0])) for arm in arms} for n in range(9)}
    alone, beside = (read_prior(runs, arms) for runs in ({"whole": whole}, {"whole": whole, **short}))
    only = read_prior(short, arms)
    first, second = (sorted(arms, key=lambda arm: prior.of(arm).mean) for prior in (alone, beside))
    assert (first, set(second[:2]), set(second[-2:])) == (arms, set(arms[:2]), set(arms[-2:]))
    assert max(abs(only.of(arm).mean) for arm in arms) < max(alone.of(arm).mean for arm in arms) / 3
    assert min(only.of(arm).deviation for arm in arms) > 0.95


def test_beliefs_agree_with_their_description() -> None:
    """The fast sums beside the estimate written down pair by pair, for names alone."""
    rng = np.random.default_rng(8)
    runs = []
    for name in "pqrst":
        arms = rng.permutation(list("abcdefg"))[: rng.integers(3, 8)].tolist()
        curves = {arm: rng.random(rng.integers(1, 30)).tolist() for arm in arms}
        runs.append(EarlierTask(name, curves).summary())
    prior = look_back(runs, list("abcdefg")).prior
    furthest = math.log1p(max(run.longest for run in runs))
    rows = [
        (number, arm, score, min(1.0, compared / furthest))
        for number, run in enumerate(runs)
        for arm, (score, compared) in run.scores.items()
    ]
    pairs = [(one, other) for one in rows for other in rows if one[0] < other[0] and one[1] == other[1]]
    products = sum(one[2] * other[2] * one[3] * other[3] for one, other in pairs)
    squares = sum((one[2] ** 2 + other[2] ** 2) / 2 * one[3] * other[3] for one, other in pairs)
    linked = len({number for pair in pairs for number, *_ in pair}) - 1
    share = min(0.9, max(0.0, (1.5 + linked * products / squares) / (3.0 + linked)))
    for arm in "abcdefg":
        own = [(score, weight) for _, name, score, weight in rows if name == arm]
        total = sum(weight for _, weight in own)
        mean = sum(score * weight for score, weight in own) * share / (total * share + 1.0 - share)
        assert prior.of(arm).mean == pytest.approx(mean)
        explained = share * total * share / (total * share + 1.0 - share)
        assert prior.of(arm).deviation == pytest.approx(math.sqrt(1.0 - explained))


def test_trials_are_never_matched_by_name() -> None:
    rng = np.random.default_rng(5)
    study = task_of_configs("study", rng, named=False)
    prior = read_prior([study, {"t": order("trial 0", "trial 1", "b")}], [*study.curves, "trial 0", "b"])
    assert list(prior.beliefs) == ["b"]
    known = read_prior(study, ["trial 0"], {"trial 0": {"x": 0.95, "y": 0.1}})
    assert known.of("trial 0").source == "configs"


def test_a_name_with_another_config_is_another_arm() -> None:
    def task(name: str, lr: float) -> EarlierTask:
        configs: dict[str, dict[str, Value]] = {"a": {"lr": lr}, "b": {"lr": 2.0}, "c": {"lr": 3.0, name: 1.0}}
        return EarlierTask(name, order("a", "b", "c"), configs)

    found = look_back(read_sources([task("one", 0.1), task("two", float(np.float32(0.1)))]))
    assert found.ambiguous == [], "some logs keep fewer digits"
    found = look_back(read_sources([task("one", 1.0), task("two", 9.0)]))
    assert found.ambiguous == ["a"]
    assert {arm: belief.source for arm, belief in found.prior.beliefs.items()} == {"b": "2 tasks", "c": "2 tasks"}
    today = read_prior([task("one", 1.0)], ["a", "b", "c"], {"a": {"lr": 5.0}, "b": {"lr": 2.0}, "c": {"depth": 1.0}})
    assert [today.of(arm).source for arm in "abc"] == ["configs", "1 task and configs", "1 task"]


def test_a_file_of_losses_says_so_itself(tmp_path: Path) -> None:
    path = tmp_path / "c.csv"
    path.write_text("a,b,c\n0.9,0.9,0.95\n0.2,0.5,0.8\n0.1,0.2,0.7\n")
    told = read_prior(path, "abc", direction="maximize")
    assert told == read_prior(load_curves(path), "abc")
    assert told.of("a").mean > told.of("c").mean


def test_nothing_is_known(caplog: pytest.LogCaptureFixture) -> None:
    assert read_prior({"one": order("a", "b", "c")}, ["x"]).beliefs == {}
    with caplog.at_level(logging.WARNING, "risingbandits"):
        assert Allocator(["x", "y"], 9, prior={"one": order("a", "b", "c")}).settings.prior is None
    assert caplog.messages == ["the earlier runs say nothing about the arms of this one."]


def test_ten_thousand_runs_are_judged_quickly() -> None:
    rng = np.random.default_rng(0)
    arms = [f"arm {i}" for i in range(200)]
    runs = []
    for number in range(10_000):
        own = rng.permutation(200)[:10]
        scores = {arms[i]: [float(i / 100 - 1), 2.0] for i in own.tolist()}
        runs.append(EarlierTask(str(number), {}).summary()._replace(scores=scores, longest=20))
    began = time.process_time()
    prior = look_back(runs, arms).prior
    assert time.process_time() - began < 4.0  # 1.0 s on an idle machine
    assert sorted(arms, key=lambda arm: prior.of(arm).mean) == arms


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
