"""What a shell offers where a word of a command is begun: names of policies and problems, files of the right kind.

Everything is looked up when it is asked for, so that commands themselves start as quickly as without.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from importlib import import_module

Complete = Callable[[str], list[str]]


def one_of(*words: str) -> Complete:
    """One of some words.

    >>> one_of("local", "ray")("r")
    ['ray']
    """
    return lambda incomplete: [word for word in words if word.startswith(incomplete)]


def _named(package: str, function: str) -> Complete:
    """A name that a package knows."""

    def complete(incomplete: str) -> list[str]:
        names = getattr(import_module(f"risingbandits.{package}"), function)()
        return [name for name in names if name.startswith(incomplete)]

    return complete


policy = _named("policies", "policy_names")
objective = _named("policies", "objective_names")
problem = _named("problems", "problem_names")


def policies(incomplete: str) -> list[str]:
    """Names of policies with commas between them: the last one is completed, and none is offered twice.

    >>> policies("round-robin,red-u"), policies("red-ucb(eps=0.1), red")
    (['round-robin,red-ucb'], ['red-ucb(eps=0.1), red-ucb'])
    """
    before, comma, last = incomplete.rpartition(",")
    if before.count("(") > before.count(")"):  # the comma is between settings
        return []
    blank = last[: len(last) - len(last.lstrip())]
    named = [part.strip() for part in before.split(",")]
    return [f"{before}{comma}{blank}{name}" for name in policy(last.strip()) if name not in named]


def file(*endings: str) -> Complete:
    """A file with one of these endings, or a folder on the way to one, as far as it is written."""

    def complete(incomplete: str) -> list[str]:
        folder, _ = os.path.split(incomplete)
        try:
            found = sorted(os.scandir(folder or "."), key=lambda entry: entry.name)
            paths = [os.path.join(folder, each.name) + (os.sep if each.is_dir() else "") for each in found]
        except OSError:
            return []
        return [path for path in paths if path.startswith(incomplete) and _offered(path, folder, endings)]

    return complete


def either(*ways: Complete) -> Complete:
    """What any of these offers."""
    return lambda incomplete: [word for way in ways for word in way(incomplete)]


def _offered(path: str, folder: str, endings: Iterable[str]) -> bool:
    name = path.removeprefix(folder).lstrip(os.sep)
    return not name.startswith(".") and name.endswith((os.sep, *endings))
