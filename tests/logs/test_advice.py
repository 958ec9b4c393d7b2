"""What a replay means, in words: which policy, what it saves, how sure, when, and what cannot be said."""

from __future__ import annotations

import csv
import dataclasses
from pathlib import Path

import numpy as np
import pytest

from risingbandits import get_policy
from risingbandits.cli import run
from risingbandits.logs.advice import NEAR, _chosen, advise
from risingbandits.logs.replay import Replay, replay

NETS = {f"net {k}": [0.1 * k * (1 - 0.9**n) for n in range(1, 41)] for k in range(1, 9)}
HOURS = {name: 0.5 * np.arange(1.0, 41.0) for name in NETS}


def played(*policies: str, budget: int = 80, orders: int = 10) -> Replay:
    return replay(NETS, list(policies), budget, orders=orders)


def test_the_course_is_that_of_the_replay() -> None:
    """Pull by pull in plain Python, and in the engine's loop: the same pulls and the same arm in the end."""
    uneven = {name: curve[: 5 + 4 * number] for number, (name, curve) in enumerate(NETS.items())}
    names = ["auto", "successive-halving", "hyperband", "epsilon-greedy", "r-sr"]
    outcome = replay(uneven, names, 90, orders=3, seed=4)
    for label in names:
        for number in range(3):
            course = outcome.course(label, number)
            counted = np.bincount(course.pulled, minlength=len(uneven))
            assert counted.tolist() == outcome.pulls[label][number].tolist()
            assert course.kept[-1] == outcome.recommended[label][number]


def test_the_best_policy_is_named_with_what_it_saves() -> None:
    outcome = dataclasses.replace(played("constant", "successive-halving"), hours=HOURS)
    advice = outcome.advice
    assert (advice.policy, advice.arm, advice.short, advice.uncertainty) == ("successive-halving", "net 8", 0.0, 0.0)
    assert advice.equals == ()
    finished = outcome.pulls["successive-halving"].copy()
    finished[:, 7] = 40
    assert advice.whole_cost.pulls == 320
    assert advice.cost is not None
    assert advice.cost.pulls == finished.sum(axis=1).mean()
    assert advice.cost.hours == 0.5 * advice.cost.pulls
    saved = 320 - advice.cost.pulls
    said = f"it saves {saved:,.0f} pulls ({saved / 2:,.3g} hours)."
    assert said in str(advice)


def test_when_the_decision_could_have_been_made_is_seen_from_the_course() -> None:
    outcome = played("successive-halving", "round-robin")
    found = []
    for number in range(10):
        kept = outcome.final[outcome.course("successive-halving", number).kept]
        pulls = len(kept)
        while pulls and kept[pulls - 1] >= outcome.final.max() - NEAR:
            pulls -= 1
        found.append(pulls + 1)
    assert outcome.advice.decided == np.median(found)
    assert f"after {np.median(found):,.0f} pulls" in str(outcome.advice)


def test_a_decision_that_never_was_right_is_said() -> None:
    outcome = replay(NETS, {"stubborn": get_policy("constant", arm=0)}, 20)
    advice = outcome.advice
    assert advice.decided == np.inf
    assert "Cannot say when the decision could have been made: in this order" in str(advice)
    assert "0.69 short of the best one" in str(advice)
    assert "with 20 pulls it finds an arm as good as the best one in no order" in str(advice)
    assert "A larger budget may help." in str(advice)
    two = replay(NETS, {"stubborn": get_policy("constant", arm=0), "other": get_policy("constant", arm=1)}, 20)
    assert str(two.advice).startswith("other comes closest, but with 20 pulls it finds")


def test_a_policy_that_never_finds_a_good_arm_is_not_recommended_for_what_it_saves() -> None:
    """Another one, worse on average, finds the best arm in some orders."""
    curves = {f"{k}": [0.1 * k] * 20 for k in range(1, 6)}
    outcome = replay(curves, {label: get_policy("round-robin") for label in ("steady", "lucky")}, 20, orders=10)
    kept = {"steady": [3] * 10, "lucky": [0] * 8 + [4] * 2}
    outcome = dataclasses.replace(outcome, recommended={label: np.array(arms) for label, arms in kept.items()})
    said = str(advise(outcome))
    assert said.startswith(
        "steady comes closest, but with 20 pulls it finds an arm as good as the best one in no order: over 10 orders "
        "of the arms it recommends an arm that is worth 0.4 in the end, 0.1 short of the best one, 5 with 0.5."
    )
    assert "saves" not in said


