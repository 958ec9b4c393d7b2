"""What an allocation says of its arms: reasons that agree with its numbers, arms that were never tried."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from risingbandits import Allocator, Budget
from risingbandits.allocation.deciding._costs import Costs
from risingbandits.allocation.status._status import standing, untried_sentence
from risingbandits.allocation.status.arm_table import AllocationTable
from risingbandits.policies import policy_names

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
    allocator = Allocator(["a", "b"], 20, policy="constant(arm=0)")
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
    assert table.against.startswith("b is ahead in last reward (0.71), estimate (0.71)")
    assert table.against.endswith(", with only 1 pull")
    assert f"against that: {table.against}" in str(table).replace("\n  ", " ")


CURVES = st.lists(st.lists(st.floats(0.0, 1.0), min_size=12, max_size=12), min_size=2, max_size=4)


@given(CURVES, st.integers(1, 24), st.sampled_from(["maximize", "minimize"]), st.sampled_from(["round-robin", "ucb1"]))
def test_by_the_common_rule_no_arm_has_a_better_lcb_than_the_recommended_one(
    curves: list[list[float]], pulls: int, direction: str, policy: str
) -> None:
    table = explained(curves, pulls, direction=direction, policy=policy)
    assert table.why_recommended.startswith("best recent level less its standard error")
    sign = 1.0 if direction == "maximize" else -1.0
    best = table[str(table.recommended)]
    tried = [row for row in table.rows if row.pulls]
    assert all(math.isfinite(row.lcb) and sign * row.lcb <= sign * row.estimate for row in tried)
    assert sign * best.lcb == max(sign * row.lcb for row in tried)
    for row in tried:  # an arm with a better level is ahead by less than its own standard error
        assert sign * (row.estimate - best.estimate) <= sign * (row.estimate - row.lcb) + 1e-12


@given(
    CURVES, st.integers(1, 24), st.sampled_from(["maximize", "minimize"]), st.sampled_from(["best-arm", "cumulative"])
)
def test_an_arm_that_a_column_ranks_above_the_recommended_one_is_spoken_of(
    curves: list[list[float]], pulls: int, direction: str, objective: str
) -> None:
    table = explained(curves, pulls, direction=direction, objective=objective)
    sign = 1.0 if direction == "maximize" else -1.0
    best = table[str(table.recommended)]
    for column in ("last", "estimate", "predicted"):
        top = max((row for row in table.rows if row.pulls), key=lambda row: sign * getattr(row, column))
        ahead = sign * getattr(top, column) > sign * getattr(best, column)
        if ahead and f"{getattr(top, column):.4g}" != f"{getattr(best, column):.4g}":
            assert f"{top.arm} is ahead in" in table.against
    assert f"recommended: {best.arm}, {table.why_recommended}" in str(table).replace("\n  ", " ")
    known = {"arm", "pulls", "last", "estimate", "lcb", "predicted", "interval", "p_best", "status", "why"}
    assert set(table.text_table().header) <= known


def explained(curves: list[list[float]], pulls: int, **settings: Any) -> AllocationTable:
    names = NAMES[: len(curves)]
    allocator = Allocator(names, 30, reward_range=(0.0, 1.0), **settings)
    for _ in range(pulls):
        pull = allocator.ask()
        assert pull is not None
        allocator.tell(pull, curves[names.index(pull.arm)][(pull.n - 1) % 12])
    return allocator.explain()


def finished(names: list[str], tried: dict[str, int], **settings: Any) -> Allocator:
    allocator = Allocator(names, sum(tried.values()), policy="round-robin", **settings)
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
    said = "7 of 12 arms were never tried"
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
    assert untried_sentence(one.ledger) == "1 of 3 arms was never tried"
    both = finished(["a", "b", "c"], {"a": 4})
    assert untried_sentence(both.ledger) == "2 of 3 arms were never tried"
    both.mask("b")
    both.mask("c")
    assert untried_sentence(both.ledger) == "2 of 3 arms were never tried: they are masked"
    both.retire("b", "no")
    assert untried_sentence(both.ledger) == "1 of 3 arms was never tried: it is masked"


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
    assert {"estimate", "lcb", "predicted", "low", "high", "p_best", "status"} <= set(known["arms"][0])
    untried = [arm for arm in known["arms"] if arm["status"] == "waiting"]
    assert untried
    assert all(arm["estimate"] is None and arm["p_best"] is None for arm in untried)


@pytest.mark.parametrize("width", [60, 80, 120, 160])
def test_a_terminal_shows_what_it_has_room_for(width: int) -> None:
    from io import StringIO

    from rich.console import Console

    allocator = Allocator(NAMES, 60, objective="cumulative", reward_range=(0.0, 1.0), seed=3)
    play(allocator, 30)
    out = StringIO()
    Console(file=out, width=width).print(allocator.explain().text_table())
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    header = next(line.split() for line in lines if "pulls " in line and "arm" in line)
    assert header[:2] == ["arm", "pulls"]
    assert {"predicted", "p_best", "status", "why"} <= set(header)
    assert ("lcb" in header) == (width >= 120)
    assert sum("lr " in line for line in lines) == 6


@pytest.mark.parametrize("objective", ["cumulative", "best-arm"])
def test_where_costs_are_compared_all_numbers_of_the_table_are_of_pulls(objective: str) -> None:
    """The policy counts rounds of equal cost, or what they earn; nobody reads its numbers as rewards."""
    allocator = Allocator(["cheap", "dear"], Budget(cost=100.0), objective=objective, reward_range=(0.0, 1.0))
    for _ in range(12):
        pull = allocator.ask()
        assert pull is not None
        allocator.tell(pull, 0.6 + 0.001 * pull.n if pull.arm == "dear" else 0.5, 10.0 if pull.arm == "dear" else 1.0)
    table = allocator.explain()
    assert table["cheap"].estimate == 0.5
    assert 0.6 < table["dear"].estimate < 0.62
    assert math.isnan(table["dear"].predicted) == (objective == "cumulative")
    if objective == "best-arm":
        assert 0.5 < table["dear"].low <= table["dear"].predicted <= table["dear"].high <= 1.0
    costs = allocator.ledger.option(Costs)
    assert costs is not None
    assert table.rounds.endswith(f"rounds that cost {costs.unit:.3g} each")
    assert table.rounds in str(table).replace("\n  ", " ")
