"""The one posterior: what it is computed from, what it promises, and that it says the same for any scale of rewards."""

from __future__ import annotations

import itertools
import math
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from risingbandits import Policy, RisingBandit, RisingBanditsError
from risingbandits._core.jit import interpreted
from risingbandits.policies import Auto
from risingbandits.policies import _posterior as model
from risingbandits.policies._kernels import levels
from risingbandits.problems import Gaussian, Polynomial
from risingbandits.testing.policies import play_by_hand, play_interpreted

Curves = list[list[float]]
ADD = interpreted(levels.add)


def known(curves: Curves) -> np.ndarray:
    found = levels.new_levels(len(curves), max(map(len, curves)))
    for arm, rewards in enumerate(curves):
        for reward in rewards:
            ADD(found, arm, reward)
    return found


def slow_predicted(curves: Curves, end: int) -> list[float]:
    """The mean of the chain, arm by arm and rung by rung, from whole histories; every arm has a reward."""
    every: list[int] = sorted({0, *range(1, 9), *(k * 2**j for j in range(1, 9) for k in (4, 5, 6, 7))})
    rungs = sorted({1, 2, 3, *(k * 2**j for j in range(9) for k in (4, 6))})
    rungs = [rung for rung in rungs if rung < max(end, *map(len, curves))]
    rungs.append(min(r for r in (1, 2, 3, *(k * 2**j for j in range(9) for k in (4, 6))) if r not in rungs))
    bends = [rewards[i] - 2 * rewards[i - 1] + rewards[i - 2] for rewards in curves for i in range(2, len(rewards))]
    noise = sum(bend**2 for bend in bends) / 6 / len(bends) if bends else 0.0

    def first(n: int, width: float) -> int:
        return max(int(mark) for mark in every if mark <= n - min(n, max(width, math.ceil(0.1 * n - 1e-9))))

    def level(rewards: list[float], n: int, width: float) -> float:
        return float(np.mean(rewards[first(n, width) : n]))

    def table(width: float) -> tuple[list[list[float]], list[float]]:
        return (
            [[level(own, rung, width) for rung in rungs if rung <= len(own)] for own in curves],
            [level(own, len(own), width) for own in curves],
        )

    def scale(rows: list[list[float]], now: list[float]) -> tuple[float, float, float]:
        each = [value for row in rows for value in row] + now
        lowest = float(np.median(each)) - 2 * (max(each) - float(np.median(each)))
        return lowest, float(np.mean(np.maximum(each, lowest))), float(np.std(np.maximum(each, lowest)))

    rows, now = table(1)
    errors = [noise / (rung - first(rung, 1)) for own in curves for rung in rungs if rung <= len(own)]
    between = scale(rows, now)[2] ** 2 - float(np.mean(errors))
    width = noise / (0.2 * between) if between > 0 else math.inf
    if width > 1:
        rows, now = table(min(width, max(map(len, curves))))
    lowest, centre, spread = scale(rows, now)
    rows = [[(max(value, lowest) - centre) / spread for value in row] for row in rows]
    values = [(max(value, lowest) - centre) / spread for value in now]
    variance, rise, mean = 0.1, 0.0, 0.0
    for i, (here, there) in enumerate(itertools.pairwise(rungs)):
        pairs = [(row[i], row[i + 1] - row[i]) for row in rows if len(row) > i + 1]
        before = rise
        x, y = (np.array([pair[j] for pair in pairs]) for j in (0, 1))
        dx, dy = (x - x.mean(), y - y.mean()) if pairs else (x, y)
        belief = variance / 0.09
        slope = (dx @ dy - 0.1 * belief) / (dx @ dx + belief)
        rise = (float(y.sum()) + 2 * 0.4 * before) / (len(pairs) + 2)
        mean = float(x.mean()) if pairs else mean + before
        left = float(((dy - slope * dx) ** 2).sum()) if pairs else 0.0
        variance = (left + 2 * variance) / (len(pairs) + 2) if pairs else 1.8 * variance
        for arm, own in enumerate(curves):
            if len(own) < there and end > len(own):
                part = math.log(min(end, there) / max(here, len(own))) / math.log(there / here)
                gone = math.log(max(here, len(own)) / here) / math.log(there / here)
                lead = values[arm] - mean - gone * rise
                values[arm] += max(0.0, part) * (rise + slope * lead)
    return [centre + spread * value for value in values]


def random_curves(rng: np.random.Generator, arms: int, noise: float, longest: int = 40) -> Curves:
    ends, paces = rng.random(arms), rng.uniform(1, 30, arms)
    pulls = 1 + (longest * rng.random(arms) ** 3).astype(int)
    return [
        (end * (1 - np.exp(-np.arange(1, n + 1) / pace)) + noise * rng.standard_normal(n)).tolist()
        for end, pace, n in zip(ends, paces, pulls, strict=True)
    ]


