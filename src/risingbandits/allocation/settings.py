"""The settings of an allocation, each declared once: its default and what is allowed.

The arguments of `Allocator`, the keys of a plan, the JSON of a store and the sentence about differences follow from it.
"""

# ruff: noqa: RUF009 - the calls in the dataclass make fields

from __future__ import annotations

import json
import math
import numbers
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, dataclass, field, fields
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from risingbandits._core.errors import (
    RisingBanditsError,
    check_choice,
    check_finite,
    check_flag,
    check_positive_int,
    check_range,
    hide_password,
    shown,
)
from risingbandits._version import __version__
from risingbandits.allocation.budget import Budget, as_budget
from risingbandits.allocation.events import WrittenByNewer
from risingbandits.allocation.pull import OutOfRange
from risingbandits.allocation.starting.prior import Prior
from risingbandits.policies import Policy, get_policy, policy_class
from risingbandits.policies._settings import or_none
from risingbandits.policies.base import DIRECTIONS
from risingbandits.policies.objectives import DEFAULT, Objective

BY_ARM = ("max_pulls", "warm_start", "configs")  # may differ from arm to arm
_LONGEST_NAME = 200
_UNIT = (0.0, 1.0)  # the range of rewards where one is needed and none is given

Check = Callable[[str, Any], Any]  # (what complaints call it, the value as given) -> the value as it is kept


class Setting(NamedTuple):
    """The declaration of a setting; `Allocator` documents what it means."""

    default: Any  #: `dataclasses.MISSING` where it must be given
    check: Check
    in_plan: bool = True  #: whether a plan may say it
    may_change: bool = False  #: from one run on a store to the next
    extends: bool = False  #: whether it may be changed while a run goes on, by an event of the store
    stored: bool = True  #: whether a store keeps it


def setting(default: Any, check: Check, **more: Any) -> Any:
    """A field of `Settings`."""
    return field(default=default, metadata={"setting": Setting(default, check, **more)})


def one_of(*allowed: str, **more: Any) -> Any:
    """A field with one of the ``allowed`` values, by default the first."""
    return setting(allowed[0], partial(check_choice, allowed=allowed), **more)


# -- what is allowed ------------------------------------------------------------------------------------------------


def check_arm_name(name: Any, where: str = "an arm's name") -> str:
    """``name``, if it can name an arm: a printable string of one line."""
    if not isinstance(name, str) or not name.strip() or len(name) > _LONGEST_NAME or not name.isprintable():
        listed = where == "an arm's name" and not isinstance(name, str)
        objects = ': objects go into a mapping, {"name": arm}' if listed else ""
        raise RisingBanditsError(
            f"{where} must be a printable string of 1 to {_LONGEST_NAME} characters, got {shown(name)}{objects}."
        )
    return name


def _arm_names(where: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Mapping | Sequence):
        raise RisingBanditsError(f"{where} must be names, or a mapping of names to arms, got {shown(value)}.")
    names = tuple(check_arm_name(name) for name in value)
    if not names:
        raise RisingBanditsError(f"{where} must name at least one arm, got none.")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise RisingBanditsError(f"{where} must have different names, got {shown(twice)} twice.")
    return names


def _policy(where: str, value: Any) -> Policy | str | None:
    """A policy as it is; a name as it is, for the default parameters; a name with parameters as its policy."""
    if value is None or isinstance(value, Policy):
        return value
    if not isinstance(value, str):
        raise RisingBanditsError(f"{where} must be a policy or its name, got {shown(value)}.")
    try:
        if "(" not in value and "," not in value:
            policy_class(value)
            return value
        from risingbandits.policies._parsing import parse_policies

        policies = list(parse_policies(value).values())
        for policy in policies:
            policy._validate()
    except RisingBanditsError as error:
        raise RisingBanditsError(f"{where} is {shown(value)}: {error}") from error
    except (TypeError, ValueError, OverflowError) as error:  # a setting of a type that the policy does not expect
        raise RisingBanditsError(
            f"{where} is {shown(value)}, with a parameter that cannot be used ({error})."
        ) from error
    if len(policies) != 1:
        raise RisingBanditsError(f"{where} must be one policy, got {shown(value)}.")
    return policies[0]


