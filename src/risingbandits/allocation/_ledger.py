"""The state of an allocation, folded from its events: no clock, no files, no unseeded randomness.

Every process that reads the same events arrives at the same ledger, policy included: when an event says that a pull was
given out, the policy is asked again with the same free arms, so that whatever it draws or changes happens here as well.
So a resumed run decides like one that was never interrupted. A policy that was informed about the arms decides slowly,
and by linear algebra that may differ between machines: there the event is the decision, and it is not asked again.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from functools import partial
from typing import TypeVar

import numpy as np

from risingbandits._core.errors import RisingBanditsError, shown
from risingbandits.allocation._arm_state import ArmState, EligibleArms, Flight
from risingbandits.allocation._options import Option, answering, option_classes
from risingbandits.allocation.budget import ExactSum, planned_rounds
from risingbandits.allocation.events import Event
from risingbandits.allocation.pull import Saved, better
from risingbandits.allocation.settings import Settings
from risingbandits.policies import Objective, Policy
from risingbandits.policies._knowledge import Knowledge

_TOLERANCE = 0.1  # by which the rounds that a budget in cost or seconds pays for may differ from those planned

AnyOption = TypeVar("AnyOption", bound=Option)


class Ledger:
    """The fold. `apply` takes the events one by one; `decide` says which arm is next.

    Parameters
    ----------
    settings : Settings
        What the allocation was made with.
    """

    def __init__(self, settings: Settings) -> None:
        self.options: tuple[Option, ...] = ()
        self.take_settings(settings)
        self.last_id = 0
        self.last_time = 0.0  # of the last event
        self.free_pulls = 0  # in a row that cost nothing, of budgets in cost or seconds
        self.arms: list[ArmState] = []
        self.by_name: dict[str, ArmState] = {}
        self.numbered: list[ArmState] = []  # by their number for the policy, which is fixed when an arm is added
        self.in_flight: dict[int, Flight] = {}
        self.lapsed: dict[int, Flight] = {}  # failed or expired; a late tell may still count
        self.repeat_first: list[ArmState] = []  # whose next pull was given back: they go first
        self.told_arms = array("i")  # the arm of each told pull
        self.spent_cost = ExactSum()  # of budgets in cost or seconds
        self.rebuilds = self.retold = 0  # policies that were made, and pulls that these were told again
        self.surprises = 0  # asks on which the policy now decides otherwise, as after a change of its code
        self.policy: Policy = settings.policy
        self.free, self.eligible = EligibleArms(()), EligibleArms(())  # by their number for the policy
        self.add_arms(settings.arms)
        self.rebuild()

    def take_settings(self, settings: Settings) -> None:
        """Use these settings from now on; the policy and the masks follow."""
        self.settings = settings
        # A policy is told (reward - zero) / span: higher is better, in [0, 1] if the range is known.
        low, high = settings.reward_range or (0.0, 1.0)
        self.zero, self.span = low, high - low
        if settings.direction == "minimize":
            self.zero, self.span = high if settings.reward_range else 0.0, low - high
        self._pulls, self._amount = settings.budget.pulls, settings.budget.amount
        self._sums = Objective.get(settings.objective).sums_rewards
        before = {type(option): option for option in self.options}
        found = [kind.of(settings, before.get(kind)) for kind in option_classes()]
        self.options = tuple(option for option in found if option is not None)
        tellers = answering(self.options, "tell")
        assert len(tellers) <= 1, f"{[option.key for option in tellers]} all answer tell"
        self._costs = next(iter(tellers), None)
        self._enders, self._knowing = answering(self.options, "is_over"), answering(self.options, "known")
        self.of_kind = {kind: option for option in self.options for kind in option.kinds}  # who takes which events

    def option(self, kind: type[AnyOption]) -> AnyOption | None:
        """The option of this kind, None if it is not used."""
        return next((option for option in self.options if isinstance(option, kind)), None)

    # -- what may happen next -----------------------------------------------------------------------------------

    @property
    def told(self) -> int:
        """Number of pulls that count."""
        return len(self.told_arms)

    @property
    def spent(self) -> float:
        """How much of the budget is told."""
        return self.spent_cost.value if self._pulls is None else self.told

    @property
    def finished(self) -> bool:
        """Whether no pull can follow: the budget is spent, every arm is retired or finished, or an option says so."""
        if self.spent >= self._amount or (self._enders and self.why_over()):
            return True
        if self.eligible.count or self.in_flight:
            return False
        return all(arm.over for arm in self.arms)

    def why_over(self) -> str:
        """Why an option ends the run although budget is left; empty if none does."""
        return next((why for option in self._enders if (why := option.is_over(self))), "")

    @property
    def committed(self) -> bool:
        """Whether the rest of a budget in pulls is in flight."""
        return self._pulls is not None and len(self.told_arms) + len(self.in_flight) >= self._pulls

    @property
    def may_go_on(self) -> bool:
        """The usual case, found quickly: neither `finished` nor `committed`."""
        if not self.eligible.count or self._enders:
            return False
        if self._pulls is None:
            return self.spent_cost.value < self._amount
        return len(self.told_arms) + len(self.in_flight) < self._pulls

    def decide(self) -> ArmState | None:
        """The arm to pull next; None if none is free. This may change the policy, so `give` must follow."""
        if self.repeat_first and (again := self.repeated()) is not None:
            return again
        if not self.free.count:
            return None
        self._expect_workers()
        ask = self.policy._propose if self.policy._informed else self.policy.ask
        return self.numbered[ask(self.free.mask())]

    def _expect_workers(self) -> None:
        """Say how many pulls are made at a time; to find the best arm, policies name several arms by themselves."""
        if self._sums:
            self.policy.expect_workers(len(self.in_flight) + 1)

    def repeated(self) -> ArmState | None:
        """The first free arm whose pull was given back, if there is one: it goes first."""
        return next((arm for arm in self.repeat_first if arm.flight is None and arm.eligible), None)

    def countable(self, pull_id: int) -> Flight | None:
        """The pull, if a tell of it would count now; None if its (arm, n) is known or its budget is given away."""
        flight = self.in_flight.get(pull_id)
        if flight is not None:
            return flight
        flight = self.lapsed.get(pull_id)
        if flight is not None and flight.arm.flight is None and self.committed:
            return None
        return flight

    # -- the fold -----------------------------------------------------------------------------------------------

    def apply(self, event: Event) -> None:
        """Take in the next event."""
        kind = event.kind
        arm = self.by_name.get(event.arm)
        if kind in self.of_kind:
            self.of_kind[kind].apply(self, event)
        elif kind == "add":
            if arm is not None:
                raise RisingBanditsError(f"event {event.id} adds {shown(event.arm)}, which exists.")
            self.add_arms([event.arm])
            self.replan()
        elif arm is None:
            raise RisingBanditsError(f"event {event.id} is about {shown(event.arm)}, which is not an arm.")
        elif kind == "tell":
            self.apply_tell(event, arm)
        elif kind == "ask":
            if not self.policy._informed:
                self.surprises += self.decide() is not arm
            self.give(event, arm)
        else:
            self._apply_rare(event, arm)
        self.last_id, self.last_time = event.id, event.time

    def give(self, event: Event, arm: ArmState) -> Flight:
        """Record that a pull of ``arm`` was given out, after `decide` has named it."""
        if arm.flight is not None:
            raise RisingBanditsError(f"event {event.id} gives out {shown(arm.name)}, which is not free.")
        if self.policy._informed:  # it was not asked, or was only to propose
            self._expect_workers()
            if arm not in self.repeat_first:
                self.policy._give(arm.place)
        id, moment = event[0], event[1]
        arm.attempts += 1
        flight = Flight(id, arm, event[5], arm.attempts, moment, moment + self.settings.lease, event[9], event[8])
        arm.flight = self.in_flight[id] = flight
        if self.repeat_first and arm in self.repeat_first:
            self.repeat_first.remove(arm)
        self.free.put(arm.place, False)
        self.last_id, self.last_time = id, moment
        return flight

    def apply_tell(self, event: Event, arm: ArmState) -> None:
        """Take in the reward of a pull of ``arm``."""
        reward, cost = event[6], event[7]
        if reward is None or cost is None or event[5] != len(arm.rewards) + 1:
            raise RisingBanditsError(f"event {event.id} tells pull {event.n} of {shown(arm.name)} out of order.")
        flight = arm.flight
        if flight is not None:  # this pull, or one given out in its place, which is void now
            del self.in_flight[flight.id]
            arm.flight = None
        if flight is None or arm.attempts > 1:
            self._forget_attempts(arm)
        arm.attempts = 0
        arm.rewards.append(reward)
        arm.cost += cost
        arm.last_pull = event[4]
        if event[8]:
            arm.last = Saved(event[5], event[4], reward, event[8])
            arm.best = better(arm.best, arm.last, self.settings.direction)
        self.told_arms.append(arm.index)
        value = (reward - self.zero) / self.span + 0.0
        if self.teller is not None:
            self.teller.tell(self.policy, arm.place, value, cost)
        elif self.policy._takes_costs:
            self.policy.tell(arm.place, value, cost)  # type: ignore[call-arg]
        else:
            self.policy.tell(arm.place, value)
        if arm.limit is None and not arm.masked and arm.retired is None:
            self.free.put(arm.place, True)
        else:
            self._refresh(arm)
        if self._pulls is None:
            self.spent_cost.add(cost)
            self.free_pulls = 0 if cost > 0.0 else self.free_pulls + 1
            if self._should_plan_again():
                self.replan()
        self.last_id, self.last_time = event[0], event[1]

    def _should_plan_again(self) -> bool:
        """Whether a budget in cost or seconds pays for other rounds than planned, or pulls are told by other costs."""
        if self.spent_cost.value >= self._amount:
            return False
        before = self.policy.horizon or 1
        if abs(self.horizon() - before) > _TOLERANCE * before:
            return True
        return self.teller is not None and self.teller.is_stale()

    def _forget_attempts(self, arm: ArmState) -> None:
        arm.failures = 0
        self.lapsed = {id: flight for id, flight in self.lapsed.items() if flight.arm is not arm}
        if arm in self.repeat_first:
            self.repeat_first.remove(arm)

    def _apply_rare(self, event: Event, arm: ArmState) -> None:
        if event.kind in ("fail", "expire", "renew"):
            flight = self.in_flight.get(event.pull)
            if flight is None or flight.arm is not arm:
                raise RisingBanditsError(f"event {event.id} is about pull {event.pull}, which is not in flight.")
            if event.kind == "renew":
                flight.deadline = event.time + self.settings.lease
                return
            del self.in_flight[flight.id]
            self.lapsed[flight.id] = flight
            arm.flight = None
            arm.failures += event.kind == "fail"
            self.repeat_first.append(arm)
            self._refresh(arm)
        elif event.kind == "checkpoint":
            if not event.text:
                arm.last = arm.best = None
            elif event.pull == arm.last_pull:
                arm.last = Saved(event.n, event.pull, arm.rewards[-1], event.text)
                arm.best = better(arm.best, arm.last, self.settings.direction)
        elif event.kind == "finish":
            found = self.in_flight.get(event.pull) or self.lapsed.get(event.pull)
            if event.pull and (found is None or found.arm is not arm):
                raise RisingBanditsError(f"event {event.id} is about pull {event.pull}, which cannot count.")
            if arm.flight is not None:  # the pull that found the end, or one given out in its place
                del self.in_flight[arm.flight.id]
                arm.flight = None
            self._forget_attempts(arm)
            arm.ended = True
            self._refresh(arm)
        elif event.kind == "retire":
            arm.retired, arm.gave_up = event.text or "by request", event.pull > 0
            self._refresh(arm)
        elif event.kind in ("mask", "unmask"):
            arm.masked = event.kind == "mask"
            self._refresh(arm)
        else:
            raise RisingBanditsError(f"event {event.id} is of an unknown kind, {shown(event.kind)}.")

    # -- arms and the policy ------------------------------------------------------------------------------------

    def add_arms(self, names: Sequence[str]) -> None:
        """New arms, which get the next numbers for the policy: in random order if some of them may be left out."""
        settings, first = self.settings, len(self.arms)
        for name in names:
            past = array("d", settings.warm_start.get(name, ()))
            config = settings.configs.get(name, {})
            arm = ArmState(name, len(self.arms), settings.limit(name), past, len(past), config)
            self.arms.append(arm)
            self.by_name[name] = arm
        order = self.arms[first:]
        if settings.shuffled:
            drawn = np.random.default_rng([settings.seed, 1, first] if first else [settings.seed, 1])
            order = [order[i] for i in drawn.permutation(len(order)).tolist()]
        for arm in order:
            arm.place = len(self.numbered)
            self.numbered.append(arm)

    def known(self) -> Knowledge | None:
        """What options know about the arms; None if that is nothing."""
        found = {name: value for option in self._knowing for name, value in option.known(self).items()}
        if not found:
            return None
        limits = {arm.limit for arm in self.arms}
        return Knowledge(**found, max_pulls=None if None in limits else max(filter(None, limits)))

    def inform(self) -> None:
        """Tell the policy what is known about the arms by now: only one that had nothing to use is rebuilt."""
        known = self.known()
        if known is not None and self.policy._informed:
            self.policy.inform(known)
        elif known is not None and self.counts(known) and self.settings.policy.replace().inform(known):
            self.rebuild()

    def counts(self, known: Knowledge) -> bool:
        """Whether the policy decides better with what is known about the arms, for a budget of so many pulls."""
        pulls = self.settings.budget.pulls  # of a budget in cost nobody knows how many it buys
        rounds = None if pulls is None else pulls + sum(arm.warm for arm in self.numbered)
        return self.settings.policy._uses_knowledge(known, len(self.numbered), rounds)

    def replan(self) -> None:
        """Go on with the present arms and horizon: a policy that cannot is rebuilt and told all rewards again."""
        known = self.known() if self.policy._informed and self.teller is None else None
        if known is None or not self.policy._extend(len(self.numbered), self.horizon(), known):
            self.rebuild()
        else:
            self.refresh_masks()

    def _refresh(self, arm: ArmState) -> None:
        """Bring the masks up to date with one arm."""
        eligible = arm.eligible
        self.eligible.put(arm.place, eligible)
        self.free.put(arm.place, eligible and arm.flight is None)

    def play(self, policy: Policy) -> None:
        """Let a policy decide from now on, which may hear of costs itself."""
        self.policy = policy
        self.teller = None if policy._takes_costs else self._costs

    def horizon(self) -> int:
        """The policy's total number of rounds, as known now: earlier runs, told pulls and what is left."""
        warm: list[int] = [arm.warm for arm in self.numbered]
        rounds = (sum(warm), self.told) if self.teller is None else self.teller.rounds(warm)
        return planned_rounds(self.settings.budget, self.spent_cost.value, len(warm), *rounds)

    def rebuild(self) -> None:
        """A policy for the present arms and horizon, told all rewards again in their order."""
        policy, known = self.settings.policy.replace(), self.known()
        if known is not None and self.counts(known):
            policy.inform(known)
        self.play(policy)
        if self.teller is not None:
            self.teller.settle(self)
        drawn = self.rebuilds if self.teller is None else 0
        policy.reset(len(self.numbered), self.horizon(), seed=[self.settings.seed, 0, drawn])
        tell = policy.tell
        if self.teller is not None:
            self.teller.begin(policy)
            tell = partial(self.teller.tell, policy)
        self.rebuilds += 1
        for n in range(max((arm.warm for arm in self.numbered), default=0)):
            for arm in self.numbered:
                if n < arm.warm:
                    tell(arm.place, (arm.rewards[n] - self.zero) / self.span + 0.0)
        next_n = [arm.warm for arm in self.arms]
        for index in self.told_arms:
            arm = self.arms[index]
            value = (arm.rewards[next_n[index]] - self.zero) / self.span + 0.0
            tell(arm.place, value, *((arm.cost / (len(arm.rewards) - arm.warm),) if policy._takes_costs else ()))
            next_n[index] += 1
        for flight in self.in_flight.values() if policy._informed else ():
            policy._give(flight.arm.place)
        self.retold += len(self.told_arms)
        self.refresh_masks()

    def refresh_masks(self) -> None:
        """Bring the masks up to date with all arms."""
        self.eligible = EligibleArms(arm.eligible for arm in self.numbered)
        self.free = EligibleArms(arm.eligible and arm.flight is None for arm in self.numbered)

    # -- views --------------------------------------------------------------------------------------------------

    def foreseen(self) -> Policy:
        """The policy, told how many pulls each arm may have in all; arms that are over get no more."""
        most = [len(arm.rewards) if arm.over else arm.most_pulls for arm in self.numbered]
        if self.teller is not None:  # it counts rounds of equal cost
            had = self.policy.pulls
            most = [had[arm.place] if arm.over else math.inf for arm in self.numbered]
        self.policy._expect_lengths(most)
        return self.policy

    def recommend(self) -> str | None:
        """The policy's arm or, if that cannot be had, the best that is predicted and shown; None before any reward."""
        policy = self.foreseen()
        best = self.numbered[policy.recommend()]
        if best.recommendable:
            return best.name
        values = policy._shown()
        left = [arm for arm in self.numbered if arm.recommendable]
        return max(left, key=lambda arm: values[arm.place]).name if left else None

    def rewards(self, name: str) -> list[float]:
        """The rewards of an arm as told, in the order of its pulls, those of earlier runs first."""
        return self.arm(name).rewards.tolist()

    def arm(self, name: str) -> ArmState:
        """An arm by its name."""
        if name not in self.by_name:
            raise RisingBanditsError(f"arm must be one of {shown(list(self.by_name))}, got {shown(name)}.")
        return self.by_name[name]
