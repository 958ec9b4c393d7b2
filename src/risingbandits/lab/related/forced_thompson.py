"""ET-TS and its variants: every arm a number of times in turn, before a form of Thompson sampling decides.

A state with forced pulls has two more fields at its end: ``forced``, their number Gamma, and ``pulls``, the pulls of
each arm and, last, how many arms have fewer than Gamma. The arm with the fewest pulls is next, the lowest number of
equals, so that an arm which was not available catches up when it is.
"""

from __future__ import annotations

from collections import namedtuple
from functools import cache
from typing import Any, ClassVar

import numpy as np

from risingbandits._core.jit import bound_kernel, kernel
from risingbandits._core.types import Ints, Mask, Rng
from risingbandits.lab.related import sw_gaussian_ts
from risingbandits.policies._settings import integer
from risingbandits.policies.base import Kernels, Policy
from risingbandits.policies.classic import beta_ts, gaussian_ts
from risingbandits.policies.explanation import Moment
from risingbandits.policies.registry import register

FIELDS = ("forced", "pulls")

inner_select: Any = None
inner_update: Any = None


def _select(state: Any, t: int, available: Mask, rng: Rng) -> int:
    if state.pulls[state.pulls.shape[0] - 1] > 0:
        due = arm_due(state.pulls, state.forced, available)
        if due >= 0:
            return due
    return inner_select(state, t, available, rng)


def _update(state: Any, t: int, arm: int, reward: float, rng: Rng) -> None:
    state.pulls[arm] += 1
    if state.pulls[arm] == state.forced:
        state.pulls[state.pulls.shape[0] - 1] -= 1
    inner_update(state, t, arm, reward, rng)


@kernel
def arm_due(pulls: Ints, forced: int, available: Mask) -> int:
    """The available arm with the fewest pulls below ``forced``; -1 if there is none."""
    fewest = forced
    due = -1
    for arm in range(pulls.shape[0] - 1):
        if pulls[arm] < fewest and (available is None or available[arm]):
            fewest = pulls[arm]
            due = arm
    return due


@cache
def _forced_kernels(kernels: Kernels) -> Kernels:
    """The same after forced pulls."""
    select = bound_kernel(_select, inner_select=kernels.select)
    return kernels._replace(select=select, update=bound_kernel(_update, inner_update=kernels.update))


def _extended(name: str, state_class: Any) -> Any:
    """The state with forced pulls, a class that this module must keep under its name."""
    return namedtuple(name, (*state_class._fields, *FIELDS), module=__name__)


class ForcedPulls(Policy):
    """Base of the policies that begin with forced pulls; the next base is the one that they go on as."""

    _extended_state: ClassVar[Any]

    forced: int

    def _new_state(self, n_arms: int, horizon: int | None, capacity: int) -> Any:
        pulls = np.zeros(n_arms + 1, dtype=np.int64)
        pulls[n_arms] = n_arms if self.forced > 0 else 0
        state = super()._new_state(n_arms, horizon, capacity)
        return self._extended_state(*state, forced=int(self.forced), pulls=pulls)

    def _why_next(self, at: Moment) -> str:
        n = int(at.pulls[at.arm])
        return f"forced pull {n + 1} of {self.forced}" if n < self.forced else super()._why_next(at)


WindowBetaState: Any = _extended("WindowBetaState", beta_ts.WindowState)
BetaState: Any = _extended("BetaState", beta_ts.State)
GaussianState: Any = _extended("GaussianState", gaussian_ts.State)
WindowGaussianState: Any = _extended("WindowGaussianState", sw_gaussian_ts.State)


@register
class ETTS(ForcedPulls, beta_ts.SWTS):
    r"""ET-TS: pull every arm Gamma times in turn, then continue as SW-TS.

    The forced pulls, :math:`\Gamma` of each arm, bring slowly rising arms to where they can be judged (Fiandri et al.,
    2025); afterwards :math:`\theta_i \sim \mathrm{Beta}(1 + S_i, 1 + N_i - S_i)` over the last :math:`\tau` rounds
    decides, see `SWTS`. An arm that is not available catches up on its forced pulls when it is.

    Use it if you know a number of pulls after which the best arms lead. The forced pulls cost K Gamma rounds, whatever
    they show. The parameters that are not listed are those of `SWTS`.

    Parameters
    ----------
    forced : int
        Forced pulls of each arm, Gamma. The paper sets it by the problem; the default 100 is ours.

    References
    ----------
    M. Fiandri, A. M. Metelli, F. Trovo. Thompson Sampling-like Algorithms for Stochastic Rising Bandits. 2025.
    """

    name = "et-ts"
    summary = "forced pulls of every arm, then SW-TS"
    verified = "published definition"
    kernels = _forced_kernels(beta_ts.SWTS.kernels)
    _extended_state = WindowBetaState

    forced: int = integer(100, minimum=0)