def choose_policy(
    policy: str | Policy | None, objective: str | Objective, reward_range: tuple[float, float] | None
) -> Policy:
    """The policy that plays for an objective, checked against what rewards it will see.

    These are mapped from ``reward_range`` onto [0, 1]; without a range they are as they were told.
    """
    objective = Objective.get(objective)
    if policy is None:
        chosen = objective.policy()
    else:
        chosen = get_policy(policy) if isinstance(policy, str) else policy.replace()
    if "objective" in chosen.get_params():
        chosen = chosen.replace(objective=objective.name)
    if reward_range is None and objective.sums_rewards and "bounded" in chosen.get_params():
        chosen = chosen.replace(bounded=False)  # the default, which then depends on no scale
    if reward_range is None:
        has_ceiling = isinstance(policy, str) and "cap" in chosen.get_params()
        if chosen.reward_range is not None or has_ceiling:
            what = ", which needs a ceiling" if has_ceiling and chosen.reward_range is None else ""
            raise RisingBanditsError(f"reward_range must be given with policy {chosen.name!r}{what}, got None.")
    elif chosen.reward_range is not None and tuple(chosen.reward_range) != _UNIT:
        raise RisingBanditsError(
            f"policy must take rewards in (0, 1), onto which reward_range is mapped, got {chosen!r}."
        )
    chosen._validate()
    return chosen


def _max_pulls(where: str, value: Any) -> int | dict[str, int]:
    if isinstance(value, Mapping):
        return {arm: check_positive_int(f"{where} of {arm}", limit) for arm, limit in value.items()}
    return check_positive_int(where, value)


def _warm_start(where: str, value: Any) -> dict[str, list[float]]:
    if not isinstance(value, Mapping | None):
        raise RisingBanditsError(f"{where} must map names of arms to rewards, got {shown(value)}.")
    for arm, rewards in (value or {}).items():
        if isinstance(rewards, str) or not isinstance(rewards, Iterable):
            raise RisingBanditsError(f"{where} of {arm} must be rewards, got {shown(rewards)}.")
    return {arm: [check_finite(f"{where} of {arm}", x) for x in rewards] for arm, rewards in (value or {}).items()}


def check_config(where: str, value: Any) -> dict[str, float | str]:
    """The config of one arm: numbers and strings by name; tuples, such as the layers of a network, are strings."""
    if not isinstance(value, Mapping):
        raise RisingBanditsError(f"{where} must map hyperparameters to numbers or strings, got {shown(value)}.")
    found: dict[str, float | str] = {}
    for name, given in value.items():
        if not isinstance(name, str) or not name.strip() or len(name) > _LONGEST_NAME or not name.isprintable():
            raise RisingBanditsError(f"{where} must have printable strings as names, got {shown(name)}.")
        if given is None or isinstance(given, bool | np.bool_ | str):
            found[name] = str(given)
        elif isinstance(given, tuple) and all(isinstance(x, str | numbers.Real | None) for x in given):
            found[name] = str(tuple(x.item() if isinstance(x, np.generic) else x for x in given))
        elif isinstance(given, numbers.Integral):
            found[name] = int(given)
        else:
            found[name] = _number(f"{where}, {name}", given)
    return found


def _number(where: str, value: Any) -> float:
    if not isinstance(value, numbers.Real) or not math.isfinite(value):
        raise RisingBanditsError(f"{where} must be a finite number or a string, got {shown(value)}.")
    return float(value)


def _configs(where: str, value: Any) -> dict[str, dict[str, float | str]]:
    if not isinstance(value, Mapping | None):
        raise RisingBanditsError(f"{where} must map names of arms to their configs, got {shown(value)}.")
    return {arm: check_config(f"{where} of {arm}", config) for arm, config in (value or {}).items()}


def _prior(where: str, value: Any) -> Prior:
    """As it was read; its sources are checked when it is read."""
    if isinstance(value, Prior):
        return value
    raise RisingBanditsError(f"{where} must be a Prior that was read, got {shown(value)}.")


def _folder(where: str, value: Any) -> str:
    """The absolute path of a folder, so that it survives a change of the working directory."""
    if not isinstance(value, str | os.PathLike) or not str(value).strip() or "://" in str(value) or "\0" in str(value):
        said = hide_password(value) if isinstance(value, str) else value
        raise RisingBanditsError(f"{where} must be the path of a folder, got {shown(said)}.")
    path = os.path.abspath(os.path.expanduser(value))
    if os.path.lexists(path) and not os.path.isdir(path):
        raise RisingBanditsError(f"{where} must be a folder, got the file {shown(path)}.")
    return path


