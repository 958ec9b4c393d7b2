"""River's own checks for the models, and what is promised beyond them."""

# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

import copy
import math
import pickle
import random
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("river")

from river import base, checks, datasets, linear_model, metrics, naive_bayes, optim

from risingbandits import RisingBanditsError
from risingbandits.integrations.river import RisingClassifier, RisingRegressor, SampleScore, Watch
from risingbandits.policies import policy_class

SEGMENTS = list(datasets.ImageSegments().take(400))


def river_checks() -> Iterator[Any]:
    """Every check of River for every set of parameters, as River runs them over its own estimators."""
    for kind in (RisingClassifier, RisingRegressor):
        for number, params in enumerate(kind._unit_test_params()):
            model = kind(**params)
            for position, check in enumerate(checks.yield_checks(model)):
                if check.__name__ not in model._unit_test_skips():
                    name = f"{kind.__name__}-{number}-{check.__name__}-{position}"
                    # These run over ten times the samples of the others.
                    marks = [pytest.mark.slow] if check.__name__ == "check_bounded_memory_growth" else []
                    yield pytest.param(model, check, id=name, marks=marks)


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(("model", "check"), list(river_checks()))
def test_river_check(model: Any, check: Callable[[Any], None]) -> None:
    check(model.clone())


def two_models() -> list[Any]:
    return [naive_bayes.GaussianNB(), naive_bayes.BernoulliNB()]


def plain_selection(models: list[Any], policy: Any, samples: list[Any]) -> list[tuple[int, Any]]:
    """The slow, obvious reference: the best by its lower bound predicts; the one that is asked for is scored, learns.

    Without changes of the stream, which ADWIN would find: all rewards of a model count.
    """
    rewards: list[list[float]] = [[] for _ in models]
    predictions = []
    for t, (x, y) in enumerate(samples, start=1):
        bounds = [
            float(np.mean(own)) - math.sqrt(math.log(t) / (2 * len(own))) if own else -math.inf for own in rewards
        ]
        best = int(np.argmax(bounds))
        predictions.append((best, models[best].predict_one(x)))
        arm = policy.ask()
        rewards[arm].append(float(models[arm].predict_one(x) == y))
        models[arm].learn_one(x, y)
        policy.tell(arm, rewards[arm][-1])
    return predictions


@pytest.mark.parametrize("predictions_before_learning", [1, 0, 3])
@pytest.mark.parametrize("policy", [None, "epsilon-greedy", "red-ucb"])
def test_classifier_equals_the_plain_loop(policy: str | None, predictions_before_learning: int) -> None:
    model = RisingClassifier(two_models(), policy=policy, seed=5)
    reference_policy = policy_class(policy or "gaussian-ucb")()
    if policy != "epsilon-greedy":  # the others find out the noise
        reference_policy = reference_policy.replace(sigma="auto")
    reference_models = two_models()
    expected = plain_selection(reference_models, reference_policy.reset(2, seed=5), SEGMENTS)
    for (x, y), (best, label) in zip(SEGMENTS, expected, strict=True):
        assert model.in_charge.number == best
        for _ in range(predictions_before_learning):
            assert model.predict_one(x) == label
        model.learn_one(x, y)
    assert model.pulls == reference_policy.pulls.tolist()


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
@pytest.mark.parametrize("policy", ["commit-ucb", "red-ucb", "epsilon-greedy", "exp3"])
def test_a_copy_goes_on_like_the_original(policy: str, copied: Callable[[Any], Any]) -> None:
    model = RisingClassifier(two_models(), policy=policy, horizon=500, seed=2)
    for x, y in SEGMENTS[:100]:
        model.learn_one(x, y)
    other = copied(model)
    for x, y in SEGMENTS[100:]:
        assert other.predict_proba_one(x) == model.predict_proba_one(x)
        model.learn_one(x, y)
        other.learn_one(x, y)
    assert other.pulls == model.pulls


def test_a_clone_is_fresh_and_may_take_all_along() -> None:
    model = RisingClassifier(two_models())
    for x, y in SEGMENTS[:50]:
        model.learn_one(x, y)
    fresh = model.clone()
    assert fresh.pulls == [0, 0]
    assert not any(m.class_counts for m in fresh.models)
    full = model.clone(include_attributes=True)
    assert full.pulls == model.pulls
    assert full.predict_proba_one(SEGMENTS[60][0]) == model.predict_proba_one(SEGMENTS[60][0])


def test_labels_of_other_models_have_probability_zero() -> None:
    model = RisingClassifier(two_models(), policy="round-robin")
    x = SEGMENTS[0][0]
    model.learn_one(x, "a")
    assert model.predict_proba_one(x) == {"a": 1.0}
    model.learn_one(x, "b")  # by the second model, while the first predicts
    assert model.predict_proba_one(x) == {"a": 1.0, "b": 0.0}


class Told(base.Classifier):
    """A model that is right whenever it is told so."""

    def __init__(self, right: Callable[[int], bool]) -> None:
        self.right, self.n = right, 0

    def predict_one(self, x: Any, **kwargs: Any) -> int:
        return int(self.right(self.n))

    def learn_one(self, x: Any, y: Any, **kwargs: Any) -> None:
        self.n += 1


