"""Policies from strings, as on the command line and in plans: names with settings, separated by commas.

Values are read as Python literals and never run.
"""

from __future__ import annotations

import ast
import inspect
import re
from typing import Any

from risingbandits._core.errors import RisingBanditsError, shown
from risingbandits.policies.base import Policy
from risingbandits.policies.registry import make_policy, policy_class

_LONGEST = 300  # characters of what was written that a complaint repeats
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_BARE_WORD = re.compile(r"\b(\w{1,30})\s*=\s*([A-Za-z][\w-]{0,30})\s*(?=[,)])")  # longer ones would hide the sentence
_NO_STRINGS = {"true", "false", "none", "null", "nan", "inf"}  # bare words that quotes would not mend


def parse_policies(text: str, objective: str | None = None) -> dict[str, Policy]:
    """Policies from names with optional settings, separated by commas; their labels are what was written.

    Those with an objective among their parameters play for the given one if they are written without.

    >>> parse_policies("red-ucb(eps=0.1, ties='random'), round-robin")
    {"red-ucb(eps=0.1, ties='random')": REdUCB(eps=0.1, ties='random'), 'round-robin': RoundRobin()}
    >>> parse_policies("auto", objective="cumulative")
    {'auto': Auto(objective='cumulative')}
    """
    parts = split_policies(text)
    for part in parts:
        if parts.count(part) > 1:
            raise RisingBanditsError(f"policies must differ from each other, got {shown(part, _LONGEST)} twice.")
    return {part: _policy(part, objective) for part in parts}


def parse_policy(text: str, objective: str | None = None) -> Policy:
    """One policy from its name with optional settings.

    >>> parse_policy("commit-ucb(sigma=0.1)")
    CommitUCB(sigma=0.1)
    """
    policies = list(parse_policies(text, objective).values())
    if len(policies) != 1:
        raise RisingBanditsError(f"policy must be one policy, got {shown(text, _LONGEST)}.")
    return policies[0]


def split_policies(text: str) -> list[str]:
    """The parts between commas that lie outside parentheses and quotes."""
    parts, depth, quote = [""], 0, ""
    for character in text:
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        else:
            depth += (character in "([{") - (character in ")]}")
        if character == "," and depth == 0 and not quote:
            parts.append("")
        else:
            parts[-1] += character
    stripped = [part.strip() for part in parts]
    if not all(stripped):
        raise RisingBanditsError(f"policies must be names separated by commas, got {shown(text, _LONGEST)}.")
    return stripped


def _policy(text: str, objective: str | None) -> Policy:
    name, parenthesis, settings = text.partition("(")
    kind = policy_class(name.strip())
    values = _settings(text, settings) if parenthesis else {}
    if objective is not None and "objective" in inspect.signature(kind).parameters:
        values = {"objective": objective, **values}
    try:
        return make_policy(kind, values)
    except RisingBanditsError as error:
        raise RisingBanditsError(f"policies: {error}") from None


def _settings(text: str, settings: str) -> dict[str, Any]:
    """``eps=0.1, sigma=0.2)`` as a dict, read by Python's own parser."""
    try:
        call = ast.parse(f"f({settings}", mode="eval").body
        if not isinstance(call, ast.Call) or call.args or not isinstance(call.func, ast.Name):
            raise ValueError(settings)
        if any(keyword.arg is None for keyword in call.keywords):  # **something
            raise ValueError(settings)
        return {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):  # a key may be a list, such as {[]: 1}
        bare = (found.groups() for found in _BARE_WORD.finditer(_QUOTED.sub("''", settings)))
        name, word = next((pair for pair in bare if pair[1].lower() not in _NO_STRINGS), ("", ""))
        allowed = "parameters must be like red-ucb(eps=0.1, sigma=None), with plain values"
        if word:  # as shells and configuration files take them; Python's parser knows some as words of its own
            allowed = f"strings need quotes, {name}='{word}' instead of {name}={word}"
        raise RisingBanditsError(f"policies: {allowed}, got {shown(text, _LONGEST)}.") from None
