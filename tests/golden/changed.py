"""Policies that decide otherwise than version 0.1.0 on purpose, by name, and what they decide since.

The files that 0.1.0 wrote still open, and its stores are what they say; only what comes next is another thing. What the
named policies decide since is in ``changed.json``, which `make_changed.py` wrote.
"""

from __future__ import annotations

import re
from typing import Any

from frozen import load

_LINES = "lines that hold under the paper's assumptions alone, exact commit values, second chances up to the next line"
CHANGED = {
    "commit-ucb": _LINES,
    "open-arms": f"CommitUCB where pulls abound: {_LINES}",
    "commit-ensemble": f"{_LINES}; noise pooled over arms, one straight rival protected, second chances by line",
}
_SINCE: dict[str, dict[str, Any]] = load("changed.json")


def concerned(policy: str, params: dict[str, Any]) -> bool:
    """Whether the policy, or the one that it plays with, is named above."""
    inner = params.get("policy", "commit-ucb") if policy == "few-arms" else policy
    return inner in CHANGED


def since(part: str, key: str, expected: dict[str, Any]) -> dict[str, Any]:
    """What is ``expected``, with what has changed since 0.1.0."""
    return {**expected, **_SINCE[part].get(key, {})}


def has_changed(part: str, key: str) -> bool:
    """Whether that is anything."""
    return key in _SINCE[part]


def all_changed(part: str) -> set[str]:
    """The keys of all that has changed."""
    return set(_SINCE[part])


def without_new_settings(text: str) -> str:
    """Exported settings without those that 0.1.0 did not know."""
    return re.sub(r',\s*"(confidence": null|protect": "best")', "", text)


def in_words_of_today(options: list[str]) -> list[str]:
    """The options of ``replay`` in 0.1.0, with what they stood for then."""
    today = [{"--ended": "--after-end", "pay": "hold"}.get(word, word) for word in options]
    compared = "open-arms,commit-ucb,gaussian-ucb,successive-halving,hyperband,round-robin"
    then = {"--policies": compared, "--objective": "cumulative", "--orders": "1"}
    return [*today, *(word for option, value in then.items() if option not in today for word in (option, value))]
