"""How noisy rewards are: ``sigma``, a number or "auto", for every policy that needs it.

**"auto".** One noise level for all arms. Pulls 1 and 2 of an arm, 3 and 4, ... are pairs, and (r - r')^2 / 2 is sigma^2
on average, or more where the arm rises between the two; the variance is the mean of these. Before there are pairs it is
a quarter of the square of the range of all rewards, the largest that rewards in this range can have; that counts for
one pair, and for 1/e of that with every six pairs, so that rewards without noise are soon known to have none. As long
as all rewards have one of two values it is that first guess: of 0 and 1 few may be equal by chance, and their noise
grows while arms rise. It needs no range of the rewards: scaled and shifted rewards have a scaled level.

What it was chosen from, by Gaussian UCB and by elimination on constant and rising arms and on 13 families of real
curves: second differences, with and without the first guess, levels of each arm's own, medians over arms, the smaller
of two kinds. None was clearly better, and pairs are the simplest. Without a first guess elimination drops the best arm
too soon; CommitUCB, for which 0 and 1 make no exception, loses 15 instead of 9 % on rising arms.

**A number** is checked: x^2 of a standardised fourth difference of five rewards is 1 on average or less if it is right;
curves that bend slowly hardly touch it. For noise that is sigma-sub-Gaussian E exp(3/8 x^2) <= 2, so that the sum of
3/8 x^2 - log 2 reaches 20 with probability e^-20 at most. Where it does, the number is wrong, and a warning says so
once. It is kept, or the estimate takes over where it is larger, as ``guard`` says. 0 says that there is no noise, and
is not checked.

**How a policy uses it.** The class inherits `NoisePolicy`, declares ``sigma: float | str | None = noise.setting()``,
and adds ``**self._noise_fields(n_arms)`` to its state, which are ``noise`` and ``heard``. Its update calls `add` for
every reward. What it computes from sigma it computes from `NoisePolicy._unit_sigma`, the number or 1, times `factor`,
which is 1 or the estimate; or from `level`, the noise level itself.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from risingbandits._core.errors import RisingBanditsError, check_finite, shown
from risingbandits._core.jit import interpreted, kernel
from risingbandits._core.types import Records, record_type
from risingbandits.policies import _settings as settings
from risingbandits.policies.base import Policy

AUTO = "auto"
UNCHECKED, KEPT, REPLACED, ESTIMATED = 0, 1, 2, 3  # what becomes of a number that the rewards contradict; no number

# Of all arms: what is done with the number, and how many values rewards have, up to three; the number (0: none) and the
# level; squared differences of pairs and their number; the range of the rewards; the evidence against the number, inf
# once it is enough; the level when something that depends on it was last computed, for the policy's own use.
NOISE = record_type((np.int64, "guard values"), (np.float64, "given level squares pairs low high evidence drawn"))
# Of each arm: pulls, the last reward, and what its block of five adds up to so far.
HEARD = record_type((np.int64, "pulls"), (np.float64, "last block"))

_FORGOTTEN = 6.0  # pairs with which the weight of the first guess falls to 1/e
_MANY = 200.0  # pairs after which it is 0, to the last digits
_LEAST = 1e-9  # a level above 0, so that of equal arms the one with fewer pulls comes first
_BLOCK = 5
_WATCHED = 500  # pulls of an arm that are checked: enough to notice three quarters of the truth, and cheap in long runs
_MOST = 16.0  # the most that x^2 of one block counts for: a curve may jump
_SURE = 20.0
_LOG_2 = math.log(2.0)
_FAR = 1.2  # times the number: an estimate below this is about it, and the evidence is of a few jumps


def check_sigma(name: str, sigma: Any) -> None:
    """Refuse anything but "auto" or a number from 0 on."""
    if isinstance(sigma, str):
        if sigma != AUTO:
            raise RisingBanditsError(f'{name} must be a number from 0 on or "auto", got {shown(sigma)}.')
    else:
        check_finite(name, sigma, minimum=0.0)


def setting() -> Any:
    """The field ``sigma`` of a policy. None, the default, is the problem's noise in `simulate`, "auto" elsewhere."""
    return settings.setting(None, check_sigma)


