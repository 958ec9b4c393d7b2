"""One declaration of each setting: the constructor, its documentation, plans and stores agree with it."""

from __future__ import annotations

import inspect
import json
import math
import re
from dataclasses import MISSING
from pathlib import Path
from typing import Any

import pytest

from risingbandits import Allocator, RisingBanditsError
from risingbandits.allocation._growth import declared_changes
from risingbandits.allocation._ledger import Ledger
from risingbandits.allocation.commands._plan_arms import _ARM
from risingbandits.allocation.commands._plan_file import _PLAN
from risingbandits.allocation.settings import SETTINGS, Execution, Settings
from risingbandits.policies import Auto, GaussianUCB

DOCS = Path(__file__).parents[2] / "docs"
INFERRED = "direction"  # by `Allocator` from the arms and by a plan from its metric, where it is not given
STORED = json.dumps(
    {
        "arms": ["a", "b"],
        "budget": {"pulls": 20},
        "policy": {"name": "red-ucb", "params": {"eps": 0.25, "sigma": 0.5}},
        "objective": "cumulative",
        "direction": "maximize",
        "reward_range": [0.0, 1.0],
        "max_pulls": {"a": 9},
        "lease": 3600.0,
        "retries": 3,
        "reclaim": True,
        "durability": "process",
        "seed": 0,
        "warm_start": {"a": [0.5]},
        "prior": None,
        "configs": {},
        "version": "0.2.0",
        "made_late": False,
    }
)


def test_the_constructor_has_the_declared_settings_and_defaults() -> None:
    parameters = dict(inspect.signature(Allocator).parameters)
    for of_this_process in ("store", "on_tell"):  # what no store keeps
        assert parameters.pop(of_this_process).default is None
    execution = inspect.signature(Execution).parameters
    assert parameters.pop("execution").default == Execution()
    assert {*parameters, *execution} == set(SETTINGS)
    for name, declared in SETTINGS.items():
        default = (parameters.get(name) or execution[name]).default
        expected = None if name == INFERRED else declared.default
        assert (MISSING if default is inspect.Parameter.empty else default) == expected, name


def test_the_documentation_of_the_constructor_is_complete_and_names_what_is_allowed() -> None:
    entries: dict[str, str] = {}
    for documented in (Allocator, Execution):
        parts = inspect.cleandoc(str(documented.__doc__)).partition("Parameters\n----------\n")
        own = dict(re.findall(r"^(\w+) : (.+)\n    \S", parts[2].partition("\n\n")[0], re.MULTILINE))
        assert list(own) == list(inspect.signature(documented).parameters)
        entries |= own
    for name, declared in SETTINGS.items():
        allowed = getattr(declared.check, "keywords", {}).get("allowed")
        if allowed is not None:
            assert entries[name].removesuffix(" or None") == "{" + ", ".join(f'"{value}"' for value in allowed) + "}"
            assert declared.default in allowed


def test_the_pages_list_all_settings() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \|", (DOCS / "commands.md").read_text(), re.MULTILINE)
    keys = dict(rows)
    assert set(_PLAN) <= set(keys)
    for name, declared in SETTINGS.items():
        if declared.in_plan and isinstance(declared.default, str | int) and name not in ("lease", INFERRED):
            assert keys[name].strip("`") == json.dumps(declared.default), name
    page = (DOCS / "allocator.md").read_text()
    assert [name for name in SETTINGS if f"`{name}`" not in page] == []


def test_settings_of_a_store() -> None:
    settings = Settings.from_json(STORED)
    assert settings.warm_start == {"a": [0.5]}
    assert list(json.loads(settings.to_json())) == list(json.loads(STORED))
    assert Settings.from_json(settings.to_json()).to_json() == settings.to_json()
    plain = json.loads(STORED)
    for key in plain:
        with pytest.raises(RisingBanditsError, match="damaged"):
            Settings.from_json(json.dumps({name: value for name, value in plain.items() if name != key}))


def test_differences_are_named_as_in_the_constructor() -> None:
    ledger = Ledger(Settings.from_json(STORED))
    mine: dict[str, Any] = {
        "arms": ["a", "b"],
        "budget": 20,
        "objective": "cumulative",
        "max_pulls": {"a": 9},
        "warm_start": {"a": [0.5]},
    }
    assert declared_changes("x.db", Settings.make(**mine, durability="power"), False, ledger) == {}
    changed = Settings.make(**{**mine, "warm_start": {"a": [0.25]}})
    with pytest.raises(RisingBanditsError, match=r"warm_start of a is \[0.5\] in the store, got \[0.25\]"):
        declared_changes("x.db", changed, False, ledger)
    said = declared_changes("x.db", Settings.make(**mine, policy=Auto()), True, ledger)["said"]
    assert said == f"policy {ledger.settings.policy!r} -> Auto(objective='cumulative')"


