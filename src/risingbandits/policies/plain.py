"""Policies in ordinary Python: no kernels and no state class; `simulate` plays them without a compiler, slower.

One adapter, for ask and tell as for simulations: the run is a copy of the policy with attributes of its own.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from risingbandits._core.errors import RisingBanditsError, shown
from risingbandits._core.jit import interpreted
from risingbandits._core.types import Mask, Rng
from risingbandits.policies import base
from risingbandits.policies._kernels import levels
from risingbandits.policies.base import Kernels, Policy

_PLAIN = (bool, int, float, str, type(None))


class PlainState(NamedTuple):
    """The copy of the policy whose attributes are the run."""

    run: Any


def _select(state: PlainState, t: int, available: Mask, rng: Rng) -> int:
    run = state.run._begun(rng)
    if available is None:
        available = np.ones(run.n_arms, dtype=np.bool_)
    arm = run._select(available)
    if not (isinstance(arm, int | np.integer) and 0 <= arm < run.n_arms and available[arm]):
        raise RisingBanditsError(f"_select of {run.name} must return the number of an available arm, got {shown(arm)}.")
    return int(arm)


def _update(state: PlainState, t: int, arm: int, reward: float, rng: Rng) -> None:
    state.run._begun(rng)._update(arm, reward)


def _recommend(state: PlainState, t: int, known: Any) -> int:
    return int(state.run._best())


def begin(state: PlainState, rng: Rng) -> None:
    """Start the run, or go on with one that was restored."""
    if state.run._started:
        state.run.rng = rng
    state.run._begun(rng)


def calls(kernels: Kernels) -> Any:
    """What asks and tells a run in ordinary Python."""
    names = {**kernels._asdict(), "State": PlainState}
    found: list[Any] = [_Call(template, **names) for template in (base._ask, base._tell, base._recommend)]
    return base._Calls(found[0], *found)


def extend(policy: Policy, n_arms: int, horizon: int | None) -> None:
    """Go on with more arms or another horizon in a run in ordinary Python; its own attributes must follow."""
    run, more = policy._state.run, n_arms - policy.n_arms
    policy.n_arms = run.n_arms = n_arms
    policy.horizon = run.horizon = horizon
    policy._pulls += [0] * more
    policy._levels = levels.with_arms(policy._levels, more)
    policy._lengths = None


class _Call:
    """What calls a template of `base` in plain Python."""

    def __init__(self, template: Callable[..., Any], **names: Any) -> None:
        self._function = interpreted(template, **names)

    def call(self, *arguments: Any) -> Any:
        with np.errstate(all="ignore"):
            return self._function(*arguments)


class PlainPolicy(Policy):
    """Base class of policies in ordinary Python, with any of NumPy.

    Authors write a constructor as for `Policy`, or fields made by `risingbandits.policies._settings`, and

    - ``_start()``, which begins a run: it sets attributes, and finds ``self.n_arms``, ``self.horizon`` (None: unknown)
      and ``self.rng``, a generator that follows from the seed;
    - ``_select(available)``, which returns the arm to pull; ``available`` has one boolean per arm;
    - ``_update(arm, reward)``, which takes in the reward of a pull, possibly of an arm that was not selected;
    - ``_best()``, which returns the arm to recommend, if that is not the one with the highest recent level.

    Attributes that a run sets are numbers, strings, None, arrays, and lists and dicts of all but arrays, so that a run
    can be copied, saved and continued. Those with a leading underscore are not kept: they can be computed again, and
    have a default in the class.

    Examples
    --------
    >>> import numpy as np
    >>> from risingbandits import simulate
    >>> class LastBest(PlainPolicy):
    ...     name = "last-best"
    ...     summary = "the highest last reward"
    ...     def _start(self):
    ...         self.last = np.full(self.n_arms, np.inf)
    ...     def _select(self, available):
    ...         return np.argmax(np.where(available, self.last, -np.inf))
    ...     def _update(self, arm, reward):
    ...         self.last[arm] = reward
    >>> policy = LastBest().reset(n_arms=2)
    >>> policy.tell(0, 0.3)
    >>> policy.ask()
    1
    >>> simulate(LastBest(), "paper-2arms", horizon=50).policies
    ['last-best']
    """

    _compiles: ClassVar[bool] = False
    randomised = True
    _draws_on_tell = True

    n_arms: int
    horizon: int | None
    rng: np.random.Generator
    _started = False

    # -- what subclasses say ------------------------------------------------------------------------------------

    def _start(self) -> None:
        """Begin a run: set the attributes that it needs."""

    def _select(self, available: np.ndarray[Any, np.dtype[np.bool_]]) -> int:
        """The arm to pull next, one of the ``available``."""
        raise TypeError(f"{type(self).__name__} does not define _select.")

    def _update(self, arm: int, reward: float) -> None:
        """Take in a reward."""

    def _best(self) -> int:
        """The arm to recommend; by default the one with the highest recent level less its standard error."""
        raise TypeError(f"{type(self).__name__} does not define _best.")

    # -- the adapter --------------------------------------------------------------------------------------------

    @property
    def _draws(self) -> bool:
        """Every run has a generator."""
        return True

    def _kernels_for(self, n_arms: int, horizon: int | None = None) -> Kernels:
        own = type(self)._best is not PlainPolicy._best
        return Kernels(_select, _update, _recommend if own else levels.recommend)

    def _new_state(self, n_arms: int, horizon: int | None, capacity: int) -> PlainState:
        run = self.replace()
        run.n_arms, run.horizon = n_arms, horizon
        return PlainState(run)

    def _begun(self, rng: Rng) -> Self:
        """This run, started with its first generator."""
        if not self._started:
            assert rng is not None
            self.rng, self._started = rng, True
            self._start()
        return self

    def _begin(self, n_arms: int, horizon: int | None, state: Any, *rest: Any, **more: Any) -> None:
        super()._begin(n_arms, horizon, state, *rest, **more)
        begin(state, self._rng)

    def _find_calls(self) -> None:
        self._calls = calls(self._kernels_for(self.n_arms))

    def _state_fields(self, state: PlainState) -> dict[str, Any]:
        """The attributes of the run."""
        known = {*self.get_params(), "n_arms", "horizon", "rng"}
        fields = {name: value for name, value in vars(state.run).items() if name not in known and name[0] != "_"}
        for name, value in fields.items():
            if isinstance(value, np.generic):
                fields[name] = value.item()
            elif not (_is_array(value) or _is_plain(value)):
                raise RisingBanditsError(
                    f"attribute {name} of {self.name} must be a number, string, array, list or dict to be copied or "
                    f"saved, got {shown(value)}."
                )
        return copy.deepcopy(fields)

    def _restored_state(self, fresh: PlainState, numbers: dict[str, Any], arrays: dict[str, Any]) -> PlainState:
        """The state with stored attributes; a damaged file cannot smuggle in other kinds."""
        stored = {**copy.deepcopy(numbers), **{name: np.array(array, order="C") for name, array in arrays.items()}}
        if {*self._state_fields(fresh)} - {*stored} or any(hasattr(type(self), name) for name in stored):
            raise KeyError("fields")
        if not all(map(_is_plain, numbers.values())) or not all(map(_is_array, arrays.values())):
            raise TypeError("fields")
        vars(fresh.run).update(stored)
        return fresh


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) and not value.dtype.hasobject


def _is_plain(value: Any) -> bool:
    if isinstance(value, list):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        return all(isinstance(name, str) and _is_plain(inner) for name, inner in value.items())
    return type(value) in _PLAIN
