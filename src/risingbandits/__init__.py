"""Decide which of several partly trained models trains next, within a fixed compute budget.

Arms improve the more they are used. Policies decide which one is used next; `simulate` measures how well they do:

>>> import risingbandits as rb
>>> result = rb.simulate(["red-ucb", "oracle"], "paper-2arms", horizon=2_000, runs=4, seed=1)
>>> result.policies
['red-ucb', 'oracle']
>>> result.final_regret["oracle"].round(6).tolist()
[0.0, 0.0, 0.0, 0.0]

and an `Allocator` decides for real, one pull at a time:

>>> allocator = rb.Allocator(["small", "large"], budget=10)
>>> for pull in allocator:
...     _ = allocator.tell(pull, reward={"small": 0.3, "large": pull.n / (pull.n + 2)}[pull.arm])
>>> allocator.recommend()
'large'

Everything else is in sub-packages, loaded when first used: ``rb.policies``, ``rb.problems`` (curves, noise),
``rb.allocation``, ``rb.logs``, ``rb.integrations``, ``rb.testing``, ``rb.lab``. The paper's bounds and quantities are
in `risingbandits.theory`.

Stability: stable.
"""

import importlib
from typing import TYPE_CHECKING, Any

from risingbandits._version import __version__

if TYPE_CHECKING:
    from risingbandits import allocation, integrations, lab, logs, policies, problems, testing
    from risingbandits._core.errors import RisingBanditsError
    from risingbandits.allocation import Allocator, Budget, Execution, NoArmAvailable, Pull
    from risingbandits.allocation.recordings import load_curves
    from risingbandits.logs.replay import replay
    from risingbandits.policies import Objective, Policy, get_policy, policy_names
    from risingbandits.problems import RisingBandit, get_problem, problem_names
    from risingbandits.simulation import Result, simulate

__all__ = [
    "Allocator",
    "Budget",
    "Execution",
    "NoArmAvailable",
    "Objective",
    "Policy",
    "Pull",
    "Result",
    "RisingBandit",
    "RisingBanditsError",
    "__version__",
    "allocation",
    "get_policy",
    "get_problem",
    "integrations",
    "lab",
    "load_curves",
    "logs",
    "policies",
    "policy_names",
    "problem_names",
    "problems",
    "replay",
    "simulate",
    "testing",
]

_PACKAGES = ("allocation", "integrations", "lab", "logs", "policies", "problems", "testing")
_MODULES = {
    "_core.errors": ("RisingBanditsError",),
    "allocation": ("Allocator", "Budget", "Execution", "NoArmAvailable", "Pull"),
    "allocation.recordings": ("load_curves",),
    "policies": ("Objective", "Policy", "get_policy", "policy_names"),
    "problems": ("RisingBandit", "get_problem", "problem_names"),
    "simulation": ("Result", "simulate"),
    "logs.replay": ("replay",),
}
_WHERE = {name: module for module, names in _MODULES.items() for name in names}


if not TYPE_CHECKING:  # or every name would be known to a type checker

    def __getattr__(name: str) -> Any:
        """Packages and names, loaded when first used."""
        if name in _PACKAGES:
            return importlib.import_module(f"{__name__}.{name}")
        if name not in _WHERE:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}{_hint(name)}")
        value = getattr(importlib.import_module(f"{__name__}.{_WHERE[name]}"), name)
        globals()[name] = value  # found at once the next time
        return value


def __dir__() -> list[str]:
    return list(__all__)


def _hint(name: str) -> str:
    """Where a name is that was looked up at the top level."""
    if name.startswith("_"):
        return ""
    for package in ("policies", "problems"):
        if name in getattr(importlib.import_module(f"{__name__}.{package}"), "__all__", ()):
            return f"; it is risingbandits.{package}.{name}"
    return ""
