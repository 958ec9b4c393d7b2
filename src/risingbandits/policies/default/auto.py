"""Auto: the default policy, for when nothing is known but the objective.

Best-arm identification differs from cumulative reward, so each has a rule of its own, in the file named after it.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Self

import numpy as np

from risingbandits._core.errors import RisingBanditsError, check_choice, shown
from risingbandits._core.jit import bound_kernel
from risingbandits._core.types import Floats, Mask, Rng
from risingbandits.policies._config_beliefs import Beliefs
from risingbandits.policies._kernels import noise, sweeps
from risingbandits.policies._knowledge import Knowledge
from risingbandits.policies._settings import number, one_of, setting
from risingbandits.policies.base import Kernels, Policy
from risingbandits.policies.config_model import ConfigModel
from risingbandits.policies.default._best_arm import PilotHalving
from risingbandits.policies.default._cumulative import BackTest
from risingbandits.policies.explanation import Moment
from risingbandits.policies.objectives import DEFAULT, Objective, objective_names
from risingbandits.policies.plain import PlainState, begin, calls, extend
from risingbandits.policies.registry import register


def check_flag(name: str, value: Any) -> None:
    """Refuse anything but True and False."""
    if not isinstance(value, bool):
        raise RisingBanditsError(f"{name} must be True or False, got {shown(value)}.")


@register
class Auto(Policy):
    """The default policy, for when nothing is known but the objective: it finds out everything else.

    If arms have configs, or earlier runs say something about them (`inform`), one model of both plays: for the
    recommended arm it decides itself (`ConfigModel`), with fewer rounds per arm than ``patience`` and, with configs
    alone, than there are arms; for the sum of the rewards it says what is believed of an arm before its first pull.
    Otherwise only rewards count.

    If the recommended arm counts, it halves after a pilot: a few arms, pulled often, show how far early levels carry,
    and so how many arms to start.

    If the sum of the rewards counts, two rules make forecasts, and one of them decides. *Comparison* holds arms against
    the incumbent, the arm with the highest level, at equal resource, and tries an arm, open or new, if what it may
    turn out to be ahead exceeds what the trial loses. *Extrapolation* takes each arm's own shape, from a family of
    rising curves, and plays the arm that may bring most in the rounds left. At an arm's first pull, and whenever its
    pulls have doubled, the forecasts that both made of it are compared with what it shows. The better one is believed,
    with a prior that is even at ``patience`` rounds per arm and leans to comparison with fewer and to extrapolation
    with more. Before any arm is judged, all are tried for up to 8 pulls each, if that is 2 % of the rounds at most.
    While all rewards are the same, arms are played for long one after another. If the horizon is not known,
    extrapolation takes over once there were about twice as many rounds per arm as ``patience``.

    Noise is estimated from the rewards. The same seed gives the same decisions.

    Parameters
    ----------
    objective : {"best-arm", "cumulative"}
        The name of an `Objective`.
    order : {"random", "given"}
        The order in which arms are started if there are too few pulls for all: "given" if the most promising ones come
        first.
    sigma : float or "auto"
        Scale of the noise, if known; "auto" estimates it.
    patience : float
        Rounds per arm at which both rules are believed alike, if rewards are summed. Lower, and slow starters that end
        best are found sooner; higher, and less is lost on arms that learn alike (docs/how-it-decides.md). Where the
        recommended arm counts, configs and earlier runs decide with fewer rounds per arm.
    bounded : bool
        Whether rewards lie in [0, 1]. If not, their range is estimated, and the rule does not depend on their scale.

    Examples
    --------
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

    objective: str = setting(  # type: ignore[misc]  # a tag of other policies, a parameter of this one
        DEFAULT.name, lambda name, value: check_choice(name, value, objective_names())
    )
    order: str = one_of(*sweeps.ORDERS)
    sigma: float | str = setting("auto", noise.check_sigma)
    patience: float = number(25.0, above=0.0)
    bounded: bool = setting(True, check_flag)

    def chosen(self) -> Policy:
        """The policy that plays runs with this objective."""
        if not self._sums_rewards and self._knowledge is not None:
            model = ConfigModel()
            model.inform(self._knowledge)
            return model
        if not self._sums_rewards:
            return PilotHalving(order=self.order)
        return BackTest(order=self.order, sigma=self.sigma, patience=self.patience, bounded=self.bounded)

    @property
    def _sums_rewards(self) -> bool:
        return Objective.get(self.objective).sums_rewards

    def _kernels_for(self, n_arms: int, horizon: int | None = None) -> Kernels:
        chosen = self.chosen()
        kernels = chosen._kernels_for(n_arms, horizon)
        return kernels if chosen._draws else _without_generator(kernels)

    def _new_state(self, n_arms: int, horizon: int | None, capacity: int) -> Any:
        return self.chosen()._new_state(n_arms, horizon, capacity)

    def _make_room(self, state: Any, capacity: int) -> None:
        self._playing()._make_room(state, capacity)

    # -- with knowledge of the arms -----------------------------------------------------------------------------

    def _uses_knowledge(self, knowledge: Knowledge, n_arms: int, horizon: int | None) -> bool:
        """Not where rewards say enough: the model expects no curves to cross, and few configs tell it little."""
        enough = self.patience if knowledge.means is not None else min(self.patience, n_arms)
        return self._sums_rewards or horizon is None or horizon < enough * n_arms

    def inform(self, knowledge: Knowledge) -> bool:
        if not (self._informed or (self._state is None and knowledge.tells)):
            return False
        self._knowledge = knowledge.checked(None if self._state is None else self.n_arms)
        if self._state is not None:
            if isinstance(self._state, PlainState):
                self._state.run._know(self._knowledge)
            else:
                self._beliefs.know(self._knowledge)
        return True

    def _extend(self, n_arms: int, horizon: int | None, knowledge: Knowledge) -> bool:
        if not isinstance(self._state, PlainState):
            return False
        self._knowledge = knowledge.checked(n_arms)
        extend(self, n_arms, horizon)
        self._state.run._know(self._knowledge)
        return True

    @property
    def _takes_costs(self) -> bool:  # type: ignore[override]
        """Whether the model plays."""
        return self._informed and not self._sums_rewards

    def _begin(self, n_arms: int, horizon: int | None, state: Any, *rest: Any, **more: Any) -> None:
        super()._begin(n_arms, horizon, state, *rest, **more)
        if isinstance(state, PlainState):
            begin(state, self._rng)
        elif self._knowledge is not None:
            self._beliefs = Beliefs(self._knowledge, n_arms)

    def reset(self, n_arms: int, horizon: int | None = None, seed: Any = None) -> Self:
        super().reset(n_arms, horizon, seed)
        if self._knowledge is not None and self._sums_rewards:
            BackTest.draw_order(self._state, self._drawing)
            self._believe()
        return self

    @property
    def _drawing(self) -> Rng:
        """What draws the order of arms, if that is random."""
        return self._rng if self.order == "random" else None

    def _find_calls(self) -> None:
        if isinstance(self._state, PlainState):
            self._calls = calls(self._kernels_for(self.n_arms))
        else:
            super()._find_calls()

    def _state_fields(self, state: Any) -> dict[str, Any]:
        return self.chosen()._state_fields(state)

    def _restored_state(self, fresh: Any, numbers: dict[str, Any], arrays: dict[str, Any]) -> Any:
        return self.chosen()._restored_state(fresh, numbers, arrays)

    def tell(self, arm: int, reward: float, cost: float | None = None) -> None:
        """Report the reward of one pull of ``arm`` and, where that counts, what it cost."""
        super().tell(arm, reward)
        if self._knowledge is None:
            return
        if isinstance(self._state, PlainState):
            self._state.run.costs[-1] = cost
        elif self._beliefs.are_due(self.rounds):
            self._believe()

    def _believe(self) -> None:
        """Take in what is believed of arms by now, if rewards are summed."""
        found = self._beliefs.after(self._state)
        if found is not None:
            BackTest.take_beliefs(self._state, *found, self._drawing)

    def _propose(self, available: Any = None) -> int:
        if self._knowledge is None:
            return super()._propose(available)
        if not isinstance(self._state, PlainState):
            return self.ask(available)  # which changes nothing, as the order of the arms is drawn
        everyone = np.ones(self.n_arms, dtype=np.bool_)
        return int(self._state.run._decide(everyone if available is None else np.asarray(available)))

    def _give(self, arm: int) -> None:
        if isinstance(self._state, PlainState):
            self._state.run._note(arm)

    # -- the rest is as the policy says that plays --------------------------------------------------------------

    @property
    def _predicts(self) -> bool:  # type: ignore[override]
        """Whether the recommendation is all that counts."""
        return not self._sums_rewards

    def _take_workers(self, state: Any, workers: int) -> bool:
        return self._playing()._take_workers(state, workers)

    def _parts(self, state: Any, t: int) -> dict[str, Floats]:
        return self._playing()._parts(state, t)

    def _why_next(self, at: Moment) -> str:
        return self._playing()._why_next(at)

    def _why_kept(self, at: Moment) -> str:
        return self._playing()._why_kept(at)

    def _remark(self, state: Any) -> str | None:
        return self.chosen()._remark(state)

    def _described(self) -> str:
        if self._state is None:
            return repr(self)
        matters = self._state.run._matters() if isinstance(self._state, PlainState) and self.rounds else ""
        return f"{self!r}, played by {self._playing()!r}" + (f", {matters}" if matters else "")

    def _playing(self) -> Policy:
        """The policy that plays this run."""
        chosen = self.chosen()
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
