"""The command that was given, for readers of a report who want the same files again."""

from __future__ import annotations

import shlex
from typing import Any

import typer

_WITHOUT_EFFECT = ("jobs", "backend", "address", "as_json")  # on what is written


def given_command(context: typer.Context, *without: str, **settled: Any) -> str:
    """The command line of ``context`` with the values of its options, those of defaults too.

    Left out are the options ``without`` and those that only say where runs are played. ``settled`` values stand for
    those in the context, such as a horizon that followed from something else.
    """
    words = context.command_path.split()
    for parameter in context.command.params:
        name = parameter.name or ""
        value = settled.get(name, context.params.get(name))
        if name in (*_WITHOUT_EFFECT, *without) or value is None:
            continue
        if parameter.param_type_name == "argument":
            words.append(str(value))
        elif isinstance(value, bool):
            if value != parameter.default:
                words.append((parameter.opts if value else parameter.secondary_opts)[0])
        else:  # an option that may be given several times has several values
            for one in value if isinstance(value, list | tuple) else [value]:
                words += [parameter.opts[0], str(one)]
    return shlex.join(words)
