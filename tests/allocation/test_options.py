"""The seam: what an option adds to an allocation, without a line elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from risingbandits import Allocator, Budget
from risingbandits.allocation import Event
from risingbandits.allocation import _options as options
from risingbandits.allocation._ledger import Ledger
from risingbandits.allocation._options import Option
from risingbandits.allocation._snapshot import pack, unpack
from risingbandits.allocation.settings import Settings
from risingbandits.allocation.status._status import standing


class Bell(Option):
    """Ends a run at the second ring, which is an event of its own."""

    key = "bell"
    kinds = frozenset({"ring"})

    def __init__(self, settings: Settings) -> None:
        self.rings = 0

    def is_over(self, ledger: Ledger) -> str:
        return f"It rang after {ledger.told} pulls" if self.rings > 1 else ""

    def apply(self, ledger: Ledger, event: Event) -> None:
        self.rings += 1

    def to_dict(self) -> dict[str, Any]:
        return {"rings": self.rings}

    def restore(self, ledger: Ledger, plain: dict[str, Any]) -> None:
        self.rings = plain["rings"]


class Teller(Option):
    """Tells pulls, as costs do."""

    key = "teller"

    def tell(self, *told: Any) -> None:
        """Nothing."""


def use(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(options, "OPTIONS", (*options.OPTIONS, f"{__name__}:{name}"))


def ring(allocator: Allocator) -> None:
    last = allocator.store.last_id()
    allocator.store.begin(last)
    allocator.store.append(Event(last + 1, 9e9, "ring", ""))
    allocator.store.commit()


def test_an_option_ends_a_run_and_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    use(monkeypatch, "Bell")
    with Allocator(["a", "b"], 50, store=tmp_path / "run.db") as allocator:
        for pull in allocator:
            allocator.tell(pull, 0.5)
            if allocator.spent in (3, 5):
                ring(allocator)
        assert (allocator.spent, allocator.finished) == (5, True)
        assert standing(allocator.ledger).startswith("Spent 5 of 50 pulls. It rang after 5 pulls. Recommended: ")
        assert allocator.explain().next is None
        copy = unpack(pack(allocator.ledger), allocator.settings)
        assert copy is not None
        assert copy.finished
        assert allocator.extend(budget=60) == "budget 50 -> 60 pulls"
        assert allocator.ask() is None, "an option is kept while settings change"
    with Allocator.open(tmp_path / "run.db") as again:
        assert again.finished


def test_two_options_cannot_answer_what_only_one_may(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, "Teller")
    with pytest.raises(AssertionError, match=r"\['costs', 'teller'\] all answer tell"):
        Allocator(["a", "b"], Budget(cost=9.0))
