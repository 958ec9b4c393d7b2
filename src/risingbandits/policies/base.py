"""The policy contract: settings in the constructor, ``reset`` starts a run, then ``ask`` and ``tell``.

A policy file holds a ``State`` of numbers and arrays, two kernels that read and change it, and a class that builds it.
The same kernels serve ``ask``/``tell`` from Python and the compiled loop of `simulate`, with the same decisions, bit
for bit.
"""

from __future__ import annotations

import inspect
import math
import operator
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from risingbandits._core.entry_points import EntryPoint
from risingbandits._core.errors import RisingBanditsError, check_positive_int, shown
from risingbandits._core.types import Floats, Ints, Mask, Rng
from risingbandits.policies import _posterior as posterior
from risingbandits.policies import _reasons as reasons
from risingbandits.policies._kernels import levels
from risingbandits.policies._knowledge import Knowledge
from risingbandits.policies._settings import check_settings
from risingbandits.policies.explanation import Explanation, Moment

if TYPE_CHECKING:
    from risingbandits.problems import RisingBandit

VERIFIED = ("public implementation", "published definition", "derived here")
DIRECTIONS = ("maximize", "minimize")  # of rewards, or of losses

_FIRST_CAPACITY, _FIRST_PULLS = 64, 16  # pulls, and pulls of an arm, that a new ask/tell run has room for
_GROWTH = 1.25
_LISTEN = 63  # a remark is looked for every 64 rounds


class Kernels(NamedTuple):
    """The compiled pieces of a policy. None allocates, raises or returns an unavailable arm."""

    select: Callable[..., int]  # (state, t, available or None, rng or None) -> arm for round t = 1, 2, ...
    update: Callable[..., None]  # (state, t, arm, reward, rng or None)
    recommend: Callable[..., int] = levels.recommend  # (state, rounds played, levels of the arms, for it alone)


# Templates of the calls that Python makes. A plain tuple reaches compiled code about 1 us sooner than a NamedTuple, so
# the state is passed as one and gets its names back inside. `_calls` re-binds the names.
State: Any = None
select: Any = None
update: Any = None
recommend: Any = None


def _ask(fields: tuple[Any, ...], t: int, available: Mask, rng: Rng) -> int:
    return select(State(*fields), t, available, rng)


def _tell(fields: tuple[Any, ...], known: Floats, t: int, arm: int, reward: float, rng: Rng) -> None:
    update(State(*fields), t, arm, reward, rng)
    levels.add(known, arm, reward)


def _recommend(fields: tuple[Any, ...], t: int, known: Floats) -> int:
    return recommend(State(*fields), t, known)


class _Calls(NamedTuple):
    ask: EntryPoint
    ask_some: EntryPoint  # with a mask: another type, thus other machine code
    tell: EntryPoint
    recommend: EntryPoint


@cache
def _calls(kernels: Kernels, state_class: type, draws: bool) -> _Calls:
    """The calls that all policies with these kernels share, so that each is compiled only once."""
    names = {**kernels._asdict(), "State": state_class}
    return _Calls(*(EntryPoint(template, **names) for template in (_ask, _ask, _tell, _recommend)))


