"""The settings of an allocator: checked once, kept as JSON in the store, the same for every process."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from risingbandits._core.errors import RisingBanditsError, check_choice, check_finite, check_positive_int, shown
from risingbandits._version import __version__
from risingbandits.allocation.budget import Budget, as_budget
from risingbandits.allocation.defaults import choose_policy, default_max_arms
from risingbandits.policies import Policy, policy_class

__all__ = ["OBJECTIVES", "Settings", "check_arm_name", "make_settings"]

OBJECTIVES = ("cumulative", "best-arm")
_LONGEST_NAME = 200


@dataclass(frozen=True)
class Settings:
    """What an allocator was made with. ``policy`` is the policy itself, without a run."""

    arms: tuple[str, ...]
    budget: Budget
    policy: Policy
    objective: str = "cumulative"
    direction: str = "maximize"
    reward_range: tuple[float, float] | None = (0.0, 1.0)
    max_arms: int | None = None
    order: str = "given"
    max_pulls: int | dict[str, int] | None = None
    parallel: str = "fill"
    lease: float = 3600.0
    retries: int = 3
    reclaim: bool = True
    durability: str = "process"
    seed: int = 0
    history: dict[str, list[float]] = field(default_factory=dict)
    version: str = __version__

    # -- rewards ------------------------------------------------------------------------------------------------

    def check_reward(self, value: Any, name: str = "reward") -> float:
        """``value`` as a float, if it is finite and within the range."""
        reward = value if type(value) is float and math.isfinite(value) else check_finite(name, value)
        if self.reward_range is not None and not self.reward_range[0] <= reward <= self.reward_range[1]:
            low, high = self.reward_range
            raise RisingBanditsError(f"{name} must lie in reward_range ({low:g}, {high:g}), got {shown(value)}.")
        return reward

    def scale(self) -> tuple[float, float]:
        """(zero, span): a policy is told (reward - zero) / span, higher is better, in [0, 1] if the range is known."""
        low, high = self.reward_range or (0.0, 1.0)
        if self.direction == "maximize":
            return low, high - low
        return (high if self.reward_range else 0.0), low - high

    # -- arms ---------------------------------------------------------------------------------------------------

    def limit(self, arm: str) -> int | None:
        """How many pulls an arm can take, None if any number."""
        return self.max_pulls.get(arm) if isinstance(self.max_pulls, dict) else self.max_pulls

    # -- JSON ---------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """As plain values for JSON."""
        plain = {part.name: getattr(self, part.name) for part in fields(self)}
        plain["arms"] = list(self.arms)
        plain["budget"] = {self.budget.unit: self.budget.amount}
        plain["policy"] = {"name": self.policy.name, "params": self.policy.get_params()}
        plain["reward_range"] = None if self.reward_range is None else list(self.reward_range)
        return plain

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
            plain["arms"] = tuple(plain["arms"])
            plain["budget"] = Budget(**plain["budget"])
            params = {k: tuple(v) if isinstance(v, list) else v for k, v in plain["policy"]["params"].items()}
            plain["policy"] = policy_class(plain["policy"]["name"])(**params)
            plain["reward_range"] = None if plain["reward_range"] is None else tuple(plain["reward_range"])
            known = {part.name for part in fields(cls)}
            settings = cls(**{k: v for k, v in plain.items() if k in known})
            settings.check()
        except RisingBanditsError:
            raise
        except (TypeError, ValueError, KeyError, AttributeError, RecursionError) as error:
            raise RisingBanditsError(f"the settings in the store are damaged ({type(error).__name__}).") from error
        return settings

    def difference(self, stored: Settings, any_policy: bool) -> str | None:
        """One sentence about the first setting that differs from the ``stored`` ones, None if all agree."""
        mine, theirs = self.to_dict(), stored.to_dict()
        for name, value in mine.items():
            if name in ("version", "durability") or (name == "policy" and any_policy):
                continue
            if json.dumps(value, sort_keys=True, default=str) != json.dumps(theirs[name], sort_keys=True, default=str):
                return f"{name} is {shown(theirs[name])} in the store, got {shown(value)}"
        return None

    # -- making and checking ------------------------------------------------------------------------------------

    def check(self) -> None:
        """Raise `RisingBanditsError` for a setting that is not allowed."""
        if not self.arms:
            raise RisingBanditsError("arms must name at least one arm, got none.")
        seen: set[str] = set()
        for name in self.arms:
            if check_arm_name(name) in seen:
                raise RisingBanditsError(f"arms must have different names, got {shown(name)} twice.")
            seen.add(name)
        check_choice("objective", self.objective, OBJECTIVES)
        check_choice("direction", self.direction, ("maximize", "minimize"))
        check_choice("order", self.order, ("given", "random"))
        check_choice("parallel", self.parallel, ("fill", "wait"))
        check_choice("durability", self.durability, ("process", "power"))
        check_finite("lease", self.lease, above=0.0)
        check_positive_int("retries", self.retries)
        check_positive_int("seed", self.seed, minimum=0)
        if not isinstance(self.reclaim, bool):
            raise RisingBanditsError(f"reclaim must be True or False, got {shown(self.reclaim)}.")
        if self.reward_range is not None:
            low, high = (check_finite("reward_range", bound) for bound in self.reward_range)
            if not low < high or not math.isfinite(1.0 / (high - low)) or not math.isfinite(high - low):
                raise RisingBanditsError(f"reward_range must be (low, high) with low < high, got ({low:g}, {high:g}).")
        if self.max_arms is not None:
            check_positive_int("max_arms", self.max_arms)
        for arm, limit in (self.max_pulls or {}).items() if isinstance(self.max_pulls, dict) else ():
            _check_known("max_pulls", arm, seen)
            check_positive_int(f"max_pulls of {arm}", limit)
        if self.max_pulls is not None and not isinstance(self.max_pulls, dict):
            check_positive_int("max_pulls", self.max_pulls)
        for arm, rewards in self.history.items():
            _check_known("history", arm, seen)
            for reward in rewards:
                self.check_reward(reward, f"history of {arm}")


def make_settings(
    arms: Sequence[str],
    budget: int | Budget,
    *,
    objective: str,
    policy: str | Policy | None,
    direction: str,
    reward_range: tuple[float, float] | None,
    sigma: Any,
    max_arms: int | str | None,
    max_pulls: int | Mapping[str, int] | None,
    history: Mapping[str, Sequence[float]] | None,
    **rest: Any,
) -> Settings:
    """Settings from what the user gave to `Allocator`."""
    limits = as_budget(budget)
    check_choice("objective", objective, OBJECTIVES)
    if reward_range is not None:
        if not isinstance(reward_range, tuple | list) or len(reward_range) != 2:
            raise RisingBanditsError(f"reward_range must be (low, high) or None, got {shown(reward_range)}.")
        reward_range = (check_finite("reward_range", reward_range[0]), check_finite("reward_range", reward_range[1]))
        if not reward_range[0] < reward_range[1]:
            raise RisingBanditsError(f"reward_range must be (low, high) with low < high, got {shown(reward_range)}.")
    if not isinstance(sigma, str):
        sigma = check_finite("sigma", sigma, minimum=0.0)
    if isinstance(max_arms, str):
        check_choice("max_arms", max_arms, ("auto",))
        if limits.pulls is None:
            raise RisingBanditsError(f'max_arms="auto" needs a budget in pulls, got {limits}.')
        max_arms = default_max_arms(limits.pulls, len(arms))
    settings = Settings(
        arms=tuple(arms),
        budget=limits,
        policy=choose_policy(
            policy,
            objective=objective,
            n_arms=len(arms),
            horizon=limits.pulls,
            reward_range=reward_range,
            sigma=sigma,
        ),
        objective=objective,
        direction=direction,
        reward_range=reward_range,
        max_arms=max_arms,
        max_pulls=dict(max_pulls) if isinstance(max_pulls, Mapping) else max_pulls,
        history={arm: [float(reward) for reward in rewards] for arm, rewards in (history or {}).items()},
        **rest,
    )
    settings.check()
    return settings


def check_arm_name(name: Any) -> str:
    """``name``, if it can name an arm: a printable text of one line."""
    if not isinstance(name, str) or not name.strip() or len(name) > _LONGEST_NAME or not name.isprintable():
        raise RisingBanditsError(
            f"an arm's name must be a printable text of 1 to {_LONGEST_NAME} characters, got {shown(name)}."
        )
    return name


def _check_known(setting: str, arm: str, names: set[str]) -> None:
    if arm not in names:
        raise RisingBanditsError(f"{setting} must name arms that exist, got {shown(arm)}.")
