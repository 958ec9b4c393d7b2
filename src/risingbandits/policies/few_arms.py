"""FewArms: any policy on some of the arms, for budgets too small to look at all.

The inner policy sees only ``max_arms`` arms. Its kernels run unchanged: the state has all fields of the inner state,
sized for the few arms, and says which arms these are.
"""

from __future__ import annotations

import math
import sys
from collections import namedtuple
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from risingbandits._core.errors import RisingBanditsError, check_choice, check_positive_int, shown
from risingbandits._core.jit import bound_kernel, kernel, rare_kernel
from risingbandits._core.types import Floats, Mask, Rng
from risingbandits.policies import reasons
from risingbandits.policies._kernels import levels, sweeps
from risingbandits.policies.base import Kernels, Policy
from risingbandits.policies.explanation import Moment
from risingbandits.policies.registry import get_policy, policy_class, register
from risingbandits.policies.settings import one_of, setting

if TYPE_CHECKING:
    from risingbandits.problems import RisingBandit


# Fields beside those of the inner state: all arms, first the few; the number that each arm has for the inner policy, -1
# for the others; whether the few are available, and their pulls, while a kernel runs; counters (below).
_FIELDS = ("members", "inner_number", "inner_available", "inner_pulls", "counters")
# Counters: arms that are surely among the few, whether the others were drawn, pulls of arms that are not.
_SURE, _DRAWN, _OUTSIDE = 0, 1, 2
_ENOUGH = 20  # rounds for each arm above which all are started


def few_of(n_arms: int, horizon: int | None) -> int:
    """How many arms to start by default: all if there are more than 20 rounds per arm, otherwise sqrt(T) / 3.

    All without a horizon.

    >>> few_of(50, 500), few_of(50, 2_500), few_of(2, 30), few_of(50, None)
    (8, 50, 2, 50)
    """
    if horizon is None or horizon > _ENOUGH * n_arms:
        return n_arms
    return min(n_arms, math.ceil(math.sqrt(horizon) / 3))


# -- kernels; `_kernels` binds the three names to those of the inner policy --------------------------------------------

inner_select: Any = None
inner_update: Any = None
inner_recommend: Any = None


def _select(state: Any, t: int, available: Mask, rng: Rng) -> int:
    if state.counters[_DRAWN] == 0:
        _draw(state, rng)
    now = t - state.counters[_OUTSIDE]
    if available is None:
        return state.members[inner_select(state, now, None, rng)]
    if not _any_inside(state, available):
        return _first_outside(state, available)
    return state.members[inner_select(state, now, state.inner_available, rng)]


def _update(state: Any, t: int, arm: int, reward: float, rng: Rng) -> None:
    if state.counters[_DRAWN] == 0:
        _admit(state, arm)
    number = state.inner_number[arm]
    if number >= 0:
        inner_update(state, t - state.counters[_OUTSIDE], number, reward, rng)
    else:
        state.counters[_OUTSIDE] += 1


def _recommend(state: Any, t: int, known: Floats | None) -> int:
    return state.members[inner_recommend(state, t - state.counters[_OUTSIDE], known)]


def _select_without_generator(state: Any, t: int, available: Mask, rng: Rng) -> int:
    """For policies that draw nothing: to them a generator would mean random ties."""
    return inner_select(state, t, available, None)


def _update_without_generator(state: Any, t: int, arm: int, reward: float, rng: Rng) -> None:
    inner_update(state, t, arm, reward, None)


@rare_kernel
def _draw(state: Any, rng: Rng) -> None:
    few = state.inner_pulls.shape[0]
    sweeps.shuffle(state.members, state.counters[_SURE], few, rng)
    state.counters[_DRAWN] = 1
    for place in range(state.members.shape[0]):
        state.inner_number[state.members[place]] = place if place < few else -1


@rare_kernel
def _admit(state: Any, arm: int) -> None:
    """An arm with a reward from before the draw is one of the few, while there is room."""
    sure = state.counters[_SURE]
    for place in range(sure):
        if state.members[place] == arm:
            return
    if sure == state.inner_pulls.shape[0]:
        return
    place = sure
    while state.members[place] != arm:
        place += 1
    other = state.members[sure]
    state.members[place] = other
    state.members[sure] = arm
    state.inner_number[other] = place if place < state.inner_pulls.shape[0] else -1
    state.inner_number[arm] = sure
    state.counters[_SURE] += 1