class Policy:
    """Base class of all policies. What users call has no underscore; what authors of policies write begins with one.

    Authors (`help(risingbandits.policies)` has an example) write a constructor that only stores its arguments under
    their own names, or settings as fields made by `risingbandits.policies._settings`, and need only the first two of

    - the tags ``name``, ``kernels`` (the compiled pieces), ``summary``, ``verified``, ``objective``, ``randomised`` and
      ``needs_horizon``, which say what the policy is and needs;
    - ``_new_state(n_arms, horizon, capacity)``, a NamedTuple of numbers and arrays that the kernels read and change,
      and ``_make_room(state, capacity)`` if arrays grow with the pulls;
    - ``_kernels_for(n_arms, horizon)``, if kernels depend on the settings or on the numbers of arms and rounds;
    - ``_validate()``, which checks the settings, and ``_for_problem(problem, horizon)``, which fills in those that a
      simulation may know;
    - ``_parts(state, t)``, the columns of `explain`, ``_why_next(moment)`` and ``_why_kept(moment)``, its reasons, and
      ``_remark(state)``, what the user should know;
    - ``_take_workers(state, workers)``, if decisions depend on how many pulls are in flight, and ``inform``, if they
      depend on configs or earlier runs;
    - ``_draws_on_tell = True`` if ``update`` uses the generator, and ``_scratch``, the names of the fields of the state
      that need not be reset between the runs of a simulation.
    """

    # Tags: what the policy is and needs. They drive the tests and the table in the documentation.
    name: ClassVar[str]
    kernels: ClassVar[Kernels]
    summary: ClassVar[str] = ""
    verified: ClassVar[str] = ""  # what decisions were compared with: begins with one of VERIFIED; "" says nothing
    objective: ClassVar[str] = "cumulative"  # the name of the one that it is made for
    randomised: ClassVar[bool] = False  # also without random ties or a random order
    needs_horizon: ClassVar[bool | tuple[str, ...]] = (
        False  # True, or the settings that follow from it if they are None
    )
    reward_range: tuple[float, float] | None = None  # the default, if it is a setting

    _scratch: ClassVar[frozenset[str]] = frozenset()  # fields that a run writes before it reads them, or constants
    _draws_on_tell: ClassVar[bool] = False  # handing a generator to compiled code costs 9 us, so only where it is used
    _compiles: ClassVar[bool] = True  # False: plain Python, see `PlainPolicy`
    _in_order: ClassVar[bool] = False  # opens arms in the order of their numbers, and may never reach the last
    _takes_costs: bool = False  # whether `tell` takes what a pull cost, so that pulls are told as they are
    _predicts: bool = False  # recommends the highest predicted value; otherwise `Kernels.recommend` says what

    _knowledge: Knowledge | None = None  # what was known before the run, if the policy uses it
    _state: Any = None
    _rng: Rng = None
    _levels: Floats
    _lengths: Floats | None = None
    _remarked = False

    def __init__(self) -> None:
        """A policy without settings."""

    # -- what authors write -------------------------------------------------------------------------------------

    def _validate(self) -> None:
        """Raise `RisingBanditsError` for a setting that is not allowed; here, for fields whose check refuses it."""
        check_settings(self)

    def _new_state(self, n_arms: int, horizon: int | None, capacity: int) -> Any:
        """The state before the first round, with room for ``capacity`` pulls."""
        raise TypeError(f"{type(self).__name__} does not define _new_state.")

    def _kernels_for(self, n_arms: int, horizon: int | None = None) -> Kernels:
        """The kernels for these numbers of arms and rounds (None: not known); many arms may have faster ones."""
        return self.kernels

    def _make_room(self, state: Any, capacity: int) -> None:
        """Grow buffers of ``state`` in place so that ``capacity`` pulls fit, however they are spread."""

    def _parts(self, state: Any, t: int) -> dict[str, Floats]:
        """The parts of each arm's index at round t, for `explain`; empty without an index."""
        return {}

    def _why_next(self, at: Moment) -> str:
        """Why the arm of this moment is pulled next, in a few words: which rule says so."""
        return reasons.why_next(at)

    def _why_kept(self, at: Moment) -> str:
        """Why the arm of this moment is recommended, in a few words."""
        return reasons.why_kept(at)

    def _for_problem(self, problem: RisingBandit, horizon: int) -> Self:
        """This policy with settings that are None filled in from a simulated problem, where it may know them.

        These are the noise level for ``sigma`` and, if the curves of all arms end, the length of the longest for
        ``max_pulls``.
        """
        known: dict[str, Any] = {"sigma": problem.sigma, "max_pulls": problem.longest}
        params = self.get_params()
        told = {name: value for name, value in known.items() if params.get(name, 0) is None and value is not None}
        return self.replace(**told) if told else self

    def _take_workers(self, state: Any, workers: int) -> bool:
        """Store in ``state`` how many pulls are made at a time; False if decisions do not depend on it."""
        return False

    def _remark(self, state: Any) -> str | None:
        """What the user should know about the run: a sentence, shown once as a warning, or None."""
        return None

    def _requires_horizon(self) -> bool:
        """Whether runs with these settings must know the number of rounds."""
        needs = self.needs_horizon
        return needs if isinstance(needs, bool) else any(getattr(self, setting) is None for setting in needs)

    @property
    def _draws(self) -> bool:
        """Whether runs with these settings use the policy's random generator."""
        return self.randomised or any(getattr(self, setting, None) == "random" for setting in ("ties", "order"))

    # -- settings -----------------------------------------------------------------------------------------------

    def get_params(self) -> dict[str, Any]:
        """The settings, as given to the constructor."""
        return {name: getattr(self, name) for name in _parameters(type(self).__init__)}

    def replace(self, **changes: Any) -> Self:
        """A new policy with some settings changed."""
        return type(self)(**{**self.get_params(), **changes})

    def clone(self) -> Self:
        """An exact copy: settings and, in the middle of a run, the run. Both continue independently."""
        copy = self.replace()
        return copy if self._state is None else copy.restore(self.state_dict())

    def __repr__(self) -> str:
        defaults = _parameters(type(self).__init__)
        changed = [f"{k}={v!r}" for k, v in self.get_params().items() if not _same(v, defaults[k].default)]
        return f"{type(self).__name__}({', '.join(changed)})"

    # -- a run --------------------------------------------------------------------------------------------------

    def reset(self, n_arms: int, horizon: int | None = None, seed: Any = None) -> Self:
        """Start a run with ``n_arms`` arms; return self.

        ``horizon`` is the number of rounds, if known; ``seed`` (anything that `numpy.random.default_rng` accepts) makes
        a randomised policy reproducible.
        """
        n_arms = check_positive_int("n_arms", n_arms)
        if horizon is not None:
            horizon = check_positive_int("horizon", horizon)
        elif self._requires_horizon():
            raise RisingBanditsError(f"{type(self).__name__} needs horizon, the number of rounds, got None.")
        self._validate()
        if self._knowledge is not None:
            self._knowledge = self._knowledge.checked(n_arms)
        try:
            rng = np.random.default_rng(seed) if self._draws else None
        except (TypeError, ValueError) as error:
            raise RisingBanditsError(f"seed must be what numpy.random.default_rng takes, got {seed!r}.") from error
        state = self._new_state(n_arms, horizon, _FIRST_CAPACITY)
        self._begin(n_arms, horizon, state, _FIRST_CAPACITY, [0] * n_arms, rng)
        return self

    def _reset_as_after(self, n_arms: int, horizon: int | None, rounds: int) -> Self:
        """Start a run whose state has the form that it has after ``rounds`` rounds, for `restore`; return self."""
        return self.reset(n_arms, horizon)

    def _begin(
        self,
        n_arms: int,
        horizon: int | None,
        state: Any,
        capacity: int,
        pulls: list[int],
        rng: Rng,
        known: Floats | None = None,
    ) -> None:
        self.n_arms, self.horizon, self.rounds = n_arms, horizon, sum(pulls)
        self._state, self._capacity, self._pulls, self._rng = state, capacity, list(pulls), rng
        self._fields = tuple(state)
        self._remarked = False
        self._levels = levels.new_levels(n_arms, _FIRST_PULLS) if known is None else known
        self._room = levels.room(self._levels)
        self._lengths = None
        self._find_calls()

    def _find_calls(self) -> None:
        kernels = self._kernels_for(self.n_arms, self.horizon)
        self._calls: Any = _calls(kernels, self._state.__class__, self._rng is not None)

    def _state_fields(self, state: Any) -> dict[str, Any]:
        """What a run is made of, by name: numbers, and arrays that still belong to the run."""
        fields: dict[str, Any] = state._asdict()
        return fields

    def _restored_state(self, fresh: Any, numbers: dict[str, Any], arrays: dict[str, Any]) -> Any:
        """The ``fresh`` state filled with what was stored, if that has the same shape and types."""
        from risingbandits.policies import _saving as saving

        return saving.filled(fresh, numbers, arrays)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_calls"}

    def __setstate__(self, stored: dict[str, Any]) -> None:
        self.__dict__.update(stored)
        if self._state is not None:  # arrays that were pickled may not own their memory, and then cannot grow
            owned = (value.copy() if isinstance(value, np.ndarray) else value for value in self._state)
            self._state = type(self._state)(*owned)
            self._fields = tuple(self._state)
            self._find_calls()

    def ask(self, available: Sequence[bool] | Mask = None) -> int:
        """The arm to pull next, among the ``available`` ones (one boolean per arm; None: all)."""
        self._check_begun("ask")
        if available is None:
            return int(self._calls.ask.call(self._fields, self.rounds + 1, None, self._rng))
        mask = np.asarray(available)
        if mask.shape != (self.n_arms,) or mask.dtype != np.bool_:
            raise RisingBanditsError(
                f"available must be {self.n_arms} booleans, one per arm, got {mask.dtype} of shape {mask.shape}."
            )
        if not mask.any():
            raise RisingBanditsError("available must leave at least one arm, got none.")
        return int(self._calls.ask_some.call(self._fields, self.rounds + 1, np.ascontiguousarray(mask), self._rng))

    def tell(self, arm: int, reward: float) -> None:
        """Report the reward of one pull of ``arm``, whether it was asked for or not."""
        self._check_begun("tell")
        try:
            arm = operator.index(arm)
            finite = math.isfinite(reward)
        except TypeError as error:
            raise RisingBanditsError(f"tell takes an arm number and a number, got {arm!r} and {reward!r}.") from error
        if not 0 <= arm < self.n_arms:
            raise RisingBanditsError(f"arm must be 0 to {self.n_arms - 1}, got {arm}.")
        if not finite:
            raise RisingBanditsError(f"reward must be a finite number, got {reward}.")
        if self.rounds >= self._capacity:
            self._capacity = int(_GROWTH * self._capacity) + 1
            self._make_room(self._state, self._capacity)
        self.rounds += 1
        self._pulls[arm] += 1
        if self._pulls[arm] > self._room:
            self._levels = levels.make_room(self._levels, 2 * self._room)
            self._room = levels.room(self._levels)
        rng = self._rng if self._draws_on_tell else None
        self._calls.tell.call(self._fields, self._levels, self.rounds, arm, float(reward), rng)
        if not self.rounds & _LISTEN and not self._remarked:
            self._say()

    def _say(self) -> None:
        """Show the remark of the run as a warning, once."""
        remark = self._remark(self._state)
        if remark is not None:
            self._remarked = True
            warnings.warn(f"{self.name}: {remark}", stacklevel=3)

    @property
    def pulls(self) -> Ints:
        """How often each arm was pulled in this run."""
        self._check_begun("pulls")
        return np.array(self._pulls, dtype=np.int64)

    @property
    def _informed(self) -> bool:
        """Whether the policy uses what it was told by `inform`."""
        return self._knowledge is not None

    def _uses_knowledge(self, knowledge: Knowledge, n_arms: int, horizon: int | None) -> bool:
        """Whether a run of this size goes better with what `inform` tells."""
        return True

    def inform(self, knowledge: Knowledge) -> bool:
        """Take in what is known about the arms before they are pulled; False if this policy does not use that.

        It is called before `reset` or, where more gets known, in a run that began informed. Decisions of an informed
        run may be computed elsewhere (`propose`) and are then only noted (`give`).
        """
        return False

    def _extend(self, n_arms: int, horizon: int | None, knowledge: Knowledge) -> bool:
        """Go on with more arms, another horizon and what is known now; False if that takes a new run.

        The new arms are numbered after the others. What is known of a run that goes on is a function of this, too.
        """
        return False

    def _propose(self, available: Sequence[bool] | Mask = None) -> int:
        """What `ask` would answer; it changes nothing."""
        return self.clone().ask(available)

    def _give(self, arm: int) -> None:
        """Note that a pull of ``arm`` was given out, as it was proposed: what `ask` does after its decision."""

    def expect_workers(self, workers: int) -> bool:
        """From now on ``workers`` pulls are made at a time, of different arms; ``available`` says which are free.

        Returns whether decisions take that into account.
        """
        self._check_begun("expect_workers")
        return self._take_workers(self._state, check_positive_int("workers", workers))

    def _expect_lengths(self, lengths: ArrayLike) -> None:
        """From now on each arm has at most so many pulls in all (infinity: not known), for what is predicted of it."""
        self._check_begun("expect_lengths")
        self._lengths = np.array(lengths, dtype=np.float64)
        if self._lengths.shape != (self.n_arms,) or not (self._lengths >= 0.0).all():
            raise RisingBanditsError(f"lengths must be {self.n_arms} numbers of pulls, got {shown(lengths)}.")

    def _stated_end(self) -> tuple[float, str]:
        """The resource at which arms are compared, and what that is in words.

        It is the most pulls that an arm may have, if that is known; otherwise what the budget still buys the oldest
        arm; otherwise what the oldest arm has had.
        """
        longest = math.inf if self._lengths is None else float(self._lengths.max())
        limit = getattr(self, "max_pulls", None)
        left = None if self.horizon is None else max(0, self.horizon - self.rounds)
        return posterior.stated_end(max(self._pulls), left, longest if limit is None else min(longest, limit))

    def _foresee(self, limits: tuple[float, float] | None = None) -> posterior.Posterior:
        """What each arm will be worth at the end, and which may be the best one; ``limits`` is the range of rewards."""
        self._check_begun("foresee")
        return posterior.posterior(self._levels, self._stated_end()[0], self._lengths, limits or self.reward_range)

    def _shown(self) -> Floats:
        """What each arm counts in a recommendation of the highest predicted value: see `posterior.shown`."""
        return posterior.shown(self._levels, self._stated_end()[0], self._lengths)

    def recommend(self) -> int:
        """The arm that is best by what is known now: with the highest recent level less its standard error.

        The default policy for best-arm identification recommends the highest value that is predicted at the end, where
        arms that were trained less count with what they have shown; policies whose definition has a recommendation of
        its own say so.
        """
        self._check_begun("recommend")
        if self._predicts:
            return posterior.best(self._levels, self._stated_end()[0], self._lengths)
        return int(self._calls.recommend.call(self._fields, self.rounds, self._levels))

    def explain(self) -> Explanation:
        """What is known about each arm, which is next and why, which one to keep and why; changes nothing."""
        self._check_begun("explain")
        found = reasons.explanation(self, self._state, self._propose())
        return replace(found, against=reasons.against_by_columns(found))

    def _described(self) -> str:
        """The policy with its settings and, in a run, what a reader should know about how it plays."""
        return repr(self)

    def state_dict(self) -> dict[str, Any]:
        """The run as plain numbers and arrays, for `restore`; the settings are not in it."""
        from risingbandits.policies import _saving as saving

        self._check_begun("state_dict")
        return saving.state_dict(self)

    def restore(self, run: dict[str, Any]) -> Self:
        """Continue a run from the `state_dict` of a policy with the same settings; return self.

        >>> from risingbandits.policies import RoundRobin
        >>> policy = RoundRobin().reset(n_arms=3)
        >>> policy.tell(0, 0.5)
        >>> RoundRobin().restore(policy.state_dict()).ask()
        1
        """
        from risingbandits.policies import _saving as saving

        try:
            saving.restore(self, run)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise RisingBanditsError(f"run must be what state_dict of {self!r} gave, and is not ({error}).") from error
        return self

    def save(self, path: str | Path) -> Path:
        """Write the settings and the exact state of the run to one file (npz with a JSON header; no pickle)."""
        from risingbandits.policies import _saving as saving

        return saving.save(self, Path(path))

    @staticmethod
    def load(path: str | Path) -> Policy:
        """Read a policy back; it continues exactly where it was saved."""
        from risingbandits.policies import _saving as saving

        return saving.load(Path(path))

    def _check_begun(self, verb: str) -> None:
        if self._state is None:
            raise RisingBanditsError(f"{verb} needs a run: call reset(n_arms) first.")


@cache
def _parameters(constructor: Callable[..., None]) -> dict[str, inspect.Parameter]:
    """What a constructor takes, by name."""
    return {name: each for name, each in inspect.signature(constructor).parameters.items() if name != "self"}


def _same(value: Any, default: Any) -> bool:
    return value is default or bool(type(value) is type(default) and np.all(value == default))
