"""Tables: the numbers in them, and their two forms."""

from __future__ import annotations

import inspect
import io

import numpy as np
import pytest
from rich.console import Console

from risingbandits import Result, policy_names, simulate
from risingbandits._core.tables import TextTable
from risingbandits.policies import policy_class
from risingbandits.reports._tables import parameters_table, policies_table
from risingbandits.simulation._summary import summary_table


def made_up(final: list[float]) -> Result:
    runs = len(final)
    return Result(
        problem="made up",
        horizon=1_000,
        seed=7,
        settings={"a|b": "Made()"},
        record_at=np.array([1_000]),
        oracle=np.array([50_000.0]),
        regret={"a|b": np.array(final)[:, None]},
        pulls={"a|b": np.tile([900, 100], (runs, 1))},
        recommended={"a|b": np.zeros(runs, dtype=np.int64)},
        final_means=np.array([0.9, 0.1]),
        arm_names=("arm 1", "arm 2"),
        arm_sums=np.array([9.0, 4.0]),
        noise="NoNoise()",
    )


def test_summary_by_hand() -> None:
    # mean 2,000; sd 1,000; t(0.975, 2) = 4.303, so the half-width is 4.303 * 1,000 / sqrt(3) = 2,484
    table = summary_table(made_up([1_000.0, 2_000.0, 3_000.0]))
    assert table.title == "made up, 1,000 rounds, 3 runs, seed 7"
    assert table.rows == [
        ("a|b", "2,000 ± 2,484", "1,000", "4.0 %", "0.0000 ± 0.0000", "0.0 %", "arm 1 (best): 90.0 %")
    ]


def test_summary_of_one_run_and_of_rounding_errors() -> None:
    assert summary_table(made_up([-1e-10])).rows == [
        ("a|b", "0", "-", "0.0 %", "0.0000", "0.0 %", "arm 1 (best): 90.0 %")
    ]


def test_summary_has_the_least_regret_first() -> None:
    table = summary_table(simulate(["round-robin", "oracle"], "paper-2arms", horizon=100, runs=2))
    assert [row[0] for row in table.rows] == ["oracle", "round-robin"]


def test_markdown_escapes_bars() -> None:
    table = TextTable(("name", "n"), [("a|b", "1")], frozenset({1}))
    assert table.markdown() == "| name | n |\n| --- | ---: |\n| a\\|b | 1 |\n"


def test_html_has_texts_of_users_as_texts() -> None:
    table = TextTable(("<h>",), [("<c>",)], title="<t> & 'q'")
    page = table.html(notes=["<n>"])
    assert [part for part in ("<h>", "<c>", "<t>", "<n>") if part in page] == []
    assert "<bdi>&lt;t&gt; &amp; &#x27;q&#x27;</bdi></caption>" in page
    assert "<p><bdi>&lt;n&gt;</bdi></p>" in page


def test_rich_shows_text_as_it_is() -> None:
    out = io.StringIO()
    Console(file=out, width=60).print(TextTable(("name",), [("[bold]x[/]",)], title="t"))
    assert "[bold]x[/]" in out.getvalue()


def test_all_policies_are_listed() -> None:
    assert [row[0] for row in policies_table(policy_names()).rows] == policy_names()


@pytest.mark.parametrize("name", policy_names())
def test_every_setting_is_documented(name: str) -> None:
    policy = policy_class(name)
    rows = parameters_table(policy).rows
    assert [row[0] for row in rows] == list(inspect.signature(policy).parameters)
    for setting, _, kind, meaning in rows:
        assert kind, f"{policy.__name__}: no type of {setting} in the docstring"
        assert meaning, f"{policy.__name__}: no meaning of {setting} in the docstring"
