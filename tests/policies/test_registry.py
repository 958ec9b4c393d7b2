"""Policies by name, with settings as arguments or in the text."""

from __future__ import annotations

from typing import Any

import pytest

from risingbandits import RisingBanditsError, get_policy


def test_settings_may_be_in_the_text_as_on_the_command_line() -> None:
    assert repr(get_policy("commit-ucb(sigma=0.1, risk=None)")) == "CommitUCB(risk=None, sigma=0.1)"
    assert repr(get_policy("CommitUCB(sigma=0.1)", sigma=0.2)) == "CommitUCB(sigma=0.2)"


@pytest.mark.parametrize(
    ("text", "settings", "complaint"),
    [
        ("zzz", {}, r"^policy must be one of \d+ names; got 'zzz': `risingbandits policies` lists them\.$"),
        ("kl-ucb", {"sigma": 0.1}, r"^kl-ucb has no setting 'sigma'; it has c, reward_range, ties\.$"),
        ("round-robin", {"sigma": 0.1}, r"^round-robin has no setting 'sigma'; it has none\.$"),
        ("kl-ucb(sigma=0.1)", {}, "has no setting 'sigma'"),
        ("kl-ucb(c=1)", {"sigma": 0.1}, "has no setting 'sigma'"),
        ("kl-ucb(c=1),ucb1", {}, r"^policy must be one policy, got 'kl-ucb\(c=1\),ucb1'\.$"),
        ("kl-ucb(c=", {}, "settings must be like"),
        ("no-such(c=1)", {}, "policy must be"),
        ("no-such", {}, "policy must be"),
    ],
)
def test_what_a_policy_does_not_have_is_refused_in_one_sentence(
    text: str, settings: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(RisingBanditsError, match=complaint):
        get_policy(text, **settings)
