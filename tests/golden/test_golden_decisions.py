"""Every policy decides as version 0.1.0 did, asked and told from Python and in simulations.

But for those that `changed` names.
"""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from changed import all_changed, concerned, since
from frozen import Case, encode, load, problem, rounding

from risingbandits import Result, get_policy, policy_names, simulate
from risingbandits._core.jit import interpreted
from risingbandits.policies import Kernels
from risingbandits.simulation import engine

pytestmark = pytest.mark.filterwarnings("ignore:.* is contradicted by the rewards")  # made up as they are

_RUNS = load("decisions.json")
_SIMULATIONS = load("simulations.json")

_BY_POLICY: dict[str, list[dict[str, Any]]] = defaultdict(list)
for _run in _RUNS["runs"]:
    _BY_POLICY[_run["case"][0]].append(_run)


def test_no_policy_was_lost() -> None:
    assert set(_BY_POLICY) <= set(policy_names())


@pytest.mark.parametrize("name", sorted(_BY_POLICY))
def test_ask_and_tell(name: str) -> None:
    for run in _BY_POLICY[name]:
        case = Case(*run["case"])
        expected = since("decisions", json.dumps(run["case"]), run)
        assert (case, decide(case)) == (case, {key: expected[key] for key in ("asked", "recommended")})


def decide(case: Case) -> dict[str, Any]:
    policy = case.begin()
    asked = encode(case.play(policy, _RUNS["rounds"]), case.n_arms)
    return {"asked": asked, "recommended": policy.recommend()}


def test_only_named_policies_have_changed() -> None:
    cases = {json.dumps(run["case"]): Case(*run["case"]) for run in _RUNS["runs"]}
    changed = [cases[key] for key in all_changed("decisions")]
    assert changed
    assert all(concerned(case.policy, case.params) for case in changed)
    results = {name_of(study, label): study["results"][label] for study, label in _STUDIES}
    changed_results = [results[key] for key in all_changed("simulations")]
    assert changed_results
    assert all(concerned(result["policy"], result["params"]) for result in changed_results)


_AFTER_END = {"paying": "hold", "masked": "stop"}  # what the settings of 0.1.0 are called now


_STUDIES = [(study, label) for study in _SIMULATIONS["studies"] for label in study["results"]]


def name_of(study: dict[str, Any], label: str) -> str:
    return f"{study['problem']} {study['finished']} {label}"


@pytest.mark.parametrize(("study", "label"), _STUDIES, ids=[name_of(study, label) for study, label in _STUDIES])
def test_simulate(study: dict[str, Any], label: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Arms that end would be a second loop to compile for every policy: one run of theirs is played in plain Python.

    That both loops decide alike is for test_finished_arms.
    """
    expected = since("simulations", name_of(study, label), study["results"][label])
    runs = _SIMULATIONS["runs"]
    if study["finished"] == "masked":
        runs = 1
        monkeypatch.setattr(engine, "compiled_loop", plain_loop)
    result = play(study, label, runs)
    assert result.pulls[label].tolist() == expected["pulls"][:runs]
    assert result.recommended[label].tolist() == expected["recommended"][:runs]
    regret = np.array([float.fromhex(text) for text in expected["regret"]])[:runs]
    # Bit for bit where exp and log are those of the machine that wrote the file.
    exact = rounding() == _SIMULATIONS["rounding"]
    assert np.allclose(result.final_regret[label], regret, rtol=0.0 if exact else 1e-9, atol=0.0 if exact else 1e-7)


def plain_loop(kernels: Kernels, state_class: type, pull: Any) -> Any:
    return interpreted(engine.loop, **kernels._asdict(), pull=pull, State=state_class)


def play(study: dict[str, Any], label: str, runs: int = _SIMULATIONS["runs"]) -> Result:
    expected = study["results"][label]
    policies = {label: get_policy(expected["policy"], **expected["params"])}
    settings = {key: _SIMULATIONS[key] for key in ("horizon", "seed")}
    end = _AFTER_END[study["finished"]]
    return simulate(policies, problem(study["problem"]), runs=runs, **settings, jobs=1, record_at=1, after_end=end)