@kernel
def _any_inside(state: Any, available: Mask) -> bool:
    found = False
    for number in range(state.inner_available.shape[0]):
        state.inner_available[number] = available[state.members[number]]  # type: ignore[index]
        found = found or state.inner_available[number]
    return found


@kernel
def _first_outside(state: Any, available: Mask) -> int:
    for place in range(state.inner_pulls.shape[0], state.members.shape[0]):
        if available[state.members[place]]:  # type: ignore[index]
            return state.members[place]
    return 0  # never: some arm is available


@cache
def _kernels(inner: Kernels, draws: bool) -> Kernels:
    names = {"inner_select": inner.select, "inner_update": inner.update, "inner_recommend": inner.recommend}
    if not draws:
        names |= {
            "inner_select": bound_kernel(_select_without_generator, **names),
            "inner_update": bound_kernel(_update_without_generator, **names),
        }
    common = inner.recommend is levels.recommend  # it knows all arms, by their own numbers
    templates = (_select, _update) if common else (_select, _update, _recommend)
    return Kernels(*(bound_kernel(template, **names) for template in templates))


@cache
def _state_class(inner: type) -> type:
    """The inner state's fields and ours. It is kept in this module, where Numba's disk cache looks for it by name."""
    name = "_".join(("State", *inner.__module__.split("."), inner.__name__))
    made: Any = namedtuple(name, (*inner._fields, *_FIELDS), module=__name__)  # type: ignore[misc, attr-defined]
    if "<locals>" in inner.__qualname__ or inner.__module__ == "__main__":
        made.__qualname__ = f"<locals>.{name}"  # not to be cached on disk
    setattr(sys.modules[__name__], name, made)
    return made


def _check_max_arms(name: str, value: Any) -> None:
    if isinstance(value, str):
        check_choice(name, value, ("auto", "all"))
    else:
        check_positive_int(name, value)


