"""Named problems of the literature: those of presets.toml, and both sides of the pairs of the lower bounds."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from functools import partial
from importlib import resources
from typing import Any, NamedTuple

from risingbandits._core.errors import check_choice
from risingbandits.problems.bandit import RisingBandit
from risingbandits.problems.base import Curve
from risingbandits.problems.curves import Exponential, LinearCapped, Polynomial
from risingbandits.problems.noise import Gaussian, NoNoise
from risingbandits.problems.pairs import problem_pair

_FAMILIES: dict[str, type[Curve]] = {
    "exponential": Exponential,
    "polynomial": Polynomial,
    "linear-capped": LinearCapped,
}


class _Preset(NamedTuple):
    description: str
    sigma: float
    horizon: int
    curves: Callable[[], Sequence[Curve]]


def get_problem(name: str) -> RisingBandit:
    """The named problem; a name without a version means its newest one.

    Examples
    --------
    >>> get_problem("paper-2arms")
    RisingBandit('paper-2arms-v1', 2 arms, noise=Gaussian(sigma=0.1), horizon=200000)
    >>> get_problem("paper-2arms-v1") == get_problem("paper-2arms")
    True
    """
    full_name = _resolve(name)
    preset = _PRESETS[full_name]
    noise = Gaussian(preset.sigma) if preset.sigma else NoNoise()
    return RisingBandit(preset.curves(), noise, preset.horizon, full_name)


def problem_names(versions: bool = False) -> tuple[str, ...]:
    """Names of all problems, without or with their versions.

    Examples
    --------
    >>> problem_names()[:2]
    ('paper-15arms', 'paper-2arms')
    """
    return tuple(_PRESETS) if versions else tuple(_NEWEST)


def problem_description(name: str) -> str:
    """One line on the named problem.

    Examples
    --------
    >>> problem_description("paper-2arms")
    'a fast start against a slow, better arm: the curves cross at 9,500, their sums at 17,993'
    """
    return _PRESETS[_resolve(name)].description


def _resolve(name: str) -> str:
    if isinstance(name, str) and name in _PRESETS:
        return name
    return _NEWEST[check_choice("problem", name, _NEWEST)]


def _named() -> dict[str, _Preset]:
    """The problems of the file."""
    told = tomllib.loads((resources.files(__package__) / "presets.toml").read_text(encoding="utf-8"))
    return {
        name: _Preset(one["description"], one["sigma"], one["horizon"], partial(_curves, one["arms"]))
        for name, one in told.items()
    }


def _curves(arms: Sequence[Sequence[Any]]) -> list[Curve]:
    return [_FAMILIES[family](*map(_number, numbers)) for family, *numbers in arms]


def _number(value: float | str) -> float:
    """A number, or a fraction such as "3/162"."""
    if isinstance(value, str):
        above, below = map(float, value.split("/"))
        return above / below
    return value


def _side(kind: str, side: str, beta: float | None) -> tuple[Curve, ...]:
    """The curves of one side of a pair, at the horizon of 50,000; its parameters are written out, being versioned."""
    pair = problem_pair(kind, 50_000, beta=beta, cap=0.25, gmax=1.0)
    return (pair.a if side == "a" else pair.b).curves


def _pairs() -> dict[str, _Preset]:
    """Both sides of every lower-bound pair."""
    told = {
        "concave": ("lines alike for T/2 pulls", None, 0.0),
        "beta": ("lines alike for T^0.8 pulls", 0.8, 0.0),
        "stochastic": ("lines alike for T^0.5 pulls, unit variance", 0.5, 1.0),
        "increment": ("lines alike for T/4 pulls", None, 0.0),
        "non-concave": ("nothing for T/3 pulls, then a step or nothing", None, 0.0),
    }
    return {
        f"lower-bound-{kind}-{side}-v1": _Preset(
            f"lower bound ({text}): side {side.upper()}, where {best} is best",
            sigma,
            50_000,
            partial(_side, kind, side, beta),
        )
        for kind, (text, beta, sigma) in told.items()
        for side, best in zip("ab", ("arm 2", "arm 1") if kind == "non-concave" else ("arm 1", "arm 2"), strict=True)
    }


_PRESETS = {**_named(), **_pairs()}

# Versions of a name stand in ascending order, so that the last one wins.
_NEWEST = {name.rpartition("-v")[0]: name for name in _PRESETS}
