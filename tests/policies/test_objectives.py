"""Objectives: one default everywhere, and a third one needs nothing but its own definition."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from risingbandits import Allocator, Objective, Result, RisingBandit, RisingBanditsError, replay, simulate
from risingbandits._core.types import Floats
from risingbandits.cli import run
from risingbandits.cli._options import Objective as Option
from risingbandits.logs.replay import Replay
from risingbandits.policies import Auto, objective_names, objectives, register_objective
from risingbandits.problems import Tabulated
from risingbandits.reports._tables import outcome_table

CURVES = {f"net {k}": [0.1 * k * (1 - 0.9**n) for n in range(1, 41)] for k in range(1, 9)}


class TopThree(Objective):
    """Any of the three best arms will do."""

    def regret(self, result: Result, label: str) -> Floats:
        enough = np.sort(result.final_means)[-min(3, result.final_means.size)]
        return np.asarray(np.maximum(0.0, enough - result.final_means[result.recommended[label]]))

    def replay_regret(self, replay: Replay, label: str) -> Floats:
        return np.asarray(np.maximum(0.0, np.sort(replay.final)[-3] - replay.final[replay.recommended[label]]))


@pytest.fixture
def top_three(monkeypatch: pytest.MonkeyPatch) -> Objective:
    monkeypatch.setattr(objectives, "_REGISTERED", dict(objectives._REGISTERED))
    compared = ("auto", "round-robin")
    return register_objective(
        TopThree(
            "top-three", "One of three", "name one of the three best arms", "shortfall", "Short.", compared, compared
        )
    )


def test_a_name_an_object_or_nothing() -> None:
    assert objective_names() == ["best-arm", "cumulative"]
    assert Objective.get() is Objective.get("best-arm") is objectives.DEFAULT
    assert Objective.get(objectives.CUMULATIVE) is Objective.get("cumulative")
    for name in objective_names():
        assert Objective.get(name).policy(sigma=0.1).get_params() == Auto(name, sigma=0.1).get_params()


def test_what_is_no_objective_is_refused_in_a_sentence(top_three: Objective) -> None:
    with pytest.raises(
        RisingBanditsError, match=r"^objective must be one of best-arm, cumulative, top-three; got 3\.$"
    ):
        Objective.get(3)  # type: ignore[arg-type]
    other = TopThree("top-three", "", "", "", "", (), ())
    with pytest.raises(RisingBanditsError, match=r"^objective must be registered, got another one .* 'top-three'\.$"):
        Objective.get(other)
    with pytest.raises(RisingBanditsError, match=r"^objective must have a name that is not taken, got 'top-three'\.$"):
        register_objective(other)
    with pytest.raises(RisingBanditsError, match=r"^objective must be an Objective, got 'fast'\.$"):
        register_objective("fast")  # type: ignore[arg-type]


def test_the_command_line_says_what_each_objective_is() -> None:
    (option,) = Option.__metadata__  # type: ignore[attr-defined]
    for name in objective_names():
        assert name in option.help
        assert Objective.get(name).help in option.help


def test_simulations_are_ordered_by_the_objective() -> None:
    """The even arm has the larger sum, the slow one ends higher."""
    problem = RisingBandit([Tabulated([0.5]), Tabulated(np.linspace(0.0, 0.6, 20))], horizon=20)
    policies = {"slow": "constant(arm=1)", "even": "constant(arm=0)"}
    for objective, best in (("cumulative", "even"), ("best-arm", "slow")):
        result = simulate(policies, problem, objective=objective)
        assert (result.objective, result.summary()[0]["policy"]) == (objective, best)
        assert result.summary()[0][Objective.get(objective).key] == 0.0
        assert simulate(policies, problem).summary(objective)[0]["policy"] == best


def test_auto_by_name_plays_for_the_objective() -> None:
    for objective in objective_names():
        settings = simulate("auto", "paper-2arms", horizon=10, objective=objective).settings
        assert settings == {"auto": repr(Auto(objective))}
        assert repr(replay(CURVES, "auto", objective=objective).stage.policies["auto"]) == repr(Auto(objective))
    written = simulate("auto(objective='cumulative')", "paper-2arms", horizon=10).settings
    assert list(written.values()) == [repr(Auto("cumulative"))]


def test_a_third_objective_in_simulations(top_three: Objective, tmp_path: Path) -> None:
    result = simulate(top_three.compared, "paper-15arms", horizon=60, runs=3, objective=top_three)
    assert result.settings["auto"] == "Auto(objective='top-three')"
    row = result.summary()[0]
    assert row["shortfall"] == top_three.regret(result, row["policy"]).mean() <= row["simple_regret"]
    assert "shortfall ± 95 %" in str(result)
    assert result.compare("auto", "round-robin").measure == "shortfall"
    assert Result.load(result.save(tmp_path)) == result


def test_a_third_objective_in_replays(top_three: Objective) -> None:
    outcome = replay(CURVES, budget=80, objective="top-three", orders=5)
    assert list(outcome.reward) == ["auto", "round-robin"]
    assert outcome.objective == "top-three"
    lost = [top_three.replay_regret(outcome, row[0]).mean() for row in outcome_table(outcome).rows]
    assert lost == sorted(lost)
    assert outcome.advice.policy in outcome.reward


def test_a_third_objective_in_an_allocation(top_three: Objective, tmp_path: Path) -> None:
    store = tmp_path / "run.db"
    for objective in (top_three, None, "top-three"):
        allocator = Allocator(["a", "b"], 6, objective=objective, store=store)
        pull = allocator.ask()
        assert pull is not None
        allocator.tell(pull, 0.5)
        assert allocator.settings.objective == "top-three"
        assert repr(allocator.settings.policy) == "Auto(objective='top-three')"


def test_a_third_objective_in_commands(top_three: Objective, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", "--objective", "top-three", "--horizon", "50", "--runs", "2", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["objective"] == "top-three"
    assert {row["policy"] for row in said["policies"]} == {"auto", "round-robin"}
    assert "shortfall" in said["policies"][0]
