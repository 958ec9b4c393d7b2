"""Policies by name: everything that takes a name looks it up here, and the class is loaded when first used."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import Field, dataclass
from inspect import signature
from typing import Any, TypeVar, dataclass_transform

from risingbandits._core.errors import RisingBanditsError, check_choice
from risingbandits._core.plugins import ListedPolicy, plugins
from risingbandits.policies._table import POLICIES
from risingbandits.policies.base import Policy
from risingbandits.policies.objectives import Objective

P = TypeVar("P", bound=type[Policy])

_CLASSES: dict[str, type[Policy]] = {}  # those that are loaded


@dataclass_transform(eq_default=False)
def register(policy: P) -> P:
    """Class decorator: make a policy known by its ``name`` to `simulate`, `Allocator` and `load` in this program.

    Commands know the policies of the package; the benchmark takes others as ``FILE.py:CLASS``. If the settings are
    fields (see `settings`), the policy gets a constructor that stores them.
    """
    known = _CLASSES.get(policy.name)
    if known is not None and known.__qualname__ != policy.__qualname__:
        raise RisingBanditsError(f"policy name {policy.name!r} is taken by {known.__qualname__}.")
    if any(isinstance(value, Field) for value in vars(policy).values()):
        dataclass(eq=False, repr=False)(policy)
    _CLASSES[policy.name] = policy
    return policy


def policy_names(objective: str | Objective | None = None) -> list[str]:
    """The names of all registered policies, or of those that are made for an objective, sorted.

    Examples
    --------
    >>> "r-sr" in policy_names("best-arm"), "r-sr" in policy_names("cumulative")
    (True, False)
    """
    wanted = None if objective is None else Objective.get(objective).name
    known = {name: listed.objective for name, listed in _listed().items()}
    known |= {name: policy.objective for name, policy in _CLASSES.items()}
    return sorted(name for name, own in known.items() if wanted in (None, own))


def get_policy(name: str, **params: Any) -> Policy:
    """A new policy by its registered name or the name of its class, also with settings as on the command line.

    Examples
    --------
    >>> get_policy("red-ucb", eps=0.1)
    REdUCB(eps=0.1)
    >>> get_policy("REdUCB")
    REdUCB()
    >>> get_policy("red-ucb(eps=0.1)", ties="random")
    REdUCB(eps=0.1, ties='random')
    """
    if isinstance(name, str) and "(" in name:
        from risingbandits.policies._parsing import parse_policy

        written = parse_policy(name)
        return make_policy(type(written), {**written.get_params(), **params})
    return make_policy(policy_class(name), params)


def make_policy(kind: type[Policy], settings: Mapping[str, Any]) -> Policy:
    """A policy with these settings, which it must have."""
    known = list(signature(kind).parameters)
    for name in settings:
        if name not in known:
            allowed = f"it has {', '.join(known)}" if known else "it has none"
            raise RisingBanditsError(f"{kind.name} has no parameter {name!r}; {allowed}.")
    return kind(**settings)


def _listed() -> dict[str, ListedPolicy]:
    """All policies that can be loaded; those of the package go before those of plugins."""
    return {
        name: own for table in (*(plugin.policies for plugin in plugins()), POLICIES) for name, own in table.items()
    }


def policy_class(name: str) -> type[Policy]:
    """The class registered under ``name``, which may also be the name of the class itself."""
    listed = POLICIES if name in POLICIES else _listed()
    if name not in _CLASSES and name not in listed:
        classes = {own.class_name: known for known, own in listed.items()}
        classes |= {policy.__name__: own for own, policy in _CLASSES.items()}
        name = classes.get(name, name)
    if name not in _CLASSES:
        if name not in listed:
            check_choice("policy", name, policy_names(), "risingbandits list policies --all")
        own = listed[name]
        _CLASSES[name] = getattr(importlib.import_module(own.module), own.class_name)
    return _CLASSES[name]
