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


def explanation(policy: Policy, state: Any, arm: int | None, units: Units | None = None) -> Explanation:
    """What ``policy`` says in this state, given which arm is next (None: none), with reasons in these units."""
    t, pulls = policy.rounds + 1, policy.pulls
    parts = policy.parts(state, t)
    at = Moment(state, t, 0, pulls, parts, units or Units())
    why = "" if arm is None else policy.why_next(at._replace(arm=arm))
    if policy.kernels_for(policy.n_arms, policy.horizon).recommend is levels.recommend:
        # What the recommendation compares; a policy's own level is another mean.
        own = {"mean" if name == "level" else name: column for name, column in parts.items()}
        parts = {**levels.columns(policy._levels), **own}
    if not policy.rounds:
        return Explanation(policy.described(), t, {"pulls": pulls, **parts}, arm, why)
    at = at._replace(arm=policy.recommend(), parts=parts)
    kept = at.arm, policy.why_kept(at), against_by_parts(at)
    return Explanation(policy.described(), t, {"pulls": pulls, **parts}, arm, why, *kept)


def why_next(at: Moment) -> str:
    """By the index, the probability, the race or the level of the arm, whichever the policy has."""
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
            return "no arm of the race is free"
        return f"its turn among the {left} arms in the race" if left > 1 else "the only arm left in the race"
    return f"best level {at.level('level')}" if at.leads("level") else "its turn"


def why_kept(at: Moment) -> str:
    """By its level, given the noise or as it is, or by the race."""
    if "lcb" in at.parts:
        return f"best recent level less its standard error, {at.level('lcb')} (level {at.level('level')})"
    if at.leads("level"):
        return f"best level {at.level('level')}"
    if "active" in at.parts and at.parts["active"][at.arm]:
        return race_won(at)
    return "the policy's choice"


def race_won(at: Moment) -> str:
    """That an arm is the best one of those in the race."""
    left = int(at.parts["active"].sum())
    level = f", level {at.level('level')}" if "level" in at.parts else ""
    return f"best of the {left} arms in the race{level}" if left > 1 else f"won the race{level}"


def against(kept: int, names: Sequence[str], pulls: Ints, columns: Mapping[str, tuple[Floats, Sequence[str]]]) -> str:
    """Which other arms are ahead of the one that is kept, in which columns, and how old they are; empty: none is.

    ``columns`` map names to numbers, where more is better, and to their strings.

    >>> level = np.array([0.7, 0.71, 0.2])
    >>> against(0, "abc", np.array([12, 3, 3]), {"level": (level, ["0.7", "0.71", "0.2"])})
    'b is ahead in level (0.71), with only 3 pulls'
    >>> against(0, "abc", np.array([12, 3, 3]), {"level": (level, ["0.7", "0.7", "0.2"])})  # no lead that is shown
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


def against_by_parts(at: Moment) -> str:
    """The same of a policy's own columns: the level now and, where it predicts one, the level at the end."""
    called: dict[str, Any] = {"level": "level", "final": "predicted end"}
    columns = {
        called[name]: (at.parts[name], [at.units.level(float(value)) for value in at.parts[name]])
        for name in called
        if name in at.parts
    }
    return against(at.arm, [str(arm) for arm in range(at.pulls.size)], at.pulls, columns)
