"""Names in braces in the commands of a plan: ``{n}`` becomes the number of the pull, ``{state}`` a folder, and so on.

Programs in command lines are full of braces (awk, f-strings, JSON), so only the known names are replaced. A known name
in doubled braces stands for itself in single ones; a near miss such as ``{chekpoint}`` is a mistake.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping

from risingbandits._core.errors import RisingBanditsError

# name -> (environment variable, meaning)
PLACEHOLDERS = {
    "arm": ("RISINGBANDITS_ARM", "name of the arm"),
    "n": ("RISINGBANDITS_PULL", "number of the pull of this arm: 1, 2, ..."),
    "attempt": ("RISINGBANDITS_ATTEMPT", "1, or more when this pull is repeated"),
    "state": ("RISINGBANDITS_STATE", "folder of the arm, kept between its pulls"),
    "checkpoint": ("RISINGBANDITS_CHECKPOINT", "file or folder to write what the arm has learnt by this pull"),
    "previous": ("RISINGBANDITS_PREVIOUS", "the checkpoint of the last pull; not there before the first"),
    "plan": ("RISINGBANDITS_PLAN", "folder of the plan"),
    "python": ("RISINGBANDITS_PYTHON", "the Python that runs risingbandits"),
}
_BRACED = re.compile(r"\{\{([a-z]+)\}\}|\{([a-z]+)\}")
_NEAR = 0.85


def expand(text: str, values: Mapping[str, str]) -> str:
    """``text`` with known names in braces replaced.

    >>> expand("{n} of {arm}: {print} {{n}}", {"n": "3", "arm": "small"})
    '3 of small: {print} {n}'
    """

    def replaced(match: re.Match[str]) -> str:
        escaped, name = match.groups()
        if escaped is not None:
            return f"{{{escaped}}}" if escaped in PLACEHOLDERS or _near(escaped) else match.group()
        return values.get(name, match.group())

    return _BRACED.sub(replaced, text)


def check_placeholders(where: str, text: str) -> None:
    """Complain about a name in braces that is nearly a known one."""
    for escaped, name in _BRACED.findall(text):
        near = "" if escaped or name in PLACEHOLDERS else _near(name)
        if near:
            raise RisingBanditsError(
                f"{where} has {{{name}}}, did you mean {{{near}}}? To pass it on as it is, write {{{{{name}}}}}."
            )


def first_placeholder(text: str) -> str | None:
    """The first known name in braces, if there is one.

    >>> first_placeholder("echo {x} {n}"), first_placeholder("echo $RISINGBANDITS_PULL")
    ('n', None)
    """
    return next((name for _, name in _BRACED.findall(text) if name in PLACEHOLDERS), None)


def variables(values: Mapping[str, str]) -> dict[str, str]:
    """The same values as environment variables.

    >>> variables({"n": "3"})
    {'RISINGBANDITS_PULL': '3'}
    """
    return {PLACEHOLDERS[name][0]: value for name, value in values.items()}


def _near(name: str) -> str:
    close = difflib.get_close_matches(name, PLACEHOLDERS, n=1, cutoff=_NEAR) if len(name) > 2 else []
    return close[0] if close else ""
