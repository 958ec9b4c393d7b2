"""scikit-learn's learners as arms, and the selector under scikit-learn's own checks."""

from __future__ import annotations

import importlib
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("sklearn")

from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_digits
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Perceptron, SGDClassifier, SGDRegressor  # noqa: F401 (in texts)
from sklearn.naive_bayes import MultinomialNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state
from sklearn.utils.estimator_checks import parametrize_with_checks

from risingbandits import RisingBanditsError
from risingbandits.allocation import Allocator, Pull
from risingbandits.integrations.sklearn import BatchOrder, PartialFitArm, WarmStartArm, batch_score, seeded
from risingbandits.integrations.sklearn_selector import RisingSelector, RunningVariance
from risingbandits.testing import check_arm
from texts import agree, cases

X, Y = load_digits(return_X_y=True)
X = X / 16


def pull(n: int) -> Pull:
    return Pull(n, "arm", n)


def rewards(arm: Any, numbers: Any) -> list[float]:
    return [arm.pull(pull(n)).reward for n in numbers]


# -- PartialFitArm -------------------------------------------------------------------------------------------------


def plain_prequential(estimator: Any, batches: list[np.ndarray]) -> list[float]:
    """The slow, obvious reference: learn the first batch; predict, then learn each further one."""
    learner = clone(estimator)
    learner.partial_fit(X[batches[0]], Y[batches[0]], classes=np.unique(Y))
    scores = []
    for rows in batches[1:]:
        scores.append(float(np.mean(learner.predict(X[rows]) == Y[rows])))
        learner.partial_fit(X[rows], Y[rows])
    return scores


def test_prequential_scores_are_those_of_the_plain_loop() -> None:
    estimator = SGDClassifier(random_state=3)
    order = BatchOrder(len(Y), 20, seed=7)
    expected = plain_prequential(estimator, [order.rows(number) for number in range(101)])
    arm = PartialFitArm(estimator, X, Y, batch=20, seed=7)
    assert rewards(arm, range(1, 89)) == expected[:88]
    with pytest.warns(UserWarning, match="scored on rows that they have learnt from.*give X_valid and y_valid"):
        assert rewards(arm, [89]) == expected[88:89]  # the batch has the last rows of the first pass and new ones
    with pytest.warns(UserWarning, match="learn by heart"):
        assert rewards(arm, range(90, 101)) == expected[89:]


def test_validation_scores_are_those_of_the_plain_loop() -> None:
    seen, held = slice(0, 1_000), slice(1_000, None)
    learner, order, expected = SGDClassifier(random_state=3), BatchOrder(1_000, 50, seed=7), []
    for number in range(45):  # more than two passes, and no warning
        rows = order.rows(number)
        learner.partial_fit(X[rows], Y[rows], classes=np.unique(Y))
        expected.append(float(np.mean(learner.predict(X[held]) == Y[held])))

    def make() -> PartialFitArm:
        return PartialFitArm(SGDClassifier(random_state=3), X[seen], Y[seen], X[held], Y[held], batch=50, seed=7)

    arm = make()
    assert rewards(arm, range(1, 46)) == expected
    assert rewards(make(), [30]) == expected[29:30]  # what was lost is learnt again
    assert PartialFitArm(SGDClassifier(), X, Y, X, Y, batch=50, cost="rows").pull(pull(1)).cost == 50


ARMS: dict[str, Callable[[], Any]] = {
    "partial": lambda: PartialFitArm(Perceptron(), X, Y, batch=50, seed=1),
    "valid": lambda: PartialFitArm(SGDClassifier(), X[:500], Y[:500], X[500:], Y[500:], batch=50),
    "forest": lambda: WarmStartArm(RandomForestClassifier(max_depth=3), X[:500], Y[:500], X[500:], Y[500:], step=2),
    "network": lambda: WarmStartArm(MLPClassifier(8), X[:500], Y[:500], X[500:], Y[500:]),
    "pipeline": lambda: PartialFitArm(make_pipeline(PCA(9), SGDClassifier()), X[:500], Y[:500], batch=50),
    "warm pipeline": lambda: WarmStartArm(
        make_pipeline(StandardScaler(), SGDClassifier()), X[:500], Y[:500], X[500:], Y[500:]
    ),
}


