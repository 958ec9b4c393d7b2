"""R-ed-UCB on trigger counts: for arms that rise by their own pulls and by those of some others."""

from __future__ import annotations

import math
from collections import namedtuple
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from risingbandits._core.jit import bound_kernel, kernel, rare_kernel
from risingbandits._core.types import Rng
from risingbandits.lab.related.triggers import check_trigger_matrix, trigger_matrix
from risingbandits.policies._kernels import histories, noise
from risingbandits.policies._kernels.trends import FLOOR_SLACK
from risingbandits.policies._settings import setting
from risingbandits.policies.base import Kernels
from risingbandits.policies.registry import register
from risingbandits.policies.rising import r_less_ucb, red_ucb

if TYPE_CHECKING:
    from risingbandits.problems import RisingBandit

# Of the fields that are R-ed-UCB's the first three sums of an arm have another meaning, those of `_line_through_pairs`.
_FIELDS = (
    *red_ucb.State._fields,
    "triggers",  # (K, K): row j, column i is 1 where a pull of arm j makes arm i rise
    "risen",  # (K,) pulls that have made each arm rise
    "counts",  # that number at each pull of each arm, as ``pool`` has the rewards (histories)
    "count_places",
)
_made: Any = namedtuple  # to the type checker the class would be one without fields
State = _made("State", _FIELDS, module=__name__)

_LEVEL, _SLOPE, _MOMENT = 0, 1, 2  # sums over the window: r(l), s(l) and m(l) s(l)


@kernel
def update(state: Any, t: int, arm: int, reward: float, rng: Rng) -> None:
    for other in range(state.risen.shape[0]):
        state.risen[other] += state.triggers[arm, other]
    n = state.tally[arm, 0] + 1
    state.tally[arm, 0] = n
    if state.deterministic:
        r_less_ucb.line_through_last_two(state, state.risen[arm], arm, n, reward)
    else:
        _line_through_pairs(state, arm, n, reward)
    noise.add(state, arm, reward)


update_of_many: Any = bound_kernel(r_less_ucb.update_of_many, update=update)


@kernel
def _line_through_pairs(state: Any, arm: int, n: int, reward: float) -> None:
    """The four numbers of the index, from the lines through pulls l - h and l of the window.

    While the window keeps its size one line comes and one goes; when it grows all change, every 1/eps pulls.
    """
    start = histories.append(state.pool, state.places, arm, n, reward)
    histories.append(state.counts, state.count_places, arm, n, float(state.risen[arm]))  # at the same places
    h = int(state.eps * n + FLOOR_SLACK)
    if h > 0:
        sums = state.sums
        if h == state.tally[arm, 1]:
            came, went = _slope(state, start + n, h), _slope(state, start + n - h, h)
            sums[arm, _LEVEL] += reward - state.pool[start + n - h]
            sums[arm, _SLOPE] += came - went
            sums[arm, _MOMENT] += state.counts[start + n] * came - state.counts[start + n - h] * went
        else:
            _sum_anew(state, arm, start, n, h)
            state.tally[arm, 1] = h
        inverse = 1.0 / h
        width = state.width * inverse * math.sqrt(inverse)
        state.line[arm, 0] = (sums[arm, _LEVEL] - sums[arm, _MOMENT]) * inverse
        state.line[arm, 1] = sums[arm, _SLOPE] * inverse
        state.line[arm, 2] = width
        state.line[arm, 3] = width * state.counts[start + n - h + 1]
        state.line[arm, 4] = sums[arm, _LEVEL] * inverse


@rare_kernel
def _sum_anew(state: Any, arm: int, start: int, n: int, h: int) -> None:
    """The sums over pulls n - h + 1 to n."""
    level = 0.0
    slope = 0.0
    moment = 0.0
    for place in range(start + n - h + 1, start + n + 1):
        own = _slope(state, place, h)
        level += state.pool[place]
        slope += own
        moment += state.counts[place] * own
    state.sums[arm, _LEVEL] = level
    state.sums[arm, _SLOPE] = slope
    state.sums[arm, _MOMENT] = moment


