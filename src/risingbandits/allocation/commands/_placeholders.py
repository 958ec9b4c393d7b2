"""Names in braces in the commands of a plan: ``{n}`` becomes the number of the pull, ``{state}`` a folder, and so on.

Programs in command lines are full of braces (awk, f-strings, JSON), so only the known names are replaced. A known name
in doubled braces stands for itself in single ones; a near miss such as ``{chekpoint}`` is a mistake. Lists of a matrix
add names of their own, and in such a plan any other name is a mistake: it would be a list that was forgotten.

A command that does not mention its slot ``cuda:1`` sees only this GPU.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Mapping

from risingbandits._core.errors import RisingBanditsError, shown

# name -> (environment variable, meaning)
PLACEHOLDERS = {
    "arm": ("RISINGBANDITS_ARM", "name of the arm"),
    "n": ("RISINGBANDITS_PULL", "number of the pull of this arm: 1, 2, ..."),
    "attempt": ("RISINGBANDITS_ATTEMPT", "1, or more when this pull is repeated"),
    "state": ("RISINGBANDITS_STATE", "folder of the arm, kept between its pulls"),
    "checkpoint": ("RISINGBANDITS_CHECKPOINT", "file or folder to write what the arm has learnt by this pull"),
    "previous": ("RISINGBANDITS_PREVIOUS", "the checkpoint of the last pull; not there before the first"),
    "slot": ("RISINGBANDITS_SLOT", "slot of the pull, such as cuda:0"),
    "plan": ("RISINGBANDITS_PLAN", "folder of the plan"),
    "python": ("RISINGBANDITS_PYTHON", "the Python that runs risingbandits"),
}
_NAME = "[A-Za-z][A-Za-z0-9_-]*"
_BRACED = re.compile(rf"\{{\{{({_NAME})\}}\}}|\{{({_NAME})\}}")
_OURS = re.compile("[a-z]+")
_NEAR = 0.85
_NEAR_LIST = 0.75  # of a matrix, whose names are the plan's own: what looks like one is meant to be one
VISIBLE = "CUDA_VISIBLE_DEVICES"
_SLOT = re.compile(r"cuda:(\d+)")


def expand(text: str, values: Mapping[str, str], strict: bool = False) -> str:
    """``text`` with known names in braces replaced; where it is ``strict``, all doubled braces become single ones.

    >>> expand("{n} of {arm}: {print} {{n}}", {"n": "3", "arm": "small"})
    '3 of small: {print} {n}'
    >>> expand("{{print}}", {}), expand("{{print}}", {}, strict=True)
    ('{{print}}', '{print}')
    """

    def replaced(match: re.Match[str]) -> str:
        escaped, name = match.groups()
        if escaped is not None:
            known = strict or escaped in PLACEHOLDERS or escaped in values or _near(escaped)
            return f"{{{escaped}}}" if known else match.group()
        return values.get(name, match.group())

    return _BRACED.sub(replaced, text)


def check_placeholders(where: str, text: str, more: Collection[str] = ()) -> None:
    """Refuse a name in braces that is nearly a known one; with ``more``, of a matrix, any unknown one."""
    for escaped, name in _BRACED.findall(text):
        near = "" if escaped or name in PLACEHOLDERS or name in more else _near(name, more)
        if near:
            raise RisingBanditsError(
                f"{where} has {{{name}}}, did you mean {{{near}}}? To keep it as it is, write {{{{{name}}}}}."
            )
        if more and not escaped and name not in PLACEHOLDERS and name not in more:
            raise RisingBanditsError(
                f"{where} has {{{name}}}, which is not in the matrix: {', '.join(more)}. To keep it as it is, write "
                f"{{{{{name}}}}}."
            )


def names_in(text: str) -> list[str]:
    """The names in single braces, known or not.

    >>> names_in("{n} of {arm} {{n}} {print $1}")
    ['n', 'arm']
    """
    return [name for _, name in _BRACED.findall(text) if name]


def first_placeholder(text: str, more: Collection[str] = ()) -> str | None:
    """The first known name in braces, if there is one; ``more`` are known too.

    >>> first_placeholder("echo {x} {n}"), first_placeholder("echo $RISINGBANDITS_PULL")
    ('n', None)
    """
    return next((name for name in names_in(text) if name in PLACEHOLDERS or name in more), None)


def _near(name: str, more: Collection[str] = ()) -> str:
    """The known name that ``name`` is nearly; names of a matrix may also be meant in other letters, as {LR}."""
    meant = [known for known in more if known.casefold() == name.casefold()]
    if len(name) > 2:
        meant += difflib.get_close_matches(name, more, n=1, cutoff=_NEAR_LIST)
        if _OURS.fullmatch(name):
            meant += difflib.get_close_matches(name, PLACEHOLDERS, n=1, cutoff=_NEAR)
    return meant[0] if meant else ""


def visible_devices(slot: str, environment: Mapping[str, str]) -> dict[str, str]:
    """The variable that hides all GPUs but the one of ``slot``; nothing for other slots.

    If the variable is already set, ``cuda:1`` is the second of those that it leaves, as for every program.

    >>> visible_devices("cuda:1", {}), visible_devices("cuda:1", {VISIBLE: "4,7"}), visible_devices("left", {})
    ({'CUDA_VISIBLE_DEVICES': '1'}, {'CUDA_VISIBLE_DEVICES': '7'}, {})
    """
    match = _SLOT.fullmatch(slot)
    if match is None:
        return {}
    number = int(match.group(1))
    if VISIBLE not in environment:
        return {VISIBLE: str(number)}
    there = [name.strip() for name in environment[VISIBLE].split(",") if name.strip()]
    if number >= len(there):
        left = shown(environment[VISIBLE])
        raise RisingBanditsError(f"slots must be GPUs that {VISIBLE}={left} leaves visible, got {slot}.")
    return {VISIBLE: there[number]}


def names_its_slot(texts: Iterable[str]) -> bool:
    """Whether a command or its environment uses its slot: then it finds that among all GPUs."""
    variable = PLACEHOLDERS["slot"][0]
    return any("slot" in names_in(text) or variable in text for text in texts)