@dataclass(frozen=True)
class Execution:
    """How pulls are carried out: what rarely differs from one allocation to the next.

    Parameters
    ----------
    lease : float
        Seconds until a pull that was not told is given to another worker.
    retries : int
        Failures in a row after which an arm is retired.
    reclaim : bool
        Give back at once the pulls of processes on this host that have ended. False if one process asks and another
        tells.
    durability : {"process", "power"}
        What every acknowledged tell survives: the death of any process, or also a power failure.
    """

    lease: float = 3600.0
    retries: int = 3
    reclaim: bool = True
    durability: str = "process"


EXECUTION = tuple(part.name for part in fields(Execution))


def check_execution(value: Any) -> Execution:
    """``value``, if it is an `Execution`."""
    if isinstance(value, Execution):
        return value
    raise RisingBanditsError(f"execution must be an Execution, got {shown(value)}.")


def as_arguments(values: Mapping[str, Any]) -> dict[str, Any]:
    """Settings by name as arguments of `Allocator`, which has some of them in its ``execution``."""
    execution = Execution(**{name: value for name, value in values.items() if name in EXECUTION})
    return {**{name: value for name, value in values.items() if name not in EXECUTION}, "execution": execution}


def check_arms_exist(where: str, value: Any, arms: Collection[str]) -> None:
    """Raise an error for a setting of an arm that does not exist."""
    for arm in value if isinstance(value, dict) else ():
        if arm not in arms:
            raise RisingBanditsError(f"{where} must name arms that exist, got {shown(arm)}.")


