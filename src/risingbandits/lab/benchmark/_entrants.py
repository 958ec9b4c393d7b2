"""The entrants of the arena: policies by name with parameters or from your own file.

A policy knows the numbers of arms and rounds and its parameters.
"""

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
from risingbandits.lab.benchmark._rows import Problem, Row
from risingbandits.policies import Objective, Policy, get_policy, policy_class, policy_names, register
from risingbandits.policies._parsing import parse_policies

RECOMMENDED = "recommended"
"""The entrant that is the default policy of the objective."""

ORACLE = "oracle"  # a yardstick: it is given the problem, and has no rank

YARDSTICK = "few-arms-ucb"
"""The yardstick for small budgets, `FewArmsUCB`."""

DEFAULTS = {
    "cumulative": f"{RECOMMENDED}, {YARDSTICK}, commit-ucb, kl-ucb, successive-halving",
    "best-arm": f"{RECOMMENDED}, r-sr, successive-halving, asha, commit-ucb",
}
_QUICK_DEFAULTS = {  # few, because each must be compiled where it has never been played
    "cumulative": f"{RECOMMENDED}, {YARDSTICK}, kl-ucb",
    "best-arm": f"{RECOMMENDED}, r-sr, successive-halving",
}
_WORD = re.compile(rf"(?:^|,)\s*({RECOMMENDED}|{YARDSTICK}|all)\s*(?=,|$)")
_OWN_FILE = re.compile(r"([\w./~ -]+\.py):([A-Za-z_]\w*)")


@dataclass(frozen=True)
class Entrant:
    """A policy under a label; None is the recommended one."""

    label: str
    policy: Policy | None

    def plays(self, row: Row) -> bool:
        """Policies for best-arm identification play for the sum of the rewards only on real curves."""
        if self.policy is None or row.kind in ("real", "made") or not Objective.get(row.objective).sums_rewards:
            return True
        return Objective.get(self.policy.objective).sums_rewards

    def policy_for(self, row: Row, problem: Problem) -> Policy:
        """The policy as it plays a problem of the row."""
        policy = self.policy
        if policy is None:
            policy = Objective.get(row.objective).policy()
        return policy.for_problem(problem.instance(), problem.horizon) if policy.name == ORACLE else policy

    @property
    def settings(self) -> str:
        """The policy with its settings, for readers."""
        return "Objective.get(objective).policy()" if self.policy is None else repr(self.policy)


def parse_entrants(text: str) -> dict[str, Policy | None]:
    """Policies from a string as on the command line, also ``FILE.py:CLASS(...)``, and the arena's own names.

    These are ``recommended``, ``few-arms-ucb``, and ``all`` for every registered policy.

    >>> parse_entrants("kl-ucb(ties='random'), recommended")
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


def given_entrants(policies: str | Sequence[str] | Mapping[str, str | Policy | None]) -> dict[str, Policy | None]:
    """Policies by label, from any accepted form.

    >>> given_entrants(["kl-ucb", "recommended"]), given_entrants({"mine": "kl-ucb(ties='random')", "best": None})
    ({'recommended': None, 'kl-ucb': KLUCB()}, {'mine': KLUCB(ties='random'), 'best': None})
    """
    if isinstance(policies, Mapping):
        return {label: get_policy(one) if isinstance(one, str) else one for label, one in policies.items()}
    return parse_entrants(policies if isinstance(policies, str) else ", ".join(policies))


def default_entrants(objective: str, kind: str, quick: bool = False) -> dict[str, Policy | None]:
    """The default entrants for rows of a kind."""
    text = (_QUICK_DEFAULTS if quick else DEFAULTS)[objective]
    return parse_entrants(text)


@cache
def _own_class(path: Path, name: str) -> str:
    """Load a policy from a file; returns the name under which it is now registered."""
    if not path.is_file():
        raise RisingBanditsError(f"policies: {path} must be a Python file with a class {name}, but does not exist.")
    module_name = f"arena_{path.stem}"
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
