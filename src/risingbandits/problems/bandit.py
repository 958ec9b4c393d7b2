"""A bandit problem: one curve for each arm, and the noise of the rewards."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from risingbandits._core.errors import RisingBanditsError, check_counts, check_positive_int, shown
from risingbandits._core.types import Floats, Ints
from risingbandits.problems import _encoding, _oracle
from risingbandits.problems._curve import CONCAVE, NON_DECREASING, Curve, Pull, Pulls, ShapeCheck
from risingbandits.problems._kernels import Environment
from risingbandits.problems.curves import FunctionCurve, Tabulated
from risingbandits.problems.noise import Gaussian, Noise

_DEFAULT_NOISE = Gaussian(0.1)
_ENDLESS = np.iinfo(np.int64).max


@dataclass(frozen=True, repr=False)
class RisingBandit:
    """Arms whose mean reward moves with their own pulls (rested), or with the rounds (restless).

    Immutable. Under Bernoulli and Beta noise the mean of a pull is the curve clipped to [0, 1]; ``means``,
    ``mean_sums`` and the oracle are those of the clipped means, because they are what a policy is paid.

    Parameters
    ----------
    curves : iterable of Curve
        One for each arm, at least one.
    noise : Noise
        `Gaussian` (0.1 by default), `Bernoulli`, `Beta` or `NoNoise`.
    horizon : int, optional
        Rounds T that the problem is meant for; used if a method is given no other.
    name : str, optional
        For tables and figures.
    restless : bool
        Whether all arms move with the round, whichever is pulled.
    arm_names : iterable of str, optional
        All different; "arm 1", "arm 2", ... by default.
    max_pulls : int or iterable of int, optional
        How often an arm can be pulled, if that is known: the length of its curve, one number for all arms or one per
        arm. `simulate` stops there with ``after_end="stop"``; policies with a setting of the same name are told.
        By default tables end with their last value and closed forms never.

    Examples
    --------
    >>> from risingbandits.problems import LinearCapped, Polynomial
    >>> bandit = RisingBandit([Polynomial(0.4, 500, 1), LinearCapped(1 / 25_000, 1)], horizon=200_000)
    >>> bandit
    RisingBandit(2 arms, noise=Gaussian(sigma=0.1), horizon=200000)
    >>> bandit.means(9_500)
    array([0.38, 0.38])
    >>> bandit.oracle_arm(), bandit.oracle_arm(10_000)
    (1, 0)
    >>> bandit.is_non_decreasing()
    ShapeCheck(non-decreasing: holds)
    """

    curves: tuple[Curve, ...]
    noise: Noise
    horizon: int | None
    name: str | None
    restless: bool
    arm_names: tuple[str, ...]
    max_pulls: tuple[int, ...] | None

    #: What the engine pulls, made from the problem and the horizon; None: the curves with noise.
    simulated_arms: ClassVar[type[Any] | None] = None

    def __init__(
        self,
        curves: Iterable[Curve],
        noise: Noise = _DEFAULT_NOISE,
        horizon: int | None = None,
        name: str | None = None,
        restless: bool = False,
        arm_names: Iterable[str] | None = None,
        max_pulls: int | Iterable[int] | None = None,
    ) -> None:
        checked = checked_curves(curves)
        if not isinstance(noise, Noise):
            raise RisingBanditsError(f"noise must be NoNoise, Gaussian, Bernoulli or Beta, got {shown(noise)}.")
        if not isinstance(restless, (bool, np.bool_)):
            raise RisingBanditsError(f"restless must be True or False, got {shown(restless)}.")
        if name is not None and not isinstance(name, str):
            raise RisingBanditsError(f"name must be a string or None, got {shown(name)}.")
        values = {
            "curves": checked,
            "noise": noise,
            "horizon": None if horizon is None else check_positive_int("horizon", horizon),
            "name": name,
            "restless": bool(restless),
            "arm_names": checked_names(arm_names, len(checked)),
            "max_pulls": checked_limits(max_pulls, len(checked)),
        }
        for field, value in values.items():
            object.__setattr__(self, field, value)

    @classmethod
    def from_array(
        cls,
        values: npt.ArrayLike | Sequence[npt.ArrayLike] | Mapping[str, npt.ArrayLike],
        noise: Noise = _DEFAULT_NOISE,
        horizon: int | None = None,
        name: str | None = None,
        restless: bool = False,
        arm_names: Iterable[str] | None = None,
        max_pulls: int | Iterable[int] | None = None,
    ) -> RisingBandit:
        """Problem of tabulated curves, one row for each arm; rows may differ in length.

        A dict, as in `load_curves(path).values`, also has the names of the arms. Pulls beyond the end of a row repeat
        its last value. The horizon is by default the length of the longest row.

        Examples
        --------
        >>> RisingBandit.from_array({"small": [0.1, 0.2, 0.3], "large": [0.2, 0.25]}).means([1, 2, 3])
        array([[0.1 , 0.2 , 0.3 ],
               [0.2 , 0.25, 0.25]])
        """
        if isinstance(values, Mapping):
            arm_names = list(values) if arm_names is None else arm_names
            values = list(values.values())
        if isinstance(values, np.ndarray) and values.ndim != 2:
            raise RisingBanditsError(f"values must have one row for each arm, got shape {values.shape}.")
        if not isinstance(values, (Sequence, np.ndarray)) or isinstance(values, (str, bytes)):
            raise RisingBanditsError(f"values must be an array with one row for each arm, got {shown(values)}.")
        curves = [Tabulated(row) for row in values]
        if horizon is None and curves:
            horizon = max(curve.values.size for curve in curves)
        return cls(curves, noise, horizon, name, restless, arm_names, max_pulls)

    @property
    def n_arms(self) -> int:
        """Number of arms K."""
        return len(self.curves)

    @property
    def sigma(self) -> float:
        """Sub-Gaussian scale of the noise, for policies that are given none."""
        return self.noise.sigma

    @property
    def rested(self) -> bool:
        """Whether every arm moves by its own pulls alone."""
        return not self.restless

    @property
    def moves_with(self) -> str:
        """What moves an arm on along its curve, for figures: "round" or "pulls of the arm"."""
        return "round" if self.restless else "pulls of the arm"

    @property
    def lengths(self) -> Ints | None:
        """How often each arm can be pulled before its curve ends: ``max_pulls``, or the lengths of the tables.

        None if no arm ends; an arm that does not end, among others that do, has the largest integer.

        Examples
        --------
        >>> RisingBandit.from_array([[0.1, 0.2, 0.3], [0.2, 0.25]]).lengths
        array([3, 2])
        """
        if self.max_pulls is not None:
            return np.array(self.max_pulls, dtype=np.int64)
        lengths = [curve.length for curve in self.curves]
        if all(length is None for length in lengths):
            return None
        return np.array([_ENDLESS if length is None else length for length in lengths], dtype=np.int64)

    @property
    def longest(self) -> int | None:
        """The largest of `lengths`; None if some arm does not end."""
        lengths = self.lengths
        return None if lengths is None or lengths.max() == _ENDLESS else int(lengths.max())

    def means(self, n: Pull | Pulls) -> Floats:
        """Mean rewards of pull ``n`` of all arms: (K,), or (K, len(n)) for an array."""
        pulls = check_counts("n", n, max(curve.first_pull for curve in self.curves))
        if pulls.ndim > 1:
            raise RisingBanditsError(f"n must be an integer or have one dimension, got shape {pulls.shape}.")
        values = _encoding.means_at(self._encoded, pulls.reshape(-1))
        return values[:, 0] if pulls.ndim == 0 else values

    def mean_sums(self, pulls: Pull | Pulls | None = None) -> Floats:
        """Sums of the first means of every arm.

        Parameters
        ----------
        pulls : int or array of int, optional
            How many of them: one number for all arms (by default the horizon), or an array whose last dimension is
            the arm, such as the pull counts of many runs.

        Returns
        -------
        array
            Shape (K,) for one number, else the shape of ``pulls``.
        """
        counts = check_counts("pulls", self._horizon(None) if pulls is None else pulls)
        if counts.ndim == 0:
            counts = np.full(self.n_arms, counts)
        if counts.shape[-1] != self.n_arms:
            raise RisingBanditsError(
                f"the last dimension of pulls must be the number of arms, {self.n_arms}, got shape {counts.shape}."
            )
        rows = counts.reshape(-1, self.n_arms)
        sums = _encoding.curve_sums(self._encoded, self._data_sums, rows)
        if rows.size and self.noise.mean_range is not None:
            for arm in self._clipped_arms(int(rows.max())):
                running = _encoding.clipped_sums(self._encoded, arm, rows[:, arm].max())
                sums[:, arm] = np.append(0.0, running)[rows[:, arm]]
        return sums.reshape(counts.shape)

    def oracle_arm(self, horizon: int | None = None) -> int:
        """Index of the arm with the largest sum of means over the horizon, the lowest one among equals."""
        return int(np.argmax(self.mean_sums(self._horizon(horizon))))

    def oracle_value(self, horizon: int | None = None) -> float:
        """Largest sum of means that is possible in ``horizon`` rounds: J*, that of the last `oracle_prefix`."""
        horizon = self._horizon(horizon)
        return float(self.oracle_prefix([horizon], horizon)[0])

    def best_policy(self, horizon: int | None = None) -> str:
        """What regret is measured against: "one arm" if none falls, "greedy" if arms only fall, "each round" if
        restless.

        "unknown" where it is not known, for rested arms that rise and fall. Regret is then against the best single arm,
        and more may be possible.

        Examples
        --------
        >>> RisingBandit.from_array([[0.9, 0.5, 0.1], [0.8, 0.7, 0.7]]).best_policy()
        'greedy'
        >>> RisingBandit.from_array([[0.9, 0.5, 0.1], [0.1, 0.7, 0.8]]).best_policy()
        'unknown'
        """
        return _oracle.best_policy(self, self._horizon(horizon))

    def why_unknown(self, horizon: int | None = None) -> str | None:
        """Why the best policy is not known, and what regret is against instead; None where it is known.

        Also None where it cannot earn more than the best single arm by more than measured curves of rising arms waver.
        """
        last = self._horizon(horizon)
        return _oracle.why_unknown(self, last) if self.best_policy(last) == _oracle.UNKNOWN else None

    def oracle_prefix(self, checkpoints: Pulls, horizon: int | None = None) -> Floats:
        """Sums of the means that the best policy for ``horizon`` rounds has after ``checkpoints`` rounds each.

        With rising rested arms it pulls the oracle arm in every round, with rested arms that only fall the one with the
        highest next mean, with restless ones the best arm of each round. Where the best policy is not known (see
        `best_policy`), these are the sums of the oracle arm, and more may be possible.
        """
        horizon = self._horizon(horizon)
        rounds = check_counts("checkpoints", checkpoints)
        if rounds.ndim != 1 or (rounds.size and rounds.max() > horizon):
            raise RisingBanditsError(
                f"checkpoints must be a list of rounds up to the horizon, {horizon}, got {shown(checkpoints)}."
            )
        sums = self._best_sums(horizon)
        if sums is not None:
            return np.asarray(sums[rounds])
        best = self._only(self.oracle_arm(horizon))
        return best.mean_sums(rounds[:, None])[:, 0]

    def _best_sums(self, horizon: int) -> Floats | None:
        """What the best policy has earned after 0, 1, ... ``horizon`` rounds; None where it pulls the oracle arm."""
        if self.restless:
            return np.concatenate([[0.0], _encoding.best_sums(self._encoded, horizon)])
        if self.best_policy(horizon) == _oracle.GREEDY:
            return _oracle.greedy_sums(self, horizon)
        return None

    def is_non_decreasing(self, horizon: int | None = None, *, tolerance: float = 1e-12) -> ShapeCheck:
        """Whether no curve falls; the result names the first arm that does. See `Curve.is_non_decreasing`.

        Curves are checked as given, before any clipping.
        """
        checks = (curve.is_non_decreasing(horizon, tolerance=tolerance) for curve in self.curves)
        return self._first(NON_DECREASING, checks)

    def is_concave(
        self, horizon: int | None = None, *, tolerance: float = 1e-12, from_zero: bool = False
    ) -> ShapeCheck:
        """Whether all curves are concave; the result names the first arm that is not. See `Curve.is_concave`."""
        checks = (curve.is_concave(horizon, tolerance=tolerance, from_zero=from_zero) for curve in self.curves)
        return self._first(CONCAVE, checks)

    def environment(self, horizon: int | None = None) -> Environment:
        """What the compiled loop needs to play ``horizon`` rounds; the last one made is kept."""
        horizon = self._horizon(horizon)
        kept: tuple[int, Environment] | None = self.__dict__.get("_kept")
        if kept is None or kept[0] != horizon:
            kept = (horizon, _encoding.with_table(self._encoded, horizon))
            self.__dict__["_kept"] = kept
        return kept[1]

    def with_noise(self, noise: Noise) -> RisingBandit:
        """The same problem with another noise."""
        return replace(self, noise=noise)

    def with_horizon(self, horizon: int) -> RisingBandit:
        """The same problem with another horizon."""
        return replace(self, horizon=horizon)

    @cached_property
    def _encoded(self) -> Environment:
        return _encoding.encode(self.curves, self.noise.code, self.noise.scale, self.restless)

    @cached_property
    def _data_sums(self) -> Floats:
        return _encoding.data_sums(self._encoded)

    def _horizon(self, horizon: int | None) -> int:
        if horizon is None and self.horizon is None:
            raise RisingBanditsError("horizon must be given, because the problem has none of its own.")
        checked = check_positive_int("horizon", self.horizon if horizon is None else horizon)
        for curve in self.curves:
            if isinstance(curve, FunctionCurve) and curve.horizon < checked:
                raise RisingBanditsError(f"horizon must be at most that of {curve!r}, got {checked}.")
        return checked

    def _only(self, arm: int) -> RisingBandit:
        limits = None if self.max_pulls is None else self.max_pulls[arm : arm + 1]
        names = self.arm_names[arm : arm + 1]
        return replace(self, curves=self.curves[arm : arm + 1], arm_names=names, max_pulls=limits)

    def _clipped_arms(self, last: int) -> Ints:
        """Arms in closed form that leave [0, 1] by pull ``last``: they are monotone, so their ends tell.

        Tabulated arms need no care, their values are clipped when they are encoded.
        """
        ends = _encoding.curves_at(self._encoded, np.array([1, max(last, 1)]))
        return np.flatnonzero(((ends < 0.0) | (ends > 1.0)).any(axis=1))

    def _first(self, shape: str, checks: Iterable[ShapeCheck]) -> ShapeCheck:
        for arm, check in enumerate(checks):
            if not check:
                return replace(check, arm=arm, arm_name=self.arm_names[arm])
        return ShapeCheck(shape)

    def __reduce__(self) -> tuple[Any, ...]:
        # Without the caches: a table of means is faster made than sent to another process.
        return type(self), tuple(getattr(self, field.name) for field in fields(self))

    def __repr__(self) -> str:
        named = "" if self.name is None else f"{self.name!r}, "
        arms = f"{self.n_arms} arm{'' if self.n_arms == 1 else 's'}"
        moving = ", restless=True" if self.restless else ""
        return f"{type(self).__name__}({named}{arms}, noise={self.noise!r}, horizon={self.horizon}{moving})"


def checked_curves(curves: Iterable[Curve]) -> tuple[Curve, ...]:
    """The curves of at least one arm."""
    if isinstance(curves, Curve) or not isinstance(curves, Iterable):
        raise RisingBanditsError(f"curves must be a list of curves, got {shown(curves)}.")
    checked = tuple(curves)
    if not checked:
        raise RisingBanditsError("curves must hold at least one curve, got none.")
    for arm, curve in enumerate(checked):
        if not isinstance(curve, Curve):
            raise RisingBanditsError(f"curves must hold curves only, got {shown(curve)} at index {arm}.")
    return checked


def checked_names(names: Iterable[str] | None, n_arms: int) -> tuple[str, ...]:
    """As many different names as there are arms."""
    if names is None:
        return tuple(f"arm {arm}" for arm in range(1, n_arms + 1))
    checked = tuple(names)
    if any(not isinstance(name, str) for name in checked):
        raise RisingBanditsError(f"arm_names must be strings, got {shown(list(checked))}.")
    if len(checked) != n_arms or len(set(checked)) != n_arms:
        raise RisingBanditsError(f"arm_names must be {n_arms} different strings, got {shown(list(checked))}.")
    return checked


def checked_limits(limits: int | Iterable[int] | None, n_arms: int) -> tuple[int, ...] | None:
    """How often each arm can be pulled, from one number for all or one for each."""
    if limits is None:
        return None
    if isinstance(limits, Iterable) and not isinstance(limits, (str, bytes)):
        each = tuple(check_positive_int("max_pulls", limit) for limit in limits)
        if len(each) != n_arms:
            raise RisingBanditsError(f"max_pulls must be one number or {n_arms}, one for each arm, got {len(each)}.")
        return each
    return (check_positive_int("max_pulls", limits),) * n_arms