@pytest.mark.parametrize("noise", [0.02, 0.2])
@pytest.mark.parametrize("seed", range(5))
def test_predicted_values_are_those_of_the_definition(noise: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    curves = random_curves(rng, int(rng.integers(2, 12)), noise)
    for end in (max(map(len, curves)), 100):
        assert model.predicted(known(curves), end) == pytest.approx(slow_predicted(curves, end), rel=1e-9)


def test_an_arm_that_leads_by_the_same_curve_is_predicted_to_end_ahead() -> None:
    old = [(k, 60) for k in (3, 3.5, 4, 4.5, 5)]
    curves = [[0.1 * k * (1 - 0.9**n) for n in range(1, pulls)] for k, pulls in (*old, (6, 20), (4.2, 20))]
    found = model.posterior(known(curves), 60)
    assert found.predicted.argmax() == found.p_best.argmax() == model.best(known(curves), 60) == 5
    assert found.low[5] < 0.6 < found.high[5]
    assert found.low[6] < 0.42 < found.high[6]


@given(st.integers(0, 10_000), st.integers(1, 40), st.sampled_from([0.0, 0.01, 0.3]), st.sampled_from([1, 5, 200]))
@settings(max_examples=150, deadline=None)
def test_the_favourite_is_never_wholly_below_another_arm(seed: int, arms: int, noise: float, further: int) -> None:
    curves = random_curves(np.random.default_rng(seed), arms, noise)
    found = model.posterior(known(curves), max(map(len, curves)) + further)
    if np.isnan(found.low).all():
        assert all(curve == curves[0][: len(curve)] for curve in curves)
        return
    for favourite in (int(found.p_best.argmax()), int(found.predicted.argmax())):
        assert found.high[favourite] >= found.low.max()
    assert ((found.low <= found.predicted) & (found.predicted <= found.high)).all()
    assert found.p_best.sum() == pytest.approx(1.0)
    best, values = model.best(known(curves), found.end), model.shown(known(curves), found.end)
    assert values[best] == values.max()
    assert (values <= found.predicted).all()
    assert found.high[best] >= found.low.max()


def test_a_wide_favourite_among_many_narrow_arms_is_not_wholly_below_them() -> None:
    """Thirty-nine arms that hardly differ share the chance; the one of which little is known has most of it."""
    curves: Curves = [[0.5 + 0.0001 * (arm % 7) + 0.00001 * (-1) ** n for n in range(60)] for arm in range(39)]
    found = model.posterior(known([*curves, [0.4, 0.3]]), 60)
    assert found.high[int(found.p_best.argmax())] >= found.low.max()


@given(st.integers(0, 10_000), st.integers(1, 12), st.integers(1, 300))
@settings(max_examples=100, deadline=None)
def test_without_noise_rising_curves_are_not_predicted_to_fall(seed: int, arms: int, further: int) -> None:
    rng = np.random.default_rng(seed)
    curves = [np.sort(rng.random(int(rng.integers(1, 30)))).tolist() for _ in range(arms)]
    found = model.posterior(known(curves), max(map(len, curves)) + further, limits=(0.0, 1.0))
    last = np.array([curve[-1] for curve in curves])
    assert (found.predicted >= last).all()
    assert np.isnan(found.low).all() or (found.low >= last).all()


def test_values_stay_in_the_range_if_it_is_known() -> None:
    curves = random_curves(np.random.default_rng(1), 8, 0.3)
    free, held = (model.posterior(known(curves), 500, limits=limits) for limits in (None, (0.0, 1.0)))
    assert free.low.min() < 0.0
    for values in (held.predicted, held.low, held.high):
        assert ((values >= 0.0) & (values <= 1.0)).all()
    assert held.p_best.tolist() == free.p_best.tolist()


@pytest.mark.parametrize(("scale", "shift"), [(1024.0, 0.0), (2.0**-20, 0.0), (8.0, -4096.0), (1e-3, 0.7)])
def test_it_says_the_same_for_any_scale_of_the_rewards(scale: float, shift: float) -> None:
    curves = random_curves(np.random.default_rng(2), 15, 0.05)
    moved = [[scale * reward + shift for reward in curve] for curve in curves]
    plain, other = (model.posterior(known(each), 100) for each in (curves, moved))
    for name in ("predicted", "low", "high"):
        assert getattr(other, name) == pytest.approx(scale * getattr(plain, name) + shift, rel=1e-7)
    assert other.p_best == pytest.approx(plain.p_best, abs=0.0 if shift == 0.0 else 0.002)


def test_it_says_the_same_when_it_is_asked_again() -> None:
    curves = known(random_curves(np.random.default_rng(3), 10, 0.05))
    first, second = model.posterior(curves, 100), model.posterior(curves, 100)
    assert all(np.array_equal(getattr(first, name), getattr(second, name)) for name in ("predicted", "low", "p_best"))


def test_arms_without_rewards_are_not_known() -> None:
    found = model.posterior(known([[0.5, 0.6], [], [0.4]]), 10)
    assert np.isnan([values[1] for values in found[1:]]).all()
    assert found.p_best[[0, 2]].sum() == pytest.approx(1.0)
    assert model.best(known([[], [0.3]]), 5) == 1
    assert np.isnan(np.array(model.posterior(levels.new_levels(2, 1), 5)[1:])).all()


def test_equal_arms_have_equal_chances_and_no_interval_where_nothing_is_known_about_scale() -> None:
    found = model.posterior(known([[0.5] * 3] * 4), 10)
    assert found.p_best.tolist() == [0.25] * 4
    assert found.predicted.tolist() == [0.5] * 4
    assert np.isnan(found.low).all()


def test_an_arm_that_has_ended_stays_where_it_is() -> None:
    curves = [[0.1 * n for n in range(1, 6)], [0.1 * n for n in range(1, 4)]]
    free = model.predicted(known(curves), 50)
    ended = model.predicted(known(curves), 50, np.array([np.inf, 3.0]))
    assert free[1] > ended[1] == pytest.approx(0.3)
    assert free[0] == ended[0]


def test_arms_that_cannot_be_the_best_are_left_out_without_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    curves = known(random_curves(np.random.default_rng(4), 40, 0.02))
    some = model.posterior(curves, 60).p_best
    monkeypatch.setattr(model, "_POSSIBLE", math.inf)
    every = model.posterior(curves, 60).p_best
    assert (every[some == 0.0] < 0.002).all()
    assert some == pytest.approx(every, abs=0.04)


def test_a_thousand_arms_take_less_than_a_tenth_of_a_second() -> None:
    curves = known(random_curves(np.random.default_rng(5), 1_000, 0.02))
    took = []
    for _ in range(3):
        start = time.process_time()
        model.posterior(curves, 200)
        took.append(time.process_time() - start)
    assert min(took) < 0.1


def test_the_default_recommends_what_it_explains_in_runs_simulations_and_copies(tmp_path: Path) -> None:
    problem = RisingBandit([Polynomial(0.4 + 0.1 * k, 3.0 + 4 * k, 1.0) for k in range(5)], Gaussian(0.05), 80)
    for seed in range(5):
        by_hand, simulated = play_by_hand(Auto(), problem, 80, seed), play_interpreted(Auto(), problem, 80, seed)
        assert by_hand.recommended == simulated.recommended
    running = Auto().reset(5, 80, seed=1)
    rng = np.random.default_rng(1)
    for _ in range(60):
        arm = running.ask()
        running.tell(arm, float(problem.means(int(running.pulls[arm]) + 1)[arm]) + 0.05 * rng.standard_normal())
        said = running.explain()
        assert said.kept == running.recommend() == int(np.nanargmax(running._shown()))
        assert said.why_kept.startswith("highest predicted value")
        assert said.end == max(running.pulls) + 80 - running.rounds
    copy = Policy.load(running.save(tmp_path / "run.npz"))
    assert copy._foresee().p_best.tolist() == running._foresee().p_best.tolist()
    running._expect_lengths([60] * 5)
    assert running.explain().end == 60.0
    assert "the most pulls that an arm may have" in str(running.explain())
    with pytest.raises(RisingBanditsError, match="lengths must be 5 numbers of pulls, got"):
        running._expect_lengths([1, 2])


def test_an_unknown_horizon_is_said() -> None:
    running = Auto().reset(2)
    running.tell(0, 0.5)
    running.tell(1, 0.7)
    assert running._stated_end() == (1.0, "what the oldest arm has had, as the horizon is unknown")


def test_an_arm_that_was_trained_less_counts_with_what_it_has_shown() -> None:
    policy = Auto("best-arm").reset(n_arms=4, horizon=60, seed=1)
    for n in range(1, 21):  # all start flat; two of them jump, and nobody has seen whether the others would
        for arm in (0, 1, 2, 3):
            if arm < 2 or n <= 4:
                policy.tell(arm, 0.1 + 0.001 * arm if n <= 4 else 0.7 - 0.001 * arm)
    lcb, foreseen = policy.explain()["lcb"], policy._foresee()
    assert policy._shown()[2:] == pytest.approx(np.minimum(foreseen.predicted, np.maximum(lcb, foreseen.low))[2:])
    assert policy.recommend() == 0
    policy._expect_lengths([20, 20, 4, 4])  # they could not come further
    assert policy._shown() == pytest.approx(policy._foresee().predicted)
