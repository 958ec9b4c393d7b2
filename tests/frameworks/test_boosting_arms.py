"""`XGBoostArm`, `LightGBMArm`, `CatBoostArm`: pull n is the same whatever happened in between."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import catboost
import lightgbm
import numpy as np
import pytest
import xgboost
from sklearn.datasets import load_digits

from risingbandits import Allocator, Budget, Pull, RisingBanditsError
from risingbandits.integrations import CatBoostArm, LightGBMArm, XGBoostArm
from risingbandits.testing import check_arm, check_failing_arm, check_killed_arm

IMAGES, LABELS = load_digits(return_X_y=True)
TRAIN, VALID = slice(0, 400), slice(1200, 1500)
ROUNDS = 2
DRAWS: dict[Any, dict[str, Any]] = {  # what makes a library draw
    XGBoostArm: {"subsample": 0.5, "colsample_bytree": 0.5},
    LightGBMArm: {"bagging_fraction": 0.5, "bagging_freq": 1, "feature_fraction": 0.5},
    CatBoostArm: {"bootstrap_type": "Bernoulli", "subsample": 0.5, "rsm": 0.5},
}
PARAMS: dict[Any, dict[str, Any]] = {
    XGBoostArm: {"objective": "multi:softprob", "num_class": 10, "max_depth": 3, "nthread": 1},
    LightGBMArm: {"objective": "multiclass", "num_class": 10, "num_leaves": 6, "num_threads": 1, "verbose": -1},
    CatBoostArm: {"loss_function": "MultiClass", "depth": 3, "learning_rate": 0.3, "thread_count": 1},
}
QUIET = {"bootstrap_type": "No", "random_strength": 0}  # CatBoost without chance
ALL = list(PARAMS)
EACH = pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)


def data(kind: Any, rows: slice) -> Any:
    if kind is CatBoostArm:
        return catboost.Pool(IMAGES[rows], LABELS[rows])
    return {XGBoostArm: xgboost.DMatrix, LightGBMArm: lightgbm.Dataset}[kind](IMAGES[rows], label=LABELS[rows])


def make(*, kind: Any, drawing: bool = True, params: dict[str, Any] | None = None, **settings: Any) -> Any:
    params = {**PARAMS[kind], **(DRAWS[kind] if drawing else {}), **(params or {})}
    return kind(params, data(kind, TRAIN), data(kind, VALID), **{"rounds": ROUNDS, "seed": 3, **settings})


def predicted(kind: Any, model: Any) -> Any:
    """Raw predictions, in which every bit of a model shows."""
    if kind is XGBoostArm:
        return model.predict(data(kind, VALID), output_margin=True)
    how = {"raw_score": True} if kind is LightGBMArm else {"prediction_type": "RawFormulaVal"}
    return model.predict(IMAGES[VALID], **how)


def accuracy(model: Any, valid: Any) -> float:
    raw = model.predict(IMAGES[VALID] if not isinstance(valid, xgboost.DMatrix) else valid)
    return float(np.mean(np.argmax(raw, axis=1) == LABELS[VALID]))


def nan_from_third_pull(rounds_of: Callable[[Any], int], model: Any, valid: Any) -> float:
    return float("nan") if rounds_of(model) > 2 * ROUNDS else 0.5


ROUNDS_OF: dict[Any, Callable[[Any], int]] = {
    XGBoostArm: lambda model: model.num_boosted_rounds(),
    LightGBMArm: lambda model: model.current_iteration(),
    CatBoostArm: lambda model: model.tree_count_,
}


@EACH
def test_contract(kind: Any) -> None:
    """With sampling; the losses, which differ in their last bits wherever anything differs, must be equal."""
    check_arm(partial(make, kind=kind), pulls=4)


@pytest.mark.parametrize(
    ("kind", "params"),
    [
        (XGBoostArm, {"booster": "dart", "rate_drop": 0.3}),
        (LightGBMArm, {"boosting": "dart"}),
        (LightGBMArm, {"data_sample_strategy": "goss", "bagging_freq": 0}),
        (CatBoostArm, {"boosting_type": "Ordered"}),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else value.__name__,
)
def test_contract_of_other_ways_to_boost(kind: Any, params: dict[str, Any]) -> None:
    check_arm(partial(make, kind=kind, params=params), pulls=3)


@EACH
def test_killed(kind: Any) -> None:
    check_killed_arm(partial(make, kind=kind), pulls=3)


@EACH
def test_model_is_that_of_one_call_where_nothing_is_drawn(kind: Any) -> None:
    arm = make(kind=kind, drawing=False, params=QUIET if kind is CatBoostArm else {})
    for n in range(1, 5):
        arm.pull(Pull(n, "a", n))
    if kind is CatBoostArm:
        whole = catboost.CatBoost({**arm.params, "iterations": 8, "verbose": False, "allow_writing_files": False})
        whole.fit(data(kind, TRAIN))
    else:
        library = {XGBoostArm: xgboost, LightGBMArm: lightgbm}[kind]
        whole = library.train(arm.params, data(kind, TRAIN), 8)
    assert ROUNDS_OF[kind](arm.model) == 8
    assert np.array_equal(predicted(kind, arm.model), predicted(kind, whole))


@EACH
def test_each_pull_draws_anew_and_each_seed_otherwise(kind: Any) -> None:
    arms = [make(kind=kind, seed=seed) for seed in (1, 1, 2)]
    for n in (1, 2):
        for arm in arms:
            arm.pull(Pull(n, "a", n))
    first, second, other = (predicted(kind, arm.model) for arm in arms)
    assert np.array_equal(first, second)
    assert not np.array_equal(first, other)
    if kind is XGBoostArm:  # the rows that a tree was given show in the weights of its root
        trees = arms[0].model.trees_to_dataframe()
        roots = trees[trees.Node == 0].Cover.to_numpy()
        assert len(set(roots[:: len(roots) // 4])) > 2


@EACH
def test_checkpoint_is_the_librarys_own_file(kind: Any, tmp_path: Path) -> None:
    arm = make(kind=kind)
    arm.save(tmp_path / "new")
    assert make(kind=kind).load(tmp_path / "new") is None  # before the first pull there is no model
    arm.pull(Pull(1, "a", 1))
    arm.save(tmp_path / "kept")
    path = str(tmp_path / "kept" / arm.model_file)
    if kind is CatBoostArm:
        model = catboost.CatBoost().load_model(path)
    else:
        model = {XGBoostArm: xgboost.Booster, LightGBMArm: lightgbm.Booster}[kind](model_file=path)
    assert np.array_equal(predicted(kind, model), predicted(kind, arm.model))
    for other in set(ALL) - {kind}:
        with pytest.raises(
            RisingBanditsError, match=f"kept.* does not exist|is not a checkpoint of this {other.__name__}"
        ):
            make(kind=other).load(tmp_path / "kept")


@EACH
def test_metric_or_score_direction_and_cost(kind: Any) -> None:
    names = {XGBoostArm: ("merror", "mlogloss"), LightGBMArm: ("multi_error", "multi_logloss")}
    error, loss = names.get(kind, ("Accuracy", "MultiClass"))
    by_score = make(kind=kind, score=accuracy, cost="samples")
    by_error = make(kind=kind, metric=error, cost="rounds")
    by_loss = make(kind=kind, metric=loss)
    usual = make(kind=kind)
    outcomes = [arm.pull(Pull(1, "a", 1)) for arm in (by_score, by_error, by_loss, usual)]
    right = outcomes[1].reward if kind is CatBoostArm else 1.0 - outcomes[1].reward
    assert right == pytest.approx(outcomes[0].reward, abs=1e-6)
    assert (outcomes[0].cost, outcomes[1].cost) == (400.0 * ROUNDS, float(ROUNDS))
    assert outcomes[3].cost is None
    assert [by_score.direction, by_loss.direction, usual.direction] == ["maximize", "minimize", "minimize"]
    assert by_error.direction == ("maximize" if kind is CatBoostArm else "minimize")
    assert outcomes[2].reward == outcomes[3].reward
    with pytest.raises(RisingBanditsError, match="got 'maximize', but arm 'a' has 'minimize'"):
        Allocator({"a": by_loss}, 2, direction="maximize", reward_range=None).run(progress=False)


@EACH
def test_failures_are_one_sentence_and_lose_nothing(kind: Any) -> None:
    said = check_failing_arm(partial(make, kind=kind, metric="acuracy"))
    assert "acuracy" in said or "metric" in said
    said = check_failing_arm(
        partial(make, kind=kind, score=partial(nan_from_third_pull, ROUNDS_OF[kind])), good_pulls=2
    )
    assert "the evaluation of arm 'fails' is nan, so this pull does not count" in said


@EACH
def test_bad_arguments(kind: Any) -> None:
    train, valid = data(kind, TRAIN), data(kind, VALID)
    cases: list[tuple[Any, dict[str, Any], str]] = [
        ((["depth"], train, valid), {}, "params must map names to values"),
        (({}, IMAGES, valid), {}, "train must be a"),
        (({}, train, None), {}, "valid must be a"),
        (({}, train, valid), {"rounds": 0}, "rounds must be an integer >= 1, got 0"),
        (({}, train, valid), {"score": 3}, "score must be callable"),
        (({}, train, valid), {"score": accuracy, "metric": "auc"}, "given without metric"),
        (({}, train, valid), {"cost": "tokens"}, "cost must be one of samples, rounds; got 'tokens'"),
        (({}, train, valid), {"direction": "max"}, "direction must be one of maximize, minimize; got 'max'"),
    ]
    for arguments, settings, said in cases:
        with pytest.raises(RisingBanditsError, match=said):
            kind(*arguments, **settings)


def test_a_forest_of_lightgbm_cannot_be_continued() -> None:
    said = check_failing_arm(partial(make, kind=LightGBMArm, params={"boosting": "rf"}), good_pulls=1)
    assert "LightGBM complains: " in said


@EACH
def test_arms_that_share_data_in_threads(kind: Any) -> None:
    """As if each had its own."""
    train, valid = data(kind, TRAIN), data(kind, VALID)
    depth = "num_leaves" if kind is LightGBMArm else "depth" if kind is CatBoostArm else "max_depth"
    params = {f"{depth} {d}": {**PARAMS[kind], **DRAWS[kind], depth: d} for d in (2, 3, 4)}
    arms = {name: kind(own, train, valid, rounds=1, cost="rounds") for name, own in params.items()}
    with Allocator(arms, Budget(cost=9), policy="round-robin", direction="minimize", reward_range=None) as allocator:
        allocator.run(jobs=3, progress=False)
        rewards = {name: allocator.rewards(name) for name in arms}
        assert allocator.ledger.arms[0].config[depth] == 2
    for name, own in params.items():
        alone = kind(own, data(kind, TRAIN), data(kind, VALID), rounds=1)
        assert rewards[name] == [alone.pull(Pull(n, name, n)).reward for n in range(1, len(rewards[name]) + 1)]


@EACH
def test_what_was_lost_is_trained_again(kind: Any) -> None:
    arm, late = make(kind=kind), make(kind=kind)
    rewards = [arm.pull(Pull(n, "a", n)).reward for n in (1, 2, 3)]
    assert late.pull(Pull(3, "a", 3)).reward == rewards[2]
    assert late.pull(Pull(2, "a", 2)).reward == rewards[1]