# -- the settings ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Settings:
    """What an allocation was created with, checked. Use `make` to get them; ``policy`` has no run."""

    arms: tuple[str, ...] = setting(MISSING, _arm_names, extends=True)
    budget: Budget = setting(MISSING, as_budget, extends=True)
    policy: Policy = setting(None, _policy, extends=True)
    objective: str = setting(
        None, or_none(lambda where, value: Objective.get(value, where).name)
    )  # None: by the policy
    direction: str = one_of(*DIRECTIONS)
    reward_range: tuple[float, float] | None = setting("auto", or_none(check_range), extends=True)
    max_pulls: int | dict[str, int] | None = setting(None, or_none(_max_pulls), extends=True)
    # A plan has another default than `Allocator`, and either may continue what the other has started.
    lease: float = setting(Execution.lease, partial(check_finite, above=0.0), may_change=True, extends=True)
    retries: int = setting(Execution.retries, check_positive_int, extends=True)
    reclaim: bool = setting(
        Execution.reclaim, check_flag, in_plan=False, extends=True
    )  # a run of a plan asks and tells itself
    durability: str = one_of("process", "power", may_change=True)
    seed: int = setting(0, partial(check_positive_int, minimum=0))
    warm_start: dict[str, list[float]] = setting(None, _warm_start, extends=True)
    prior: Prior | None = setting(None, or_none(_prior), may_change=True)  # it is read once, when the store is made
    # Those that the store was made with stay; nothing but the prior depends on them, and that is read once, too.
    configs: dict[str, dict[str, float | str]] = setting(None, _configs, in_plan=False, may_change=True, extends=True)
    # Where each process leaves what was learnt; stores may be opened on machines that have no such folder.
    remember: str | None = setting(None, or_none(_folder), may_change=True, stored=False)
    version: str = __version__  # of the program that made the store
    made_late: bool = False  # whether arms are made when they are first pulled, as trials are: then in this order

    def __post_init__(self) -> None:
        for name in BY_ARM:
            check_arms_exist(name, getattr(self, name), self.arms)
        for arm, rewards in self.warm_start.items():
            for reward in rewards:
                self.check_reward(reward, f"warm_start of {arm}")

    @classmethod
    def make(cls, **given: Any) -> Settings:
        """Settings from the arguments of `Allocator`, with defaults for the others.

        >>> Settings.make(arms=["a", "b"], budget=100).policy
        Auto()
        """
        open_range = given.get("reward_range", "auto") == "auto"
        made_late = bool(given.get("made_late", False))
        values = _checked({**given, "reward_range": _UNIT} if open_range else given)
        policy = values["policy"]
        if values["objective"] is None:
            values["objective"] = DEFAULT.name  # or what the policy that the user names is made for
            if policy is not None:
                values["objective"] = (policy_class(policy) if isinstance(policy, str) else policy).objective
        if open_range and not Objective.get(values["objective"]).sums_rewards:
            with suppress(RisingBanditsError):  # it needs the range; what is wrong otherwise is said later
                choose_policy(policy, values["objective"], None)
                values["reward_range"] = None
        values["policy"] = choose_policy(policy, values["objective"], values["reward_range"])
        if made_late and not isinstance(policy, Policy) and "order" in values["policy"].get_params():
            values["policy"] = values["policy"].replace(order="given")
        return cls(**values, made_late=made_late)

    # -- rewards and arms ---------------------------------------------------------------------------------------

    def check_reward(self, value: Any, name: str = "reward") -> float:
        """``value`` as a float, if it is finite and within the range."""
        # As `check_finite` does it, which takes longer.
        reward = value + 0.0 if type(value) is float and math.isfinite(value) else check_finite(name, value)
        if self.reward_range is not None and not self.reward_range[0] <= reward <= self.reward_range[1]:
            low, high = self.reward_range
            way = 'reward_range=None, in plans "unknown", takes any number'
            loss = '; for a loss, also direction="minimize"' if self.direction == "maximize" else ""
            raise OutOfRange(f"{name} must lie in reward_range ({low:g}, {high:g}), got {shown(value)}; {way}{loss}.")
        return reward

    @property
    def shuffled(self) -> bool:
        """Whether arms get their numbers for the policy at random: where some of them may be left out."""
        if self.made_late or self.policy.get_params().get("order") == "given":
            return False
        rounds = self.budget.pulls
        return self.policy._in_order or (rounds is not None and rounds < len(self.arms))

    def limit(self, arm: str) -> int | None:
        """How many pulls an arm can take, None if any number."""
        return self.max_pulls.get(arm) if isinstance(self.max_pulls, dict) else self.max_pulls

    # -- JSON ---------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """As plain values for JSON."""
        stored = {name: getattr(self, name) for name in STORED}
        stored["arms"] = list(self.arms)
        stored["budget"] = {self.budget.unit: self.budget.amount}
        stored["policy"] = {"name": self.policy.name, "params": self.policy.get_params()}
        stored["reward_range"] = None if self.reward_range is None else list(self.reward_range)
        stored["prior"] = None if self.prior is None else self.prior.to_dict()
        return {**stored, "version": self.version, "made_late": self.made_late}

    def to_json(self) -> str:
        """As JSON text; refuses what could not be read back."""
        try:
            text = json.dumps(self.to_dict())
        except (TypeError, ValueError) as error:
            raise RisingBanditsError(f"policy {self.policy!r} cannot be kept in a store: {error}.") from error
        if policy_class(self.policy.name) is not type(self.policy):
            raise RisingBanditsError(f"policy {self.policy!r} must be registered to be kept in a store (see register).")
        return text

    @classmethod
    def from_json(cls, text: str) -> Settings:
        """Read what `to_json` wrote."""
        try:
            plain = json.loads(text)
            if unknown := plain.keys() - {*STORED, "version", "made_late"}:
                raise WrittenByNewer(f"it has the setting {shown(min(unknown))}")
            values = _checked({name: plain_value(name, plain[name]) for name in STORED})
            return cls(**values, version=plain["version"], made_late=plain["made_late"])
        except RisingBanditsError:
            raise
        except (TypeError, ValueError, KeyError, AttributeError, RecursionError) as error:
            raise RisingBanditsError(f"the settings in the store are damaged ({type(error).__name__}).") from error


#: All settings by name, and the names of those that a store keeps.
SETTINGS: dict[str, Setting] = {part.name: part.metadata["setting"] for part in fields(Settings) if part.metadata}
STORED = tuple(name for name, known in SETTINGS.items() if known.stored)


def plain_value(name: str, value: Any) -> Any:
    """The value of a setting from what `Settings.to_dict` has for it; lists and strings are checked later."""
    if name == "policy":
        params = {k: tuple(v) if isinstance(v, list) else v for k, v in value["params"].items()}
        return policy_class(value["name"])(**params)
    if name == "budget":
        return Budget(**value)
    return Prior.from_dict(value) if name == "prior" and value is not None else value


def _checked(given: Mapping[str, Any]) -> dict[str, Any]:
    """Every setting by itself, as it is kept."""
    return {name: known.check(name, given.get(name, known.default)) for name, known in SETTINGS.items()}


def stored_settings(name: str, text: str) -> Settings:
    """The settings that the store ``name`` holds, as JSON."""
    try:
        return Settings.from_json(text)
    except RisingBanditsError as error:
        what = "damaged or of another version, judging by its settings"
        raise RisingBanditsError(f"{name} is {what}: {error}") from error
