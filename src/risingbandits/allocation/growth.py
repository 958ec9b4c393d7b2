"""Runs that grow: an event changes settings, and from then on the policy plans again with all rewards so far.

The event "extend" holds JSON: new values of settings by their names; ``arms``, those that come ``in``
and those that go ``out``; ``said``, the same in words; and ``declared`` if the change did not come from
`Allocator.extend` but from an allocator created with other settings than the one before. Those two are compared with
each other, not with the present settings: a program that is restarted unchanged undoes nothing that was changed
meanwhile.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from risingbandits._core.errors import RisingBanditsError, shown
from risingbandits.allocation.arm_state import LEFT_OUT, ArmState
from risingbandits.allocation.budget import Budget, amount_text
from risingbandits.allocation.defaults import choose_policy
from risingbandits.allocation.events import Event, WrittenByNewer
from risingbandits.allocation.settings import BY_ARM, SETTINGS, STORED, Settings, number_of_arms, plain_value

if TYPE_CHECKING:
    from risingbandits.allocation.ledger import Ledger

Changes = dict[str, Any]  # as in the event

_PLANNED = ("budget", "policy", "reward_range", "max_arms", "max_pulls")  # on which the plan of a policy depends
_CHANGES = {*STORED, "declared", "said"}  # what an event may have
_NAMES_SHOWN = 6


# -- what changes ---------------------------------------------------------------------------------------------------


class Given(NamedTuple):
    """What a program opens a store with."""

    settings: Settings
    policy: Any = None  #: as given; where that is nothing or a name, what another version filled in may differ
    history: Callable[..., dict[str, list[float]]] | None = None  #: reads a warm start for new ``arms``


def declared_changes(ledger: Ledger, declared: Given) -> Changes:
    """What is ``declared`` differently than before; raises an error for what cannot change."""
    given, policy, history = declared
    before = ledger.declared
    mine, theirs = given.to_dict(), before.to_dict()
    changes: Changes = {}
    fixed = []
    for name in STORED:
        here, there = mine[name], theirs[name]
        if SETTINGS[name].may_change or _same(here, there) or (name == "policy" and given.plays_as(before, policy)):
            continue
        if not SETTINGS[name].extends:
            fixed.append(f"{name} is {shown(there)} in the store, got {shown(here)}")
        elif name == "warm_start" and history is not None:
            continue  # what was read when the store was made stays
        elif name == "warm_start":
            warm = before.warm_start
            changes[name] = {arm: x for arm, x in given.warm_start.items() if not _same(x, warm.get(arm))}
            gone = [arm for arm in warm if arm in given.arms and arm not in given.warm_start]
            fixed += [f"warm_start of {arm} is {shown(warm[arm])} in the store, got none" for arm in gone]
        elif name == "arms":
            coming = [arm for arm in given.arms if arm not in before.arms]
            changes[name] = {"in": coming, "out": [arm for arm in before.arms if arm not in given.arms]}
        else:
            changes[name] = here
    if fixed:
        found = "; ".join(fixed)
        raise RisingBanditsError(f"{found}; that cannot change in a run: give it as there, or another store.")
    arms = changes.get("arms", {"in": [], "out": []})
    if len(arms["out"]) == len(before.arms):
        there = quoted(before.arms)
        raise RisingBanditsError(f"arms are {there} in the store, got {quoted(given.arms)}, none of them.")
    if "arms" in changes and not (arms["in"] or arms["out"]):
        del changes["arms"]  # in another order
    new = [arm for arm in arms["in"] if arm not in ledger.by_name]
    if history is not None and new:
        changes["warm_start"] = history(arms=new)
    described = {arm: given.arm_settings[arm] for arm in arms["in"] if arm in given.arm_settings}
    if described:
        changes["arm_settings"] = described
    changes = {key: value for key, value in changes.items() if key != "warm_start" or value}
    return _complete(ledger, {**changes, "declared": True}) if changes else {}


def wanted_changes(ledger: Ledger, wanted: Mapping[str, Any]) -> Changes:
    """What changes if the settings in ``wanted`` apply and the arms that it names are added."""
    for name in wanted:
        if name not in SETTINGS or not SETTINGS[name].extends:
            allowed = ", ".join(name for name, known in SETTINGS.items() if known.extends)
            raise RisingBanditsError(f"only {allowed} can be extended, got {name}.")
    now = ledger.settings
    values = {name: SETTINGS[name].check(name, value) for name, value in wanted.items()}
    known = {arm.name: arm for arm in ledger.arms}
    coming = [arm for arm in values.pop("arms", ()) if arm not in known or known[arm].retired == LEFT_OUT]
    names = list(dict.fromkeys([*known, *coming]))
    budget = values.get("budget", now.budget)
    if isinstance(limits := values.get("max_pulls"), dict):
        others = now.max_pulls if isinstance(now.max_pulls, dict) else dict.fromkeys(known, now.max_pulls)
        values["max_pulls"] = {arm: n for arm, n in {**others, **limits}.items() if n is not None}
    if "max_arms" in values:
        values["max_arms"] = number_of_arms(values["max_arms"], len(names), budget)
    if "policy" in values or "reward_range" in values:
        values["policy"] = choose_policy(
            values.get("policy", now.policy),
            objective=now.objective,
            reward_range=values.get("reward_range", now.reward_range),
            sigma="auto",
            ordered=now.prior is not None or now.order == "given",
        )
    for name in ("warm_start", "arm_settings"):
        values[name] = {**getattr(now, name), **values.get(name, {})}
    after = replace(now, arms=tuple(names), **values)
    plain, before = after.to_dict(), now.to_dict()
    changes: Changes = {
        name: plain[name]
        for name in values
        if name not in ("warm_start", "arm_settings") and not _same(plain[name], before[name])
    }
    if "policy" in changes:
        after.to_json()  # complains about what cannot be kept
    for name in ("warm_start", "arm_settings"):
        new = {arm: x for arm, x in values[name].items() if not _same(x, getattr(now, name).get(arm))}
        changes |= {name: new} if new else {}
    if coming:
        changes["arms"] = {"in": coming, "out": []}
    return _complete(ledger, changes) if changes else {}


def _same(one: Any, other: Any) -> bool:
    return json.dumps(one, sort_keys=True, default=str) == json.dumps(other, sort_keys=True, default=str)


def _complete(ledger: Ledger, changes: Changes) -> Changes:
    """The changes with their description, if the ledger can apply them."""
    after = _after(ledger, changes)
    _check_budget(ledger, after.budget)
    _check_rewards(ledger, after)
    for arm in changes.get("warm_start", {}):
        state = ledger.by_name.get(arm)
        if state is not None and _begun(state):
            there, here = ledger.settings.warm_start.get(arm, "none"), changes["warm_start"][arm]
            raise RisingBanditsError(
                f"warm_start of {arm} is {there if there == 'none' else shown(there)} in the store, got {shown(here)}: "
                "it cannot change any more, because the arm was pulled."
            )
    return {**changes, "said": _sentence(ledger, after, changes)}


def _check_budget(ledger: Ledger, budget: Budget) -> None:
    now = ledger.settings.budget
    if budget == now:
        return
    if budget.unit != now.unit:
        raise RisingBanditsError(f"budget is in {now.unit} in the store, got {budget!r}: give it in {now.unit}.")
    flying = len(ledger.in_flight) if budget.pulls is not None else 0
    if budget.amount < ledger.spent + flying:
        flights = f" and {flying} that are in flight" if flying else ""
        raise RisingBanditsError(
            f"budget is {amount_text(now)} in the store, got {amount_text(budget)}: it must be at least the "
            f"{ledger.spent:,g} that are spent{flights}."
        )


def _check_rewards(ledger: Ledger, after: Settings) -> None:
    if after.reward_range == ledger.settings.reward_range or after.reward_range is None:
        return
    low, high = after.reward_range
    for arm in ledger.arms:
        for n, reward in enumerate(arm.rewards, start=1):
            if not low <= reward <= high:
                raise RisingBanditsError(
                    f"reward_range is {shown(ledger.settings.reward_range)} in the store, got {shown((low, high))}: it "
                    f"must hold all rewards so far, and pull {n} of {arm.name} has given {reward:g}."
                )


def _begun(arm: ArmState) -> bool:
    return bool(len(arm.rewards) or arm.attempts or arm.flight is not None)


# -- the fold -------------------------------------------------------------------------------------------------------


def extend_ledger(ledger: Ledger, event: Event) -> None:
    """Apply an event "extend"."""
    changes = json.loads(event.text)
    for key in changes:
        if key not in _CHANGES:
            raise WrittenByNewer(f"event {event.id} changes {shown(key)}")
    before, settings = ledger.settings, _after(ledger, changes)
    if changes.get("declared"):
        ledger.declared = _changed(ledger.declared, changes, _declared_arms(ledger.declared, changes))
    ledger.take_settings(settings)
    arms = changes.get("arms", {"in": (), "out": ()})
    moved = [name for name in arms["out"] if ledger.by_name[name].retired is None]
    for name in moved:
        ledger.by_name[name].retired = LEFT_OUT
    new = [name for name in arms["in"] if name not in ledger.by_name]
    for name in arms["in"]:
        if name not in new and ledger.by_name[name].retired == LEFT_OUT:
            ledger.by_name[name].retired = None
            moved.append(name)
    for arm in ledger.arms:
        arm.limit = settings.limit(arm.name)
        if settings.retries > before.retries and arm.gave_up and arm.failures < settings.retries:
            arm.retired, arm.gave_up = None, False
        if arm.name in changes.get("warm_start", {}):
            arm.rewards = array("d", settings.warm_start[arm.name])
            arm.warm = len(arm.rewards)
        arm.settings = changes.get("arm_settings", {}).get(arm.name, arm.settings)
    _open_last(ledger, new)
    planned = any(not _same(_plain(before, name), _plain(settings, name)) for name in _PLANNED)
    ledger.go_on(anew=bool(planned or new or moved or changes.get("warm_start")))


def _open_last(ledger: Ledger, new: Sequence[str]) -> None:
    """Add arms that are opened after all others, in the same kind of order as those."""
    order = list(range(len(new)))
    if ledger.settings.shuffled:
        order = np.random.default_rng([ledger.settings.seed, 1, len(ledger.arms)]).permutation(len(new)).tolist()
    arms = [ledger.add_arm(name) for name in new]
    ledger.unopened += [arms[i] for i in order]
    if ledger.rule is not None:  # what has rewards has a place from the start
        ledger.unopened.sort(key=lambda arm: not arm.warm)


def _plain(settings: Settings, name: str) -> Any:
    return settings.to_dict()[name]


def _after(ledger: Ledger, changes: Changes) -> Settings:
    """The settings of a ledger with the changes; all its arms are in them."""
    names = [*ledger.by_name, *(arm for arm in changes.get("arms", {}).get("in", ()) if arm not in ledger.by_name)]
    return _changed(ledger.settings, changes, names)


def _declared_arms(settings: Settings, changes: Changes) -> list[str]:
    arms = changes.get("arms", {"in": (), "out": ()})
    return [*(arm for arm in settings.arms if arm not in arms["out"]), *arms["in"]]


def _changed(settings: Settings, changes: Changes, names: Sequence[str]) -> Settings:
    """Settings with the changes, of the arms ``names``."""
    values = {
        name: SETTINGS[name].check(name, plain_value(name, changes[name]))
        for name in STORED
        if name in changes and name != "arms"
    }
    for name in ("warm_start", "arm_settings"):
        values[name] = {**getattr(settings, name), **values.get(name, {})}
    values.setdefault("max_pulls", settings.max_pulls)
    of_arms = {name: values[name] for name in BY_ARM if isinstance(values[name], dict)}
    kept = {name: {arm: x for arm, x in value.items() if arm in names} for name, value in of_arms.items()}
    return replace(settings, arms=tuple(names), **{**values, **kept})


# -- for people -----------------------------------------------------------------------------------------------------


def _sentence(ledger: Ledger, after: Settings, changes: Changes) -> str:
    """What changes, such as "budget 48 -> 96 pulls, 2 new arms: x, y"."""
    now = ledger.settings
    parts = []
    if after.budget != now.budget:
        parts.append(f"budget {amount_text(now.budget, unit=False)} -> {amount_text(after.budget)}")
    arms = changes.get("arms", {"in": (), "out": ()})
    new = [arm for arm in arms["in"] if arm not in ledger.by_name]
    if new:
        parts.append(f"{len(new)} new arm{'' if len(new) == 1 else 's'}: {named(new)}")
    back = [arm for arm in arms["in"] if arm in ledger.by_name and ledger.by_name[arm].retired == LEFT_OUT]
    out = [arm for arm in arms["out"] if ledger.by_name[arm].retired is None]
    parts += [f"again: {named(back)}"] if back else []
    parts += [f"no longer pulled: {named([_with_pulls(ledger.by_name[arm]) for arm in out])}"] if out else []
    old, plain = now.to_dict(), after.to_dict()
    for name in STORED:
        if name in ("arms", "budget", "arm_settings") or _same(old[name], plain[name]):
            continue
        if name == "warm_start":
            earlier = [f"{len(rewards)} of {arm}" for arm, rewards in changes[name].items()]
            parts.append(f"rewards of earlier pulls: {named(earlier)}")
        elif name == "policy":
            parts.append(f"policy {now.policy!r} -> {after.policy!r}")
        elif name == "max_pulls":
            parts += _limits(now, after)
        else:
            parts.append(f"{name} {_text(old[name])} -> {_text(plain[name])}")
    return ", ".join(parts)


def _limits(now: Settings, after: Settings) -> list[str]:
    """How ``max_pulls`` changes; by arm where it differs from arm to arm."""
    if not isinstance(now.max_pulls, dict) and not isinstance(after.max_pulls, dict):
        return [f"max_pulls {_text(now.max_pulls)} -> {_text(after.max_pulls)}"]
    limits = [(arm, now.limit(arm), after.limit(arm)) for arm in now.arms]
    changed = [f"{arm} {_text(old)} -> {_text(new)}" for arm, old, new in limits if old != new]
    return [f"max_pulls of {named(changed)}"] if changed else []


def _with_pulls(arm: ArmState) -> str:
    return f"{arm.name} ({len(arm.rewards)} pulls)" if len(arm.rewards) else arm.name


def _text(value: Any) -> str:
    if isinstance(value, list):
        return f"({', '.join(f'{part:g}' for part in value)})"
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def said(event: Event) -> str:
    """What an event "extend" changes, in words."""
    try:
        return str(json.loads(event.text)["said"]) or "nothing, because it is already so"
    except (ValueError, KeyError, TypeError):
        return event.text


def named(names: Sequence[str]) -> str:
    """Names for a sentence, not too many.

    >>> named(["a", "b"]), named([f"arm{i}" for i in range(40)])
    ('a, b', 'arm0, arm1, arm2, arm3, arm4, arm5 and 34 more')
    """
    more = len(names) - _NAMES_SHOWN
    return ", ".join(names[:_NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")


def quoted(names: Iterable[str]) -> str:
    """The same in quotes, for errors.

    >>> quoted(("a", "b"))
    "'a', 'b'"
    """
    return named([repr(name) for name in names])
