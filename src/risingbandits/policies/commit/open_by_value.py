"""OpenByValue: for small budgets, give the next pulls to the arm whose trial gains most over its cost.

It plays an incumbent, compares others with it at equal age and opens arms one after another. Both
sides of every decision are amounts of reward: what a trial may bring in the remaining rounds, and what it loses.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from risingbandits._core.jit import interpreted, kernel
from risingbandits._core.types import Floats, Mask, Rng
from risingbandits.policies._kernels import histories, noise, noise_model, sweeps
from risingbandits.policies.base import Kernels, Policy
from risingbandits.policies.commit import _beside, _opening, _trials, _trials_noise
from risingbandits.policies.explanation import Moment, counted
from risingbandits.policies.registry import register
from risingbandits.policies.settings import number, one_of, setting

_COLUMNS = ("level", "ahead", "expected", "band", "chance", "trial", "value", "price", "gain")
_ESTIMATED = -1.0
_LEAST_DEVIATION = 0.1  # of a belief: no two tasks are the same


class State(NamedTuple):
    horizon: float  # 0: not known
    hold: float  # pulls of the first incumbent before a third arm is tried
    spread: float
    sigma: float  # below 0: estimated
    pool: np.ndarray  # sums of rewards of all arms (histories)
    places: np.ndarray
    order: np.ndarray  # (K,) the arms that were opened, then the others
    counts: np.ndarray  # (K,) pulls
    plan: np.ndarray  # _trials
    beliefs: np.ndarray  # (K, 2) mean and deviation of each arm's normal score by earlier runs, if there are any


@kernel
def select(state: State, t: int, available: Mask, rng: Rng) -> int:
    if state.plan["workers"][0] > 1.0 and available is not None:
        arm = _opening.planned(state, rng)
        return arm if available[arm] else _beside.decide(state, available)
    return _trials.select(state, available, rng)


@kernel
def update(state: State, t: int, arm: int, reward: float, rng: Rng) -> None:
    _trials.update(state, t, arm, reward)


@kernel
def recommend(state: State, t: int, known: Floats | None) -> int:
    return _trials.surest(state) if state.plan["opened"][0] > 0 else 0


@register
class OpenByValue(Policy):
    r"""Open arms one after another, and try each only while the trial is worth more than it costs.

    Two arms are pulled once; an arm whose first reward is close to 0 is pulled again, because many scores start at 0,
    then jump. The better one is the incumbent and is played for :math:`2 T^{1/3}` pulls, to see how an arm learns here,
    or for twice as many if no arm has moved by then. From then on every decision compares trials of k more pulls, for
    all open arms and for an unopened one. Levels are means of the last quarter of an arm's pulls, or of more if the
    noise requires it.

    - **Spread** s: the root mean square of how far open arms are from the incumbent at equal age, less what noise
      explains; it starts from ``spread``, with the weight of one arm.
    - **Belief.** An arm that is ahead by d at equal age (below 0: behind) is believed to end ahead by a normal amount:
      its mean is d, shrunk towards -0.6 s by as much as d is noise; its variance has a part for the noise
      and :math:`(s / 2n)^2` for what may still change after n pulls. An unopened arm is believed to end behind by 0.6
      s, give or take 0.8 s.
    - **Value** of a trial: the mean of :math:`\max(0, (R - k) X - c)`, where X is the belief after it, R the rounds
      left and c what it then still costs until the arm is as old as the incumbent. With m open arms, the value of an
      unopened one is multiplied by 1/(3 m).
    - **Price**: what an arm that learns like the incumbent loses in k pulls, against the level that the incumbent will
      have at the end: today's plus as much as it has risen since half its age. While no arm has moved at all, some rise
      is still to come. An arm that is believed to end behind also loses half of that distance in every pull.

    The arm whose best trial gains most plays, if it gains anything; otherwise the incumbent, the arm with the highest
    sure level. The decision is revisited when the arm's pulls have grown by 5 %, so a disappointing trial ends early.

    Beliefs about arms from earlier runs (`believe`) replace the belief about unopened arms: an arm with normal score m
    ends ahead by 0.8 s (m - z), where z, the score of the incumbent, is estimated from the open arms, plus a standard
    error. What a young arm shows is shrunk towards that, and promising young arms are favoured as the incumbent.
    Beliefs count only as far as open arms confirm them: by the slope of their leads over the beliefs.

    With several workers (`expect_workers`) the remaining rounds are shared. A worker that cannot have the planned arm
    decides in the same way with an incumbent of its own: the surest of the free arms, believed to rise like the first.

    Use it with few pulls per arm, as in the choice of models or hyper-parameters (docs/opening-arms.md).
    Nothing needs to be known about noise or ceiling. No rate is proved. It does not find late bloomers that are behind
    at every age: with many pulls use `CommitUCB` or `CommitEnsemble`, or `Auto`, which switches by itself.

    Its recommendation is its own: the highest level less its standard error, with its own windows and noise.

    Parameters
    ----------
    order : {"random", "given"}
        The order in which arms are opened: "given" if the most promising ones come first.
    spread : float
        How far apart arms are believed to be before any is seen, with the weight of one arm; for rewards in [0, 1].
    sigma : float or "auto"
        Scale of the noise, if known. If rewards contradict a number above 0, a warning says so once, and the noise is
        measured from then on. "auto": from second differences of all curves.

    Examples
    --------
    >>> policy = OpenByValue(order="given").reset(n_arms=500, horizon=1_000)
    >>> for _ in range(1_000):
    ...     arm = policy.ask()
    ...     n = policy.pulls[arm] + 1
    ...     policy.tell(arm, (1 + arm % 7) / 10 * n / (n + 5))
    >>> bool((policy.pulls > 0).sum() < 50), policy.recommend() % 7 >= 5
    (True, True)
    """

    name = "open-by-value"
    summary = "try the arm, open or new, whose trial gains most over its cost (small budgets)"
    verified = "derived here"
    randomised = True
    believes = True
    shares = True
    kernels = Kernels(select=select, update=update, recommend=recommend)
    scratch = frozenset({"pool"})

    order: str = one_of(*sweeps.ORDERS)
    spread: float = number(0.15, above=0.0)
    sigma: float | str = setting("auto", noise.check_sigma)

    @property
    def draws(self) -> bool:
        return self.order == "random"

    def new_state(self, n_arms: int, horizon: int | None, capacity: int) -> State:
        plan = np.zeros(1, _trials.PLAN)
        plan["next"], plan["incumbent"] = _trials.OPEN, _trials.NOBODY
        plan["spread"] = self.spread
        return State(
            horizon=0.0 if horizon is None else float(horizon),
            hold=_trials.FIRST_HOLD if horizon is None else max(2.0, _trials.HOLD * horizon ** (1 / 3)),
            spread=float(self.spread),
            sigma=_ESTIMATED if isinstance(self.sigma, str) else float(self.sigma),
            pool=np.empty(histories.places_for(n_arms, capacity)),
            places=histories.new_places(n_arms),
            order=np.arange(n_arms),
            counts=np.zeros(n_arms, dtype=np.int64),
            plan=plan,
            beliefs=np.zeros((n_arms, 2)),
        )

    def take_beliefs(self, state: State, means: Floats, deviations: Floats) -> None:
        if state.plan["believes"][0] == 0.0:
            state.plan["trust"] = 1.0
        state.plan["believes"] = 1.0
        state.beliefs[:, 0] = means
        state.beliefs[:, 1] = np.maximum(deviations, _LEAST_DEVIATION)

    def take_workers(self, state: State, workers: int) -> None:
        state.plan["workers"] = workers

    def remark(self, state: Any) -> str | None:
        if not state.plan["contradicted"][0]:
            return None
        return noise_model.contradiction(self.sigma, math.sqrt(interpreted(_trials_noise.believed)(state)))

    def make_room(self, state: State, capacity: int) -> None:
        histories.make_room(state.pool, self.n_arms, capacity)

    def why_next(self, at: Moment) -> str:
        state, plan, n = at.state, at.state.plan, int(at.pulls[at.arm])
        if n == 0 and plan["opened"][0] < _trials.FIRST_ARMS:
            return "opened: one of the two that are compared first"
        if n == 1 and interpreted(_trials.begins_at_nothing)(state, at.arm):
            return "looked at a second time: its first reward is next to nothing"
        if at.arm == plan["incumbent"][0]:
            if plan["next"][0] != at.arm:
                return "the incumbent: the arm that would be tried is not free"
            waits = interpreted(_trials.waits)(state)
            return f"the incumbent: {'played first, to see how an arm learns here' if waits else 'no trial pays'}"
        tried = "opened" if n == 0 else "tried"
        gain = float(at.parts["gain"][at.arm])
        if not gain > 0.0:
            return f"{tried}: others are not free"
        trial = counted(int(at.parts["trial"][at.arm]))
        return f"{tried}: a trial of {trial} is worth {at.units.amount(gain)} more than it costs"

    def why_kept(self, at: Moment) -> str:
        return f"its sure level is the highest (level {at.level('level')})"

    def parts(self, state: State, t: int) -> dict[str, Floats]:
        """Columns: ``level``; ``ahead`` of the incumbent at equal age; how far the arm is ``expected`` to end ahead,
        the ``band`` of that (one deviation) and the ``chance`` that it is above 0; the best ``trial`` in pulls (0: the
        arm is hopeless), its ``value``, its ``price`` and the ``gain``, value minus price.

        In units of reward: the arm with the largest gain above 0 is tried, otherwise the incumbent plays. It also plays
        while too little is known about how arms learn. Unopened arms share one set of numbers.
        """
        columns = {name: np.full(state.order.size, np.nan) for name in _COLUMNS}
        opened, b = int(state.plan["opened"][0]), int(state.plan["incumbent"][0])
        level, ahead, believed = interpreted(_trials.level), interpreted(_trials.ahead), _Believed()
        for arm in state.order[:opened]:
            columns["level"][arm] = level(state, arm, state.counts[arm])
        if b == _trials.NOBODY:
            return columns
        columns["ahead"][b] = columns["gain"][b] = 0.0
        for arm in state.order[:opened]:
            if arm != b:
                columns["ahead"][arm] = ahead(state, arm)
                believed.fill(columns, state, arm, int(arm))
        if opened < state.order.size:
            believed.fill(columns, state, state.order[opened:], _trials.NOBODY)
        return columns


class _Believed:
    """Beliefs about arms, and what trying them is worth, by kernels in plain Python, each made once."""

    def __init__(self) -> None:
        kernels = (_trials.expected, _trials.variance, _trials.best_trial, _trials.chance_above)
        self._expected, self._variance, self._best_trial, self._chance_above = map(interpreted, kernels)

    def fill(self, columns: dict[str, Floats], state: State, rows: Any, arm: int) -> None:
        """The columns of an arm, or of all unopened ones."""
        pulls = 0 if arm == _trials.NOBODY else state.counts[arm]
        mean = self._expected(state, arm)
        band = math.sqrt(self._variance(state, arm, pulls))
        trial, value, price = self._best_trial(state, arm)
        chance = self._chance_above(mean, band)
        found = zip(_COLUMNS[2:], (mean, band, chance, trial, value, price, value - price), strict=True)
        for name, number_of_arm in found:
            columns[name][rows] = number_of_arm
