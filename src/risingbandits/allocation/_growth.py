"""Option: a run that grows. An event changes settings, and then the policy plans again with all rewards so far.

The event "extend" holds JSON: new values of settings by their names; ``arms``, those that come ``in``
and those that go ``out``; ``said``, the same in words; and ``declared`` if the change did not come from
`Allocator.extend` but from an allocator created with other settings than the one before. Those two are compared with
each other, not with the present settings: a program that is restarted unchanged undoes nothing that was changed
meanwhile.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from risingbandits._core.errors import RisingBanditsError, shown
from risingbandits.allocation._arm_state import LEFT_OUT, ArmState
from risingbandits.allocation._options import Option
from risingbandits.allocation.budget import Budget, amount_text
from risingbandits.allocation.events import Event, WrittenByNewer
from risingbandits.allocation.settings import (
    BY_ARM,
    SETTINGS,
    STORED,
    Settings,
    choose_policy,
    plain_value,
)

if TYPE_CHECKING:
    from risingbandits.allocation._ledger import Ledger

Changes = dict[str, Any]  # as in the event

_PLANNED = {"budget", "max_pulls"}  # what a policy plans with
_RETOLD = {"direction", "policy", "reward_range", "warm_start"}  # what the rewards that it was told depend on
_ADDED = ("warm_start", "configs")  # of which an event has those of some arms, in addition to what is known
_NO_ARMS: dict[str, list[str]] = {"in": [], "out": []}
_NAMES_SHOWN = 6


class Growth(Option):
    """The settings that hold, and those last ``declared`` by a program that opened the store."""

    key = "growth"
    kinds = frozenset({"extend"})

    def __init__(self, settings: Settings) -> None:
        self.made_with = self.declared = self.present = settings

    def apply(self, ledger: Ledger, event: Event) -> None:
        """Change the settings of a ledger and its arms, as an event "extend" says."""
        changes = json.loads(event.text)
        if unknown := changes.keys() - {*STORED, "declared", "said"}:
            raise WrittenByNewer(f"event {event.id} changes {shown(min(unknown))}")
        before, self.present = ledger.settings, _after(ledger, changes)
        arms = changes.get("arms", _NO_ARMS)
        if changes.get("declared"):
            named = [*(arm for arm in self.declared.arms if arm not in arms["out"]), *arms["in"]]
            self.declared = _merged(self.declared, _values(changes), named)
        ledger.take_settings(self.present)
        out = [arm for arm in map(ledger.arm, arms["out"]) if arm.retired is None]
        back = [arm for arm in ledger.arms if arm.name in arms["in"] and arm.retired == LEFT_OUT]
        for arm in out:
            arm.retired = LEFT_OUT
        for arm in back:
            arm.retired = None
        for arm in ledger.arms:
            self._change_arm(arm, before, changes)
        new = [name for name in arms["in"] if name not in ledger.by_name]
        ledger.add_arms(new)
        changed = differences(before, self.present).keys()
        if changed & _RETOLD:
            ledger.rebuild()
        elif changed & _PLANNED or new or out or back:
            ledger.replan()
        else:
            ledger.refresh_masks()
            ledger.inform()

    def _change_arm(self, arm: ArmState, before: Settings, changes: Changes) -> None:
        arm.limit = self.present.limit(arm.name)
        if self.present.retries > before.retries and arm.gave_up and arm.failures < self.present.retries:
            arm.retired, arm.gave_up = None, False
        if arm.name in changes.get("warm_start", {}):
            arm.rewards = array("d", self.present.warm_start[arm.name])
            arm.warm = len(arm.rewards)
        arm.config = changes.get("configs", {}).get(arm.name, arm.config)

    def to_dict(self) -> dict[str, Any]:
        """Both settings as JSON; nothing where they are those that the store was made with."""
        if self.present is self.made_with:
            return {}
        return {"present": self.present.to_json(), "declared": self.declared.to_json()}

    def restore(self, ledger: Ledger, plain: dict[str, Any]) -> None:
        """Use the settings that hold."""
        if plain:
            self.present, self.declared = (Settings.from_json(plain[name]) for name in ("present", "declared"))
            ledger.take_settings(self.present)


def _after(ledger: Ledger, changes: Changes) -> Settings:
    """The settings of a ledger with the changes; all its arms are in them."""
    return _merged(ledger.settings, _values(changes), [*ledger.by_name, *changes.get("arms", _NO_ARMS)["in"]])


def _values(changes: Changes) -> dict[str, Any]:
    """The settings in an event, checked, without the arms."""
    settings = {name: known for name, known in SETTINGS.items() if name in changes and name != "arms"}
    return {name: known.check(name, plain_value(name, changes[name])) for name, known in settings.items()}


def _merged(settings: Settings, values: Mapping[str, Any], names: Iterable[str]) -> Settings:
    """Settings with these values, of the arms ``names``; earlier rewards and settings of arms are added."""
    arms = dict.fromkeys(names)
    by_arm = {name: value for name in BY_ARM if isinstance(value := getattr(settings, name), dict)}
    known = {name: {arm: x for arm, x in value.items() if arm in arms} for name, value in by_arm.items()}
    added = {name: {**known[name], **values.get(name, {})} for name in _ADDED}
    return replace(settings, **{**known, **values, **added, "arms": tuple(arms)})


# -- what changes ---------------------------------------------------------------------------------------------------


def differences(before: Settings, after: Settings) -> Changes:
    """What ``after`` has differently, as in the event; of `_ADDED` settings only those of arms that differ."""
    old, new = before.to_dict(), after.to_dict()
    found: Changes = {name: new[name] for name in STORED if not _same(old[name], new[name])}
    for name in _ADDED:
        found[name] = {arm: x for arm, x in new[name].items() if not _same(x, old[name].get(arm))}
    found["arms"] = {"in": _missing(after.arms, before.arms), "out": _missing(before.arms, after.arms)}
    nothing = [name for name in ("arms", *_ADDED) if found[name] in ({}, _NO_ARMS)]
    return {name: value for name, value in found.items() if name not in nothing}


def _missing(arms: Iterable[str], others: Iterable[str]) -> list[str]:
    """The arms that are not among the others, in their order."""
    known = set(others)
    return [arm for arm in arms if arm not in known]


def _same(one: Any, other: Any) -> bool:
    return json.dumps(one, sort_keys=True, default=str) == json.dumps(other, sort_keys=True, default=str)


def declared_changes(store: str, given: Settings, policy_given: bool, ledger: Ledger) -> Changes:
    """What a program that opens ``store`` declares differently than the one before; an error for what cannot change.

    Where it names no policy, what another version has filled in may differ.
    """
    try:
        before = declared_by(ledger)
        found = differences(before, given)
        if not policy_given:
            found.pop("policy", None)
        arms = found.get("arms", _NO_ARMS)
        described = {arm: x for arm, x in found.get("configs", {}).items() if arm in arms["in"]}
        changes = {name: value for name, value in found.items() if not SETTINGS[name].may_change}
        wrong_way = {"direction"} if not ledger.told else set()  # it can be corrected until a pull counts
        _check_fixed(before, given, [name for name in changes if not SETTINGS[name].extends and name not in wrong_way])
        if len(arms["out"]) == len(before.arms):
            there = quoted(before.arms)
            raise RisingBanditsError(f"arms are {there} in the store, got {quoted(given.arms)}, none of them.")
        if described:
            changes["configs"] = described
        return _complete(ledger, {**changes, "declared": True}) if changes else {}
    except RisingBanditsError as error:
        raise RisingBanditsError(f"{store} holds another allocation: {error}") from error


def declared_by(ledger: Ledger) -> Settings:
    """The settings last declared by a program that opened the store."""
    growth = ledger.option(Growth)
    assert growth is not None
    return growth.declared


def wanted_changes(ledger: Ledger, wanted: Mapping[str, Any]) -> Changes:
    """What changes if the settings in ``wanted`` apply and the arms that it names are added."""
    for name in wanted:
        if name not in SETTINGS or not SETTINGS[name].extends:
            allowed = ", ".join(name for name, known in SETTINGS.items() if known.extends)
            raise RisingBanditsError(f"only {allowed} can be extended, got {name}.")
    values = {name: SETTINGS[name].check(name, value) for name, value in wanted.items()}
    known = ledger.by_name
    coming = [arm for arm in values.pop("arms", ()) if arm not in known or known[arm].retired == LEFT_OUT]
    names = list(dict.fromkeys([*known, *coming]))
    after = _merged(ledger.settings, _filled_in(ledger.settings, values, names), names)
    changes = differences(ledger.settings, after)
    if "policy" in changes:
        after.to_json()  # complains about what cannot be kept
    if coming:
        changes["arms"] = {"in": coming, "out": []}
    return _complete(ledger, changes) if changes else {}


def _filled_in(now: Settings, values: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """The values, where they depend on the settings that hold now."""
    filled = dict(values)
    if isinstance(limits := values.get("max_pulls"), dict):
        others = now.max_pulls if isinstance(now.max_pulls, dict) else dict.fromkeys(now.arms, now.max_pulls)
        filled["max_pulls"] = {arm: n for arm, n in {**others, **limits}.items() if n is not None}
    if "policy" in values or "reward_range" in values:
        policy, reward_range = (values.get(name, getattr(now, name)) for name in ("policy", "reward_range"))
        filled["policy"] = choose_policy(policy, now.objective, reward_range)
    return filled


def _complete(ledger: Ledger, changes: Changes) -> Changes:
    """The changes with their description, if the ledger can apply them."""
    after = _after(ledger, changes)
    _check_budget(ledger, after.budget)
    _check_rewards(ledger, after)
    for arm in changes.get("warm_start", {}):
        state = ledger.by_name.get(arm)
        if state is not None and (state.rewards or state.attempts or state.flight is not None):
            there = shown(ledger.settings.warm_start[arm]) if arm in ledger.settings.warm_start else "none"
            raise RisingBanditsError(
                f"warm_start of {arm} is {there} in the store, got {shown(changes['warm_start'][arm])}: it cannot "
                "change any more, because the arm was pulled."
            )
    return {**changes, "said": _sentence(ledger, after, changes)}


def _check_fixed(before: Settings, given: Settings, names: Iterable[str]) -> None:
    """Raise an error for settings that differ and cannot change, and for earlier rewards that are gone."""
    old, new = before.to_dict(), given.to_dict()
    fixed = [f"{name} is {shown(old[name])} in the store, got {shown(new[name])}" for name in names]
    kept = set(given.arms) - given.warm_start.keys()
    gone = {arm: rewards for arm, rewards in before.warm_start.items() if arm in kept}
    fixed += [f"warm_start of {arm} is {shown(rewards)} in the store, got none" for arm, rewards in gone.items()]
    if fixed:
        found = "; ".join(fixed)
        raise RisingBanditsError(f"{found}; that cannot change in a run: give it as there, or another store.")


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
            f"budget is {amount_text(now.amount, now.unit)} in the store, got "
            f"{amount_text(budget.amount, budget.unit)}: it must be at least the "
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


# -- for people -----------------------------------------------------------------------------------------------------


def _sentence(ledger: Ledger, after: Settings, changes: Changes) -> str:
    """What changes, such as "budget 48 -> 96 pulls, 2 new arms: x, y"."""
    now = ledger.settings
    parts = []
    if after.budget != now.budget:
        parts.append(f"budget {amount_text(now.budget.amount)} -> {amount_text(after.budget.amount, now.budget.unit)}")
    arms = changes.get("arms", _NO_ARMS)
    new = [arm for arm in arms["in"] if arm not in ledger.by_name]
    if new:
        parts.append(f"{len(new)} new arm{'' if len(new) == 1 else 's'}: {named(new)}")
    back = [arm for arm in arms["in"] if arm in ledger.by_name and ledger.by_name[arm].retired == LEFT_OUT]
    out = [arm for arm in arms["out"] if ledger.by_name[arm].retired is None]
    parts += [f"again: {named(back)}"] if back else []
    had = {arm: len(ledger.by_name[arm].rewards) for arm in out}
    shown_out = [f"{arm} ({n} pulls)" if n else arm for arm, n in had.items()]
    parts += [f"no longer pulled: {named(shown_out)}"] if had else []
    old = now.to_dict()
    for name, value in differences(now, after).items():
        if name in ("arms", "budget", "configs"):
            continue
        if name == "warm_start":
            earlier = [f"{len(rewards)} of {arm}" for arm, rewards in value.items()]
            parts.append(f"rewards of earlier pulls: {named(earlier)}")
        elif name == "policy":
            parts.append(f"policy {now.policy!r} -> {after.policy!r}")
        else:
            parts.append(f"{name} {_text(old[name])} -> {_text(value)}")
    return ", ".join(parts)


def _text(value: Any) -> str:
    if isinstance(value, list):
        return f"({', '.join(f'{part:g}' for part in value)})"
    if isinstance(value, dict):
        return f"({named([f'{arm} {limit}' for arm, limit in value.items()])})"
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
