"""Verdicts on sets of curves: each answer where it is right, and none where too little was measured."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.datasets import load_digits

from risingbandits._core.types import Floats
from risingbandits.theory.estimators import Verdict, check_curve, check_curves
from risingbandits.theory.estimators._questions import early_ranks

N: Floats = np.arange(1.0, 61.0)


def verdicts(curves: list[Floats], restarted: tuple[str, ...] = ()) -> dict[str, Verdict]:
    named = {f"arm {number}": curve for number, curve in enumerate(curves)}
    reports = [check_curve(curve, noise=0.0, name=name) for name, curve in named.items()]
    return {verdict.question: verdict for verdict in check_curves(named, reports, restarted)}


PARALLEL: list[Floats] = [0.1 * level * (1 - 0.9**N) for level in range(1, 9)]
CROSSING: list[Floats] = [(0.3 + 0.08 * k) * (1 - np.exp(-N / (2.0 + 5.0 * k))) for k in range(8)]
COSINE: list[Floats] = [0.1 * level * (1 - np.cos(np.pi * N / 60)) for level in range(1, 9)]
COSINE_END: list[Floats] = [
    0.1 * level * (0.5 * (1 - 0.8**N) + 0.5 * np.maximum(0.0, N - 45) / 15) for level in range(1, 9)
]


def test_ranks_are_known_early_or_late() -> None:
    assert verdicts(PARALLEL)["early ranks"].answer.startswith("tell who wins: ")
    crossing = verdicts(CROSSING)["early ranks"]
    assert crossing.answer.startswith("do not tell who wins: rank correlation with the end (1: same order) -")
    assert "by luck" in crossing.meaning
    mixed = [*PARALLEL[:6], CROSSING[0], CROSSING[7]]
    assert verdicts(mixed)["early ranks"].answer.startswith(("tell in part who wins", "tell who wins"))


def trained(schedule: str, rate: float, width: int, seed: int, epochs: int = 40) -> Floats:
    """Accuracy of a small network on scikit-learn's digits, a tenth of whose labels are wrong, after each epoch."""
    images, labels = load_digits(return_X_y=True)
    rng = np.random.default_rng(seed)
    order = np.random.default_rng(0).permutation(len(images))
    images, labels = images[order] / 16.0, labels[order]
    told = np.where(rng.random(600) < 0.1, rng.integers(10, size=600), labels[:600])
    first, second = rng.normal(0, 0.2, (64, width)), rng.normal(0, 0.2, (width, 10))
    found = []
    for epoch in range(epochs):
        share = 0.5 * (1 + np.cos(np.pi * epoch / epochs)) if schedule == "cosine" else 1.0
        for _ in range(20):
            batch = rng.integers(600, size=30)
            hidden = np.maximum(images[batch] @ first, 0.0)
            scores = np.exp(hidden @ second - (hidden @ second).max(axis=1, keepdims=True))
            error = scores / scores.sum(axis=1, keepdims=True)
            error[np.arange(30), told[batch]] -= 1.0
            back = (error @ second.T) * (hidden > 0.0)
            second -= share * rate * hidden.T @ error / 30
            first -= share * rate * images[batch].T @ back / 30
        guessed = (np.maximum(images[600:] @ first, 0.0) @ second).argmax(axis=1)
        found.append(float((guessed == labels[600:]).mean()))
    return np.array(found)


@pytest.mark.parametrize(("schedule", "seen"), [("cosine", "likely"), ("constant", "none seen")])
def test_a_schedule_is_seen_in_real_training(schedule: str, seen: str) -> None:
    settings = [(rate, width) for rate in (0.5, 0.8, 1.2) for width in (16, 48)]
    curves = [trained(schedule, *setting, seed) for seed, setting in enumerate(settings)]
    assert verdicts(curves)["schedule"].answer.startswith(seen)


def test_the_correlation_is_spearmans() -> None:
    rng = np.random.default_rng(0)
    table = rng.integers(0, 5, size=(12, 40)).astype(float)
    end = table[:, -2:].mean(axis=1)
    expected = [spearmanr(table[:, at], end).statistic for at in (3, 7, 19)]
    assert early_ranks(table).tolist() == pytest.approx(expected)


def test_a_schedule_is_seen_only_where_gains_come_late() -> None:
    assert verdicts(COSINE_END)["schedule"].answer.startswith("likely, 8 of 8 arms")
    assert verdicts(PARALLEL)["schedule"].answer == "none seen"
    assert verdicts(COSINE)["schedule"].answer == "none seen", "a half cosine itself flattens at its end"
    rng = np.random.default_rng(1)
    noise = [np.full(60, 0.5) + rng.normal(0, 0.05, 60) for _ in range(40)]
    assert verdicts(noise)["schedule"].answer == "none seen"


@pytest.mark.parametrize(("sd", "word"), [(0.001, "small"), (0.06, "some"), (0.4, "large")])
def test_noise_is_compared_with_what_tells_arms_apart(sd: float, word: str) -> None:
    rng = np.random.default_rng(2)
    noisy = [curve + rng.normal(0, sd, len(curve)) for curve in PARALLEL]
    assert verdicts(noisy)["noise"].answer.startswith(f"{word}, ")


def test_shapes_of_all_arms() -> None:
    falling = [curve[::-1] for curve in PARALLEL[:2]]
    found = verdicts([*PARALLEL, *falling])
    assert found["rising"].answer == "no, 8 of 10 arms"
    concave = verdicts(PARALLEL)["concave"]
    assert concave.answer == "yes, 8 of 8 arms"
    assert concave.meaning.startswith("arms gain less and less with use")


def test_what_cannot_be_said() -> None:
    few = verdicts(PARALLEL[:4])
    assert few["early ranks"].answer == "cannot say: it takes 5 runs that were not stopped early, and there are 4"
    assert few["early ranks"].meaning == "record more runs to their end"
    short = verdicts([curve[:9] for curve in PARALLEL])
    assert short["schedule"].answer == "cannot say: it takes 10 values of each run, and there are 9"
    assert short["schedule"].meaning == "record values more often, or train for longer"
    equal = verdicts([PARALLEL[0]] * 6)
    assert equal["early ranks"].answer == "cannot say: all arms are equal early or in the end"
    assert equal["noise"].answer == "cannot say: all arms end at the same value"
    rounded = verdicts([np.array([round(1.0 - 0.9**n, 4) for n in range(1, 21)])] * 5)
    assert rounded["noise"].answer == equal["noise"].answer, "their deviation is 1e-16"
    assert verdicts(PARALLEL[:1])["noise"].answer.startswith("cannot say")
    stopped = verdicts([*PARALLEL[:5], *[curve[:20] for curve in PARALLEL[5:]]])
    assert stopped["early ranks"].answer.startswith("tell who wins"), "runs that were stopped early do not count"


def test_restarts_are_counted() -> None:
    assert verdicts(PARALLEL)["restarts"].answer == "none seen"
    assert verdicts(PARALLEL, ("a", "b", "c", "d"))["restarts"].answer == "4 of 8 arms (a, b, c, ...)"
