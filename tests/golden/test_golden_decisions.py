"""Every policy decides as recorded: asked and told from Python, in simulations, and in commands.

`make.py` records it anew.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from frozen import Case, Command, Simulated, load, recorded_names, rounding

from risingbandits._core.jit import interpreted
from risingbandits.policies import Kernels
from risingbandits.simulation import _engine as engine

pytestmark = pytest.mark.filterwarnings("ignore:.* is contradicted by the rewards")  # made up as they are

_DECISIONS, _SIMULATIONS, _COMMANDS = (load(f"{name}.json") for name in ("decisions", "simulations", "commands"))


def test_every_policy_is_recorded() -> None:
    for golden in (_DECISIONS, _SIMULATIONS):
        assert {run["case"][0] for run in golden["runs"]} == set(recorded_names())


@pytest.mark.parametrize("name", recorded_names())
def test_ask_and_tell(name: str) -> None:
    for run in _DECISIONS["runs"]:
        if run["case"][0] == name:
            assert {"case": run["case"], **Case(*run["case"]).play()} == run


def name_of(run: dict[str, Any]) -> str:
    policy, params, problem, _ = run["case"]
    return f"{problem} {policy} {params}"


@pytest.mark.parametrize("run", _SIMULATIONS["runs"], ids=name_of)
def test_simulate(run: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Arms that end would be a second loop to compile for every policy: one run of theirs is played in plain Python.

    That both loops decide alike is for test_finished_arms.
    """
    case, runs = Simulated(*run["case"]), len(run["regret"])
    if case.after_end == "stop":
        runs = 1
        monkeypatch.setattr(engine, "compiled_loop", plain_loop)
    found = case.play(runs)
    assert found["pulls"] == run["pulls"][:runs]
    assert found["recommended"] == run["recommended"][:runs]
    # Bit for bit where exp and log are those of the machine that wrote the file.
    exact = rounding() == _SIMULATIONS["rounding"]
    regret, expected = ([float.fromhex(text) for text in made["regret"][:runs]] for made in (found, run))
    assert np.allclose(regret, expected, rtol=0.0 if exact else 1e-9, atol=0.0 if exact else 1e-7)


def plain_loop(kernels: Kernels, state_class: type, pull: Any) -> Any:
    return interpreted(engine.loop, **kernels._asdict(), pull=pull, State=state_class)


@pytest.mark.parametrize("run", _COMMANDS["runs"], ids=lambda run: " ".join(run["case"][0][:4]))
def test_commands(run: dict[str, Any]) -> None:
    if run["case"][0][0] == "lab":
        pytest.importorskip("sklearn")
    assert Command(*run["case"]).play()["table"] == run["table"]
