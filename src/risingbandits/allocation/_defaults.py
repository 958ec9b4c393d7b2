"""Which policy to use by default."""

from __future__ import annotations

from typing import Any

from risingbandits._core.errors import RisingBanditsError, shown
from risingbandits.policies import Policy, REdUCB, get_policy, policy_class
from risingbandits.policies._kernels import noise
from risingbandits.policies.objectives import Objective


def check_sigma(name: str, value: Any) -> float | str:
    """``value``, if it is a scale of noise or "auto"."""
    noise.check_sigma(name, value)
    return value if isinstance(value, str) else float(value)


def choose_policy(
    policy: str | Policy | None,
    *,
    objective: str | Objective,
    reward_range: tuple[float, float] | None,
    sigma: Any,
    ordered: bool = False,
) -> Policy:
    """The policy with sigma filled in, checked against what rewards it will see.

    ``sigma`` is in the units of the rewards; policies see rewards mapped onto [0, 1], so a number is divided by the
    length of the range. If arms are ``ordered`` by what is known about them, a policy that is not given as an object
    opens them in that order.
    """
    objective = Objective.get(objective)
    if not isinstance(sigma, str) and reward_range is not None:
        sigma = float(sigma) / (reward_range[1] - reward_range[0])
    if isinstance(policy, str) and "(" in policy:  # written with its settings, it is as good as an object
        policy = get_policy(policy)
    if isinstance(policy, Policy):
        if sigma != "auto":
            raise RisingBanditsError(f"sigma must be set in the policy itself when one is given, got {shown(sigma)}.")
        chosen = type(policy)(**policy.get_params())
    elif policy is None:
        # For sums of rewards of unknown range R-ed-UCB, which needs neither their scale nor a ceiling.
        blind = objective.sums_rewards and reward_range is None
        chosen = REdUCB(sigma=sigma) if blind else objective.policy(sigma=sigma)
    else:
        chosen = _with_sigma(policy_class(policy)(), sigma)
        if "objective" in chosen.get_params():  # "auto" plays for the objective of the allocation
            chosen = chosen.replace(objective=objective.name)
    if ordered and not isinstance(policy, Policy) and "order" in chosen.get_params():
        chosen = chosen.replace(order="given")
    _check_range(chosen, reward_range, named=isinstance(policy, str))
    chosen._validate()
    return chosen


def takes_any_range(policy: str | Policy | None, sigma: Any) -> bool:
    """Whether a policy that is to find the best arm is the same for rewards of unknown range as for those in [0, 1]."""
    try:
        unknown, known = (
            choose_policy(policy, objective="best-arm", reward_range=range_, sigma=sigma)
            for range_ in (None, (0.0, 1.0))
        )
    except RisingBanditsError:  # it needs the range; what is wrong otherwise is said later
        return False
    return unknown.get_params() == known.get_params()


def _with_sigma(policy: Policy, sigma: Any) -> Policy:
    """The policy with this sigma, if it has one."""
    if "sigma" not in policy.get_params():
        if sigma != "auto":
            raise RisingBanditsError(f"sigma is not a parameter of policy {policy.name!r}, got {shown(sigma)}.")
        return policy
    return policy.replace(sigma=sigma)


def _check_range(policy: Policy, reward_range: tuple[float, float] | None, named: bool) -> None:
    if reward_range is not None:
        if policy.reward_range is not None and tuple(policy.reward_range) != (0.0, 1.0):
            raise RisingBanditsError(
                f"policy must take rewards in (0, 1), onto which reward_range is mapped, got {policy!r}."
            )
        return
    if policy.reward_range is not None:
        raise RisingBanditsError(f"reward_range must be given with policy {policy.name!r}, got None.")
    if named and "cap" in policy.get_params():
        raise RisingBanditsError(
            f"reward_range must be given with policy {policy.name!r}, which needs a ceiling, got None."
        )
