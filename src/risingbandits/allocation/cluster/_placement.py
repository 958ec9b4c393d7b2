"""Which node of a cluster has room for one more process, and which process must leave if none has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

P = TypeVar("P")
Resources = Mapping[str, float]
_TINY = 1e-9  # shares of a GPU do not add up exactly


@dataclass
class Placed(Generic[P]):
    """A process on a node (None: anywhere), its needs, and whether it is busy."""

    needs: Resources
    node: str | None
    process: P | None = None  # None while it starts
    busy: bool = True
    used: int = 0  # number of its last use
    light: bool = True  # whether it can be restored from a checkpoint
    stoppable: bool = False  # whether a pull can be ended without ending the process
    killed: bool = False


def room(nodes: Mapping[str, Resources], placed: Iterable[Placed[P]], needs: Resources) -> str | None:
    """The node with the most room for ``needs``; None if there is none.

    >>> room({"a": {"CPU": 2.0}, "b": {"CPU": 3.0}}, [Placed({"CPU": 2.0}, "b")], {"CPU": 1.0})
    'a'
    """
    free = {node: dict(total) for node, total in nodes.items()}
    for process in placed:
        if process.node in free:
            _take(free[process.node], process.needs)
    fitting = [node for node, left in free.items() if _fits(left, needs)]
    return max(fitting, key=lambda node: min((free[node].get(kind, 0.0) for kind in needs), default=0.0), default=None)


def who_must_go(
    nodes: Mapping[str, Resources], placed: Mapping[str, Placed[P]], needs: Resources
) -> tuple[list[str], str] | None:
    """Idle processes that make room for ``needs``, and on which node; None if busy ones leave too little.

    The node whose processes have been idle longest; processes without a checkpoint only if necessary.

    >>> idle = {name: Placed({"CPU": 1.0}, "a", busy=False, used=used) for name, used in [("x", 7), ("y", 5)]}
    >>> who_must_go({"a": {"CPU": 2.0}}, idle, {"CPU": 1.0})
    (['y'], 'a')
    """
    best: tuple[tuple[bool, int], list[str], str] | None = None
    for node, total in nodes.items():
        left = dict(total)
        for process in placed.values():
            if process.node == node:
                _take(left, process.needs)
        idle = [(not own.light, own.used, name) for name, own in placed.items() if own.node == node and not own.busy]
        gone: list[str] = []
        latest = (False, 0)
        for heavy, used, name in sorted(idle):
            if _fits(left, needs):
                break
            gone.append(name)
            latest = max(latest, (heavy, used))
            for kind, amount in placed[name].needs.items():
                left[kind] = left.get(kind, 0.0) + amount
        if _fits(left, needs) and (best is None or latest < best[0]):
            best = latest, gone, node
    return None if best is None else (best[1], best[2])


def _take(left: dict[str, float], needs: Resources) -> None:
    for kind, amount in needs.items():
        left[kind] = left.get(kind, 0.0) - amount


def _fits(left: Resources, needs: Resources) -> bool:
    return all(left.get(kind, 0.0) >= amount - _TINY for kind, amount in needs.items())