@pytest.mark.parametrize("make", ARMS.values(), ids=ARMS)
def test_arms_keep_their_contract(make: Callable[[], Any]) -> None:
    check_arm(make)
    expected = rewards(make(), range(1, 7))
    numbers = (5, 1, 2, 2, 3, 6, 4)  # lost learners, repeated pulls and jumps find the learner of an undisturbed run
    assert rewards(make(), numbers) == [expected[n - 1] for n in numbers]


def test_a_pipeline_learns_in_its_last_step() -> None:
    """The steps before it are fitted once, on all of X; the rest is what the last step does alone on what they give."""
    pipeline = make_pipeline(StandardScaler(), SGDClassifier(random_state=3))
    arm = PartialFitArm(pipeline, X[:900], Y[:900], X[900:], Y[900:], batch=50, seed=7)
    scaler = StandardScaler().fit(X[:900])
    seen, held = scaler.transform(X[:900]), scaler.transform(X[900:])
    alone = PartialFitArm(SGDClassifier(random_state=3), seen, Y[:900], held, Y[900:], batch=50, seed=7)
    assert rewards(arm, range(1, 10)) == rewards(alone, range(1, 10))
    assert arm.learner.score(X[900:], Y[900:]) == alone.learner.score(held, Y[900:]), "it takes data as they were given"
    assert not hasattr(pipeline[0], "mean_"), "what was given is not fitted"
    assert arm.config == {"model": "StandardScaler | SGDClassifier"}
    frames = PartialFitArm(pipeline, pd.DataFrame(X[:900]), Y[:900], pd.DataFrame(X[900:]), Y[900:], batch=50, seed=7)
    assert rewards(frames, range(1, 4)) == rewards(alone, range(1, 4))


def test_the_store_has_what_differs_from_the_defaults() -> None:
    arms = {
        "a": PartialFitArm(SGDClassifier(alpha=0.01, random_state=1), X, Y),
        "b": PartialFitArm(Perceptron(), X, Y),
    }
    settings = Allocator(arms, budget=4).settings
    assert settings.configs == {
        "a": {"model": "SGDClassifier", "alpha": 0.01},
        "b": {"model": "Perceptron", "alpha": 0.0001},  # its default, which counts beside the other one
    }


def test_costs() -> None:
    arm = PartialFitArm(SGDClassifier(), X, Y, batch=30, cost="rows")
    assert [arm.pull(pull(n)).cost for n in (1, 2, 3, 3, 8)] == [60.0, 30.0, 30.0, 30.0, 30.0]
    assert PartialFitArm(SGDClassifier(), X, Y).pull(pull(1)).cost is None


def test_regression_scores_lie_between_0_and_1() -> None:
    data, target = load_diabetes(return_X_y=True)
    for regressor in (SGDRegressor(), SGDRegressor(learning_rate="constant", eta0=1e6)):  # the second one blows up
        with np.errstate(all="ignore"):
            values = rewards(PartialFitArm(regressor, data, target, batch=20), range(1, 20))
        assert all(0.0 <= value <= 1.0 for value in values)
    arm = WarmStartArm(HistGradientBoostingRegressor(), data[:300], target[:300], data[300:], target[300:],
                       parameter="max_iter", step=5)  # fmt: skip
    values = rewards(arm, range(1, 6))
    assert 0.5 < values[0] < values[-1] < 1.0
    assert arm.learner.n_iter_ == 25


def test_other_scores_and_kinds_of_data() -> None:
    plain = rewards(PartialFitArm(MultinomialNB(), X, Y), range(1, 5))
    assert rewards(PartialFitArm(MultinomialNB(), X, Y, score="accuracy"), range(1, 5)) == plain
    assert rewards(PartialFitArm(MultinomialNB(), sparse.csr_matrix(X), Y), range(1, 5)) == pytest.approx(plain)
    assert rewards(PartialFitArm(MultinomialNB(), pd.DataFrame(X), pd.Series(Y)), range(1, 5)) == plain
    assert rewards(PartialFitArm(MultinomialNB(), X.tolist(), Y.tolist()), range(1, 5)) == plain
    assert rewards(PartialFitArm(MultinomialNB(), X, Y, score=lambda *_: 0.25), range(1, 3)) == [0.25, 0.25]
    log_loss = rewards(PartialFitArm(MultinomialNB(), X, Y, score="neg_log_loss", classes=range(10), batch=200), [1])
    assert log_loss[0] < 0.0


