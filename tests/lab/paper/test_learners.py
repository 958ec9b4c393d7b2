"""Compiled learners: equal to scikit-learn and to plain formulas; the data they learn from."""

from __future__ import annotations

import io
import math
import os
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from reference_rows import random_rows
from risingbandits._core.errors import RisingBanditsError
from risingbandits._core.jit import interpreted
from risingbandits.lab.paper.imdb import Learner, LiveBandit, LogisticRegression, Network, Rows, load_digits, load_imdb
from risingbandits.lab.paper.imdb import live as live_module

SHAPES = [(1,), (2,), (2, 2), (2, 2, 2), (1, 1, 2)]


def dense(rows: Rows) -> npt.NDArray[np.float64]:
    matrix = np.zeros((rows.n_rows, rows.features))
    for r in range(rows.n_rows):
        own = slice(rows.indptr[r], rows.indptr[r + 1])
        matrix[r, rows.indices[own]] = rows.values[own]
    return matrix


@pytest.fixture(scope="module")
def imdb() -> Rows:
    root = os.environ.get("RISINGBANDITS_DATA")
    if not root or not (Path(root) / "imdb").is_dir():
        pytest.skip("the IMDB reviews are not here: RISINGBANDITS_DATA names no folder with imdb in it")
    return load_imdb(features=1000)


def reference_network(hidden: tuple[int, ...], coefs: list[Any], biases: list[Any]) -> Any:
    """scikit-learn's classifier that starts from given weights."""
    neural = pytest.importorskip("sklearn.neural_network", reason="scikit-learn is not installed")
    from sklearn.neural_network._stochastic_optimizers import AdamOptimizer

    reference = neural.MLPClassifier(hidden_layer_sizes=hidden)
    reference.partial_fit(np.zeros((1, len(coefs[0]))), [0.0], classes=[0.0, 1.0])
    reference.coefs_ = [np.array(coef) for coef in coefs]
    reference.intercepts_ = [np.array(bias) for bias in biases]
    reference._optimizer = AdamOptimizer(reference.coefs_ + reference.intercepts_, 0.001)
    reference.t_ = 0
    return reference


def agreement(rows: Rows, hidden: tuple[int, ...], steps: int, seed: int) -> tuple[int, float, float]:
    """Different predictions, largest difference of weights, share of right predictions."""
    sparse = pytest.importorskip("scipy.sparse")
    rng = np.random.default_rng(seed)
    units = [rows.features, *hidden, 1]
    bounds = [math.sqrt(6 / (units[i] + units[i + 1])) for i in range(len(units) - 1)]
    coefs = [rng.uniform(-b, b, (units[i], units[i + 1])) for i, b in enumerate(bounds)]
    biases = [rng.uniform(-b, b, units[i + 1]) for i, b in enumerate(bounds)]
    network = Network(hidden)
    bandit = LiveBandit(rows, [network], steps).reset(seed)
    bandit.learners.weights[0] = network.pack(coefs, biases)
    reference = reference_network(hidden, coefs, biases)
    matrix = sparse.csr_matrix((rows.values, rows.indices, rows.indptr), shape=(rows.n_rows, rows.features))
    expected = []
    for row in bandit.learners.order[0]:
        x, y = matrix[[row]], rows.labels[[row]]
        expected.append(reference.predict(x)[0] == y[0])
        reference.partial_fit(x, y)
    got = bandit.train(0)
    last = network.pack(reference.coefs_, reference.intercepts_)
    return int((got != np.array(expected)).sum()), float(np.abs(bandit.learners.weights[0] - last).max()), got.mean()


@pytest.mark.parametrize("hidden", SHAPES)
def test_network_equals_scikit_learn(hidden: tuple[int, ...]) -> None:
    wrong, apart, _ = agreement(random_rows(), hidden, 250, seed=3)
    assert wrong == 0
    assert apart < 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("hidden", SHAPES)
def test_network_equals_scikit_learn_on_2000_reviews(imdb: Rows, hidden: tuple[int, ...]) -> None:
    for seed in (0, 1):
        wrong, apart, _ = agreement(imdb, hidden, 2000, seed)
        assert wrong == 0
        assert apart < 1e-9


@pytest.mark.parametrize(
    "learner",
    [
        LogisticRegression(0.05),
        LogisticRegression(0.5, "inverse"),
        LogisticRegression(0.5, "inverse-sqrt", clip=0.2),
    ],
)
def test_logistic_regression_is_its_formula(learner: LogisticRegression) -> None:
    rows = random_rows()
    matrix = dense(rows)
    bandit = LiveBandit(rows, [learner], 500).reset(1)
    weights = np.full(rows.features, 1 / rows.features)
    for t, row in enumerate(bandit.learners.order[0], start=1):
        x, y = matrix[row], rows.labels[row]
        p = float(np.clip(1 / (1 + np.exp(-(weights @ x))), 1e-4, 1 - 1e-4))
        rate = learner.rate / {"constant": 1, "inverse": t, "inverse-sqrt": math.sqrt(t)}[learner.scheme]
        weights = np.clip(weights - rate * (p - y) * x, -learner.clip, learner.clip)
        assert bandit.pull(0) == 1 - abs(y - (p > 0.5))
    np.testing.assert_allclose(bandit.learners.weights[0], weights, atol=1e-12)


