"""Auto: the default policy, for when nothing is known but the objective.

No rule is good everywhere. With few pulls there is no time to look at all arms; with many it costs little to see
whether a slow one overtakes; and best-arm identification differs from cumulative reward. The objective and the numbers
of arms and rounds decide which of these a run is about.
"""

from __future__ import annotations

import itertools
from functools import cache
from typing import Any, Self

from risingbandits._core.errors import check_choice, check_positive_int
from risingbandits._core.jit import bound_kernel
from risingbandits._core.types import Floats, Mask, Rng
from risingbandits.policies._auto.pilot_halving import PilotHalving
from risingbandits.policies._kernels import noise, sweeps
from risingbandits.policies.base import Kernels, Policy
from risingbandits.policies.commit import commit_ensemble, open_by_value
from risingbandits.policies.commit.commit_ensemble import CommitEnsemble
from risingbandits.policies.commit.open_by_value import OpenByValue
from risingbandits.policies.explanation import Moment
from risingbandits.policies.objectives import DEFAULT, Objective, objective_names
from risingbandits.policies.registry import register
from risingbandits.policies.settings import one_of, setting

FEW = 200  # rounds for each arm below which pulls are few: real curves would have more, long late bloomers fewer
_LOOK_AHEAD = 4  # times the rounds so far that CommitEnsemble plans for if the horizon is not known


def take_over(n_arms: int) -> int:
    """The number of rounds after which pulls are no longer few, if the horizon is not known."""
    return FEW * n_arms // _LOOK_AHEAD