@pytest.mark.texts
@cases("integrations")
def test_bad_input(given: str, said: str) -> None:
    with pytest.raises(RisingBanditsError) as error:
        eval(given, globals())
    agree("integrations", given, said, str(error.value))
    with pytest.raises(RisingBanditsError, match="X and y must have the same number of rows"):
        PartialFitArm(SGDClassifier(), X, Y[:5])


def test_a_lesson_that_fails_leaves_a_fresh_learner() -> None:
    arm = PartialFitArm(MultinomialNB(), X, Y)
    expected = rewards(PartialFitArm(MultinomialNB(), X, Y), [1, 2])
    arm.pull(pull(1))
    arm._input = -X
    with pytest.raises(ValueError, match="Negative"):
        arm.pull(pull(2))
    assert rewards(arm, [2]) == expected[1:]


# -- parts ---------------------------------------------------------------------------------------------------------


@given(n_rows=st.integers(1, 40), batch=st.integers(1, 50), seed=st.integers(0, 3), n=st.integers(1, 30))
def test_batches_are_passes_over_the_rows(n_rows: int, batch: int, seed: int, n: int) -> None:
    order = BatchOrder(n_rows, batch, seed)
    rows = np.concatenate([order.rows(number) for number in range(n)])
    assert len(rows) == n * min(batch, n_rows)
    for start in range(0, len(rows) - n_rows + 1, n_rows):
        assert sorted(rows[start : start + n_rows]) == list(range(n_rows))
    again = BatchOrder(n_rows, batch, seed)
    backwards = [again.rows(number) for number in reversed(range(n))]
    assert np.concatenate(backwards[::-1]).tolist() == rows.tolist()


@given(st.lists(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=5), min_size=1, max_size=8))
def test_running_variance(batches: list[list[float]]) -> None:
    variance = RunningVariance()
    for batch in batches:
        variance.add(np.array(batch))
    everything = np.concatenate(batches)
    assert variance.value == pytest.approx(np.var(everything), rel=1e-6, abs=1e-3)


def test_batch_score() -> None:
    assert batch_score(np.array([1.0, 2.0]), np.array([1.0, 2.0]), 0.0) == 1.0
    assert batch_score(np.array([1.0, 2.0]), np.array([1.0, np.nan]), 1.0) == 0.0
    assert batch_score(np.array([1.0, 2.0]), np.array([1.0, 1e300]), 1.0) == 0.0
    assert batch_score(np.array([1.0]), np.array([2.0]), 0.0) == 0.0


# -- RisingSelector ------------------------------------------------------------------------------------------------


def classifiers() -> list[tuple[str, Any]]:
    return [("sgd", SGDClassifier()), ("perceptron", Perceptron())]


@pytest.mark.filterwarnings("default")
@parametrize_with_checks(
    [
        RisingSelector(classifiers()),
        RisingSelector([("slow", SGDRegressor()), ("fast", SGDRegressor(eta0=0.1))]),
    ]
)  # type: ignore[untyped-decorator]
def test_scikit_learn_check(estimator: Any, check: Any) -> None:
    check(estimator)


def test_pieces_of_a_stream() -> None:
    selector = RisingSelector(classifiers(), policy="round-robin", random_state=0)
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        selector.partial_fit(X[:10], Y[:10])
    selector.partial_fit(X[:50], Y[:50], classes=np.unique(Y))
    assert selector.best_name_ == "sgd"  # the only one that has learnt
    assert selector.predict(X[:3]).shape == (3,)
    for start in range(50, 1050, 50):
        selector = pickle.loads(pickle.dumps(selector))  # in the middle of a run
        selector.partial_fit(X[start : start + 50], Y[start : start + 50])
    assert selector.batches_ == {"sgd": 11, "perceptron": 10}
    assert selector.score(X[1050:], Y[1050:]) > 0.8
    with pytest.raises(ValueError, match="y must hold labels among classes"):
        selector.partial_fit(X[:2], [0, 77])


