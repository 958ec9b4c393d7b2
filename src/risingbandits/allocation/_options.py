"""The seam for what is optional: the questions that the ledger asks an option, and all that it knows of one.

An option is one file with one subclass of `Option`, a line in `OPTIONS`, its setting (an argument of `Allocator`, or of
`Execution` if it is rare) and its test. It overrides only the questions that it answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

from risingbandits._core.plugins import load

if TYPE_CHECKING:
    from risingbandits.allocation._ledger import Ledger
    from risingbandits.allocation.events import Event
    from risingbandits.allocation.settings import Settings
    from risingbandits.policies import Policy

#: In the order in which a snapshot restores them: the first knows the settings that hold.
OPTIONS = (
    "risingbandits.allocation._growth:Growth",
    "risingbandits.allocation.deciding._costs:Costs",
    "risingbandits.allocation.starting._transfer:Configs",
    "risingbandits.allocation.starting._transfer:Transfer",
)


class Option:
    """One optional feature of an allocation."""

    key: ClassVar[str]  #: under which a snapshot keeps its state
    kinds: ClassVar[frozenset[str]] = frozenset()  #: kinds of events that `apply` takes

    def __init__(self, settings: Settings) -> None:
        """For the settings that it is first used with."""

    @classmethod
    def of(cls, settings: Settings, before: Self | None) -> Self | None:
        """The option for these settings, None if it is not used; ``before`` is the one for the settings until now."""
        return before or cls(settings)

    # -- what is known before the first pull --------------------------------------------------------------------

    def known(self, ledger: Ledger) -> dict[str, Any]:
        """What is known about the arms, in the order of their numbers: fields of `Knowledge`."""
        raise NotImplementedError

    # -- what a pull is to the policy: at most one option says so, and then answers all five --------------------

    def settle(self, ledger: Ledger) -> None:
        """Fix how pulls are told until the next time: a policy is about to be reset."""

    def rounds(self, warm: Sequence[int]) -> tuple[int, float]:
        """Rounds that the policy was told: of earlier runs, with ``warm`` pulls of each arm, and of this one."""
        raise NotImplementedError

    def begin(self, policy: Policy) -> None:
        """A policy was reset; pulls follow."""

    def tell(self, policy: Policy, place: int, value: float, cost: float | None = None) -> None:
        """Tell a pull to the policy; without a cost it is told again."""
        raise NotImplementedError

    def is_stale(self) -> bool:
        """Whether a policy should be reset and told all pulls again, in another way."""
        return False

    def is_over(self, ledger: Ledger) -> str:
        """Why no pull will follow although budget is left; empty if one may."""
        raise NotImplementedError

    # -- events and snapshots -----------------------------------------------------------------------------------

    def apply(self, ledger: Ledger, event: Event) -> None:
        """Take in an event of one of its kinds."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Its state as plain values for JSON."""
        return {}

    def restore(self, ledger: Ledger, plain: dict[str, Any]) -> None:
        """Take the state that `to_dict` returned."""


def option_classes() -> tuple[type[Option], ...]:
    """All options, used or not."""
    return tuple(load(where) for where in OPTIONS)


def answering(options: Iterable[Option], question: str) -> list[Option]:
    """The options that override a method: what an option does not answer takes no time."""
    return [option for option in options if getattr(type(option), question) is not getattr(Option, question)]
