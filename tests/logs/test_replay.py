"""Replay of recorded curves: the same as playing by hand, in every order, with arms that end."""

from __future__ import annotations

import csv
import io
import math
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from risingbandits import get_policy
from risingbandits.cli import run
from risingbandits.logs.replay import Replay, noise_of_curves, replay
from risingbandits.policies import Policy
from risingbandits.reports._tables import outcome_table, replay_csv, spending_table

CURVES = {
    "fast": [0.3, 0.4, 0.45, 0.47, 0.48, 0.49, 0.5, 0.5],
    "short": [0.2, 0.3],
    "slow": [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9],
}


def by_hand(curves: list[list[float]], policy: Policy, budget: int, seed: object) -> tuple[list[int], list[float], int]:
    """Slow and obvious: arms, one value after the other, until the budget or all values are gone."""
    left = [list(curve) for curve in curves]
    seen: list[list[float]] = [[] for _ in curves]
    rewards: list[float] = []
    policy.reset(len(curves), min(budget, sum(map(len, curves))), seed)
    while len(rewards) < budget and any(left):
        arm = policy.ask([bool(values) for values in left])
        seen[arm].append(left[arm].pop(0))
        rewards.append(seen[arm][-1])
        policy.tell(arm, rewards[-1])
    return [len(values) for values in seen], rewards, policy.recommend()


