"""Policies by name, with settings as arguments or in the text."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from risingbandits import get_policy
from risingbandits.policies import policy_class, policy_names
from risingbandits.policies._table import POLICIES
from risingbandits.policies.base import VERIFIED

# Rules or constants of these could not be had, or were changed to fit a fixed budget.
NOT_AS_PUBLISHED = (
    *("asha", "cure-ucb", "hyperband", "linear-ae", "linear-ee", "model-halving", "raw-ucb", "rc-be", "ti-ucb"),
    *("successive-halving", "graph-red-ucb"),
)
PEERS = Path(__file__).parents[1] / "peers"


def test_settings_may_be_in_the_text_as_on_the_command_line() -> None:
    assert repr(get_policy("commit-ucb(sigma=0.1, risk=None)")) == "CommitUCB(risk=None, sigma=0.1)"
    assert repr(get_policy("CommitUCB(sigma=0.1)", sigma=0.2)) == "CommitUCB(sigma=0.2)"


def test_the_table_says_what_the_classes_say() -> None:
    assert {name: (listed.module, listed.class_name, listed.objective) for name, listed in POLICIES.items()} == {
        name: (policy.__module__, policy.__name__, policy.objective)
        for name, policy in ((name, policy_class(name)) for name in POLICIES)
    }


def test_every_policy_says_itself_how_it_was_verified() -> None:
    own = {name: policy_class(name) for name in policy_names()}
    said = {name: vars(kind).get("verified", "") for name, kind in own.items() if kind.__module__.startswith("rising")}
    assert len(said) > 50
    form = re.compile(rf"({'|'.join(VERIFIED)})( \(.+\))?")
    assert {name: text for name, text in said.items() if not form.fullmatch(text)} == {}
    assert [name for name in NOT_AS_PUBLISHED if not said[name].startswith("derived here")] == []


def test_decisions_are_compared_with_every_public_implementation_that_is_claimed() -> None:
    compared = "".join(path.read_text() for path in PEERS.glob("test_*.py"))
    for name in policy_names():
        if policy_class(name).verified.startswith("public implementation"):
            assert re.search(rf"\b({name}|{policy_class(name).__name__})\b", compared), name


def test_a_policy_is_loaded_when_it_is_first_used() -> None:
    program = (
        "import sys, risingbandits as rb; rb.get_policy('kl-ucb'); "
        "print([f'risingbandits.policies.classic.{name}' in sys.modules for name in ('kl_ucb', 'ser4')])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[True, False]\n"