def test_settings_of_the_candidates() -> None:
    selector = RisingSelector(classifiers())
    selector.set_params(sgd__alpha=0.5, perceptron=MultinomialNB())
    assert selector.get_params()["sgd__alpha"] == 0.5
    assert isinstance(selector.estimators[1][1], MultinomialNB)
    assert not hasattr(selector, "predict_proba")
    both = RisingSelector([("a", MultinomialNB()), ("b", MLPClassifier())])
    assert both.fit(X[:200], Y[:200]).predict_proba(X[:2]).shape == (2, 10)


def test_bad_candidates_can_be_shown_until_they_are_fitted() -> None:
    bad: list[Any] = [[], SGDClassifier()]
    for estimators in bad:
        assert "RisingSelector" in repr(RisingSelector(estimators))
        assert "RisingSelector" in RisingSelector(estimators)._repr_html_()
    with pytest.raises(ValueError, match="Names provided are not unique"):
        RisingSelector([("a", SGDClassifier()), ("a", SGDClassifier())]).fit(X, Y)


def test_a_budget_that_leaves_candidates_without_a_score_is_warned_of() -> None:
    with pytest.warns(
        UserWarning, match="budget should be at least 4, two batches for each of the 2 candidates, got 2"
    ):
        selector = RisingSelector(classifiers(), budget=2, random_state=1).fit(X, Y)
    assert selector.scores_ == {"sgd": [], "perceptron": []}
    RisingSelector(classifiers(), budget=4, random_state=1).fit(X, Y)  # a warning would be an error
    RisingSelector(classifiers()[:1], budget=1, random_state=1).fit(X, Y)  # there is nothing to choose


def test_the_selector_looks_for_the_learner_to_keep() -> None:
    selector = RisingSelector(classifiers(), budget=40, random_state=1).fit(X, Y)
    assert selector._run.policy._described() == "Auto(), played by PilotHalving()"
    on_the_way = RisingSelector(classifiers(), budget=40, objective="cumulative", random_state=1).fit(X, Y)
    assert on_the_way._run.policy._described() == "Auto(objective='cumulative'), played by BackTest(sigma='auto')"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_six_learners_and_300_batches() -> None:
    """The kept one is within 0.03 of the best alone where that one shows early, as docs/model-choice.md says."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
        patch.setenv("OMP_NUM_THREADS", "1")
        patch.setenv("OPENBLAS_NUM_THREADS", "1")
        benchmark: Any = importlib.import_module("six_learners")
    lines = dict(benchmark.table("breast cancer", 1, 300))
    best = max(score for name, score in lines.items() if name.endswith("300 batches"))
    assert lines["RisingSelector, best-arm"] > best - 0.03


def test_the_selector_scores_on_what_it_holds_out() -> None:
    settings: dict[str, Any] = {"policy": "round-robin", "budget": 40, "batch_size": 50, "random_state": 0}
    selector = RisingSelector(classifiers(), validation_fraction=0.25, **settings).fit(X, Y)
    # The same by hand: rows that are held out, batches of the others, candidates in turn.
    rng = check_random_state(0)
    order_seed, _, learner_seed = (int(rng.randint(2**31 - 1)) for _ in range(3))
    shuffled = np.random.default_rng(order_seed).permutation(len(Y))
    held = round(0.25 * len(Y))
    order = BatchOrder(len(Y) - held, 50, order_seed)
    learners = [seeded(clone(estimator), learner_seed) for _, estimator in classifiers()]
    scores: list[list[float]] = [[] for _ in learners]
    for number in range(40):
        arm = number % len(learners)
        rows = shuffled[held:][order.rows(number)]
        if number >= len(learners):
            scores[arm].append(float(np.mean(learners[arm].predict(X[shuffled[:held]]) == Y[shuffled[:held]])))
        learners[arm].partial_fit(X[rows], Y[rows], classes=np.unique(Y))
    assert list(selector.scores_.values()) == scores
    assert selector.partial_fit(X[:50], Y[:50]).scores_ != dict(zip(selector.scores_, scores, strict=True))
