"""What can be pulled: arms, what their pulls give, and functions in their place."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from types import GeneratorType
from typing import Any, NamedTuple, Protocol, runtime_checkable

from risingbandits._core.errors import RisingBanditsError, shown
from risingbandits.allocation.pull import Pull
from risingbandits.allocation.settings import check_config


class ArmInUse(RisingBanditsError):
    """An arm cannot be pulled now, through no fault of its own: its pull is given back, not counted as a failure."""


class Outcome(NamedTuple):
    """A reward and its cost. Without a cost, a pull counts as the budget says: 1, or the seconds it took.

    With ``finished`` the arm has had its last pull; without a reward, that was the one before, and this one costs
    nothing. ``checkpoint`` is filled in by what keeps the arm's checkpoints; `Allocator.tell` records it.
    """

    reward: float | None = None
    cost: float | None = None
    checkpoint: str = ""
    finished: bool = False


@runtime_checkable
class Arm(Protocol):
    """Something that can be pulled.

    An arm that learns may also have

    - ``save(path)`` and ``load(path)``: a checkpoint is kept beside the store after each pull, and the next pull, here,
      on a cluster or in a later run, continues where the last counted pull left the learner;
    - ``stop()``, called from another thread: end the running pull soon and, when called again, at once;
    - ``close()``, called when a run was interrupted: give up what it holds between pulls, such as threads;
    - ``restores_itself = True``, if it reads ``pull.n`` and brings itself to that step;
    - ``direction``, "maximize" or "minimize": an allocator takes it over, or refuses the arm if told the opposite.
    """

    def pull(self, pull: Pull) -> float | Outcome:
        """Train or play once more; returns the reward, or an `Outcome`."""


class _FunctionArm:
    """A function of the pull as an arm."""

    def __init__(self, function: Callable[[Pull], float | Outcome], has_state: bool) -> None:
        self.function, self.restores_itself = function, not has_state

    def pull(self, pull: Pull) -> float | Outcome:
        return self.function(pull)


def makes_arm(thing: Any) -> bool:
    """Whether something makes an arm when called: a class, or a function that can be called without arguments.

    Functions in a loop often have arguments with defaults, ``lambda rate=rate: Net(rate)``; one whose first argument is
    named ``pull`` is still a function of the pull.

    >>> makes_arm(lambda: object()), makes_arm(lambda rate=0.1: object())
    (True, True)
    >>> makes_arm(lambda pull: 0.5), makes_arm(lambda pull=None: 0.5), makes_arm(lambda p, scale=2.0: 0.5)
    (False, False, False)
    """
    if isinstance(thing, type):
        return True
    if isinstance(thing, Arm) or not callable(thing):
        return False
    try:
        first = next(iter(inspect.signature(thing).parameters), "")
    except ValueError:  # a function that is not written in Python
        return False
    # One that needs arguments and can take a pull is a function of it.
    return first != "pull" if _takes(thing) else not _takes(thing, None)


def _takes(thing: Any, *arguments: Any) -> bool:
    try:
        inspect.signature(thing).bind(*arguments)
    except TypeError:
        return False
    return True


def as_arm(thing: Any) -> Arm:
    """An `Arm` as it is; any function ``f(pull) -> reward``, and a generator that yields rewards, as an arm.

    >>> as_arm(lambda pull: 0.5).pull(Pull(1, "a", 1))
    0.5
    >>> arm = as_arm(loss for loss in [0.5])
    >>> arm.pull(Pull(1, "a", 1)), arm.pull(Pull(2, "a", 2)).finished
    (0.5, True)
    """
    if isinstance(thing, Arm) and not isinstance(thing, type):
        return thing
    if isinstance(thing, GeneratorType):  # each value is the reward of a pull
        return _FunctionArm(lambda pull: next(thing, Outcome(finished=True)), has_state=True)
    if callable(thing):
        return _FunctionArm(thing, has_state=False)
    wrapped = ": give PartialFitArm or WarmStartArm a model of scikit-learn" if hasattr(thing, "fit") else ""
    raise RisingBanditsError(
        "an arm must have a method pull(pull), or be a function of the pull or a generator of rewards (a function "
        f"without arguments must return one of these), got {shown(thing)}{wrapped}."
    )


def direction_of_arms(arms: Any) -> str:
    """The direction that some arm states, "maximize" if none does; see `check_direction` for arms that disagree.

    A collection may state it for its arms. A class states nothing: what it makes may.
    """
    own = arms.values() if isinstance(arms, Mapping) else ()
    said = (getattr(thing, "direction", None) for thing in (arms, *own) if not isinstance(thing, type))
    return next((way for way in said if isinstance(way, str)), "maximize")


def check_direction(name: str, arm: Any, direction: str | None) -> None:
    """Raise an error for an arm that says the opposite of ``direction``, its allocator's if there is one.

    A class says nothing: what it makes may say otherwise.
    """
    said = getattr(arm, "direction", None)
    if isinstance(arm, type) or not isinstance(said, str) or direction in (None, said):
        return
    lower, mode = direction == "minimize", str(direction)[:3]
    raise RisingBanditsError(
        f"direction must be that of all arms, got {direction!r}, but arm {name!r} has {said!r}: if "
        f'{"lower" if lower else "higher"} is better, make the arm with direction="{direction}" (mode="{mode}" or '
        f'greater_is_better={not lower} where it is called that), otherwise the allocator with direction="{said}".'
    )


def configs_of(arms: Any, given: Any) -> Any:
    """``given`` configs of arms and, for those without any, what the arm or else its name says."""
    if not isinstance(arms, Collection) or not isinstance(given, Mapping | None):
        return given
    objects = arms if isinstance(arms, Mapping) else {}
    own = {name: own_config(arm) for name, arm in objects.items()}
    named = {parameter for config in own.values() for parameter in config}
    for name, arm in objects.items():  # what one arm leaves at its default counts if another one does not
        own[name] = {k: x for k, x in _plain(arm, "usual_config").items() if k in named} | own[name]
    found = {
        name: config for name in arms if isinstance(name, str) and (config := own.get(name) or config_in_name(name))
    }
    return {**found, **(given or {})} or None


# A hyperparameter begins the name or follows a separator, and ends before one: "lr=0.1_wd=1e-4", "--lr=0.1 --wd=1e-4".
_IN_NAME = re.compile(
    r"(?:^|(?<=[\s,;/(\[_]))-{0,2}([A-Za-z_][\w.]*)=([^\s,;/()\[\]]+?)(?=$|[\s,;/()\[\]]|_[A-Za-z]\w*=)"
)


def config_in_name(name: str) -> dict[str, float | str]:
    """The config that the name of an arm spells out; empty if it has none.

    >>> config_in_name("mlp lr=0.02,wd=1e-4 act=relu"), config_in_name("network 8")
    ({'lr': 0.02, 'wd': 0.0001, 'act': 'relu'}, {})
    """
    found: dict[str, float | str] = {}
    for key, value in _IN_NAME.findall(name):
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        found[key] = number if math.isfinite(number) else value
    return found


def own_config(arm: Any) -> dict[str, float | str]:
    """The ``config`` attribute of an arm, as far as it is what a config may hold."""
    return _plain(arm, "config")


def _plain(arm: Any, attribute: str) -> dict[str, float | str]:
    said = getattr(arm, attribute, None)
    found = {}
    for name, value in said.items() if isinstance(said, Mapping) else ():
        with suppress(RisingBanditsError):
            found.update(check_config("config", {name: tuple(value) if isinstance(value, list) else value}))
    return found