@pytest.mark.parametrize("stored", [False, True], ids=["memory", "store"])
def test_a_new_allocation_makes_its_policy_once(stored: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Settings] = []
    original = Ledger.__init__

    def counted(ledger: Ledger, settings: Settings) -> None:
        made.append(settings)
        original(ledger, settings)

    monkeypatch.setattr(Ledger, "__init__", counted)
    with Allocator(["a", "b"], 5, store=tmp_path / "x.db" if stored else None) as allocator:
        assert made == [allocator.settings]


# What a program or a TOML file may give by mistake; each setting takes some of it and refuses the rest.
ANYTHING: tuple[Any, ...] = (
    True,
    -1,
    0,
    1.5,
    math.nan,
    math.inf,
    10**20,
    "",
    "nonsense",
    "a\0b",
    [],
    ["a", 1],
    {"zz": 1},
    {"a": []},
)


@pytest.mark.parametrize("name", SETTINGS)
def test_a_wrong_value_of_a_setting_is_named(name: str) -> None:
    refused = [value for value in (*ANYTHING, object(), b"x") if not is_taken(name, value)]
    assert len(refused) >= 9


def is_taken(name: str, value: Any) -> bool:
    try:
        Settings.make(**{"arms": ["a", "b"], "budget": 10, name: value})
    except RisingBanditsError as error:
        assert str(error).startswith((name, "an arm's name") if name == "arms" else name)  # noqa: PT017
        assert str(error).endswith((".", "?"))  # noqa: PT017
        return False
    return True


KEYS = {name: check for name, check in _PLAN.items() if check is not None}
KEYS |= {f"arms[0].{name}": check for name, check in _ARM.items() if check is not None}


@pytest.mark.parametrize("name", KEYS)
def test_a_wrong_value_in_a_plan_is_named_by_its_path(name: str) -> None:
    refused = 0
    for value in ANYTHING:
        try:
            KEYS[name](f"plan.toml, {name}", value)
        except RisingBanditsError as error:
            assert str(error).startswith(f"plan.toml, {name}")  # noqa: PT017
            assert str(error).endswith((".", "?"))  # noqa: PT017
            refused += 1
    assert refused >= 9


def test_a_policy_may_be_written_with_its_settings() -> None:
    assert repr(Settings.make(arms=["a"], budget=9, policy="commit-ucb(sigma=0.1)").policy) == "CommitUCB(sigma=0.1)"
    with pytest.raises(RisingBanditsError, match=r"^policy is 'commit-ucb\(x=1\)': "):
        Settings.make(arms=["a"], budget=9, policy="commit-ucb(x=1)")


def test_an_estimate_needs_no_range_of_rewards() -> None:
    assert Settings.make(arms=["a"], budget=9, policy="gaussian-ucb", reward_range=None).policy._estimates  # type: ignore[attr-defined]


def test_a_policy_that_is_not_given_again_stays(tmp_path: Path) -> None:
    store = tmp_path / "run.db"
    Allocator(["a", "b"], 9, policy=GaussianUCB(), store=store).close()
    with Allocator(["a", "b"], 9, store=store) as again:
        assert repr(again.settings.policy) == "GaussianUCB()"
    for other in ("red-ucb", "gaussian-ucb(ties='random')", "gaussian-ucb(sigma=0.1)"):
        with Allocator(["a", "b"], 9, policy=other, store=store) as again:
            assert again.taken_over.startswith("policy GaussianUCB(")
        Allocator(["a", "b"], 9, policy=GaussianUCB(), store=store).close()


def test_a_loss_beyond_the_range_is_told_of_both_settings_that_it_needs() -> None:
    said = 'reward must lie in reward_range (0, 1), got 1.45; reward_range=None, in plans "unknown", takes any number'
    for direction, more in (("maximize", '; for a loss, also direction="minimize".'), ("minimize", ".")):
        with pytest.raises(RisingBanditsError) as refused:
            Settings.make(arms=["a"], budget=3, direction=direction, reward_range=(0, 1)).check_reward(1.45)
        assert str(refused.value) == said + more
