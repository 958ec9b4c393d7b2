"""What an allocation says of its arms: reasons, forecasts in the user's units, arms that were never tried."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from risingbandits import Allocator, Budget
from risingbandits.allocation.deciding.costs import Costs
from risingbandits.allocation.prior.beliefs import Belief, Prior
from risingbandits.allocation.status.status import forecasts, standing, untried_sentence
from risingbandits.policies import policy_names
from risingbandits.policies.commit.forecast import forecast

NAMES = [f"lr {i}" for i in range(6)]


def score(arm: str, n: int) -> float:
    i = NAMES.index(arm)
    return (0.35 + 0.1 * (i * 4 % 6)) * n / (n + 4 + i)


def play(allocator: Allocator, pulls: int = 10**6, explained: int = 0) -> list[str]:
    order: list[str] = []
    while len(order) < pulls and (pull := allocator.ask()) is not None:
        value = score(pull.arm, pull.n)
        allocator.tell(pull, 1.0 - value if allocator.settings.direction == "minimize" else value)
        order.append(pull.arm)
        if explained and len(order) % explained == 0:
            str(allocator.explain())
    return order


NAMED = [(name, "cumulative") for name in policy_names() if name not in ("constant", "oracle")]


@pytest.mark.parametrize(("policy", "objective"), [(None, "best-arm"), (None, "cumulative"), *NAMED])
def test_explaining_changes_no_decision(policy: str | None, objective: str) -> None:
    settings: dict[str, Any] = {"policy": policy, "objective": objective, "reward_range": (0.0, 1.0), "seed": 3}
    silent, asked = (Allocator(NAMES, 60, **settings) for _ in range(2))
    assert play(silent) == play(asked, explained=4)
    table = asked.explain()
    assert table.recommended == asked.recommend()
    assert table.why_recommended
    assert table.next is None, "the budget is spent"


@pytest.mark.parametrize("objective", ["cumulative", "best-arm"])
def test_the_next_arm_has_a_reason_and_is_the_one_that_is_asked_for(objective: str) -> None:
    allocator = Allocator(NAMES, 60, objective=objective, reward_range=(0.0, 1.0), seed=3)
    for _ in range(60):
        table = allocator.explain()
        assert table.next is not None
        assert table[table.next].why == f"next: {table.why_next}"
        assert len(table.why_next) > 5
        assert max(map(len, str(table).splitlines())) <= 120
        pull = allocator.ask()
        assert pull is not None
        assert pull.arm == table.next
        allocator.tell(pull, score(pull.arm, pull.n))


def test_an_arm_that_is_ahead_of_the_recommended_one_is_spoken_of() -> None:
    allocator = Allocator(["a", "b"], 20, policy="constant(arm=0)", order="given")
    for n in range(10):
        pull = allocator.ask()
        assert pull is not None
        assert allocator.tell(pull, 0.4 + n / 100)
        if n == 0:
            allocator.mask("a")
            pull = allocator.ask()
            assert pull is not None
            assert (pull.arm, allocator.tell(pull, 0.71)) == ("b", True)
            allocator.unmask("a")
    table = allocator.explain()
    assert table.recommended == "a"
    assert table.against.startswith("b is ahead in last reward (0.71), level (0.71)")
    assert table.against.endswith(", with only 1 pull")
    assert f"against that: {table.against}" in str(table).replace("\n  ", " ")


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
@pytest.mark.parametrize("reward_range", [(0.0, 1.0), (-1.0, 3.0), None])
def test_forecasts_are_in_the_users_units(direction: str, reward_range: tuple[float, float] | None) -> None:
    settings: dict[str, Any] = {"direction": direction, "reward_range": reward_range, "policy": "round-robin"}
    allocator = Allocator(NAMES, 180, **settings)
    play(allocator, 120)
    table = allocator.explain()
    best = max(NAMES, key=lambda name: score(name, 10**6))
    row = table[best]
    sign = 1.0 if direction == "maximize" else -1.0
    truth = score(best, 80) if direction == "maximize" else 1.0 - score(best, 80)
    assert row.end_low <= row.end <= row.end_high
    assert row.end_low - 0.05 < truth < row.end_high + 0.05
    assert sign * (row.end - row.level) > 0.0, "it still rises"
    assert sum(row.chance for row in table.rows) == pytest.approx(1.0)
    assert max(table.rows, key=lambda row: row.chance).arm == best
    assert forecasts(allocator.ledger).age == 20 + 60
    assert "each tried arm taken to 80 pulls" in table.model


def test_limits_of_pulls_and_the_end_of_the_run_end_the_forecast() -> None:
    allocator = Allocator(NAMES[:2], 20, policy="round-robin", max_pulls=12)
    play(allocator, 8)
    assert forecasts(allocator.ledger).age == 16
    limited = allocator.explain()[NAMES[0]].end
    play(allocator)
    done = forecasts(allocator.ledger)
    assert done.age == 10
    assert allocator.explain()[NAMES[0]].end < limited + 0.05
    one = Allocator(NAMES, 20)
    play(one, 1)
    assert all(np.isnan(row.chance) for row in one.explain().rows), "of one arm alone there is none"


def finished(names: list[str], tried: dict[str, int], **settings: Any) -> Allocator:
    allocator = Allocator(names, sum(tried.values()), policy="round-robin", order="given", **settings)
    for name, pulls in tried.items():
        for other in allocator.arms:
            (allocator.unmask if other == name else allocator.mask)(other)
        for _ in range(pulls):
            pull = allocator.ask()
            assert pull is not None
            assert (pull.arm, allocator.tell(pull, 0.5)) == (name, True)
    for other in allocator.arms:
        allocator.unmask(other)
    return allocator


def test_arms_that_were_never_tried_are_counted_at_the_end() -> None:
    names = [*"abcdefghijkl"]
    allocator = finished(names, {"a": 40, "b": 16, "c": 14, "d": 15, "e": 15})
    said = "7 of 12 arms were never tried; with about 30 more pulls two of them could be"
    assert untried_sentence(allocator.ledger) == said
    best = "Its best reward is 0.5, after pull 40, which left no checkpoint"
    assert standing(allocator.ledger) == f"The budget is spent. Recommended: a. {best}. {said}."
    table = allocator.explain()
    assert table.untried == said
    assert table.sentences()[-1] == said
    assert table["l"].status == "waiting"
    assert table["a"].status == "paused"
    running = Allocator(names, 30, policy="round-robin")
    running.tell(running.ask(), 0.5)  # type: ignore[arg-type]
    assert untried_sentence(running.ledger) == "", "the run goes on"
    assert untried_sentence(finished(["a", "b"], {"a": 2, "b": 2}).ledger) == "", "all were"
    one = finished(["a", "b", "c"], {"a": 5, "b": 3})
    assert untried_sentence(one.ledger) == "1 of 3 arms was never tried; with about 3 more pulls it could be"
    both = finished(["a", "b", "c"], {"a": 4})
    assert untried_sentence(both.ledger) == "2 of 3 arms were never tried; with about 8 more pulls both could be"
    both.mask("b")
    both.mask("c")
    assert untried_sentence(both.ledger) == "2 of 3 arms were never tried: they are masked"
    both.retire("b", "no")
    assert untried_sentence(both.ledger) == "1 of 3 arms was never tried: it is masked"


def test_costs_and_the_most_promising_ones_are_named() -> None:
    allocator = Allocator(["a", "b", "c", "d"], Budget(cost=20.0), policy="constant(arm=0)", order="given")
    while (pull := allocator.ask()) is not None:
        allocator.tell(pull, 0.5, cost=4.0)
    said = "3 of 4 arms were never tried; with about 10 more pulls (a cost of 40) two of them could be"
    assert untried_sentence(allocator.ledger) == said
    prior = Prior({name: Belief(mean, 0.5, "3 tasks") for name, mean in zip("abcd", (2, -1, 1, 0.5), strict=True)}, 3)
    allocator = Allocator([*"abcd"], 6, policy="constant(arm=0)", prior=prior)
    play_constant(allocator)
    said = "3 of 4 arms were never tried; with about 12 more pulls the two most promising of them, c and d, could be"
    assert untried_sentence(allocator.ledger) == said


def play_constant(allocator: Allocator) -> None:
    while (pull := allocator.ask()) is not None:
        allocator.tell(pull, 0.5)


def test_the_table_as_dict_and_as_html_with_names_that_are_markup() -> None:
    names = ["<b>x</b>", "y & z", "w"]
    allocator = Allocator(names, 12, objective="cumulative", reward_range=(0.0, 1.0))
    for _ in range(6):
        pull = allocator.ask()
        assert pull is not None
        allocator.tell(pull, 0.5)
    table = allocator.explain()
    page = table._repr_html_()
    assert "<b>" not in page
    assert "&lt;b&gt;x&lt;/b&gt;" in page
    assert page.count("<tr>") == 4
    known = json.loads(json.dumps(table.to_dict(), allow_nan=False))
    assert [arm["arm"] for arm in known["arms"]] == names
    assert known["next"] == table.next
    assert known["recommended"] == allocator.recommend()
    assert {"level", "width", "end", "end_low", "end_high", "chance", "brings", "costs", "status"} <= set(
        known["arms"][0]
    )
    untried = [arm for arm in known["arms"] if arm["status"] == "waiting"]
    assert untried
    assert all(arm["level"] is None and arm["brings"] is not None for arm in untried), "what a trial would bring"


@pytest.mark.parametrize("width", [60, 80, 120, 160])
def test_a_terminal_shows_what_it_has_room_for(width: int) -> None:
    from io import StringIO

    from rich.console import Console

    allocator = Allocator(NAMES, 60, objective="cumulative", reward_range=(0.0, 1.0), seed=3)
    play(allocator, 30)
    out = StringIO()
    Console(file=out, width=width).print(allocator.explain().text_table().rich())
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    header = next(line.split() for line in lines if "pulls " in line and "arm" in line)
    assert header[:2] == ["arm", "pulls"]
    assert {"level", "chance", "status", "why"} <= set(header)
    assert ("width" in header) == (width >= 120)
    assert sum("lr " in line for line in lines) == 6


@pytest.mark.parametrize("objective", ["cumulative", "best-arm"])
def test_where_costs_are_compared_all_numbers_of_the_table_are_of_pulls(objective: str) -> None:
    """The policy counts rounds of equal cost and, to earn, what they earn; nobody reads its numbers as rewards."""
    allocator = Allocator(["cheap", "dear"], Budget(cost=100.0), objective=objective, reward_range=(0.0, 1.0))
    for _ in range(12):
        pull = allocator.ask()
        assert pull is not None
        allocator.tell(pull, 0.6 + 0.001 * pull.n if pull.arm == "dear" else 0.5, 10.0 if pull.arm == "dear" else 1.0)
    table = allocator.explain()
    assert table["cheap"].level == 0.5
    assert 0.6 < table["dear"].level < 0.62
    assert all(math.isnan(getattr(row, name)) for row in table.rows for name in ("sure", "trend", "value"))
    model = forecasts(allocator.ledger)
    assert model.age is None
    costs = allocator.ledger.option(Costs)
    assert costs is not None
    assert table.model.endswith(f"rounds that cost {costs.unit:.3g} each")
    assert "given all of the budget that is left" in table.model
    left = 100.0 - allocator.spent
    ages = [
        len(arm.rewards) + round(left / cost)
        for arm, cost in zip(allocator.ledger.opened, costs.expected(), strict=True)
    ]
    assert 5 * (ages[1] - len(allocator.rewards("dear"))) < ages[0] - len(allocator.rewards("cheap"))
    expected = forecast([allocator.rewards("cheap"), allocator.rewards("dear")], ages, (0.0, 1.0))
    np.testing.assert_array_equal(model.found, expected)