def test_pull_is_the_same_interpreted_and_compiled() -> None:
    arms: list[Learner] = [LogisticRegression(0.1), Network((2, 2))]
    rows = random_rows(60)
    compiled, plain = LiveBandit(rows, arms, 60).reset(5), LiveBandit(rows, arms, 60).reset(5)
    step = interpreted(live_module.pull)
    for arm in range(2):
        rewards = [step(plain.learners, arm, n) for n in range(1, 61)]
        assert compiled.train(arm).tolist() == rewards
    np.testing.assert_allclose(compiled.learners.weights, plain.learners.weights, rtol=0, atol=1e-14)


def test_every_arm_sees_all_rows_once_in_its_own_order() -> None:
    rows = random_rows(50)
    order = LiveBandit(rows, [LogisticRegression(), LogisticRegression()], 120).reset(0).learners.order
    assert sorted(order[0, :50]) == sorted(order[0, 50:100]) == list(range(50))
    assert (order[0] != order[1]).any()
    assert (order[0, :50] != order[0, 50:100]).any()


def test_an_arm_has_no_more_pulls_than_the_horizon() -> None:
    bandit = LiveBandit(random_rows(5), [LogisticRegression()], 2).reset(0)
    bandit.pull(0)
    bandit.pull(0)
    with pytest.raises(RisingBanditsError, match="all of its 2 pulls"):
        bandit.pull(0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LogisticRegression(rate=0.0), "rate"),
        (lambda: LogisticRegression(scheme="inverse-sqr"), "did you mean"),
        (lambda: Network(()), "hidden"),
        (lambda: Network((0,)), "hidden"),
        (lambda: Network(beta_1=1.0), "beta_1"),
        (lambda: LiveBandit(random_rows(3), [], 5), "arms"),
    ],
)
def test_bad_settings_are_named(make: Any, message: str) -> None:
    with pytest.raises(RisingBanditsError, match=message):
        make()


LINES = (b"9 0:2 3:1 12:4\n1 1:1\n", b"7 2:5 9:1 10000:3\n4 0:1 11:1 80000:1\n")


def test_original_folder_and_archive(tmp_path: Path) -> None:
    folder = tmp_path / "aclImdb"
    with tarfile.open(tmp_path / "aclImdb_v1.tar.gz", "w:gz") as archive:
        for part, text in zip(("train", "test"), LINES, strict=True):
            (folder / part).mkdir(parents=True)
            (folder / part / "labeledBow.feat").write_bytes(text)
            entry = tarfile.TarInfo(f"aclImdb/{part}/labeledBow.feat")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text))
    expected = np.zeros((4, 10))
    expected[0, [0, 3]] = 2, 1
    expected[1, 1] = 1
    expected[2, [2, 9]] = 5, 1
    expected[3, 0] = 1
    for path in (folder, tmp_path, tmp_path / "aclImdb_v1.tar.gz"):
        rows = load_imdb(path, features=10)
        np.testing.assert_array_equal(dense(rows), expected)
        assert rows.labels.tolist() == [1, 0, 1, 0]


def test_compact_file_is_cut_to_the_first_columns(imdb: Rows) -> None:
    assert (imdb.n_rows, imdb.features, imdb.labels.sum()) == (50_000, 1000, 25_000)
    assert imdb.indices.max() == 999
    wide = load_imdb(features=10_000)
    own = slice(wide.indptr[7], wide.indptr[8])
    kept = wide.indices[own] < 1000
    cut = slice(imdb.indptr[7], imdb.indptr[8])
    np.testing.assert_array_equal(wide.indices[own][kept], imdb.indices[cut])
    np.testing.assert_array_equal(wide.values[own][kept], imdb.values[cut])


def test_missing_and_damaged_data_are_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RISINGBANDITS_DATA", raising=False)
    with pytest.raises(RisingBanditsError, match=r"never downloaded.*--data.*digits"):
        load_imdb()
    with pytest.raises(RisingBanditsError, match="holds no IMDB reviews"):
        load_imdb(tmp_path)
    for name, content in (("a.npz", b"PK\x03\x04"), ("b.tar.gz", b"no archive")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(RisingBanditsError, match="no readable reviews"):
            load_imdb(tmp_path / name)


def test_digits() -> None:
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    rows = load_digits()
    assert (rows.n_rows, rows.features) == (1797, 64)
    assert 0.45 < rows.labels.mean() < 0.55
    bandit = LiveBandit(rows, [Network((2,)), LogisticRegression(0.003)], 1797).reset(0)
    assert bandit.train(1)[-500:].mean() > 0.75
