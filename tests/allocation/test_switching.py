"""The warning about processes that make room for one another: when it is due, once, and in one sentence."""

from __future__ import annotations

import pytest

from risingbandits.allocation.cluster.switching import Switching


@pytest.mark.parametrize(
    ("waited", "seconds", "went", "warned"),
    [
        (3.0, 0.05, 5, True),
        (3.0, 0.05, 4, False),  # it may have been the start
        (3.0, 60.0, 50, False),  # the pulls are worth it
        (0.001, 0.0005, 200, True),
    ],
)
def test_when_it_is_due(waited: float, seconds: float, went: int, warned: bool) -> None:
    said: list[str] = []
    switching = Switching(said.append)
    for _ in range(went):
        switching.pulled(waited, seconds)
        switching.made_room(arms=6, there=2)
    assert len(said) == warned  # never twice
    if warned:
        assert "there is room for 2 of 6 arms" in said[0]
        assert 'resources={"CPU": 0.3}' in said[0]


@pytest.mark.parametrize(
    ("arms", "there", "share"), [(3, 2, "0.6"), (40, 2, "0.05"), (7, 4, "0.5"), (1000, 3, "0.003")]
)
def test_what_it_advises_fits(arms: int, there: int, share: str) -> None:
    said: list[str] = []
    switching = Switching(said.append)
    switching.pulled(10.0, 1.0)
    for _ in range(5):
        switching.made_room(arms, there)
    assert f'resources={{"CPU": {share}}}' in said[0]
    assert arms * float(share) <= there


def test_processes_that_stay_say_nothing() -> None:
    said: list[str] = []
    switching = Switching(said.append)
    for _ in range(100):
        switching.pulled(5.0, 0.01)
    assert said == []