def test_who_is_in_charge_and_since_when() -> None:
    model = RisingClassifier([Told(lambda n: n % 2 == 0), Told(lambda n: True)], policy="round-robin")
    assert model.in_charge == (0, "Told", 1, 0.0)
    since, last = 1, 0
    for t in range(1, 60):
        now = next(i for i, own in enumerate(model.models) if own is model.best_model)
        if now != last:
            since, last = t, now
        assert model.in_charge[:3] == (now, "Told", since)
        model.learn_one({}, 1)
    assert (last, model.in_charge.score) == (1, 1.0)
    lines = model.summary().splitlines()
    assert lines[0].split() == ["model", "samples", "recent", "score"]
    assert [line.split()[2] for line in lines[1:]] == ["30", "29"]
    assert f"in charge since sample {since}" in lines[2]


def warned(right: Callable[[int], bool], samples: int) -> list[str]:
    """The warnings of a stream in which both models are right by the same rule."""
    model = RisingClassifier([Told(right), Told(right)], policy="round-robin")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(samples):
            model.learn_one({}, 1)
    return [str(warning.message) for warning in caught]


def test_a_model_that_falls_is_said_once() -> None:
    rng = random.Random(1)
    luck = [rng.random() for _ in range(3_000)]
    rising = warned(lambda n: luck[n] < min(0.9, 0.2 + n / 500), 4_000)
    assert rising == []
    falling = warned(lambda n: luck[n] < (0.9 if n < 500 else 0.3), 4_000)
    assert len(falling) == 1, "both fall, and again and again"
    assert falling[0].startswith("Told (model ")
    assert "has got worse, from 0." in falling[0]


def test_steady_models_are_hardly_ever_said_to_fall() -> None:
    """Below 1 % of stationary streams; benchmarks/streams.py counts them on real ones."""
    said = 0
    for seed in range(200):
        rng = random.Random(seed)
        right = rng.choice((0.5, 0.7, 0.9))
        luck = [rng.random() < right for _ in range(1_000)]
        said += bool(warned(luck.__getitem__, 2_000))
    assert said < 2


def test_what_models_were_worth_before_a_change_is_forgotten() -> None:
    watch = Watch(2)
    for n in range(300):
        watch.see(0, None, float(n % 10 != 0))
        watch.see(1, None, float(n % 5 != 0))
    assert watch.best == 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(100):  # only the second is trained, and falls
            watch.see(1, None, 0.0)
    assert watch.best == 1, "the score of the first is from before the change"


def test_a_loss_is_minimised() -> None:
    """River's own selection by MAE prefers the model with the largest error; this one must not."""
    models = [linear_model.LinearRegression(optimizer=optim.SGD(rate)) for rate in (1e-9, 0.01)]
    model = RisingRegressor(models)
    for i in range(2_000):
        x = {"a": (i * 7 % 11) / 10, "b": (i * 5 % 13) / 10}
        model.learn_one(x, 3.0 * x["a"] - 2.0 * x["b"])
    assert model.best_model is model.models[1]
    assert model.pulls[1] > 1_400


@pytest.mark.parametrize(
    ("metric", "y", "y_pred", "expected"),
    [
        (metrics.Accuracy(), 1, 1, 1.0),
        (metrics.Accuracy(), 1, 0, 0.0),
        (metrics.Accuracy(), 1, None, 0.0),
        (metrics.F1(), True, True, 1.0),
        (metrics.F1(), True, False, 0.0),
        (metrics.CrossEntropy(), "a", {"a": 1.0}, 1.0),
        (metrics.CrossEntropy(), "a", {}, 0.0),
        (metrics.LogLoss(), True, {True: 0.36787944117144233}, 0.5),
    ],
)
def test_score_of_a_classification(metric: Any, y: Any, y_pred: Any, expected: float) -> None:
    assert SampleScore(metric)(y, y_pred) == pytest.approx(expected, abs=1e-9)


def test_score_of_a_regression_does_not_depend_on_units() -> None:
    targets = [3.0, 5.0, 4.0, 9.0, 1.0]
    guesses = [2.0, 5.5, 4.0, 6.0, -100.0]
    for metric, factor in ((metrics.MAE(), 1000.0), (metrics.MSE(), 1000.0)):
        score, other = SampleScore(metric), SampleScore(metric)
        values = [score(y, guess) for y, guess in zip(targets, guesses, strict=True)]
        assert values == pytest.approx([other(factor * y, factor * g) for y, g in zip(targets, guesses, strict=True)])
        assert values[0] == 0.5  # nothing to compare with
        assert values[2] == 1.0  # perfect
        assert 0.0 < values[4] < 0.05
    mae = SampleScore(metrics.MAE())
    assert mae(3.0, 2.0) == 0.5
    assert mae(5.0, 5.5) == pytest.approx(1 / (1 + 0.5 / 2.0))  # predicting the mean 3 is off by 2


def test_bad_settings() -> None:
    with pytest.raises(RisingBanditsError, match="policy must be a name, a policy or None, got 3"):
        RisingClassifier(two_models(), policy=3).learn_one({}, 1)  # type: ignore[arg-type]
    with pytest.raises(RisingBanditsError, match="needs horizon"):
        RisingClassifier(two_models(), policy="sequential-halving").learn_one({}, 1)
    with pytest.raises(ValueError, match="At least 2 models"):
        RisingClassifier(two_models()[:1])


def test_machine_code_is_no_part_of_a_models_memory() -> None:
    model = RisingClassifier(two_models(), seed=5)
    for x, y in SEGMENTS[:50]:
        model.predict_one(x)
        model.learn_one(x, y)
    assert model._raw_memory_usage < 450_000  # some 407,000, nearly all of it of the two models
    assert model.predict_one(SEGMENTS[0][0]) is not None  # the policy goes on
