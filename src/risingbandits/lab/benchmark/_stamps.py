"""Hashes of the code that determines how a policy plays, so that results of other code are never used for it."""

from __future__ import annotations

import ast
import hashlib
import sys
from functools import cache
from pathlib import Path

from risingbandits._core.jit import source_stamp
from risingbandits.policies import Policy
from risingbandits.policies.base import Kernels
from risingbandits.problems import _sums
from risingbandits.simulation import _engine as engine

_POLICIES = ("risingbandits.policies.", "risingbandits.lab.related.")


class Stamps:
    """Stamps of policies, each made once: edits while the arena runs do not count."""

    def __init__(self) -> None:
        self._known: dict[tuple[type[Policy], Kernels], str] = {}

    def of(self, policy: Policy, n_arms: int, horizon: int) -> str:
        kind = type(policy), policy.kernels_for(n_arms, horizon)
        if kind not in self._known:
            self._known[kind] = stamp_of(policy, n_arms, horizon)
        return self._known[kind]


def stamp_of(policy: Policy, n_arms: int, horizon: int | None = None) -> str:
    """A hash of the code that determines how the policy plays: compiled kernels and Python files."""
    digest = hashlib.sha256(f"{type(policy).__module__}.{type(policy).__qualname__};".encode())
    for kernel in (*policy.kernels_for(n_arms, horizon), engine.loop, _sums.fill_sums):
        digest.update(f"{source_stamp(kernel)};".encode())
    files = {Path(str(engine.__file__))}
    for kind in type(policy).__mro__:
        if kind not in (object, Policy):
            files |= files_below(kind.__module__)
    for path in sorted(files):
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]


@cache
def files_below(module: str) -> frozenset[Path]:
    """The file of a module and those of the policy modules that it imports, directly or not."""
    found: dict[str, Path] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        origin = getattr(sys.modules.get(name), "__file__", None)
        if name in found or origin is None:
            continue
        found[name] = Path(origin)
        for node in ast.parse(found[name].read_bytes()).body:  # not what functions import when called
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
            else:
                continue
            waiting.extend(other for other in names if other.startswith(_POLICIES) and other in sys.modules)
    return frozenset(found.values())
