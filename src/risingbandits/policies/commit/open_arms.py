"""OpenArms: for small budgets, open arms one after another, only while one more is worth its price.

With a few pulls per arm there is no time to look at all of them. The policy plays an incumbent, lets others challenge
it, compares at equal age, and stops opening arms when one more could bring less in the remaining rounds than opening
one has cost so far. With many pulls per arm it is `CommitUCB`.
"""

from __future__ import annotations

from collections import namedtuple
from typing import TYPE_CHECKING, Any

import numpy as np

from risingbandits._core.errors import check_choice, check_finite
from risingbandits._core.jit import interpreted, kernel
from risingbandits._core.types import Mask, Rng
from risingbandits.policies._kernels import noise_estimate, sweeps
from risingbandits.policies.base import Kernels
from risingbandits.policies.commit import _opening, commit_ucb
from risingbandits.policies.commit.commit_ucb import CommitUCB
from risingbandits.policies.explanation import Moment
from risingbandits.policies.registry import register

# What CommitUCB knows, because the policy becomes it with many pulls, and besides:
# few (whether pulls are few), horizon (0: not known), spread, patience, order (K,), counts (K,) pulls of each arm, plan
# (_opening). The sums of rewards lie in CommitUCB's pool in either case.
_FIELDS = ("few", "horizon", "spread", "patience", "order", "counts", "plan")
if TYPE_CHECKING:
    State: Any = None
else:  # fields that are not written out are beyond a type checker
    State = namedtuple("State", [*commit_ucb.State._fields, *_FIELDS])


@kernel
def select(state: Any, t: int, available: Mask, rng: Rng) -> int:
    if state.few:
        return _opening.select(state, available, rng)
    return commit_ucb.select(state, t, available, rng)


@kernel
def update(state: Any, t: int, arm: int, reward: float, rng: Rng) -> None:
    if state.few:
        _opening.update(state, t, arm, reward)
    else:
        commit_ucb.update(state, t, arm, reward, rng)


SmoothState: Any = noise_estimate.extended(State, __name__)


@kernel
def update_smooth(state: Any, t: int, arm: int, reward: float, rng: Rng) -> None:
    if state.few:
        _opening.update(state, t, arm, reward)
    else:
        commit_ucb.update_smooth(state, t, arm, reward, rng)