@settings(max_examples=40, deadline=None)
@given(
    lengths=st.lists(st.integers(1, 12), min_size=1, max_size=5),
    budget=st.integers(1, 40),
    name=st.sampled_from(["round-robin", "ucb1", "red-ucb(sigma)", "r-sr", "successive-halving", "epsilon-greedy"]),
    seed=st.integers(0, 1000),
)
def test_it_is_what_one_would_do_by_hand(lengths: list[int], budget: int, name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    curves = {f"arm {i}": np.sort(rng.random(length)).tolist() for i, length in enumerate(lengths)}
    policy = get_policy("red-ucb", sigma=0.1) if "sigma" in name else get_policy(name)
    outcome = replay(curves, {"it": policy}, budget, orders=3, seed=seed)
    names = list(curves)
    for number in range(3):
        order = np.random.default_rng([seed, number]).permutation(len(names)) if number else np.arange(len(names))
        pulls, rewards, kept = by_hand([curves[names[arm]] for arm in order], policy.clone(), budget, (seed, number))
        assert outcome.pulls["it"][number, order].tolist() == pulls
        assert outcome.reward["it"][number] == pytest.approx(math.fsum(rewards) / len(rewards), rel=1e-12)
        assert outcome.recommended["it"][number] == order[kept]
    best = max(sum(curve[:budget]) / len(curve[:budget]) for curve in curves.values())
    assert outcome.best_constant == pytest.approx(best, rel=1e-12)
    assert outcome.final.tolist() == [curve[-1] for curve in curves.values()]


@pytest.mark.parametrize("name", ["hyperband", "epsilon-greedy"])
def test_machine_code_gives_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    first = replay(CURVES, [name], 15, orders=3)
    monkeypatch.setattr("risingbandits.logs.replay._SECONDS_PER_ROUND", 1e3)  # so that compiling pays at once
    second = replay(CURVES, [name], 15, orders=3)
    assert first.pulls[name].tolist() == second.pulls[name].tolist()
    assert first.reward[name].tolist() == second.reward[name].tolist()
    assert first.recommended[name].tolist() == second.recommended[name].tolist()


def test_the_final_value_is_the_mean_of_the_last_twentieth() -> None:
    outcome = replay({"a": [0.0] * 97 + [0.3, 0.6, 0.6], "b": [0.0] * 19 + [0.5]}, ["round-robin"], 5)
    assert outcome.final.tolist() == [pytest.approx(1.5 / 5), 0.5]
    assert outcome.arms[outcome.best_arm] == "b"


@pytest.mark.parametrize("name", ["ucb1", "red-ucb", "sequential-halving"])
def test_losses_are_rewards_upside_down(name: str) -> None:
    losses = {arm: [40.0 - 30.0 * value for value in curve] for arm, curve in CURVES.items()}
    up = replay(CURVES, [name], 12, orders=4)
    down = replay(losses, [name], 12, orders=4, direction="minimize", reward_range=(10.0, 40.0))
    assert down.pulls[name].tolist() == up.pulls[name].tolist()
    assert down.recommended[name].tolist() == up.recommended[name].tolist()
    assert down.regret(name) == pytest.approx(30 * up.regret(name))
    assert down.recommendation_regret(name) == pytest.approx(30 * up.recommendation_regret(name))
    assert down.reward[name] == pytest.approx(40 - 30 * up.reward[name])
    assert down.best_arm == up.best_arm == 2


def test_noise_from_second_differences() -> None:
    rng = np.random.default_rng(0)
    curve = np.linspace(0, 0.5, 4000) + rng.normal(0, 0.03, 4000)
    assert noise_of_curves([curve, curve]) == pytest.approx(0.03, rel=0.1)
    assert noise_of_curves([np.linspace(0, 1, 100)]) == 0.001
    assert noise_of_curves([[0.1, 0.2]]) == 0.001


# -- tables and the command ---------------------------------------------------------------------------------------


@pytest.fixture
def outcome_of_two() -> Replay:
    return replay(CURVES, ["round-robin", "ucb1"], 9, orders=5)


def test_tables(outcome_of_two: Replay) -> None:
    table = outcome_table(outcome_of_two)
    regrets = [float(row[7].split()[0]) for row in table.rows]
    assert regrets == sorted(regrets)
    assert {row[0] for row in table.rows} == {"round-robin", "ucb1"}
    assert all("±" in row[3] for row in table.rows)
    spending = spending_table(outcome_of_two)
    assert [row[0] for row in spending.rows] == ["slow", "fast", "short"]
    assert spending.header == ("arm", "final value", "round-robin", "ucb1")
    means = outcome_of_two.pulls["ucb1"].mean(axis=0)
    assert [float(row[3]) for row in spending.rows] == pytest.approx([means[2], means[0], means[1]], abs=0.05)


def test_the_file_has_every_order(outcome_of_two: Replay) -> None:
    rows = list(csv.DictReader(io.StringIO(replay_csv(outcome_of_two))))
    assert len(rows) == 10
    for row in rows:
        label, number = row["policy"], int(row["order"]) - 1
        assert float(row["regret_per_pull"]) == outcome_of_two.regret(label)[number]
        assert row["recommended"] == outcome_of_two.arms[outcome_of_two.recommended[label][number]]
        pulls = [int(row[f"pulls {name}"]) for name in outcome_of_two.arms]
        assert pulls == outcome_of_two.pulls[label][number].tolist()


def write_curves(path: Path) -> Path:
    longest = max(map(len, CURVES.values()))
    rows = [[str(curve[n]) if n < len(curve) else "" for curve in CURVES.values()] for n in range(longest)]
    path.write_text("\n".join(",".join(row) for row in [list(CURVES), *rows]) + "\n")
    return path


@pytest.mark.parametrize("objective", ["cumulative", "best-arm"])
def test_command(capsys: pytest.CaptureFixture[str], tmp_path: Path, objective: str) -> None:
    path = write_curves(tmp_path / "curves.csv")
    out = tmp_path / "all.csv"
    code = run(
        ["logs", "replay", str(path), "--budget", "12", "--objective", objective, "--orders", "4", "--out", str(out)]
    )
    shown = capsys.readouterr()
    assert (code, shown.err) == (0, "")
    assert "3 arms, 12 pulls, 4 orders of the arms" in shown.out
    assert "best in the end slow with 0.9000" in shown.out
    ours = {"cumulative": "commit-ucb", "best-arm": "r-sr"}[objective]
    assert all(name in shown.out for name in (ours, "successive-halving", "hyperband", "round-robin"))
    assert len(out.read_text().splitlines()) > 4
    first = out.read_bytes()
    run(["logs", "replay", str(path), "--budget", "12", "--objective", objective, "--orders", "4", "--out", str(out)])
    assert out.read_bytes() == first


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--range", "0"], "range must be two numbers such as 0,1, got '0'."),
        (
            ["--objective", "best"],
            "objective must be one of best-arm, cumulative; got 'best', did you mean 'best-arm'?",
        ),
        (["--policies", "no-such"], "got 'no-such'"),
        (["--out", "no/such/folder.csv"], ""),
    ],
)
def test_command_refuses(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    sentence: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    path = write_curves(tmp_path / "curves.csv")
    assert run(["logs", "replay", str(path), "--budget", "5", *options]) == 2
    shown = capsys.readouterr()
    assert shown.err.startswith("risingbandits: ")
    assert sentence in shown.err
    assert "Traceback" not in shown.err
    assert os.listdir(tmp_path) == ["curves.csv"]