def test_auto_is_preferred_to_what_does_as_well() -> None:
    policies = {
        "successive-halving": get_policy("successive-halving"),
        "auto": get_policy("auto", objective="best-arm"),
    }
    advice = replay(NETS, policies, 80, orders=10).advice
    assert (advice.policy, advice.equals) == ("auto", ("successive-halving",))
    assert "As far as 10 orders tell, successive-halving does as well." in advice.sentences


def test_earning_while_learning_is_compared_by_what_was_earned() -> None:
    advice = advise(played("commit-ucb", "round-robin"), "cumulative")
    assert advice.policy == "commit-ucb"
    assert "its mean reward per pull is" in str(advice)
    assert "less than the best single arm" in str(advice)
    assert "train the arm that it recommends" not in str(advice)
    assert "decision" not in str(advice)


@pytest.mark.parametrize(
    ("curves", "budget", "sentence"),
    [
        (dict(list(NETS.items())[:2]), 10, "2 arms are too few to choose from, at least 3 are needed."),
        (dict(list(NETS.items())[:1]), 10, "1 arm is too few to choose from, at least 3 are needed."),
        ({name: own[:4] for name, own in NETS.items()}, 10, "the longest curve has 4 values, at least 5 are needed."),
        (NETS, 320, "320 pulls train every arm to the end, so nothing had to be chosen; 320 pulls are all that was"),
        (dict.fromkeys(NETS, NETS["net 3"]), 80, "all arms are worth the same in the end, 0.2953, so that any policy"),
    ],
)
def test_what_cannot_be_said(curves: dict[str, list[float]], budget: int, sentence: str) -> None:
    advice = replay(curves, ["round-robin"], budget).advice
    assert advice.policy is None
    assert str(advice).startswith(f"Cannot say which policy to use: {sentence}")


def test_few_orders_say_nothing_about_certainty() -> None:
    advice = played("auto", orders=1).advice
    assert "Cannot say how sure that is: 1 order of the arms is too few, at least 5 are needed." in advice.sentences
    assert np.isnan(advice.uncertainty)


# -- the command -------------------------------------------------------------------------------------------------------


def log(path: Path, timed: bool = True) -> str:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["run", "step", "accuracy", *(["timestamp"] if timed else [])])
        for name, curve in NETS.items():
            for n, value in enumerate(curve, start=1):
                writer.writerow([name, 100 * n, value, *([1e9 + 1800.0 * n] if timed else [])])
    return str(path)


def test_the_command_advises(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    few = ("--policies", "successive-halving,constant")
    assert run(["logs", "replay", log(tmp_path / "log.csv"), *few, "--hours", "40"]) == 0
    shown = capsys.readouterr()
    assert "accuracy: maximize (by the word 'accuracy' in its name); 8 runs." in shown.err
    assert "40 hours are 80 pulls of 0.5 hours on average." in shown.err
    there = dataclasses.replace(played(*reversed(few[1].split(","))), hours=HOURS)
    assert str(there.advice) in shown.out
    assert run(["logs", "replay", log(tmp_path / "log.csv"), *few]) == 0
    assert "the policy takes 80," in capsys.readouterr().out, "a quarter of all values"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--hours", "4", "--budget", "4"], "only one of budget and hours may be given, got 4 and 4."),
        (["--hours", "0.1"], "hours must be at least 0.5, the mean length of a pull, got 0.1."),
        (["--hours", "0"], "hours must be "),
    ],
)
def test_the_command_refuses(
    options: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["logs", "replay", log(tmp_path / "log.csv"), *options]) == 2
    assert sentence in capsys.readouterr().err
    assert run(["logs", "replay", log(tmp_path / "other.csv", timed=False), "--hours", "4"]) == 2
    assert "hours needs curves with times, which these do not have, got 4." in capsys.readouterr().err


def test_a_policy_that_fails_now_and_then_does_not_do_as_well() -> None:
    """Its interval is so wide that it cannot be told apart, but it loses a lot."""
    zero = np.zeros(10)
    luckless = np.append(np.zeros(9), 1.0)
    near = np.append(np.zeros(9), 0.05)
    assert _chosen({"auto": luckless, "best": zero, "near": near}, 0.1) == ("best", ["near"])
    assert _chosen({"auto": near, "best": zero}, 0.1) == ("auto", ["best"])
    assert _chosen({"auto": near + 0.02, "best": zero}, 1.0) == ("best", [])
