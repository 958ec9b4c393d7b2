"""A policy may be written with its settings wherever one is taken: every public call with such a parameter is tried."""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import risingbandits as rb
from risingbandits import Allocator, RisingBanditsError, get_policy, integrations, replay, simulate
from risingbandits.policies import CommitUCB, Policy, REdUCB

ROOMS = ("policies", "problems", "simulation", "theory", "allocation", "integrations", "testing", "lab.benchmark")
WRITTEN = 'commit-ucb(sigma="auto", recheck=0)'
MEANT = CommitUCB(sigma="auto", recheck=0)
# What takes policy objects only: they check classes of yours, or make them known.
OBJECTS = ("register", "check_policy", "check_same_in_all_modes", "play_by_hand", "play_interpreted", "Explanation")


def by_simulate() -> Policy:
    assert simulate({"mine": WRITTEN}, "paper-2arms", horizon=50).settings["mine"] == repr(MEANT.replace())
    [played] = simulate([WRITTEN], "paper-2arms", horizon=50).settings.values()
    assert played == simulate(WRITTEN, "paper-2arms", horizon=50).settings[WRITTEN]
    return get_policy(played.replace("CommitUCB", "commit-ucb"))


def by_replay() -> Policy:
    curves = {"a": [0.1, 0.2, 0.3], "b": [0.3, 0.3, 0.3]}
    plain = replay(curves, {"mine": MEANT.replace()}, 4)
    assert replay(curves, {"mine": WRITTEN}, 4).pulls["mine"].tolist() == plain.pulls["mine"].tolist()
    return get_policy(WRITTEN)


def by_predicted_regret() -> Policy:
    from risingbandits.theory.upper_bounds import predicted_regret

    problem = rb.get_problem("paper-2arms")
    written = predicted_regret(problem, policy="commit-ucb(risk=None, recheck=0)")
    assert written == predicted_regret(problem, policy=CommitUCB(risk=None, recheck=0))
    return get_policy(WRITTEN)


def by_selector() -> Policy:
    pytest.importorskip("sklearn")
    from sklearn.datasets import load_iris
    from sklearn.linear_model import SGDClassifier
    from sklearn.naive_bayes import GaussianNB

    from risingbandits.integrations import RisingSelector

    candidates = [("bayes", GaussianNB()), ("linear", SGDClassifier(random_state=0))]
    selector = RisingSelector(candidates, policy=WRITTEN, random_state=0).fit(*load_iris(return_X_y=True))
    return selector._run.policy


def by_river(name: str) -> Any:
    pytest.importorskip("river")
    from river import linear_model

    from risingbandits import integrations

    learner: Any = linear_model.LinearRegression if name == "RisingRegressor" else linear_model.LogisticRegression
    model = getattr(integrations, name)([learner(), learner(l2=0.1)], policy=WRITTEN)
    model.learn_one({"x": 1.0}, 1.0 if name == "RisingRegressor" else True)
    return model._run.policy


def by_tune() -> Policy:
    pytest.importorskip("ray.tune")
    from risingbandits.integrations import RisingScheduler

    scheduler = RisingScheduler(10, "never opened.db", policy=WRITTEN, reward_range=(0, 1))
    return Allocator(["a", "b"], budget=10, **scheduler.settings).ledger.policy


def by_benchmark() -> Policy:
    from risingbandits.lab.benchmark._policies import given_policies

    for given in (WRITTEN, [WRITTEN], {WRITTEN: WRITTEN}, {WRITTEN: MEANT}):
        found = given_policies(given)
        assert list(found) == [WRITTEN]
        assert repr(found[WRITTEN]) == repr(MEANT)
    return get_policy(WRITTEN)


def by_plan(tmp_path: Path) -> Policy:
    from risingbandits.allocation.commands._plan_file import read_plan
    from risingbandits.cli._run_plan import plan_allocator

    text = f"budget = 4\npolicy = '{WRITTEN}'\n[[arms]]\nname = 'a'\ncommand = ['true']\n"
    (tmp_path / "plan.toml").write_text(text)
    with plan_allocator(read_plan(tmp_path / "plan.toml")) as allocator:
        return allocator.ledger.policy


WAYS: dict[str, Callable[[], Policy]] = {
    "get_policy": lambda: get_policy(WRITTEN),
    "simulate": by_simulate,
    "replay": by_replay,
    "Allocator": lambda: Allocator(["a", "b"], budget=10, policy=WRITTEN).ledger.policy,
    "predicted_regret": by_predicted_regret,
    "RisingSelector": by_selector,
    "RisingClassifier": lambda: by_river("RisingClassifier"),
    "RisingRegressor": lambda: by_river("RisingRegressor"),
    "RisingScheduler": by_tune,
    "play_benchmarks": by_benchmark,
}


# Libraries that are not installed here; the next test looks at the sources.
IN_FRAMEWORKS = {name for name, where in integrations._WHERE.items() if where.startswith("frameworks.")}


def test_what_needs_a_framework_takes_no_policy() -> None:
    sources = [path.read_text() for path in (Path(integrations.__file__).parent / "frameworks").glob("*.py")]
    assert len(sources) > len(IN_FRAMEWORKS) - 1
    arguments = {
        argument.arg
        for source in sources
        for call in ast.walk(ast.parse(source))
        if isinstance(call, ast.FunctionDef)
        for argument in [*call.args.args, *call.args.kwonlyargs]
    }
    assert "metric" in arguments
    assert not arguments & {"policy", "policies"}


def taking() -> set[str]:
    """The public names that take a policy, or settings of `Allocator`, among which is one."""
    found = {"get_policy"}
    for room in ("", *ROOMS, "theory.upper_bounds"):
        module = importlib.import_module(f"risingbandits.{room}" if room else "risingbandits")
        for name in module.__all__:
            if name in IN_FRAMEWORKS:
                continue
            public = getattr(module, name)
            if not callable(public) or (inspect.isclass(public) and issubclass(public, Exception)):
                continue
            parameters = inspect.signature(public).parameters
            if {"policy", "policies"} & set(parameters) or "settings" in [
                each.name for each in parameters.values() if each.kind is each.VAR_KEYWORD
            ]:
                found.add(name)
    return found - {*OBJECTS, "Plugin"}  # which lists policies


def test_every_way_is_tried() -> None:
    assert taking() == set(WAYS)


@pytest.mark.parametrize("way", sorted(WAYS))
def test_settings_that_are_written(way: str) -> None:
    policy = WAYS[way]()
    assert isinstance(policy, CommitUCB)
    assert (policy.sigma, policy.recheck) == ("auto", 0)


def test_settings_that_are_written_in_a_plan(tmp_path: Path) -> None:
    assert repr(by_plan(tmp_path)) == repr(MEANT)


def test_the_class_may_be_named_and_settings_added() -> None:
    assert repr(get_policy("REdUCB(eps=0.1)", sigma=0.2)) == repr(REdUCB(eps=0.1, sigma=0.2))


@pytest.mark.parametrize("written", ["commit-ubc(sigma=1)", "commit-ucb(scale=1)", "commit-ucb(sigma=x)"])
def test_what_cannot_be_read_is_refused_everywhere(written: str) -> None:
    from risingbandits.integrations._policy_run import PolicyRun

    calls: list[Callable[[], Any]] = [
        lambda: get_policy(written),
        lambda: simulate(written, "paper-2arms", horizon=10),
        lambda: Allocator(["a"], budget=5, policy=written),
        lambda: PolicyRun(written, 2),
    ]
    for call in calls:
        with pytest.raises(RisingBanditsError):
            call()
