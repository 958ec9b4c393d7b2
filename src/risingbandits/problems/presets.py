"""Named problems of the literature: those of presets.toml, and those of plugins."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from importlib import resources
from typing import Any, NamedTuple, cast

from risingbandits._core.errors import check_choice
from risingbandits._core.plugins import ListedProblem, load, plugins
from risingbandits.problems._curve import Curve
from risingbandits.problems.bandit import RisingBandit
from risingbandits.problems.curves import Exponential, LinearCapped, Polynomial
from risingbandits.problems.noise import Gaussian, NoNoise

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
    full_name, listed = _find(name)
    if isinstance(listed, ListedProblem):
        return cast(RisingBandit, load(listed.where)(full_name))
    noise = Gaussian(listed.sigma) if listed.sigma else NoNoise()
    return RisingBandit(listed.curves(), noise, listed.horizon, full_name)


def problem_names(versions: bool = False) -> tuple[str, ...]:
    """Names of all problems, without or with their versions.

    Examples
    --------
    >>> problem_names()[:2]
    ('paper-15arms', 'paper-2arms')
    """
    names = (*_PRESETS, *_added())
    return names if versions else tuple(_newest(names))


def problem_description(name: str) -> str:
    """One line on the named problem.

    Examples
    --------
    >>> problem_description("paper-2arms")
    'a fast start against a slow, better arm: the curves cross at 9,500, their sums at 17,993'
    """
    return _find(name)[1].description


def _find(name: str) -> tuple[str, _Preset | ListedProblem]:
    """A problem with its full name; plugins are loaded only for one that is not of the package."""
    known: Mapping[str, _Preset | ListedProblem] = _PRESETS
    if not isinstance(name, str) or not (name in known or name in _newest(known)):
        known = {**_PRESETS, **_added()}
    newest = _newest(known)
    full_name = name if isinstance(name, str) and name in known else newest[check_choice("problem", name, newest)]
    return full_name, known[full_name]


def _newest(names: Iterable[str]) -> dict[str, str]:
    """The newest version of each name; versions stand in ascending order, so that the last one wins."""
    return {re.sub(r"-v\d+$", "", name): name for name in names}


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


_PRESETS = _named()


def _added() -> dict[str, ListedProblem]:
    """The problems of plugins; those of the package go before them."""
    return {name: own for plugin in plugins() for name, own in plugin.problems.items() if name not in _PRESETS}