@register
class FewArms(Policy):
    r"""Any policy on some of the arms: at random, or the first ones.

    With few pulls per arm, a policy that pulls every arm once has spent much of the budget before it starts to earn. On
    real learning curves, about :math:`\sqrt T / 3` arms is a good number; `OpenByValue`, which finds the number by
    itself, is better still (docs/opening-arms.md).

    If none of the few is available, the first other arm that is gets the pull; the inner policy does not see its
    reward. Arms with rewards from before the first ``ask`` are among the few.

    Parameters
    ----------
    policy : str
        The registered name of the inner policy, also with settings: "red-ucb(eps=0.1)".
    max_arms : int, "auto" or "all"
        How many arms it gets. "auto": all if there are more than 20 rounds per arm, otherwise ceil(sqrt(T) / 3).
    order : {"random", "given"}
        Which ones: drawn at random, or the first.
    settings : mapping or None
        Settings of the inner policy, by name.
    sigma : float, str or None
        The inner policy's sigma, if it has one and ``settings`` has none.

    Examples
    --------
    >>> policy = FewArms("gaussian-ucb", max_arms=3, sigma=0.1).reset(n_arms=1_000, horizon=60, seed=1)
    >>> for _ in range(60):
    ...     policy.tell(policy.ask(), 0.5)
    >>> policy.pulls[policy.pulls > 0].tolist()
    [20, 20, 20]
    >>> FewArms.of(policy.inner())
    FewArms(policy='gaussian-ucb', settings={'sigma': 0.1, 'ties': 'lowest'})
    """

    name = "few-arms"
    summary = "any policy on some of the arms"
    verified = "derived here"
    randomised = True
    draws_on_tell = True

    policy: str = "commit-ucb"
    max_arms: int | str = setting("auto", _check_max_arms)
    order: str = one_of(*sweeps.ORDERS)
    settings: Mapping[str, Any] | None = None
    sigma: float | str | None = None

    @classmethod
    def of(cls, policy: str | Policy, max_arms: int | str = "auto", order: str = "random") -> Self:
        """A policy object, or one written with its settings, on few arms."""
        policy = get_policy(policy) if isinstance(policy, str) else policy
        return cls(policy.name, max_arms, order, policy.get_params())

    def inner(self) -> Policy:
        """The inner policy, as it would be on its own."""
        settings = dict(self.settings or {})
        if isinstance(self.policy, str) and "(" in self.policy:
            written = get_policy(self.policy)
            known, settings = type(written), {**written.get_params(), **settings}
        else:
            known = policy_class(self.policy)
        try:
            made = known(**settings)
        except TypeError as error:
            raise RisingBanditsError(f"settings must be those of {known.__name__}, got {shown(settings)}.") from error
        lacks_sigma = made.get_params().get("sigma", 0.0) is None
        return made.replace(sigma=self.sigma) if self.sigma is not None and lacks_sigma else made

    @property
    def draws(self) -> bool:
        return self.order == "random" or self.inner().draws

    @property
    def scratch(self) -> frozenset[str]:
        return self.inner().scratch | {"inner_available", "inner_pulls"}

    def validate(self) -> None:
        super().validate()
        if isinstance(self.inner(), FewArms):
            raise RisingBanditsError(f"policy must not be {self.name!r} itself.")
        self.inner().validate()

    def for_problem(self, problem: RisingBandit, horizon: int) -> Self:
        return self.replace(settings=self.inner().for_problem(problem, horizon).get_params())

    def kernels_for(self, n_arms: int, horizon: int | None = None) -> Kernels:
        inner = self.inner()
        return _kernels(inner.kernels_for(self._few(n_arms, horizon), horizon), inner.draws)

    def new_state(self, n_arms: int, horizon: int | None, capacity: int) -> Any:
        inner = self.inner()
        if horizon is None and inner.requires_horizon():
            raise RisingBanditsError(f"{type(inner).__name__} needs horizon, the number of rounds, got None.")
        few = self._few(n_arms, horizon)
        state = inner.new_state(few, horizon, capacity)
        numbers = np.arange(n_arms)
        return _state_class(state.__class__)(
            **state._asdict(),
            members=numbers,
            inner_number=np.where(numbers < few, numbers, -1),
            inner_available=np.zeros(few, dtype=np.bool_),
            inner_pulls=np.zeros(few, dtype=np.int64),
            counters=np.zeros(3, dtype=np.int64),
        )

    def _few(self, n_arms: int, horizon: int | None) -> int:
        if self.max_arms == "auto":
            return few_of(n_arms, horizon)
        return n_arms if isinstance(self.max_arms, str) else min(n_arms, self.max_arms)

    def make_room(self, state: Any, capacity: int) -> None:
        self._inner_of(state).make_room(state, capacity)

    def remark(self, state: Any) -> str | None:
        return self.inner().remark(state)

    def parts(self, state: Any, t: int) -> dict[str, Floats]:
        few = state.members[: state.inner_pulls.size]
        columns = {}
        for name, values in self._inner_of(state).parts(state, t - int(state.counters[_OUTSIDE])).items():
            columns[name] = np.full(state.members.size, np.nan)
            columns[name][few] = values
        return columns

    def why_next(self, at: Moment) -> str:
        inside = self._inside(at)
        if inside is not None:
            return self._inner_of(at.state).why_next(inside)
        return "none of the few arms is free" if at.state.counters[_DRAWN] else reasons.NEVER_PULLED

    def why_kept(self, at: Moment) -> str:
        inside = self._inside(at)
        return (
            super().why_kept(at) if inside is None or "lcb" in at.parts else self._inner_of(at.state).why_kept(inside)
        )

    def _inside(self, at: Moment) -> Moment | None:
        """The moment as the inner policy sees it; None if the arm is not one of the few."""
        few = at.state.members[: at.state.inner_pulls.size]
        number = np.flatnonzero(few == at.arm)
        if not number.size:
            return None
        parts = {name: values[few] for name, values in at.parts.items()}
        t = at.t - int(at.state.counters[_OUTSIDE])
        return at._replace(t=t, arm=int(number[0]), pulls=at.pulls[few], parts=parts)

    def _inner_of(self, state: Any) -> Policy:
        """The inner policy as in a run with this state."""
        inner = self.inner()
        inner.n_arms = state.inner_pulls.size
        return inner