class NoisePolicy(Policy):
    """Base of the policies with a ``sigma``."""

    sigma: float | str | None
    _guard: int = KEPT  # what becomes of a number that the rewards contradict

    @property
    def _estimates(self) -> bool:
        """Whether the noise level is estimated from the first reward on."""
        return self.sigma is None or isinstance(self.sigma, str)

    def _unit_sigma(self) -> float:
        """The number, or 1, which `factor` multiplies."""
        return 1.0 if self._estimates else float(self.sigma)  # type: ignore[arg-type]

    def _noise_fields(self, n_arms: int) -> dict[str, np.ndarray]:
        """The fields of a state before the first reward."""
        noise, given = np.zeros(1, NOISE), 0.0 if self._estimates else self._unit_sigma()
        noise["guard"] = ESTIMATED if self._estimates else (self._guard if given > 0.0 else UNCHECKED)
        noise["given"] = given
        noise["level"] = noise["drawn"] = _LEAST if self._estimates else given
        noise["low"], noise["high"] = math.inf, -math.inf
        return {"noise": noise, "heard": np.zeros(n_arms, HEARD)}

    def _remark(self, state: Any) -> str | None:
        """The warning about a number that cannot be right; none if only a few jumps contradict it."""
        if state.noise["evidence"][0] < math.inf:
            return None
        found = math.sqrt(interpreted(variance)(state.noise))
        kept = state.noise["guard"][0] == KEPT
        if kept and found <= _FAR * self._unit_sigma():
            return None
        what = 'but it is kept: sigma="auto" estimates it' if kept else "and it is estimated from now on"
        return f"sigma={self.sigma} is contradicted by the rewards, whose noise is about {found:.2g}, {what}."


@kernel
def level(state: Any) -> float:
    """The noise level now."""
    return state.noise["level"][0]


@kernel
def factor(state: Any) -> float:
    """The estimate, or 1 if sigma was given, for what was computed with `unit_sigma`."""
    return state.noise["level"][0] if state.noise["guard"][0] == ESTIMATED else 1.0


@kernel
def add(state: Any, arm: int, reward: float) -> None:
    """One more reward of the arm."""
    noise = state.noise
    guard = noise["guard"][0]
    if guard == UNCHECKED:
        return
    heard = state.heard
    n = heard["pulls"][arm] + 1
    heard["pulls"][arm] = n
    if n > _WATCHED and guard == KEPT:
        return
    if noise["values"][0] <= 2 and reward != noise["low"][0] and reward != noise["high"][0]:
        noise["values"][0] += 1
    noise["low"][0] = min(noise["low"][0], reward)
    noise["high"][0] = max(noise["high"][0], reward)
    if n % 2 == 0:
        difference = reward - heard["last"][arm]
        noise["squares"][0] += 0.5 * difference * difference
        noise["pairs"][0] += 1.0
    heard["last"][arm] = reward
    if _BLOCK < n <= _WATCHED and guard != ESTIMATED and noise["evidence"][0] < math.inf:
        _check(noise, heard, arm, n, reward)
    if guard == ESTIMATED or (guard == REPLACED and noise["evidence"][0] == math.inf):
        noise["level"][0] = max(noise["given"][0], max(_LEAST, math.sqrt(variance(noise))))


@kernel
def variance(noise: Records) -> float:
    """The mean of the squares and the first guess, after one reward or more."""
    half = 0.5 * (noise["high"][0] - noise["low"][0])
    if noise["values"][0] <= 2:
        return half * half
    pairs = noise["pairs"][0]
    weight = math.exp(-pairs / _FORGOTTEN) if pairs < _MANY else 0.0
    return (noise["squares"][0] + weight * half * half) / (pairs + weight)


@kernel
def _check(noise: Records, heard: Records, arm: int, n: int, reward: float) -> None:
    """The reward in the fourth difference of its block, whose weights are 1, -4, 6, -4, 1.

    The first block of an arm is left out: its first pulls may jump. Evidence in favour of the number is kept up to 20
    only, so that noise which grows later is noticed as well.
    """
    place = n % _BLOCK
    if place > 0:
        before = 0.0 if place == 1 else heard["block"][arm]
        weight = 1.0 if place == 1 else -4.0
        heard["block"][arm] = before + (6.0 if place == 3 else weight) * reward
    else:
        difference = heard["block"][arm] + reward
        x2 = min(_MOST, difference * difference / (70.0 * noise["given"][0] * noise["given"][0]))
        evidence = max(-_SURE, noise["evidence"][0] + 0.375 * x2 - _LOG_2)
        noise["evidence"][0] = math.inf if evidence >= _SURE else evidence
