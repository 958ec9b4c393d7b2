"""R-less-UCB: R-ed-UCB for arms that improve with time, pulled or not."""

from __future__ import annotations

from risingbandits._core.jit import kernel
from risingbandits._core.types import Rng
from risingbandits.policies._kernels import noise, pruning
from risingbandits.policies.base import Kernels
from risingbandits.policies.registry import register
from risingbandits.policies.rising import red_ucb

State = red_ucb.State  # with sigma = 0 the first two sums of an arm are its last reward and the round of it


@kernel
def update(state: State, t: int, arm: int, reward: float, rng: Rng) -> None:
    if state.deterministic:
        n = state.tally[arm, 0] + 1
        state.tally[arm, 0] = n
        line_through_last_two(state, t, arm, n, reward)
    else:
        red_ucb.update(state, t, arm, reward, rng)


@kernel
def update_of_many(state: State, t: int, arm: int, reward: float, rng: Rng) -> None:
    update(state, t, arm, reward, rng)
    place = pruning.note_change(state.block, arm)
    if place >= 0:
        red_ucb._copy_line(state, arm, place)


@kernel
def line_through_last_two(state: State, t: int, arm: int, n: int, reward: float) -> None:
    """The deterministic index: the line through the last two rewards over the rounds in which they came."""
    if n >= 2:
        slope = (reward - state.sums[arm, 0]) / (t - state.sums[arm, 1])
        state.line[arm, 0] = reward - t * slope
        state.line[arm, 1] = slope
        state.line[arm, 4] = reward
    state.sums[arm, 0] = reward
    state.sums[arm, 1] = float(t)


@register
class RLessUCB(red_ucb.REdUCB):
    r"""R-less-UCB: optimism about rising arms that improve with time, whether they are pulled or not (restless).

    With the rounds :math:`t_1 < \dots < t_N` in which an arm was pulled, the deterministic index (``sigma=0``) at round
    t is

    .. math:: \mu(t_N) + (t - t_N) \frac{\mu(t_N) - \mu(t_{N-1})}{t_N - t_{N-1}},

    :math:`+\infty` while N < 2. The stochastic index is that of `REdUCB`, over the arm's pulls (Metelli et al., 2022).

    Use it on restless problems (``RisingBandit(..., restless=True)``), whose optimum is the best arm of each round.
    For arms that improve only when used, use `REdUCB`. The settings are those of `REdUCB`.

    References
    ----------
    A. M. Metelli, F. Trovo, M. Pirola, M. Restelli. Stochastic Rising Bandits. ICML 2022.

    Examples
    --------
    >>> policy = RLessUCB(sigma=0.0).reset(n_arms=2)
    >>> for t in range(40):
    ...     arm = policy.ask()
    ...     policy.tell(arm, [0.5, 0.05 * t][arm])
    >>> policy.recommend()
    1
    """

    name = "r-less-ucb"
    summary = "R-ed-UCB for arms that rise with time (restless)"
    verified = "published definition"
    kernels = Kernels(select=red_ucb.select, update=update)
    _kernels_of_many = Kernels(select=red_ucb.select_of_many, update=update_of_many)
    _guard = noise.UNCHECKED  # between two pulls an arm may have risen by any amount
