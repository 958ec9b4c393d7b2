"""The allocator: which arm gets the next pull of a real budget."""

from __future__ import annotations

import json
import logging
import math
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from risingbandits._core.errors import RisingBanditsError, check_choice, check_finite, shown
from risingbandits.allocation._arm_state import best_pull
from risingbandits.allocation._growth import declared_changes, wanted_changes
from risingbandits.allocation._ledger import Ledger
from risingbandits.allocation._session import LONGEST_TEXT, NotNow, Session, ask_patiently
from risingbandits.allocation.arms._checkpointed import Checkpointed
from risingbandits.allocation.arms._checkpoints import Name
from risingbandits.allocation.arms._slots import Places, Slots, check_slot
from risingbandits.allocation.arms.base import (
    Arm,
    Outcome,
    as_arm,
    check_direction,
    config_in_name,
    configs_of,
    direction_of_arms,
    own_config,
)
from risingbandits.allocation.budget import Budget, as_budget
from risingbandits.allocation.listeners import Listener, Listeners, Told
from risingbandits.allocation.pull import NoArmAvailable, Pull, check_proof, place_of
from risingbandits.allocation.settings import (
    SETTINGS,
    Execution,
    Settings,
    check_arm_name,
    check_config,
    check_execution,
    stored_settings,
)
from risingbandits.allocation.starting._given import with_prior
from risingbandits.allocation.stores.base import Store, closed_on_error, open_store
from risingbandits.policies import Objective, Policy

if TYPE_CHECKING:
    from concurrent.futures import Future

    from risingbandits.allocation.status.arm_table import AllocationTable

log = logging.getLogger("risingbandits")

_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.001, 0.05  # seconds between tries of a task

Arms = Sequence[str] | Mapping[str, Arm | Callable[..., Any] | Generator[Any, Any, Any]]


