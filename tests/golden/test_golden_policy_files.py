"""Policies that version 0.1.0 saved in the middle of a run are read and decide as they would have there.

Those that `changed` names are read, and decide as they do now.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from changed import all_changed, concerned, since
from frozen import Case, encode, load, unpack

from risingbandits import Policy

_FILES = load("policies.json")


@pytest.mark.parametrize("name", sorted(_FILES["files"]))
def test_a_saved_policy_goes_on(name: str, tmp_path: Path) -> None:
    expected: dict[str, Any] = since("policies", name, _FILES["files"][name])
    case = Case(*expected["case"])
    policy = Policy.load(unpack("policies.zip", name, tmp_path))
    assert (policy.name, policy.n_arms, policy.horizon) == (case.policy, case.n_arms, case.horizon)
    assert repr(policy) == expected["repr"]
    assert policy.pulls.tolist() == expected["pulls"]
    again = Policy.load(policy.save(tmp_path / "again.npz"))
    for one in (policy, again):
        assert encode(case.play(one, _FILES["rounds"]), case.n_arms) == expected["asked"]
        assert one.recommend() == expected["recommended"]


def test_only_named_policies_have_changed() -> None:
    assert all_changed("policies")
    for name in all_changed("policies"):
        case = Case(*_FILES["files"][name]["case"])
        assert concerned(case.policy, case.params)