@register
class OpenArms(CommitUCB):
    r"""Open arms one after another, compare them at equal age, and stop when one more is not worth its price.

    Two arms are pulled once; the better one becomes the incumbent and is played for :math:`2 T^{1/3}` pulls, to see how
    an arm learns here. Then, whenever there is no challenge:

    - an open arm that is ahead of the incumbent at equal age becomes the challenger, if the rounds left make up for its
      catching up;
    - else a new arm does, if :math:`R\,s / (20 m)` exceeds the mean cost of an arm opened so far: R rounds left, m open
      arms, s how far they are behind the incumbent at equal age on average. An arm that was opened and left after n
      pulls has cost n times the incumbent's level minus what it earned.

    A challenger that is ahead by d after n pulls goes on while :math:`R\,(d + 2 s/\sqrt n + \text{noise})` exceeds what
    an arm that learns like the incumbent loses until it has the incumbent's age. When it is as old, or its level is
    surely higher, the arm with the highest sure level is the incumbent. Levels are means of the last third of an arm's
    pulls; the noise is estimated from second differences of all curves. Nothing needs to be known about noise or
    ceiling.

    Use it with few pulls per arm, as in the choice of models or hyper-parameters: on real learning curves it earns more
    than any policy here that looks at every arm (docs/opening-arms.md). No rate is proved. It does not find a late
    bloomer that is behind at every age; with many pulls (``few``) the policy is `CommitUCB`.

    Parameters
    ----------
    order : {"random", "given"}
        The order in which arms are opened: "given" if the most promising ones come first.
    spread : float
        How far apart arms are believed to be before any is seen, with the weight of one arm.
    patience : float
        How many spreads a challenger may be behind after one pull; the share of it after n is 1/sqrt(n).
    few : float
        Pulls are few up to this many rounds per arm. If the horizon is not known, they always are, and twice the rounds
        so far are assumed to be left.
    sigma : float, "auto", "estimate", "smooth" or None
        For `CommitUCB`, if there are many pulls.
    widths : {"auto", "gaussian", "kl", "bernstein"}
        For `CommitUCB`, if there are many pulls.
    cap : float
        For `CommitUCB`, if there are many pulls.
    confidence : float or None
        For `CommitUCB`, if there are many pulls.

    Examples
    --------
    >>> policy = OpenArms(order="given").reset(n_arms=500, horizon=1_000)
    >>> for _ in range(1_000):
    ...     arm = policy.ask()
    ...     n = policy.pulls[arm] + 1
    ...     policy.tell(arm, (1 + arm % 7) / 10 * n / (n + 5))
    >>> bool((policy.pulls > 0).sum() < 50), policy.recommend() % 7 >= 5
    (True, True)
    """

    name = "open-arms"
    summary = "open arms one after another while one more is worth its price (small budgets)"
    verified = "derived here"
    randomised = True
    batched = False
    kernels = Kernels(select=select, update=update)
    kernels_smooth = Kernels(select=select, update=update_smooth)

    def __init__(
        self,
        order: str = "random",
        spread: float = 0.1,
        patience: float = 2.0,
        few: float = 100.0,
        sigma: float | str | None = None,
        widths: str = "auto",
        cap: float = 1.0,
        confidence: float | None = None,
    ) -> None:
        super().__init__(sigma=sigma, widths=widths, cap=cap, confidence=confidence)
        self.order = order
        self.spread = spread
        self.patience = patience
        self.few = few

    @property
    def draws(self) -> bool:
        return self.order == "random"

    def validate(self) -> None:
        super().validate()
        check_choice("order", self.order, sweeps.ORDERS)
        check_finite("spread", self.spread, above=0.0)
        check_finite("patience", self.patience, minimum=0.0)
        check_finite("few", self.few, minimum=0.0)

    def new_state(self, n_arms: int, horizon: int | None, capacity: int) -> Any:
        plan = np.zeros(1, _opening.PLAN)
        plan["next"], plan["incumbent"], plan["challenger"] = _opening.OPEN, _opening.NOBODY, _opening.NOBODY
        plan["hold"] = _opening.FIRST_HOLD if horizon is None else max(2, int(2.0 * horizon ** (1 / 3)))
        plan["spread"] = self.spread
        plan["rival"] = np.inf
        made: Any = SmoothState if self.smooth else State
        return made(
            **super().new_state(n_arms, horizon, capacity)._asdict(),
            few=horizon is None or horizon <= self.few * n_arms,
            horizon=0.0 if horizon is None else float(horizon),
            spread=float(self.spread),
            patience=float(self.patience),
            order=np.arange(n_arms),
            counts=np.zeros(n_arms, dtype=np.int64),
            plan=plan,
        )

    def why_next(self, at: Moment) -> str:
        state = at.state
        if not state.few:
            return super().why_next(at)
        plan = state.plan
        if at.pulls[at.arm] == 0:
            first = plan["opened"][0] < _opening.FIRST_ARMS
            return f"opened: {'one of the two that are compared first' if first else 'one more arm is worth its price'}"
        if at.arm == plan["incumbent"][0]:
            return "the incumbent: no arm challenges it"
        if at.arm == plan["challenger"][0]:
            ahead = float(at.parts["ahead"][at.arm])
            side = "ahead" if ahead >= 0.0 else "behind"
            return f"challenges the incumbent: {side} by {at.units.amount(abs(ahead))} at equal age"
        return "the arms that are due are not free"

    def parts(self, state: Any, t: int) -> dict[str, np.ndarray]:
        """Columns: ``ahead`` of the incumbent at equal age and ``cost`` of having opened the arm; those of
        `CommitUCB` if there are many pulls.
        """
        if not state.few:
            return super().parts(state, t)
        columns = {name: np.full(state.order.size, np.nan) for name in ("ahead", "cost")}
        b = int(state.plan["incumbent"][0])
        for arm in state.order[: state.plan["opened"][0]]:
            n = state.counts[arm]
            if b >= 0:
                columns["ahead"][arm] = interpreted(_opening.ahead)(state, arm, b)
                today = interpreted(_opening.level)(state, b, state.counts[b])
                earned = state.pool[state.places[arm, 0] + n]
                columns["cost"][arm] = 0.0 if arm == b else max(0.0, n * today - earned)
        return columns
