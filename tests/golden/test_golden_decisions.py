"""Every policy decides as version 0.1.0 did, asked and told from Python and in simulations."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from frozen import Case, encode, load, problem, rounding

from risingbandits import get_policy, policy_names, simulate

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
        policy = case.begin()
        asked = encode(case.play(policy, _RUNS["rounds"]), case.n_arms)
        assert (case, asked, policy.recommend()) == (case, run["asked"], run["recommended"])


_AFTER_END = {"paying": "hold", "masked": "stop"}  # what the settings of 0.1.0 are called now


_STUDIES = [(study, label) for study in _SIMULATIONS["studies"] for label in study["results"]]


@pytest.mark.parametrize(
    ("study", "label"), _STUDIES, ids=[f"{study['problem']} {study['finished']} {label}" for study, label in _STUDIES]
)
def test_simulate(study: dict[str, Any], label: str) -> None:
    expected = study["results"][label]
    policies = {label: get_policy(expected["policy"], **expected["params"])}
    settings = {key: _SIMULATIONS[key] for key in ("horizon", "runs", "seed")}
    result = simulate(
        policies, problem(study["problem"]), **settings, jobs=1, record_at=1, after_end=_AFTER_END[study["finished"]]
    )
    assert result.pulls[label].tolist() == expected["pulls"]
    assert result.recommended[label].tolist() == expected["recommended"]
    regret = np.array([float.fromhex(text) for text in expected["regret"]])
    # Bit for bit where exp and log are those of the machine that wrote the file.
    exact = rounding() == _SIMULATIONS["rounding"]
    assert np.allclose(result.final_regret[label], regret, rtol=0.0 if exact else 1e-9, atol=0.0 if exact else 1e-7)
