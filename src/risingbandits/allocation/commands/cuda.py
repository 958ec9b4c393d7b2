"""A slot ``cuda:1`` for a command that does not mention slots: it sees only this GPU."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from risingbandits._core.errors import RisingBanditsError, shown
from risingbandits.allocation.commands.placeholders import PLACEHOLDERS, names_in

VISIBLE = "CUDA_VISIBLE_DEVICES"
_SLOT = re.compile(r"cuda:(\d+)")


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