@register
class ETBetaThompson(ForcedPulls, beta_ts.BetaThompson):
    r"""ET-Beta-TS: pull every arm Gamma times in turn, then continue as Beta Thompson sampling on all rounds.

    After :math:`\Gamma` forced pulls of each arm :math:`\theta_i \sim \mathrm{Beta}(1 + S_i, 1 + N_i - S_i)` decides,
    with all N_i pulls of the arm, S_i of which were wins: see `BetaThompson`. `ETTS` is the same in a sliding window.

    From the paper: the forced pulls and this form, for coins (Fiandri et al., 2025). Taken over from `BetaThompson`:
    a reward x in [0, 1] becomes a win with probability x. A choice of ours: ``forced``, see `ETTS`.

    Use it when a number of pulls is known after which the averages of the arms are in the right order, and rewards are
    0 or 1. For rewards with little noise `ETGaussianThompson` knows sooner which arm is ahead.

    Parameters
    ----------
    forced : int
        Forced pulls of each arm, Gamma. The paper sets it by the problem; the default 100 is ours, as in `ETTS`.
    reward_range : (float, float)
        Range that is mapped onto [0, 1]; what lies outside is clipped.

    References
    ----------
    M. Fiandri, A. M. Metelli, F. Trovo. Thompson Sampling-like Algorithms for Stochastic Rising Bandits. 2025.
    """

    name = "et-beta-ts"
    summary = "forced pulls of every arm, then Thompson sampling with Beta posteriors"
    verified = "published definition"
    kernels = _forced_kernels(beta_ts.BetaThompson.kernels)
    _extended_state = BetaState

    forced: int = integer(100, minimum=0)


@register
class ETGaussianThompson(ForcedPulls, gaussian_ts.GaussianThompson):
    r"""ET-Gaussian-TS: pull every arm Gamma times in turn, then continue as Gaussian Thompson sampling.

    After :math:`\Gamma` forced pulls of each arm :math:`\theta_i \sim N(\bar x_i, \sigma^2 / N_i)` decides, where the
    mean is over all pulls of the arm, the forced ones too: see `GaussianThompson`.

    From the paper: the forced pulls, and the form :math:`\gamma`-ET-GTS with :math:`\gamma = 1 / \sigma^2` (Fiandri et
    al., 2025). With rising arms the expected pulls of an arm that is not the best are of the order of
    :math:`\Gamma + \sigma_\mu(T) + \log T / \Delta^2`, where :math:`\sigma_\mu(T)` is the number of pulls after which
    the average of the best arm exceeds what any other has at the end. Choices of ours: ``forced`` and ``sigma``, see
    `ETTS` and `SWGaussianThompson`.

    Use it when a number of pulls is known after which the averages of the arms are in the right order: afterwards
    little is spent on the others. The forced pulls cost K Gamma rounds whatever they show.

    Parameters
    ----------
    forced : int
        Forced pulls of each arm, Gamma. The paper sets it by the problem; the default 100 is ours, as in `ETTS`.
    sigma : float or "auto"
        Standard deviation of the noise, as for `GaussianThompson`.

    References
    ----------
    M. Fiandri, A. M. Metelli, F. Trovo. Thompson Sampling-like Algorithms for Stochastic Rising Bandits. 2025.
    """

    name = "et-gaussian-ts"
    summary = "forced pulls of every arm, then Gaussian Thompson sampling"
    verified = "published definition"
    kernels = _forced_kernels(gaussian_ts.GaussianThompson.kernels)
    _extended_state = GaussianState

    forced: int = integer(100, minimum=0)


@register
class ETSWGaussianThompson(ForcedPulls, sw_gaussian_ts.SWGaussianThompson):
    r"""ET-SW-Gaussian-TS: pull every arm Gamma times in turn, then continue as Gaussian Thompson sampling in a window.

    After :math:`\Gamma` forced pulls of each arm :math:`\theta_i \sim N(\bar x_i, \sigma^2 / N_i)` over the last
    :math:`\tau` rounds decides, see `SWGaussianThompson`. The forced pulls come in turn, so that the window holds some
    of every arm when they end if it has K rounds or more.

    From the paper: the forced pulls, and the form :math:`\gamma`-ET-SWGTS with :math:`\gamma = 1 / \sigma^2` (Fiandri
    et al., 2025). Choices of ours: ``forced``, ``tau`` and ``sigma``, see `ETTS` and `SWGaussianThompson`.

    Use it when a number of pulls is known after which the best arms lead, and arms go on rising: the window follows the
    levels that they have now. The parameters that are not listed are those of `SWGaussianThompson`.

    Parameters
    ----------
    forced : int
        Forced pulls of each arm, Gamma. The paper sets it by the problem; the default 100 is ours, as in `ETTS`.

    References
    ----------
    M. Fiandri, A. M. Metelli, F. Trovo. Thompson Sampling-like Algorithms for Stochastic Rising Bandits. 2025.
    """

    name = "et-sw-gaussian-ts"
    summary = "forced pulls of every arm, then Gaussian Thompson sampling on the last tau rounds"
    verified = "published definition"
    kernels = _forced_kernels(sw_gaussian_ts.SWGaussianThompson.kernels)
    _extended_state = WindowGaussianState

    forced: int = integer(100, minimum=0)
