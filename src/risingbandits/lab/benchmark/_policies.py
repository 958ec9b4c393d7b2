"""The policies that the benchmark plays: by name with parameters, or from your own file."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from risingbandits._core.errors import RisingBanditsError
from risingbandits.lab.benchmark._few_arms_ucb import FewArmsUCB
from risingbandits.lab.benchmark._problems import Benchmark, Problem
from risingbandits.policies import Objective, Policy, get_policy, policy_class, policy_names, register
from risingbandits.policies._parsing import parse_policies

RECOMMENDED = "recommended"  # the default policy of the objective
ORACLE = "oracle"  # a yardstick: it is given the problem, and has no rank
YARDSTICK = "few-arms-ucb"  # that for small budgets, `FewArmsUCB`

_DEFAULTS = {  # the first three are played in a quick benchmark
    "cumulative": (RECOMMENDED, YARDSTICK, "kl-ucb", "commit-ucb", "successive-halving"),
    "best-arm": (RECOMMENDED, "r-sr", "successive-halving", "asha", "commit-ucb"),
}
_WORD = re.compile(rf"(?:^|,)\s*({RECOMMENDED}|{YARDSTICK}|all)\s*(?=,|$)")
_OWN_FILE = re.compile(r"([\w./~ -]+\.py):([A-Za-z_]\w*)")


@dataclass(frozen=True)
class LabelledPolicy:
    """A policy under a label; None is the recommended one."""

    label: str
    policy: Policy | None

    def plays(self, benchmark: Benchmark) -> bool:
        """Policies for best-arm identification play for cumulative reward on real curves only."""
        if self.policy is None or benchmark.kind != "synthetic" or not Objective.get(benchmark.objective).sums_rewards:
            return True
        return Objective.get(self.policy.objective).sums_rewards

    def on(self, benchmark: Benchmark, problem: Problem) -> Policy:
        """The policy as it plays a problem of the benchmark."""
        policy = Objective.get(benchmark.objective).policy() if self.policy is None else self.policy
        return policy._for_problem(problem.instance(), problem.horizon) if policy.name == ORACLE else policy

    @property
    def text(self) -> str:
        """The policy with its parameters, for readers."""
        return "Objective.get(objective).policy()" if self.policy is None else repr(self.policy)


def parse_labelled(text: str) -> dict[str, Policy | None]:
    """Policies from a string as on the command line, also ``FILE.py:CLASS(...)``, and the benchmark's own names.

    These are ``recommended``, ``few-arms-ucb``, and ``all`` for every registered policy.

    >>> parse_labelled("kl-ucb(ties='random'), recommended")
    {'recommended': None, "kl-ucb(ties='random')": KLUCB(ties='random')}
    """
    words = _WORD.findall(text)
    rest = _WORD.sub("", text).strip().strip(",")
    found: dict[str, Policy | None] = {RECOMMENDED: None} if RECOMMENDED in words else {}
    if YARDSTICK in words:
        found[YARDSTICK] = FewArmsUCB()
    if "all" in words:
        found |= {name: get_policy(name) for name in policy_names()}
    if rest or not words:
        found |= parse_policies(_OWN_FILE.sub(lambda own: _own_class(Path(own[1].strip()).expanduser(), own[2]), rest))
    return found


def given_policies(policies: str | Sequence[str] | Mapping[str, str | Policy | None]) -> dict[str, Policy | None]:
    """Policies by label, from any accepted form.

    >>> given_policies(["kl-ucb", "recommended"]), given_policies({"mine": "kl-ucb(ties='random')", "best": None})
    ({'recommended': None, 'kl-ucb': KLUCB()}, {'mine': KLUCB(ties='random'), 'best': None})
    """
    if isinstance(policies, Mapping):
        return {label: get_policy(one) if isinstance(one, str) else one for label, one in policies.items()}
    return parse_labelled(policies if isinstance(policies, str) else ", ".join(policies))


def default_policies(objective: str, quick: bool = False) -> dict[str, Policy | None]:
    """What is played where no policies are named; few in a quick benchmark, because each must be compiled first."""
    return given_policies(_DEFAULTS[objective][: 3 if quick else None])


@cache
def _own_class(path: Path, name: str) -> str:
    """Load a policy from a file; returns the name under which it is now registered."""
    if not path.is_file():
        raise RisingBanditsError(f"policies: {path} must be a Python file with a class {name}, but does not exist.")
    module_name = f"benchmark_{path.stem}"
    spec = importlib.util.spec_from_file_location(module_name, path.resolve())
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module  # where Numba's cache and dataclasses look for it
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise RisingBanditsError(f"policies: {path} cannot be loaded ({type(error).__name__}: {error}).") from error
    own = getattr(module, name, None)
    if not (isinstance(own, type) and issubclass(own, Policy)):
        raise RisingBanditsError(f"policies: {path} must have a class {name} that is a Policy.")
    register(own)
    return policy_class(own.name).name
