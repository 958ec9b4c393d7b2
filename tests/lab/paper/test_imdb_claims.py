"""The account of the paper's sentences about IMDB: verdicts follow the tables, and the page says what they say."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from risingbandits import RisingBanditsError
from risingbandits.cli import run
from risingbandits.lab.paper._csv_tables import read_rows
from risingbandits.lab.paper._regret_study import PAPER_POLICIES
from risingbandits.lab.paper.imdb import _claims as claims
from risingbandits.lab.paper.imdb._averages import bin_edges
from risingbandits.lab.paper.imdb._claims import Curve, View
from risingbandits.lab.paper.imdb._study import AS_PRINTED
from risingbandits.lab.paper.imdb._tables import PUBLISHED_MEANS

ROOT = Path(__file__).parents[3]
PAGE, TABLES = ROOT / "docs" / "imdb.md", ROOT / "docs" / "imdb"


def curve(mean: Callable[[float], float], runs: int = 1_000, horizon: int = 50_000) -> Curve:
    ends = bin_edges(horizon)[1:].astype(float)
    return Curve(ends, np.array([mean(end) for end in ends]), runs)


def concave(level: float) -> Callable[[float], float]:
    return lambda n: level - (level - 0.5) * math.exp(-n / 4_000)


def view(curves: dict[str, Curve], regrets: dict[str, float] | None = None, half: float = 10.0) -> View:
    regrets = regrets or dict.fromkeys(PAPER_POLICIES, 1_000.0)
    rows = {
        label: {"regret": str(regret), "regret_half_width": str(half), "right": "40000", "right_half_width": "5"}
        | {"pulls_1": "45000", "pulls_2": "5000"}
        for label, regret in regrets.items()
    }
    learners = [{"learner": name, "falling_share": "0.0"} for name in curves]
    return View(curves, learners, {"imdb-7arms": rows, "imdb-2arms": rows})


def test_who_outperforms() -> None:
    curves = {"LR": curve(concave(0.8))}
    others = dict.fromkeys(PAPER_POLICIES, 1_000.0)
    judge = claims._with_seven_arms
    assert judge(view(curves, others | {"red-ucb": 900.0}))[1] == "holds"
    assert judge(view(curves, others | {"red-ucb": 985.0}))[1] == "holds in part"  # the intervals meet
    assert judge(view(curves, others | {"red-ucb": 1_100.0}))[1] == "does not hold"
    text, verdict = judge(view(curves, others | {"red-ucb": 900.0, AS_PRINTED: 1_200.0, "round-robin": 1_300.0}))
    assert verdict == "does not hold"  # by the setting as printed
    assert "place 7 of seven by regret, 1,200 ± 10" in text
    assert "sigma = 1/2 900 ± 10; round robin 1,300 ± 10" in text


def test_crossing_and_analogy() -> None:
    early = curve(lambda n: 0.55 if n < 200 else 0.6)
    late = curve(lambda n: 0.5 if n < 200 else 0.8)
    crossing = view({"LR": late, "LR(t)": early})
    text, verdict = claims._intersect(crossing)
    assert verdict == "holds"
    assert text.startswith("clearly ahead are LR(t) from pull 1 to 195, LR from pull 196 to 50,000; right predictions")
    assert claims._analogy(crossing) == (
        "the better arm, LR, starts behind, and R-ed-UCB gives it 90 % of its pulls",
        "holds",
    )
    parallel = view({"LR": early, "LR(t)": curve(lambda n: 0.6 if n < 200 else 0.7)})
    assert claims._intersect(parallel)[1] == "does not hold"
    assert claims._analogy(parallel)[1] == "does not hold"  # LR(t) leads from the start and gets 10 %
    few = view({"LR": late._replace(runs=2), "LR(t)": early._replace(runs=2)})
    assert claims._intersect(few)[1] == "does not hold"  # so few runs show no early lead


def test_shapes() -> None:
    rising = view({"LR": curve(concave(0.8)), "NN(1)": curve(concave(0.85))})
    assert claims._increasing_and_concave(rising) == (
        "in blocks of doubling length all of them rise, and none is clearly steeper than before",
        "holds",
    )
    late = view({"LR": curve(concave(0.8)), "NN(1)": curve(lambda n: 0.5 if n < 6_250 else 0.8)})
    text, verdict = claims._increasing_and_concave(late)
    assert verdict == "holds in part"
    assert text.endswith("all of them rise; clearly steeper than before are NN(1) until 6,250 pulls")
    falling = view({"LR": curve(lambda n: 0.8 if n < 25_000 else 0.7)})
    assert claims._increasing_and_concave(falling)[1] == "does not hold"
    assert claims._not_globally(rising)[1] == "does not hold"
    assert claims._not_globally(falling)[1] == "holds"
    some = falling._replace(learners=[{"learner": "LR", "falling_share": "0.25"}])
    assert claims._single_runs(some) == (
        "single runs in which a tenth of the pulls lies clearly below an earlier one: LR 25 %",
        "holds",
    )
    assert claims._single_runs(rising)[1] == "does not hold"


def test_the_command_writes_the_account(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "claims.csv"
    folders = [str(TABLES / "printed"), str(TABLES / "program")]
    assert run(["lab", "paper", "imdb", "claims", *folders, "--out", str(out)]) == 0
    assert "outperforms" in capsys.readouterr().out
    assert out.read_bytes() == (TABLES / "claims.csv").read_bytes()
    assert run(["lab", "paper", "imdb", "claims", str(tmp_path), str(tmp_path)]) == 2
    assert "does not exist" in capsys.readouterr().err
    with pytest.raises(RisingBanditsError, match="does not exist"):
        claims.judged(tmp_path, tmp_path)


def amount(number: str, half: str) -> str:
    return f"{float(number):,.0f} ± {float(half):,.0f}".replace("-0 ", "0 ")


def test_page_says_what_the_sentences_tables_say() -> None:
    page = PAGE.read_text()
    judgements = claims.judged(TABLES / "printed", TABLES / "program")
    assert [tuple(row) for row in csv.reader((TABLES / "claims.csv").read_text().splitlines())][1:] == judgements
    for judgement in judgements:
        assert judgement.quote in page
        assert f"| {judgement.by_definition} | {judgement.by_program} | {judgement.attribution} |" in page


def top_arms(folder: str, arms: int, policy: str) -> tuple[int, list[int]]:
    """In how many runs one arm had nearly all pulls, and in how many each arm had most."""
    rows = read_rows(TABLES / folder / "top-arms.csv")
    (row,) = (row for row in rows if (row["problem"], row["policy"]) == (f"imdb-{arms}arms", policy))
    assert row["runs"] == "30"
    return int(row["locked_runs"]), [int(row[f"top_{arm + 1}"]) for arm in range(arms)]


def test_page_says_what_policies_lock_on() -> None:
    page = " ".join(PAGE.read_text().split())
    names = [row["learner"] for row in read_rows(TABLES / "learners.csv")]
    locked, tops = top_arms("program", 7, "red-ucb")
    shown = ", ".join(f"{name} {number}" for name, number in zip(names, tops, strict=True))
    assert f"near random: {shown} runs" in page
    assert [top_arms("program", 7, name)[0] for name in ("kl-ucb", "sw-ucb", "sw-kl-ucb")] == [locked, 30, 25]
    worse = [top_arms("program", 2, name)[1][0] for name in ("red-ucb", "kl-ucb", "sw-ucb", "sw-kl-ucb")]
    assert f"the worse arm in {min(worse)} to {max(worse)} of 30 runs" in page
    locked, tops = top_arms("printed", 7, AS_PRINTED)
    assert f"more than 95 % of the pulls in {locked} of 30 runs; in {tops[6]} runs most pulls go to NN(1,1,2)" in page
    locked, tops = top_arms("printed", 2, AS_PRINTED)
    assert f"locks in {locked} of 30 runs, and most pulls go to the worse arm, LR(t), in {tops[1]}," in page
    locked, tops = top_arms("", 7, AS_PRINTED)
    dying = tops[2] + tops[5] + tops[6]
    assert f"In {locked} of 30 runs one arm gets more than 95 % of the pulls" in page
    assert f"to LR in {tops[0]} runs, to LR(t) in {tops[1]}, and in {dying} to one of the three networks" in page
    locked, tops = top_arms("", 2, AS_PRINTED)
    assert f"locks in {locked} of 30 runs, gives most pulls to the worse arm in {tops[0]}" in page


def test_page_has_the_best_setting_of_commit_ucb() -> None:
    page = " ".join(PAGE.read_text().split())
    rows = {row["policy"]: row for row in read_rows(TABLES / "settings.csv")}
    row, usual = rows["commit-ucb(cap=0.9)"], rows["commit-ucb"]
    assert f"makes {amount(row['right'], row['right_half_width'])} right predictions" in page
    gain = float(row["right"]) - float(usual["right"])
    assert f"{gain:,.0f} ± {float(row['lead_half_width']):,.0f} more than with 1.0" in page
    assert len(rows) == 7
    assert usual in read_rows(TABLES / "predictions.csv")


def test_page_has_the_rates_of_lr_t() -> None:
    page = " ".join(PAGE.read_text().split())
    rows = read_rows(TABLES / "rates.csv")
    for words in ("1000", "10000"):
        own = [row for row in rows if row["words"] == words and row["scheme"] == "inverse"]
        assert [float(row["beta"]) for row in own] == [0.003, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0]
        own.sort(key=lambda row: float(row["right"]))
        ends = [amount(row["right"], row["half_width"]) for row in (own[0], own[-1])]
        assert " to ".join(ends) in page
    (program,) = (row for row in rows if row["words"] == "10000" and row["scheme"] == "inverse-sqrt")
    assert f"{float(program['right']):,.0f} ({program['runs']} runs)" in page


def test_page_has_the_numbers_of_the_learners() -> None:
    """The other tables are compared by their marks."""
    page = PAGE.read_text()
    for arm, row in enumerate(read_rows(TABLES / "learners.csv")):
        runs, dead = int(row["runs"]), round(float(row["dead_share"]) * int(row["runs"]))
        mean, half = float(row["mean"]), float(row["half_width"])
        enough = runs >= 30 and (dead == 0 or 5 <= dead <= runs - 5)
        wider = half * math.sqrt(1 + runs / 1_000)
        away = f"{mean - PUBLISHED_MEANS[arm]:+.4f} ± {wider:.4f}" if enough else "too few runs"
        cells = [row["learner"], f"{runs:,}", f"{mean:.4f} ± {half:.4f}", f"{PUBLISHED_MEANS[arm]:.4f}", away]
        cells += [f"{100 * dead / runs:.0f} %", f"{float(row['living_end']):.3f}"]
        assert "| " + " | ".join(cells) + " |" in page, row
