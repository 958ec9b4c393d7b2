"""What a result says of itself: in a line, as a table, as CSV and LaTeX, and which of two policies is better."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from risingbandits import Result, RisingBandit, RisingBanditsError, simulate
from risingbandits.policies import Constant, RoundRobin
from risingbandits.problems import Bernoulli, ConstantCurve, Exponential, Gaussian, Noise, NoNoise

STRANGE = 'a_1 & 50 % of {#1} ~^$ \\ <b>"x"</b>'


def made(regret: dict[str, list[float]], recommended: dict[str, list[int]] | None = None) -> Result:
    runs = {label: len(values) for label, values in regret.items()}
    kept = recommended or {label: [0] * count for label, count in runs.items()}
    return Result(
        problem="made up",
        horizon=10,
        seed=3,
        settings=dict.fromkeys(regret, "Made()"),
        record_at=np.array([5, 10]),
        oracle=np.array([4.0, 9.0]),
        regret={label: np.array([[value / 2, value] for value in values]) for label, values in regret.items()},
        pulls={label: np.tile([7, 3], (count, 1)) for label, count in runs.items()},
        recommended={label: np.array(values) for label, values in kept.items()},
        final_means=np.array([0.9, 0.4]),
        arm_names=("arm 1", "arm 2"),
        arm_sums=np.array([9.0, 4.0]),
        noise="NoNoise()",
        objective="cumulative",
    )


@pytest.fixture(scope="module")
def played() -> Result:
    return simulate(["kl-ucb", "round-robin"], "paper-2arms", horizon=300, runs=4, seed=1, record_at=3)


def test_repr_is_a_line_and_str_a_table(played: Result) -> None:
    expected = "<Result on paper-2arms-v1, 4 runs of 300 rounds, seed 1; 2 policies: kl-ucb, round-robin>"
    assert repr(played) == expected
    assert str(played).splitlines()[0] == "paper-2arms-v1, 300 rounds, 4 runs, seed 1"
    assert len(str(played).splitlines()) == 4
    many = made({f"policy {number}": [1.0] for number in range(40)})
    assert repr(many).endswith("; 40 policies: " + ", ".join(f"policy {n}" for n in range(7)) + ", ...>")
    assert repr(made({"one": [1.0]})) == "<Result on made up, 1 run of 10 rounds, seed 3; one>"


def test_the_most_pulled_arm_has_a_name_and_says_whether_it_is_the_best() -> None:
    """The pulls of all runs together decide which arm it is; runs that end with different arms show in its share."""
    one = made({"a": [1.0, 2.0, 3.0], "b": [4.0, 4.0, 4.0]})
    pulls = {"a": np.array([[8, 2], [1, 9], [2, 8]]), "b": np.array([[8, 2], [8, 2], [8, 2]])}
    named = replace(one, pulls=pulls, arm_names=("small net", "large_net"), arm_sums=np.array([3.0, 6.0]))
    first, second = named.summary()
    assert (first["most_pulled_arm"], first["most_pulled_is_best"]) == ("large_net", True)
    assert first["most_pulled_share"] == pytest.approx(19 / 30)
    assert first["top_arm_share"] == pytest.approx(25 / 30)  # of each run's own: 8, 9 and 8 of 10
    assert (second["most_pulled_arm"], second["most_pulled_is_best"]) == ("small net", False)
    assert str(named).splitlines()[2].endswith("large_net (best): 63.3 %")
    assert str(named).splitlines()[3].endswith("small net (not best): 80.0 %")
    assert r"large\_net (best): 63.3 \%" in (named.to_latex() or "")
    equal = replace(named, arm_sums=np.array([6.0, 6.0 * (1 + 1e-15)]))
    assert [row["most_pulled_is_best"] for row in equal.summary()] == [True, True]


def test_best_is_who_earns_most_alone_and_not_who_ends_highest(tmp_path: Path) -> None:
    late = [0.0] * 80 + [1.0] * 20  # 20 in all
    problem = RisingBandit.from_array([[0.5] * 100, late], NoNoise(), arm_names=["even", "late"])
    result = simulate({"even": Constant(0), "late": Constant(1)}, problem, runs=2)
    found = {row["policy"]: (row["most_pulled_arm"], row["most_pulled_is_best"]) for row in result.summary()}
    assert found == {"even": ("even", True), "late": ("late", False)}
    assert result.final_means.argmax() == 1
    assert Result.load(result.save(tmp_path / "new")).summary() == result.summary()


def test_html_is_escaped() -> None:
    text = made({STRANGE: [1.0, 2.0]})._repr_html_()
    assert "<b>" not in text
    assert "&lt;b&gt;&quot;x&quot;&lt;/b&gt;" in text
    assert re.findall(r"</?(\w+)", text).count("table") == 2


def test_csv_of_policies_runs_and_rounds(played: Result, tmp_path: Path) -> None:
    def rows(**options: str) -> list[dict[str, str]]:
        return list(csv.DictReader(io.StringIO(played.to_csv(**options) or "")))

    best, _ = rows()
    assert float(best["regret"]) == played.summary()[0]["regret"]
    assert [float(row["error_value"]) for row in rows(objective="best-arm")] == [
        row["error_value"] for row in played.summary("best-arm")
    ]
    each = rows(rows="runs")
    assert [float(row["regret"]) for row in each[:4]] == played.final_regret["kl-ucb"].tolist()
    assert [int(row["recommended"]) - 1 for row in each[:4]] == played.recommended["kl-ucb"].tolist()
    assert [int(row["pulls_2"]) for row in each[:4]] == played.pulls["kl-ucb"][:, 1].tolist()
    long = rows(rows="rounds")
    frame = played.to_dataframe()
    assert [float(row["regret"]) for row in long] == frame["regret"].tolist()
    assert [int(row["round"]) for row in long] == frame["round"].tolist()
    assert played.to_csv(tmp_path / "result.csv") is None
    assert (tmp_path / "result.csv").read_text() == played.to_csv()
    single = next(csv.DictReader(io.StringIO(made({"one": [1.0]}).to_csv() or "")))
    assert (single["regret_half_width"], single["sd"]) == ("", "")
    with pytest.raises(RisingBanditsError, match="rows must be one of"):
        played.to_csv(rows="arms")


def test_latex_has_as_many_cells_everywhere_and_no_special_letter(tmp_path: Path) -> None:
    result = made({STRANGE: [1.0, 2.0], "other": [3.0, 5.0]})
    text = result.to_latex() or ""
    lines = text.splitlines()
    assert lines[0] == r"\begin{tabular}{lrrrrrr}"
    assert [line for line in lines if not line.endswith(r" \\")] == [
        *(r"\begin{tabular}{lrrrrrr}", r"\toprule", r"\midrule", r"\bottomrule", r"\end{tabular}")
    ]
    body = [line.removesuffix(r" \\") for line in lines if line.endswith(r" \\")]
    assert [len(re.findall(r"(?<!\\)&", line)) for line in body] == [6, 6, 6]
    known = r"\\(?:[&%$#_{}]|text\w+\{\}|char34\{\})|\$\\pm\$|\$J\^\*\$|(?<= )&(?= )"
    left = "".join(re.sub(known, "", line) for line in body)
    assert set('&%$#_{}~^\\<>|"') & set(left) == set()
    assert left.isascii()
    whole = result.to_latex(caption=r"$T = 5{,}000$, 50 \% more", label="tab:runs") or ""
    assert whole.startswith(
        "\\begin{table}\n\\centering\n\\caption{$T = 5{,}000$, 50 \\% more}\n\\label{tab:runs}\n\\begin{tabular}"
    )
    few = (result.to_latex(columns=["policy", "final regret"]) or "").splitlines()
    assert few[0] == r"\begin{tabular}{lr}"
    assert few[2] == r"policy & final regret $\pm$ 95 \% \\"
    with pytest.raises(RisingBanditsError, match=r"columns must be one of policy, final regret.*got 'regret'"):
        result.to_latex(columns=["regret"])
    assert result.to_latex(tmp_path / "table.tex", objective="best-arm") is None
    assert "simple regret" in (tmp_path / "table.tex").read_text()


def test_comparison_by_hand() -> None:
    # Differences -1, -2, -3: mean -2, standard deviation 1, t(0.975, 2) = 4.303, half-width 4.303 / sqrt(3) = 2.484.
    found = made({"a": [1.0, 5.0, 2.0], "b": [2.0, 7.0, 5.0]}).compare("a", "b")
    assert (found.difference, found.runs, found.less, found.equal, found.measure) == (-2.0, 3, 3, 0, "regret")
    assert (found.low, found.high) == pytest.approx((-2.0 - 2.4841, -2.0 + 2.4841), abs=1e-4)
    assert not found.decided
    assert str(found) == (
        "a has 2 less regret than b: difference -2, 95 % interval -4.484 to 0.4841 (paired Student t, 3 runs); "
        "less in 3, equal in 0. The interval contains 0: these runs cannot tell them apart."
    )


def test_comparison_is_narrower_than_two_intervals() -> None:
    # Every run of b costs 1 to 2 more than that of a, and the runs differ by far more.
    base = [10.0, 200.0, 35.0, 400.0]
    result = made({"a": base, "b": [value + more for value, more in zip(base, (1.0, 2.0, 1.0, 2.0), strict=True)]})
    assert result.compare("b", "a").decided
    low, high = result.interval("a")
    assert low[-1] < result.mean("b")[-1] < high[-1]
    turned = result.compare("a", "b", level=0.9)
    assert turned.difference == -result.compare("b", "a").difference
    assert turned.high - turned.low < result.compare("a", "b").high - result.compare("a", "b").low


def test_comparison_of_what_is_recommended() -> None:
    result = made({"a": [1.0, 2.0], "b": [2.0, 1.0]}, {"a": [0, 0], "b": [1, 0]})
    found = result.compare("a", "b", objective="best-arm")
    assert found.measure == "simple regret"
    assert found.difference == pytest.approx(-0.25)
    assert (found.less, found.equal) == (1, 1)
    assert found.to_dict()["decided"] is False


def test_runs_are_paired_by_their_seed() -> None:
    """Run i of a policy has the same reward noise whatever else is in the call, so equal policies differ by nothing."""
    together = simulate({"a": RoundRobin(), "b": RoundRobin()}, "paper-2arms", horizon=200, runs=3, seed=5)
    found = together.compare("a", "b")
    assert (found.difference, found.low, found.high, found.equal) == (0.0, 0.0, 0.0, 3)
    kl = simulate("kl-ucb", "paper-2arms", horizon=200, runs=3, seed=5)
    alone = simulate(["round-robin"], "paper-2arms", horizon=200, runs=3, seed=5)
    both = simulate(["kl-ucb", "round-robin"], "paper-2arms", horizon=200, runs=3, seed=5)
    assert kl.compare("kl-ucb", "round-robin", other=alone) == both.compare("kl-ucb", "round-robin")
    assert kl.compare("kl-ucb", "kl-ucb", other=both).equal == 3


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"seed": 4}, "seed is 3 here and 4 there"),
        ({"horizon": 11}, "horizon is 10 here and 11 there"),
        ({"problem": "other"}, "problem is 'made up' here and 'other' there"),
        ({"final_means": np.array([0.9, 0.5])}, "made up has other curves here than there"),
        ({"oracle": np.array([4.0, 9.5])}, "made up has other curves here than there"),
    ],
)
def test_runs_that_are_not_paired_are_refused(changes: dict[str, object], sentence: str) -> None:
    result = made({"a": [1.0, 2.0], "b": [2.0, 1.0]})
    other = replace(result, **changes)  # type: ignore[arg-type]
    with pytest.raises(RisingBanditsError, match="must be paired, with the same noise in both: " + sentence):
        result.compare("a", "b", other=other)


def test_comparisons_that_say_nothing_are_refused() -> None:
    result = made({"a": [1.0, 2.0], "b": [2.0, 1.0, 3.0]})
    with pytest.raises(RisingBanditsError, match="a has 2 runs and b 3"):
        result.compare("a", "b")
    with pytest.raises(RisingBanditsError, match="label must be one of a, b, got 'c'"):
        result.compare("a", "c")
    with pytest.raises(RisingBanditsError, match="must be two policies, got 'a' twice"):
        result.compare("a", "a")
    with pytest.raises(RisingBanditsError, match="level must lie between 0 and 1, got 95"):
        result.compare("a", "b", level=95)
    with pytest.raises(RisingBanditsError, match="at least 2 runs of each policy, got 1"):
        made({"a": [1.0], "b": [2.0]}).compare("a", "b")


def test_results_are_equal_if_everything_is(tmp_path: Path) -> None:
    problem = RisingBandit([Exponential(0.5, 0.1), ConstantCurve(0.4)], Gaussian(0.1), 200, "mine")
    result = simulate(["kl-ucb", "round-robin"], problem, runs=3, seed=1)
    assert Result.load(result.save(tmp_path)) == result
    assert result == simulate(["kl-ucb", "round-robin"], problem, runs=3, seed=1, jobs=1)
    assert result != simulate(["kl-ucb", "round-robin"], problem, runs=3, seed=2)
    assert result != simulate(["round-robin", "kl-ucb"], problem, runs=3, seed=1)
    assert result != replace(result, noise="")
    assert result != "mine"


@pytest.mark.parametrize("noise", [Gaussian(0.3), Bernoulli()])
def test_runs_with_other_noise_are_not_paired(noise: Noise, tmp_path: Path) -> None:
    problem = RisingBandit([Exponential(0.5, 0.1), ConstantCurve(0.4)], Gaussian(0.1), 200, "mine")
    here = simulate("kl-ucb", problem, runs=3)
    there = simulate("round-robin", problem.with_noise(noise), runs=3)
    with pytest.raises(RisingBanditsError, match=r"must be paired.*noise is 'Gaussian\(sigma=0.1\)' here and"):
        here.compare("kl-ucb", "round-robin", other=there)
