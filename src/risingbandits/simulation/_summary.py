"""The outcome of a simulation in a table: for people, as CSV, and as plain values."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from risingbandits._core.errors import check_choice
from risingbandits._core.tables import TextTable
from risingbandits.policies.objectives import BEST_ARM, CUMULATIVE, Objective, shown_objectives

if TYPE_CHECKING:
    from risingbandits.simulation.result import Result

CSV_ROWS = ("policies", "runs", "rounds")


def summary_table(result: Result, objective: str | Objective | None = None) -> TextTable:
    """The outcome of a simulation, the best for the objective first.

    Columns: final regret, mean and half the width of its 95 % confidence interval; standard deviation between runs;
    the regret as a share of J*, the most that was possible; simple regret, how much lower the recommended arm is at
    the end than the best one; the share of the runs that do not recommend a best arm; the measure of another objective,
    if that was asked for; the arm pulled most in all runs together, whether it is the best one for cumulative reward,
    and its share of the rounds.
    """
    wanted = Objective.get(result.objective if objective is None else objective)
    runs = f"{result.runs} run{'' if result.runs == 1 else 's'}"
    title = f"{result.problem}, {result.horizon:,} rounds, {runs}, seed {result.seed}"
    others = shown_objectives(wanted)[2:]
    header = (
        *("policy", "final regret ± 95 %", "sd of a run", "of J*", "simple regret ± 95 %", "wrong arm"),
        *(f"{other.measure} ± 95 %" for other in others),
        "most pulled arm",
    )
    decimals = 0 if result.oracle[-1] >= 10_000 else 1 if result.oracle[-1] >= 100 else 3
    rows = [
        (
            str(row["policy"]),
            _with_half(row, CUMULATIVE, decimals),
            _fixed(row["sd"], decimals),
            f"{_fixed(row['percent'], 1)} %",
            _with_half(row, BEST_ARM, 4),
            f"{100 * row['error_value']:.1f} %",
            *(_with_half(row, other, 4) for other in others),
            _most_pulled(row),
        )
        for row in result.summary(wanted)
    ]
    return TextTable(header, rows, frozenset(range(1, len(header))), title, result.summary(wanted))


def summary_dict(result: Result) -> dict[str, Any]:
    """The same as plain values for JSON: what was simulated, and a row for each policy, the best first."""
    return {
        "problem": result.problem,
        "horizon": result.horizon,
        "runs": result.runs,
        "seed": result.seed,
        "objective": result.objective,
        "best_reward": float(result.oracle[-1]),
        "policies": result.summary(),
    }


def _most_pulled(row: Mapping[str, Any]) -> str:
    best = "best" if row["most_pulled_is_best"] else "not best"
    return f"{row['most_pulled_arm']} ({best}): {100 * row['most_pulled_share']:.1f} %"


def _with_half(row: Mapping[str, Any], objective: Objective, decimals: int) -> str:
    value, half = row[objective.key], row[f"{objective.key}_half_width"]
    return _fixed(value, decimals) + ("" if math.isnan(half) else f" ± {_fixed(half, decimals)}")


def _fixed(value: float, decimals: int) -> str:
    """A number with fixed decimals; rounding errors of sums show as 0, not as -0."""
    return "-" if math.isnan(value) else f"{round(value, decimals) + 0.0:,.{decimals}f}"


def result_csv(result: Result, rows: str, objective: str | Objective | None) -> str:
    """A row for each policy, run, or recorded round of a run; numbers not rounded."""
    check_choice("rows", rows, CSV_ROWS)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    if rows == "policies":
        summary = result.summary(objective)
        writer.writerow(summary[0])
        writer.writerows([_exact(value) for value in row.values()] for row in summary)
    elif rows == "runs":
        arms = range(1, result.final_means.size + 1)
        writer.writerow(["policy", "run", "regret", "simple_regret", "recommended", *(f"pulls_{arm}" for arm in arms)])
        writer.writerows(_runs(result))
    else:
        writer.writerow(["policy", "run", "round", "regret"])
        for label, values in result.regret.items():
            for run, own in enumerate(values.tolist()):
                writer.writerows(
                    [label, run, t, _exact(value)] for t, value in zip(result.record_at.tolist(), own, strict=True)
                )
    return text.getvalue()


def _runs(result: Result) -> Iterator[list[Any]]:
    for label, final in result.final_regret.items():
        simple = result.simple_regret(label)
        for run in range(len(final)):
            numbers = [_exact(float(final[run])), _exact(float(simple[run])), int(result.recommended[label][run]) + 1]
            yield [label, run, *numbers, *result.pulls[label][run].tolist()]


def _exact(value: Any) -> Any:
    """A number, not rounded; empty for NaN."""
    return ("" if math.isnan(value) else repr(value)) if isinstance(value, float) else value


_SPECIAL = {
    "\\": r"\textbackslash{}",
    **{letter: f"\\{letter}" for letter in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\char34{}",  # \textquotedbl is not in every encoding of fonts
    "±": r"$\pm$",
    "\N{MINUS SIGN}": "$-$",
    "\n": " ",
}


def latex_escape(text: str) -> str:
    r"""``text`` escaped for LaTeX.

    >>> print(latex_escape('red-ucb(eps=0.1, ties="random") ± 5 % of x_1'))
    red-ucb(eps=0.1, ties=\char34{}random\char34{}) $\pm$ 5 \% of x\_1
    """
    return "".join(_SPECIAL.get(letter, letter) for letter in text)


def latex_table(table: TextTable, caption: str | None = None, label: str | None = None) -> str:
    r"""A ``tabular`` with the rules of booktabs, inside a ``table`` if it has a caption, which is LaTeX, or a label.

    >>> print(latex_table(TextTable(("arm", "of J*"), [("a_1", "3.0 %")], frozenset({1}))), end="")
    \begin{tabular}{lr}
    \toprule
    arm & of $J^*$ \\
    \midrule
    a\_1 & 3.0 \% \\
    \bottomrule
    \end{tabular}
    """
    columns = "".join("r" if column in table.numeric else "l" for column in range(len(table.header)))
    head, *rows = (" & ".join(map(latex_escape, row)) + r" \\" for row in (table.header, *table.rows))
    head = head.replace("J*", "$J^*$")
    lines = [
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        head,
        r"\midrule",
        *rows,
        r"\bottomrule",
        r"\end{tabular}",
    ]
    if caption is not None or label is not None:
        said = [] if caption is None else [rf"\caption{{{caption}}}"]
        named = [] if label is None else [rf"\label{{{label}}}"]
        lines = [r"\begin{table}", r"\centering", *said, *named, *lines, r"\end{table}"]
    return "\n".join(lines) + "\n"
