"""Names of workers, which are in events, as people read them."""

from __future__ import annotations

from collections.abc import Iterable


def several_hosts(workers: Iterable[str]) -> bool:
    """Whether the processes with these names are on different hosts."""
    return len({worker.partition(":")[0] for worker in workers}) > 1


def in_short(worker: str, with_host: bool) -> str:
    """The name of a process for people, with its host only if there are several.

    >>> in_short("vm:29919:289425:4026531836:1f0c", False), in_short("vm:29919:289425:4026531836:1f0c", True)
    ('process 29919', 'vm, process 29919')
    """
    host, _, rest = worker.partition(":")
    number = rest.partition(":")[0]
    return f"{host}, process {number}" if with_host else f"process {number}" if number else host