@kernel
def _slope(state: Any, place: int, h: int) -> float:
    """s(l): the line through pulls l - h and l over their trigger counts."""
    return (state.pool[place] - state.pool[place - h]) / (state.counts[place] - state.counts[place - h])


@register
class GraphREdUCB(red_ucb.REdUCB):
    r"""R-ed-UCB on trigger counts: optimism about arms that rise by their own pulls and by those of some others.

    Pull l of an arm is made when :math:`m_l` pulls, this one among them, have triggered the arm. With N pulls of it
    before round t, the deterministic index (``sigma=0``) is

    .. math:: \mu(m_N) + (t - m_N) \frac{\mu(m_N) - \mu(m_{N-1})}{m_N - m_{N-1}},

    :math:`+\infty` while N < 2. With noise and a window of :math:`h = \lfloor \epsilon N \rfloor` it is

    .. math:: \frac1h \sum_{l=N-h+1}^{N} \Big( r(l) + (t-m_l) \frac{r(l) - r(l-h)}{m_l - m_{l-h}} \Big)
              + \sigma (t - m_{N-h+1}) \sqrt{\frac{10 \alpha \log t}{h^3}},

    and :math:`+\infty` while h = 0. The idea, R-ed-UCB with trigger counts in place of pulls, is that of Genalti et
    al.; the formulas are derived here from R-ed-UCB's. Each line lies above a concave curve at t, as R-ed-UCB's do. The
    width is R-ed-UCB's with :math:`m_{N-h+1}` for N - h + 1, and enough because :math:`m_l - m_{l-h} \ge h`.

    With the identity it is `REdUCB`: exactly without noise, up to rounding with it. With all ones it is `RLessUCB`
    without noise; with it they differ, since R-less-UCB counts the arm's pulls, this one the rounds in which they were
    made, which gives smaller slopes and widths.

    Use it on `TriggerGraph` problems. An update takes O(1) while the window keeps its size and O(h) when it
    grows, every 1/eps pulls of an arm; R-ed-UCB's always takes O(1).

    Parameters
    ----------
    eps, sigma, alpha, ties
        As in `REdUCB`.
    triggers : array_like of 0 and 1, optional
        Row j, column i is 1 where a pull of arm j makes arm i rise; ones on the diagonal, not necessarily symmetric.
        None takes the problem's in `simulate`; elsewhere every arm rises by its own pulls alone.

    References
    ----------
    G. Genalti, M. Mussi, N. Gatti, M. Restelli, M. Castiglioni, A. M. Metelli. Graph-Triggered Rising Bandits. ICML
    2024.
    """

    name = "graph-red-ucb"
    summary = "R-ed-UCB for arms that rise by the pulls of some others, too"
    verified = "derived here"
    kernels = Kernels(select=red_ucb.select, update=update)
    _kernels_of_many = Kernels(select=red_ucb.select_of_many, update=update_of_many)
    _scratch = red_ucb.REdUCB._scratch | {"triggers", "counts"}
    _guard = noise.UNCHECKED  # between two pulls an arm may have risen by any amount

    triggers: Any = setting(None, check_trigger_matrix)

    def _new_state(self, n_arms: int, horizon: int | None, capacity: int) -> Any:
        plain = super()._new_state(n_arms, horizon, capacity)
        given = np.eye(n_arms) if self.triggers is None else self.triggers
        return State(
            *plain,
            triggers=check_trigger_matrix("triggers", given, n_arms).copy(),
            risen=np.zeros(n_arms, dtype=np.int64),
            counts=np.empty_like(plain.pool),
            count_places=histories.new_places(n_arms),
        )

    def _for_problem(self, problem: RisingBandit, horizon: int) -> Self:
        told = super()._for_problem(problem, horizon)
        if self.triggers is not None or problem.rested:
            return told
        return told.replace(triggers=tuple(map(tuple, trigger_matrix(problem).tolist())))

    def _make_room(self, state: Any, capacity: int) -> None:
        super()._make_room(state, capacity)
        if not state.deterministic:
            histories.make_room(state.counts, self.n_arms, capacity)
