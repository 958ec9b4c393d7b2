"""What packages add to this one, its own lab among them, loaded when first used.

Policies, problems, commands, and backends of `simulate`: a package names a `Plugin` as an entry point of the group
``risingbandits.plugins``.
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import entry_points
from typing import Any, NamedTuple

log = logging.getLogger("risingbandits")

GROUP = "risingbandits.plugins"


class ListedPolicy(NamedTuple):
    """Where a policy is, and what it is for."""

    module: str
    class_name: str
    objective: str


class ListedProblem(NamedTuple):
    """Where a named problem is made, and one line on it."""

    where: str  #: "module:name" of a function of the problem's name
    description: str


class Plugin(NamedTuple):
    """Names, and where to find what they stand for."""

    policies: Mapping[str, ListedPolicy] = {}
    problems: Mapping[str, ListedProblem] = {}
    commands: Mapping[str, str] = {}  #: groups of the command line: "module:name" of a Typer
    backends: Mapping[str, str] = {}  #: of `simulate`: "module:name" of a context manager, by (jobs)


@cache
def plugins() -> tuple[Plugin, ...]:
    """The plugins of all installed packages; one that cannot be loaded is named in a warning and left out."""
    found = []
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        try:
            found.append(entry.load())
        except Exception as error:  # of somebody else's package
            log.warning("the plugin %s cannot be loaded: %s: %s", entry.value, type(error).__name__, error)
    return tuple(found)


def load(where: str) -> Any:
    """The object at "module:name"."""
    module, _, name = where.partition(":")
    return getattr(importlib.import_module(module), name)


def load_on_use(package: str, where: Mapping[str, str]) -> Callable[[str], Any]:
    """A ``__getattr__`` for a package whose names, in the modules ``where`` says, are loaded when first used."""

    def found(name: str) -> Any:
        if name not in where:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(where[name]), name)

    return found
