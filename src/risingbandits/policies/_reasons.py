"""Why an arm is next, why one is kept, and what speaks against it, for any policy, from its columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from risingbandits._core.types import Floats, Ints
from risingbandits.policies._kernels import levels
from risingbandits.policies.explanation import Explanation, Moment, Units, counted

if TYPE_CHECKING:
    from risingbandits.policies.base import Policy

NEVER_PULLED = "never pulled"


def explanation(
    policy: Policy,
    state: Any,
    arm: int | None,
    units: Units | None = None,
    limits: tuple[float, float] | None = None,
) -> Explanation:
    """What ``policy`` says in this state, given which arm is next (None: none), with reasons in these units.

    ``limits`` is the range of the rewards, if it is known.
    """
    t, pulls = policy.rounds + 1, policy.pulls
    parts = policy._parts(state, t)
    at = Moment(state, t, 0, pulls, parts, units or Units())
    why = "" if arm is None else policy._why_next(at._replace(arm=arm))
    end, at_end = policy._stated_end()
    found = policy._foresee(limits)._asdict()
    known = {**levels.columns(policy._levels), **{name: found[name] for name in ("predicted", "low", "high", "p_best")}}
    columns = {"pulls": pulls, **known, **parts}
    if not policy.rounds:
        return Explanation(policy._described(), t, columns, arm, why)
    at = at._replace(arm=policy.recommend(), parts={**known, **parts})
    if policy._predicts:
        value = float(policy._shown()[at.arm])
        why_kept = f"highest predicted value, {at.units.level(value)}, where arms trained less count as shown so far"
    elif policy._kernels_for(policy.n_arms, policy.horizon).recommend is levels.recommend:
        why_kept = f"best recent level less its standard error, {at.level('lcb')} (estimate {at.level('estimate')})"
    else:
        why_kept = policy._why_kept(at)
    return Explanation(policy._described(), t, columns, arm, why, at.arm, why_kept, end=end, at_end=at_end)


def why_next(at: Moment) -> str:
    """By the index, the probability, what is left or the level of the arm, whichever the policy has."""
    if at.pulls[at.arm] == 0:
        return NEVER_PULLED
    if "value" in at.parts:
        value = float(at.parts["value"][at.arm])
        if value == np.inf:
            return "too few pulls for an index"
        return f"best index {at.level('value')}{'' if at.leads('value') else ' of the arms that are free'}"
    if "probability" in at.parts:
        return f"drawn, with probability {at.parts['probability'][at.arm]:.2g}"
    if "active" in at.parts:
        left = int(at.parts["active"].sum())
        if not at.parts["active"][at.arm]:
            return "no remaining arm is free"
        return f"its turn among the {left} remaining arms" if left > 1 else "the only remaining arm"
    return f"best level {at.level('level')}" if at.leads("level") else "its turn"


def drew_best(at: Moment) -> str:
    """By a draw from what is believed of each arm."""
    return "drew the best sample" if at.pulls[at.arm] else NEVER_PULLED


def why_kept(at: Moment) -> str:
    """By its level, or as one of the remaining arms."""
    if at.leads("level"):
        return f"best level {at.level('level')}"
    if "active" in at.parts and at.parts["active"][at.arm]:
        return best_remaining(at)
    return "the policy's choice"


def best_remaining(at: Moment) -> str:
    """That an arm is the best one of those that remain."""
    left = int(at.parts["active"].sum())
    level = f", level {at.level('level')}" if "level" in at.parts else ""
    return f"best of the {left} remaining arms{level}" if left > 1 else f"the only remaining arm{level}"


def against(kept: int, names: Sequence[str], pulls: Ints, columns: Mapping[str, tuple[Floats, Sequence[str]]]) -> str:
    """Which other arms are ahead of the one that is kept, in which columns, and how old they are; empty: none is.

    ``columns`` map names to numbers, where more is better, and to their strings.

    >>> level = np.array([0.7, 0.71, 0.2])
    >>> against(0, "abc", np.array([12, 3, 3]), {"estimate": (level, ["0.7", "0.71", "0.2"])})
    'b is ahead in estimate (0.71), with only 3 pulls'
    >>> against(0, "abc", np.array([12, 3, 3]), {"estimate": (level, ["0.7", "0.7", "0.2"])})  # no lead that is shown
    ''
    """
    ahead: dict[int, list[str]] = {}
    for called, (values, texts) in columns.items():
        known = np.isfinite(values) & (pulls > 0)
        if known.any():
            best = int(np.where(known, values, -np.inf).argmax())
            if best != kept and not values[best] <= values[kept] and texts[best] != texts[kept]:
                ahead.setdefault(best, []).append(f"{called} ({texts[best]})")
    said = []
    for arm, leads in ahead.items():
        only = "only " if 2 * pulls[arm] <= pulls[kept] else ""
        said.append(f"{names[arm]} is ahead in {', '.join(leads)}, with {only}{counted(int(pulls[arm]))}")
    return "; ".join(said)


def against_by_columns(found: Explanation) -> str:
    """The same of what is known about all arms: the level now, the predicted value, and the probability to be best."""
    if found.kept is None:
        return ""
    columns: dict[str, Any] = {
        name: (found[name], [f"{value:{form}}" for value in found[name]])
        for name, form in (("estimate", ".4g"), ("predicted", ".4g"), ("p_best", ".2f"))
    }
    pulls = np.asarray(found["pulls"], dtype=np.int64)
    return against(found.kept, [str(arm) for arm in range(pulls.size)], pulls, columns)