class Allocator:
    """Spend a budget of pulls on named arms; see docs/allocator.md.

    Parameters
    ----------
    arms : sequence of str, or mapping of names to arms
        Names are enough for `ask` and `tell`; with functions or `Arm` objects, `run` can pull them.
    budget : int or Budget
        Number of pulls, or ``Budget(cost=...)`` or ``Budget(seconds=...)``.
    objective : {"best-arm", "cumulative"}, Objective or None
        Name the arm that is best at the end, or maximise the sum of the rewards on the way. None: what the given
        policy is made for, otherwise best-arm identification.
    policy : str, Policy or None
        None: the default for the objective. A name may have settings, "commit-ucb(sigma=0.1)".
    store : path, "postgresql://...", Store or None
        Where events are kept; None: in memory. An existing store is resumed. Settings that differ from those it was
        last opened with are applied (see `extend`) or refused by name.
    direction : {"maximize", "minimize"} or None
        "minimize" for losses, which fall. None: what the arms say, as those of frameworks and of Optuna do, otherwise
        "maximize".
    reward_range : (low, high), None or "auto"
        The range of all rewards; None if unknown. "auto": unknown for best-arm identification with policies that need
        none, such as the default, otherwise (0, 1). The first reward outside it ends `run` with an error that blames no
        arm.
    max_pulls : int, mapping or None
        How many pulls an arm can take.
    seed : int
        Seed of randomised policies, and of the order of arms where some may be left out.
    warm_start : mapping of names to rewards, or None
        An arm's own rewards of earlier pulls: known to the policy, not charged to the budget; pull numbers continue
        after them.
    prior : Prior, sources of earlier runs, or None
        What they say about the arms, for the default policy. It is read once, when the allocation is created, and kept
        in the store; the sources are not needed later.
    configs : mapping of names to mappings, or None
        Hyperparameters of the arms, ``{"a": {"lr": 0.001, "opt": "adam"}}``, for the default policy; by default the
        ``config`` of arms that have one.
    remember : path or None
        Folder in which later runs find what this one has taught, as their ``prior``. `run` and a loop over the
        allocator write it when they end; otherwise `remember` does.
    execution : Execution
        How pulls are carried out: leases, retries, durability.
    on_tell : callable, sequence of callables, or None
        Called with a `Told` for each pull that counts, in this process, once it is in the store; see `Listeners`.

    Examples
    --------
    >>> allocator = Allocator(["a", "b"], budget=20)
    >>> for pull in allocator:
    ...     _ = allocator.tell(pull, reward={"a": 0.3, "b": pull.n / (pull.n + 2)}[pull.arm])
    >>> allocator.spent, allocator.recommend()
    (20, 'b')
    """

    def __init__(
        self,
        arms: Arms,
        budget: int | Budget,
        *,
        objective: str | Objective | None = None,
        policy: str | Policy | None = None,
        store: str | Path | Store | None = None,
        direction: str | None = None,
        reward_range: tuple[float, float] | str | None = "auto",
        max_pulls: int | Mapping[str, int] | None = None,
        seed: int = 0,
        warm_start: Any = None,
        prior: Any = None,
        configs: Mapping[str, Mapping[str, float | str]] | None = None,
        remember: str | Path | None = None,
        execution: Execution = Execution(),  # noqa: B008 - it cannot change
        on_tell: Listener | Sequence[Listener] | None = None,
    ) -> None:
        given = locals() | asdict(check_execution(execution))
        given = {name: given[name] for name in SETTINGS}
        if hasattr(arms, "supply"):
            arms.supply(as_budget("budget", budget).pulls)
        given["configs"] = configs_of(arms, configs)
        given["direction"] = direction_of_arms(arms) if direction is None else direction
        given["made_late"] = hasattr(arms, "supply")  # names of such arms are only numbers
        settings = Settings.make(**{**given, "prior": None})
        if isinstance(arms, Mapping):
            for name, arm in arms.items():
                check_direction(name, arm, settings.direction)  # before there is a store that keeps it
        self._folder_of_runs, self._listeners = settings.remember, None if on_tell is None else Listeners(on_tell)
        opened = open_store(store, execution.durability)
        with closed_on_error(opened):
            ledger, changes, kept = None, None, opened.settings()
            if kept is None:
                made = with_prior(settings, given)
                text = "" if store is None else made.to_json()
                if store is not None:
                    made = Settings.from_json(text)  # as all later processes will read them
                ledger = Ledger(made)  # refuses, before anything is written, what the policy cannot do
                if store is not None and (there := opened.create(text)) != text:  # another process was first
                    kept = there
            if kept is not None:
                made, ledger = stored_settings(opened.name, kept), None
                if made.prior is None and prior is not None:
                    log.warning("%s was created without a prior, so none is read now.", opened.name)
                declared = with_prior(settings, given, made)
                changes = partial(declared_changes, opened.name, declared, policy is not None)
            self._begin_with(opened, made, ledger, changes, arms if isinstance(arms, Mapping) else {})

    @classmethod
    def open(
        cls,
        store: str | Path | Store,
        arms: Mapping[str, Arm | Callable[..., Any]] | None = None,
        on_tell: Listener | Sequence[Listener] | None = None,
    ) -> Self:
        """The allocator in a store, with the settings it was created with; ``arms`` are for `run`."""
        listeners = None if on_tell is None else Listeners(on_tell)
        opened = open_store(store)
        with closed_on_error(opened):
            kept = opened.settings()
            if kept is None:
                raise RisingBanditsError(f"{opened.name} does not exist.")
            allocator = cls.__new__(cls)
            settings = stored_settings(opened.name, kept)
            allocator._folder_of_runs, allocator._listeners = settings.remember, listeners
            opened.durability = settings.durability
            allocator._begin_with(opened, settings, None, None, arms or {})
        return allocator

    def _begin_with(
        self,
        store: Store,
        settings: Settings,
        ledger: Ledger | None,
        changes: Callable[[Ledger], dict[str, Any]] | None,
        arms: Mapping[str, Any],
    ) -> None:
        """Work on a store that was made with ``settings``; ``changes`` are those that were declared since."""
        self.store, self.is_closed, self._doubted = store, False, False
        self._session = Session(store, settings, ledger)
        ledger, self.taken_over = self._session.ledger(), ""
        if changes is not None and changes(ledger):
            self.taken_over = self._session.extend(changes)
            ledger = self._session.ledger()
        self._arms: dict[str, Any] = {}
        for name, arm in arms.items():
            as_arm(arm)  # raises an error for anything else
            self._arms[ledger.arm(name).name] = arm
        self.checkpointed: dict[str, Checkpointed] = {}  # what was pulled last, by `run`
        if ledger.surprises:
            log.warning("%s: the policy now decides differently than when it was asked.", store.name)
        if self.taken_over:
            log.info("%s: changed: %s", store.name, self.taken_over)
        log.info("%s: %d arms, %s, %g spent", store.name, len(ledger.arms), ledger.settings.budget, ledger.spent)

    # -- ask and tell -------------------------------------------------------------------------------------------

    def ask(self, wait: float | None = None, slot: str = "") -> Pull | None:
        """The next pull to make; None when the budget is spent or every arm is finished or retired.

        When no arm is free, waits up to ``wait`` seconds (`math.inf`: as long as it takes), then raises
        `NoArmAvailable`. It also waits while a server restarts or another process blocks writes to the store, for at
        least a second, or a minute if ``wait`` is not given, then raises `StoreUnreachable` or `StoreBusy`. ``slot``
        says where the pull will be made, for the log and the arm (``pull.slot``).
        """
        if slot:
            check_slot("slot", slot)
        answer = self._session.ask(slot=slot) if wait is None else ask_patiently(self._session, wait, slot)
        if isinstance(answer, NotNow):
            raise NoArmAvailable(answer.reason)
        if log.isEnabledFor(logging.DEBUG):
            log.debug("ask: %s", answer)
        return answer

    def tell(
        self,
        pull: Pull | int,
        reward: float | None = None,
        cost: float | None = None,
        checkpoint: str = "",
        finished: bool = False,
    ) -> bool:
        """Report the reward of a pull. True if it counts, False if its (arm, n) was already known.

        ``cost`` is 1 if not given, or with a budget in seconds the time since the pull was asked for. A reward
        outside the range is refused and the pull stays in flight. ``checkpoint`` is that of the `Outcome`, where the
        library keeps checkpoints. With ``finished`` this was the last pull of its arm; without a reward, there was
        nothing left to do in it, and it costs nothing.
        """
        if reward is not None or not finished:
            reward = self._session.check_reward(reward)
        if cost is not None:
            cost = check_finite("cost", cost, minimum=0.0)
        if checkpoint:
            check_proof(checkpoint)
        told = self._session.tell(pull, Outcome(reward, cost, checkpoint, finished), self._listeners is not None)
        if log.isEnabledFor(logging.DEBUG):
            log.debug("tell: %s, reward %s%s", pull, reward, "" if told else ", which was known")
        if self._listeners is not None and isinstance(told, Told):
            self._listeners.call(told)
        return told is not False

    def check_reward(self, value: Any) -> float:
        """``value`` as `tell` would take it; raises an error if it is not a reward."""
        return self._session.check_reward(value)

    def fail(self, pull: Pull | int, reason: str = "", retry: bool = True, lost: bool = False) -> None:
        """Give back a pull that could not be made. It is asked for again, or the arm is retired after ``retries``.

        With ``retry=False`` the arm is retired at once, because another attempt could not succeed. With ``lost``,
        nothing is left of what it had learnt: once retired, it is not recommended.
        """
        self._session.give_back(pull, reason, blame=True, retry=retry, lost=lost)

    def release(self, pull: Pull | int, reason: str = "") -> None:
        """Give back a pull that will not be made here, without blaming the arm, as when a worker shuts down."""
        self._session.give_back(pull, reason or "released", blame=False)

    def renew(self, pull: Pull | int) -> bool:
        """Extend the lease of a long pull. False if it is no longer in flight: stop working on it."""
        return self._session.renew(pull)

    def holds(self, pull: Pull) -> bool:
        """Whether a pull is still in flight, by a look at the store that changes nothing."""
        return self._session.holds(pull)

    async def aask(self, wait: float | None = None) -> Pull | None:
        """`ask` for asyncio: other tasks run meanwhile. The pull of a task that was cancelled is given back."""
        import asyncio
        from concurrent.futures import Future

        end, pause = time.monotonic() + (wait or 0.0), _SHORTEST_PAUSE
        while True:
            asking: Future[Pull | None] = Future()
            asyncio.get_running_loop().run_in_executor(None, _answer, asking, self.ask)
            try:
                return await asyncio.wrap_future(asking)
            except NoArmAvailable:
                if time.monotonic() >= end:
                    raise
            except asyncio.CancelledError:
                asking.add_done_callback(self._give_back)
                raise
            await asyncio.sleep(min(pause, max(0.0, end - time.monotonic())))
            pause = min(2.0 * pause, _LONGEST_PAUSE)

    def _give_back(self, asked: Future[Pull | None]) -> None:
        """Give back what nobody waits for any more, in a thread: the event loop must not wait for the store."""
        if not asked.cancelled() and asked.exception() is None and (pull := asked.result()) is not None:
            threading.Thread(target=self.release, args=(pull, "its task was cancelled")).start()

    # -- where the run stands, including what other processes have done ----------------------------------------------

    @property
    def settings(self) -> Settings:
        """The present settings: those at creation, with all changes since."""
        return self._session.settings

    @property
    def ledger(self) -> Ledger:
        """The present state, including what other processes have done; do not change it."""
        return self._session.ledger()

    @property
    def spent(self) -> float:
        """How much of the budget is told: pulls, cost or seconds."""
        return self.ledger.spent

    @property
    def remaining(self) -> float:
        """What is left of the budget, 0 if it is overdrawn."""
        ledger = self.ledger
        return max(0, ledger.settings.budget.amount - ledger.spent)

    @property
    def finished(self) -> bool:
        """Whether no pull can follow."""
        return self.ledger.finished

    @property
    def arms(self) -> list[str]:
        """The names of all arms, retired ones too."""
        return list(self.ledger.by_name)

    def recommend(self) -> str:
        """The recommended arm, if everything ended now; an error before any reward.

        In whichever state it is, it has a reward, and what it had learnt was not lost with an object that failed.
        """
        found = self.ledger.recommend()
        if found is None:
            said = "those with rewards are lost or no longer named" if self.ledger.told else "no pull has counted yet"
            raise RisingBanditsError(f"no arm can be recommended: {said}.")
        self.doubt_direction()
        return found

    def doubt_direction(self) -> None:
        """Warn, once, if most curves go the wrong way."""
        from risingbandits.allocation.status._status import direction_sentence

        if not self._doubted and (said := direction_sentence(self.ledger)):
            self._doubted = True
            log.warning("%s.", said)

    def rewards(self, name: str) -> list[float]:
        """The rewards of an arm in the order of its pulls."""
        return self.ledger.rewards(name)

    def explain(self) -> AllocationTable:
        """A table for people: each arm's level, trend, width, value, pulls, cost and status, and why it is next."""
        from risingbandits.allocation.status._status import allocation_table

        with self._session.lock:
            return allocation_table(self.ledger)

    # -- what changes -------------------------------------------------------------------------------------------

    def extend(self, budget: int | Budget | None = None, arms: Arms | None = None, **settings: Any) -> str:
        """Change what the run may spend and on what; returns what has changed, "" if nothing has.

        ``arms`` are further ones. Other ``settings`` may be max_pulls, retries, lease, reclaim, policy, reward_range,
        and configs and warm_start of arms that were never pulled. Past decisions stay; from here on the policy plans
        again, with all rewards so far. Every process on the store follows.

        >>> allocator = Allocator(["a", "b"], budget=48)
        >>> allocator.extend(budget=96, arms=["c", "d"])
        'budget 48 -> 96 pulls, 2 new arms: c, d'
        """
        wanted = {name: value for name, value in (("budget", budget), ("arms", arms)) if value is not None} | settings
        if known := configs_of(arms, settings.get("configs")):
            wanted["configs"] = known
        functions = arms if isinstance(arms, Mapping) else {}
        for arm in functions.values():
            as_arm(arm)  # raises an error for anything else
        said = self._session.extend(lambda ledger: wanted_changes(ledger, wanted))
        self._arms.update(functions)
        if said:
            log.info("%s: %s", self.store.name, said)
        return said

    # -- arms ---------------------------------------------------------------------------------------------------

    def add(self, name: str, arm: Arm | Callable[..., Any] | None = None) -> None:
        """Add an arm; the policy takes it in with the next decision."""
        check_arm_name(name)
        if arm is not None:
            as_arm(arm)  # raises an error for anything else
        self._session.add(name)
        if arm is not None:
            self._arms[name] = arm
        if config := own_config(arm) or config_in_name(name):
            self.set_config(name, config)

    def retire(self, name: str, reason: str = "") -> None:
        """Stop pulling an arm. A pull of it that is in flight still counts when it is told."""
        self._session.change("retire", name, reason)

    def mask(self, name: str) -> None:
        """Do not pull an arm until `unmask`."""
        self._session.change("mask", name)

    def unmask(self, name: str) -> None:
        """Allow an arm again."""
        self._session.change("unmask", name)

    def set_config(self, name: str, config: Mapping[str, float | str]) -> None:
        """Give the hyperparameters of an arm that was created or added later, numbers and strings by name."""
        text = json.dumps(check_config(f"config of {name}", config))
        if len(text) > LONGEST_TEXT:
            raise RisingBanditsError(f"config of {name} must be at most {LONGEST_TEXT} characters, got {len(text)}.")
        self._session.change("config", name, text)

    # -- loops --------------------------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[Pull]:
        """Pulls until the budget is spent, waiting while no arm is free. Tell each one before the next."""
        while (pull := self.ask(wait=math.inf)) is not None:
            yield pull
        self.remember_at_end()

    def run(
        self,
        jobs: int | None = None,
        progress: bool = True,
        arms: Mapping[str, Any] | None = None,
        slots: Slots = None,
        keep: int | None = None,
        backend: str = "threads",
    ) -> None:
        """Pull the arms until the budget is spent, ``jobs`` at a time, with a table on a terminal.

        ``slots`` say where pulls are made: ``["cuda:0", "cuda:1"]`` one at a time on each, ``{"cuda:0": 2}`` two. A
        pull knows its own as ``pull.slot``. ``jobs`` defaults to their number, or 1 without slots.

        A pull that raises an exception has failed. The first Ctrl-C lets the pulls in flight end, the second gives them
        back at once; then KeyboardInterrupt is raised. ``arms`` are pulled instead of those that the allocator was
        created with, such as `RayArms` on a cluster. With ``backend`` "processes" or "ray", `ProcessArms` or `RayArms`
        create and pull the arms of the allocator for the duration of the call; these must be functions that make them.

        When it ends, the object of the recommended arm is as its last pull left it, even if an earlier process made
        that pull: a finished program that is started again trains nothing and has its result.

        ``keep`` limits the checkpoints: the number of arms that have one. The arm
        that is least likely to be resumed gives up its own first; if it is resumed, it is trained again, at no cost to
        the budget.
        """
        from risingbandits.allocation.arms._driver import run_arms
        from risingbandits.allocation.cluster._remote_arms import arms_on

        with arms_on(backend, self._arms if arms is None else arms, Places(slots).jobs(jobs)) as chosen:
            run_arms(self, chosen, jobs, progress, slots, keep)

    def load(self, arm: str, which: str | None = None) -> Any:
        """The object of an arm as its best or its last pull left it, whichever process made that pull.

        ``which`` is "best" or "last". By default it is the best one unless the objective sums rewards, as far as that
        pull has left a checkpoint, otherwise the last one; of equal rewards the latest is the best. An arm has one
        object, which changes with the next call. `run` restores the last state of the recommended arm. Other
        arms that an earlier process has pulled are loaded only here: trained learners may need more memory than new
        ones.
        """
        if which is not None:
            check_choice("which", which, ("best", "last"))
        if arm not in self._arms:
            self.ledger.arm(arm)  # raises an error for a name that is no arm's
            raise RisingBanditsError(
                f"arm must be one that this allocator was given an object or a function for, got {shown(arm)}."
            )
        state = self.ledger.arm(arm)
        if arm not in self.checkpointed:
            self.checkpointed[arm] = Checkpointed.of(arm, self._arms[arm], self)
        last = Name(len(state.rewards), state.last_pull)
        n = best_pull(state, self.settings.direction)
        wants_best = which == "best" or (which is None and not Objective.get(self.settings.objective).sums_rewards)
        own = self.checkpointed[arm]
        if wants_best and n not in (0, last.n):
            best = state.best if state.best is not None and state.best.n == n else None
            if best is not None and own.finds(best):
                return own.loaded(Name(n, best.id), best)
            lost = "left no checkpoint" if best is None else f"left {place_of(arm, best)}, which is missing or damaged"
            said = f"its best pull, {n} ({state.rewards[n - 1]:g}), {lost}"
            if which == "best":
                raise RisingBanditsError(f'arm {arm!r} cannot be loaded: {said}; which="last" loads pull {last.n}.')
            if self.store.directory is not None:  # without a folder there is none to expect
                log.warning("arm %r is loaded as pull %d left it: %s.", arm, last.n, said)
        return own.loaded(last, state.last)

    def find_arm(self, name: str) -> Any:
        """What `run` pulls under a name, if given here: an arm, a function, or what makes one; otherwise None."""
        return self._arms.get(name)

    def remember(self) -> Path:
        """Write what this run has taught so far into the folder ``remember``; returns the path of the file.

        `run` and a loop over the allocator do this when they end; there a folder that cannot be written to is a
        warning.
        """
        from risingbandits.allocation.starting._memory import remember

        if self._folder_of_runs is None:
            raise RisingBanditsError("remember must be given to Allocator, such as remember='runs', to remember a run.")
        with self._session.lock:
            settings = json.dumps(self.ledger.settings.to_dict(), default=str)
            return remember(self._folder_of_runs, self.store, settings)

    def remember_at_end(self) -> Path | None:
        """The same if there is a folder and something to remember; errors are warnings, because the run is done."""
        if self._folder_of_runs is None or not self.ledger.told:
            return None
        try:
            path = self.remember()
        except (OSError, RisingBanditsError) as error:
            log.warning("the run is not remembered in %s: %s", self._folder_of_runs, error)
            return None
        log.info("%s: remembered in %s", self.store.name, path)
        return path

    def keep_checkpoint(self, arm: str, name: Name, proof: str) -> None:
        """Record a checkpoint that was left after its pull was told, as of a learner that makes room for another."""
        self._session.keep_checkpoint(arm, *name, proof)

    def give_up_checkpoints(self, rename: Callable[[Ledger], list[str]]) -> list[str]:
        """Record which arms give up their checkpoints; ``rename`` renames them while nobody can ask or tell."""
        return self._session.give_up(rename)

    def close(self) -> None:
        """Close the store. Pulls in flight stay in flight until they are told or their leases end."""
        with self._session.lock:
            self.is_closed = True
            self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _answer(asking: Future[Pull | None], ask: Callable[[], Pull | None]) -> None:
    """Ask, unless that was cancelled before it began."""
    if asking.set_running_or_notify_cancel():
        try:
            asking.set_result(ask())
        except BaseException as error:
            asking.set_exception(error)
