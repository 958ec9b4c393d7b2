"""The paper's two tables of rates: of the cumulative increment, and of the regret of R-ed-UCB.

Both are about increments gamma_i(l) <= f(l) for all arms, with f(l) = e^(-c l) ("exponential") or f(l) = l^(-c)
("polynomial").
"""

from __future__ import annotations

import math
from typing import NamedTuple

from risingbandits._core.errors import check_choice, check_finite, check_flag, check_positive_int

DECAYS = ("exponential", "polynomial")
_SETTINGS = ("deterministic", "stochastic")


class RegretRate(NamedTuple):
    """Regret of order K^a T^exponent (log T)^log_power; ``text`` writes it out."""

    exponent: float
    log_power: float
    text: str

    def __call__(self, horizon: float) -> float:
        """T^exponent (log T)^log_power, without the constant."""
        return float(horizon**self.exponent * math.log(horizon) ** self.log_power)


def increment_rate(decay: str, c: float, q: float, pulls: int) -> float:
    """Order of U(M, q) in the paper's Table 1.

    The table's last column, printed "cq <= 1", must read "cq < 1": at cq = 1 it divides by 0. Close to cq = 1 its
    entries 1/(cq - 1) and M^(1 - cq)/(1 - cq) grow beyond all bounds while U(M, q) is of order log M. Where they would
    divide by less than 1/log M, they are multiplied by log M instead: our choice, the same order, and continuous in cq.

    Parameters
    ----------
    decay : {"exponential", "polynomial"}
        e^(-c l) or l^(-c).
    c : float
        > 0.
    q : float
        In (0, 1]: at q = 0 the cumulative increment is M - 1 for any arms.
    pulls : int
        M >= 2.

    Examples
    --------
    >>> increment_rate("polynomial", 2.0, 1.0, 1_000_000)
    1.0
    >>> round(increment_rate("polynomial", 2.0, 0.5, 1_000_000), 4)  # log M
    13.8155
    >>> round(increment_rate("polynomial", 49.0, 1 / 49, 1_000), 4)  # log M as well, though 49 * (1 / 49) < 1 here
    6.9078
    """
    decay, c, q, pulls = _checked(decay, c, q, pulls)
    if decay == "exponential":
        return math.exp(-c * q) / (c * q)
    rest = 1.0 - c * q
    logarithm = math.log(pulls)
    grown = float(pulls**rest) if rest > 0.0 else 1.0
    return grown / abs(rest) if abs(rest) * logarithm >= 1.0 else grown * logarithm


def increment_bound(decay: str, c: float, q: float, pulls: int, scale: float = 1.0) -> float:
    """An upper bound on U(M, q) if gamma_i(l) <= scale f(l): first term plus integral (the lemma behind Table 1).

    The proof of that lemma has two slips, corrected here: "cq < 1" stands where cq > 1 is meant, and its sums end at
    T where the definition ends at T - 1.

    Examples
    --------
    >>> increment_bound("polynomial", 2.0, 1.0, 1_000_000)  # 1 + (1 - 1/(M - 1))
    1.999998999999
    """
    decay, c, q, pulls = _checked(decay, c, q, pulls)
    size = float(check_finite("scale", scale, above=0) ** q)
    last = pulls - 1
    if decay == "exponential":
        rest = -math.expm1(-c * q * (last - 1)) / (c * q)
        return size * math.exp(-c * q) * (1.0 + rest)
    if c * q == 1.0:
        return size * (1.0 + math.log(last))
    return float(size * (1.0 + math.expm1((1.0 - c * q) * math.log(last)) / (1.0 - c * q)))


def increment_limit(n_arms: int, pulls: int, q: float, sharp: bool = False) -> float:
    """What U(M, q) never exceeds, whatever K rising arms with means in [0, 1] are: K M^(1 - q).

    The paper states it without proof where it defines U (Section 2); concavity is not needed. By Hoelder's inequality
    U(M, q) <= (M - 1)^(1 - q) U(M, 1)^q, and U(M, 1) is at most the sum of what all arms rise, which is at most K.
    So K^q (M - 1)^(1 - q) is a limit too, ours and never larger. It is met by arms that rise in equal steps, one arm
    after the other, and with concave arms by a straight line (K = 1).

    Parameters
    ----------
    n_arms : int
        K >= 1.
    pulls : int
        M >= 1.
    q : float
        In [0, 1].
    sharp : bool
        Whether K^q (M - 1)^(1 - q) is wanted instead of what the paper prints.

    Examples
    --------
    >>> increment_limit(4, 101, 0.5, sharp=True)
    20.0
    >>> round(increment_limit(4, 101, 0.5), 3)
    40.2
    """
    arms, last = check_positive_int("n_arms", n_arms), check_positive_int("pulls", pulls)
    q = check_finite("q", q, minimum=0, maximum=1)
    if not check_flag("sharp", sharp):
        return float(arms * last ** (1.0 - q))
    return float(arms**q * (last - 1) ** (1.0 - q)) if last > 1 else 0.0


def regret_rate(decay: str, c: float, setting: str = "stochastic") -> RegretRate:
    """Rate of the regret bound of R-ed-UCB at its best q (the paper's figure of rates).

    Parameters
    ----------
    decay : {"exponential", "polynomial"}
        How the increments vanish, e^(-c l) or l^(-c).
    c : float
        > 0.
    setting : {"deterministic", "stochastic"}
        Without or with noise.

    Examples
    --------
    >>> regret_rate("polynomial", 1.2)
    RegretRate(exponent=0.8333333333333334, log_power=1.0, text='K T^(1/c) log T')
    >>> regret_rate("polynomial", 2).exponent, regret_rate("polynomial", 2, "deterministic").exponent
    (0.6666666666666666, 0.5)
    >>> regret_rate("exponential", 1, "deterministic").text
    '(K/c) log T'
    """
    check_choice("decay", decay, DECAYS)
    check_choice("setting", setting, _SETTINGS)
    c = check_finite("c", c, above=0)
    stochastic = setting == "stochastic"
    if decay == "polynomial" and c <= 1.0:
        return RegretRate(1.0, 0.0, "T")
    if stochastic and (decay == "exponential" or c > 1.5):
        return RegretRate(2 / 3, 1 / 3, "K T^(2/3) (log T)^(1/3)")
    if decay == "exponential":
        return RegretRate(0.0, 1.0, "(K/c) log T")
    return RegretRate(1.0 / c, 1.0, "K T^(1/c) log T")


def _checked(decay: str, c: float, q: float, pulls: int) -> tuple[str, float, float, int]:
    return (
        check_choice("decay", decay, DECAYS),
        check_finite("c", c, above=0),
        check_finite("q", q, above=0, maximum=1),
        check_positive_int("pulls", pulls, minimum=2),
    )