@register
class Auto(Policy):
    """The default policy, for when nothing is known but the objective: it finds out everything else.

    A run is played by the policy that `chosen` names:

    - if the recommended arm counts, by halving after a pilot: a few arms, pulled often, show how far early levels
      carry, and so how many arms to start;
    - if the sum of the rewards counts, with fewer than 200 rounds per arm by `OpenByValue`, which starts arms one after
      another, with more by `CommitEnsemble`, which looks at every arm and waits for slow starters.

    If the horizon is not known, `CommitEnsemble` takes over from `OpenByValue` after 50 rounds per arm, with everything
    seen so far. Noise is estimated from the rewards. The same seed gives the same decisions.

    Parameters
    ----------
    objective : {"best-arm", "cumulative"}
        The name of an `Objective`.
    order : {"random", "given"}
        The order in which arms are started if there are too few pulls for all: "given" if the most promising ones come
        first.
    sigma : float or "auto"
        Scale of the noise, if known; "auto" estimates it.

    Examples
    --------
    >>> Auto("cumulative").chosen(n_arms=50, horizon=500)
    OpenByValue()
    >>> policy = Auto().reset(n_arms=2, horizon=1_000, seed=1)
    >>> for _ in range(1_000):
    ...     arm = policy.ask()
    ...     n = policy.pulls[arm] + 1
    ...     policy.tell(arm, [0.5, n / (n + 50)][arm])  # overtakes after 50 pulls
    >>> policy.recommend()
    1
    """

    name = "auto"
    summary = "the default for the objective and the number of arms and rounds, parameter-free"
    verified = "derived here"
    randomised = True
    believes = True

    objective: str = setting(  # type: ignore[misc]  # a tag of other policies, a parameter of this one
        DEFAULT.name, lambda name, value: check_choice(name, value, objective_names())
    )
    order: str = one_of(*sweeps.ORDERS)
    sigma: float | str = setting("auto", noise.check_sigma)

    def chosen(self, n_arms: int, horizon: int | None = None, rounds: int = 0) -> Policy:
        """The policy that plays a run of this size or, if the horizon is not known, one that has had ``rounds``."""
        check_positive_int("n_arms", n_arms)
        if horizon is not None:
            check_positive_int("horizon", horizon)
        if not self._sums_rewards:
            return PilotHalving(order=self.order)
        if (_LOOK_AHEAD * rounds if horizon is None else horizon) < FEW * n_arms:
            return OpenByValue(order=self.order, sigma=self._sigma())
        return CommitEnsemble(sigma=self._sigma())

    @property
    def _sums_rewards(self) -> bool:
        return Objective.get(self.objective).sums_rewards

    def _sigma(self) -> float | str:
        return "auto" if isinstance(self.sigma, str) else self.sigma

    def kernels_for(self, n_arms: int, horizon: int | None = None) -> Kernels:
        chosen = self.chosen(n_arms, horizon, getattr(self, "rounds", 0))
        kernels = chosen.kernels_for(n_arms, horizon)
        return kernels if chosen.draws else _without_generator(kernels)

    def new_state(self, n_arms: int, horizon: int | None, capacity: int) -> Any:
        return self.chosen(n_arms, horizon).new_state(n_arms, horizon, capacity)

    def tell(self, arm: int, reward: float) -> None:
        """Report the reward of one pull of ``arm``, whether it was asked for or not."""
        super().tell(arm, reward)
        if self.horizon is None and self.rounds == take_over(self.n_arms) and self._sums_rewards:
            self._hand_over()

    def _hand_over(self) -> None:
        """Continue with the policy for many rounds, told everything seen so far, arm by arm."""
        few, remarked = self._state, self._remarked
        successor = self._playing().reset(self.n_arms)
        successor._remarked = True  # warnings come from this policy
        for arm in few.order:
            start = few.places[arm, 0]
            sums = [0.0, *few.pool[start + 1 : start + 1 + few.counts[arm]]]
            for before, after in itertools.pairwise(sums):
                successor.tell(arm, after - before)
        known = self._levels
        self._begin(self.n_arms, None, successor._state, successor._capacity, successor._pulls, self._rng, known)
        self._remarked = remarked

    def reset_as_after(self, n_arms: int, horizon: int | None, rounds: int) -> Self:
        self.reset(n_arms, horizon)
        if horizon is None and self._sums_rewards and rounds >= take_over(n_arms):
            state = self.chosen(n_arms, horizon, rounds).new_state(n_arms, horizon, self._capacity)
            self._begin(n_arms, horizon, state, self._capacity, [rounds, *[0] * (n_arms - 1)], self._rng)
        return self

    def make_room(self, state: Any, capacity: int) -> None:
        self._playing().make_room(state, capacity)

    def take_beliefs(self, state: Any, means: Floats, deviations: Floats) -> None:
        self._playing().take_beliefs(state, means, deviations)

    @property
    def predicts(self) -> bool:  # type: ignore[override]
        """Whether the recommendation is all that counts."""
        return not self._sums_rewards

    @property
    def shares(self) -> bool:  # type: ignore[override]
        """Whether the policy that plays does."""
        return isinstance(self._state, open_by_value.State)

    def take_workers(self, state: Any, workers: int) -> None:
        self._playing().take_workers(state, workers)

    def parts(self, state: Any, t: int) -> dict[str, Floats]:
        return self._playing().parts(state, t)

    def why_next(self, at: Moment) -> str:
        return self._playing().why_next(at)

    def why_kept(self, at: Moment) -> str:
        return self._playing().why_kept(at)

    def remark(self, state: Any) -> str | None:
        for played, policy in ((commit_ensemble.State, CommitEnsemble), (open_by_value.State, OpenByValue)):
            if isinstance(state, played):  # of a simulation, too, which begins no run
                return policy(sigma=self._sigma()).remark(state)
        return None

    def described(self) -> str:
        return repr(self) if self._state is None else f"{self!r}, played by {self._playing()!r}"

    def _playing(self) -> Policy:
        """The policy that plays this run."""
        chosen = self.chosen(self.n_arms, self.horizon, self.rounds)
        chosen.n_arms, chosen.horizon = self.n_arms, self.horizon
        return chosen


# -- to policies that draw nothing a generator means random ties, so they get none ---------------------------

inner_select: Any = None
inner_update: Any = None


def _select(state: Any, t: int, available: Mask, rng: Rng) -> int:
    return inner_select(state, t, available, None)


def _update(state: Any, t: int, arm: int, reward: float, rng: Rng) -> None:
    inner_update(state, t, arm, reward, None)


@cache
def _without_generator(kernels: Kernels) -> Kernels:
    names = {"inner_select": kernels.select, "inner_update": kernels.update}
    return kernels._replace(select=bound_kernel(_select, **names), update=bound_kernel(_update, **names))
