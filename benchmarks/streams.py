"""`RisingClassifier` on streams: beside River's own bandits, and on streams that change half-way.

    python benchmarks/streams.py               # 14 streams and two that change, ten seeds; a few minutes
    python benchmarks/streams.py --quick       # two seeds, short

The first table has every classification stream of River that needs no download and does not drift, with its default
parameters, shuffled or drawn by the seed; at most 2,000 samples. Each sample trains one of seven models, in an order
that the seed decides. River's bandits have no burn-in, which would train all models on each sample. The policy of
`RisingClassifier` was chosen on other streams: on twenty for classification and ten for regression.

In the second, two features have a tenth of the labels wrong. First y is a + b > 0; then, in *other shape*, a * b > 0,
for which a linear model is useless, and in *turned*, a + b < 0, for which everybody has to learn anew.
"""

# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

import argparse
import itertools
import random
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from river import datasets, drift, linear_model, metrics, model_selection, naive_bayes, neighbors, optim, tree
from river.datasets import synth
from river.preprocessing import StandardScaler

from model_choice_runs import in_order, river_policy, stream_models
from risingbandits.integrations import RisingClassifier
from risingbandits.lab.paper.imdb._tables import Paired

__all__ = ["CHANGES", "CONTENDERS", "POLICIES", "STREAMS", "main", "play", "play_change", "rows_of"]

MOST = 2_000  # samples of a stream
# River's, by the seed: four real ones, which are shuffled, and ten that are drawn.
STREAMS: dict[str, Callable[[int], Any]] = {
    "Bananas": lambda seed: datasets.Bananas(),
    "ImageSegments": lambda seed: datasets.ImageSegments(),
    "Phishing": lambda seed: datasets.Phishing(),
    "Shuttle": lambda seed: datasets.Shuttle(),
    "Agrawal": lambda seed: synth.Agrawal(seed=seed),
    "Hyperplane": lambda seed: synth.Hyperplane(seed=seed),
    "LED": lambda seed: synth.LED(seed=seed),
    "Mixed": lambda seed: synth.Mixed(seed=seed),
    "RandomRBF": lambda seed: synth.RandomRBF(seed_model=seed, seed_sample=seed),
    "RandomTree": lambda seed: synth.RandomTree(seed_tree=seed, seed_sample=seed),
    "SEA": lambda seed: synth.SEA(seed=seed),
    "Sine": lambda seed: synth.Sine(seed=seed),
    "STAGGER": lambda seed: synth.STAGGER(seed=seed),
    "Waveform": lambda seed: synth.Waveform(seed=seed),
}
OURS = "RisingClassifier"
CONTENDERS = (OURS, "River UCB", "River EpsilonGreedy")

HALF = 2_500
CHANGES: dict[str, Callable[[float, float], bool]] = {
    "other shape": lambda a, b: a * b > 0,
    "turned": lambda a, b: a + b < 0,
}
POLICIES = ("gaussian-ucb", "kl-ucb", "sw-ucb", "d-ucb")


def rows_of(stream: str, seed: int, most: int = MOST) -> list[tuple[dict[Any, Any], int]]:
    """Samples of a stream. Labels are numbers: River's models add up over sets, whose order differs for strings."""
    data = STREAMS[stream](seed)
    if isinstance(data, datasets.base.SyntheticDataset):
        rows = list(data.take(most))
    else:
        rows = list(data)
        random.Random(seed).shuffle(rows)
    number = {label: place for place, label in enumerate(sorted({y for _, y in rows}))}
    return [(x, number[y]) for x, y in rows[:most]]


def play(stream: str, contender: str, seed: int, most: int = MOST) -> tuple[float, bool]:
    """The share of right predictions, each made before its sample is learnt, and whether a model was said to fall."""
    rows = rows_of(stream, seed, most)
    models = list(in_order(seed, stream_models(len({y for _, y in rows}) == 2)).values())
    model: Any
    if contender.startswith("River"):
        policy = river_policy(contender, seed)
        model = model_selection.BanditClassifier(models, metric=metrics.Accuracy(), policy=policy)
    else:
        model = RisingClassifier(models, seed=seed)
    scaler, right = StandardScaler(), 0
    for x, y in rows:
        scaler.learn_one(x)
        scaled = scaler.transform_one(x)
        right += model.predict_one(scaled) == y
        model.learn_one(scaled, y)
    return right / len(rows), getattr(getattr(model, "_watch", None), "warned", False)


def models_of_change(anew: bool) -> list[Any]:
    """Quick and slow ones, of which only the last forgets; or all in River's wrapper that trains a fresh one."""
    plain = [
        linear_model.LogisticRegression(optim.SGD(0.1)),
        naive_bayes.GaussianNB(),
        tree.HoeffdingTreeClassifier(grace_period=50),
        neighbors.KNNClassifier(n_neighbors=5, engine=neighbors.LazySearch(window_size=100)),
    ]
    return [drift.DriftRetrainingClassifier(model) for model in plain] if anew else plain


def play_change(change: str, policy: str, anew: bool, seed: int, half: int = HALF) -> tuple[float, float]:
    """The share of right predictions before and after the change."""
    rng = random.Random(seed)
    chooser = models_of_change(anew)
    rng.shuffle(chooser)
    model = RisingClassifier(chooser, policy, horizon=2 * half, seed=seed)
    right = []
    for t in range(2 * half):
        a, b = rng.uniform(-1, 1), rng.uniform(-1, 1)
        y = (a + b > 0 if t < half else CHANGES[change](a, b)) != (rng.random() < 0.1)
        right.append(model.predict_one({"a": a, "b": b}) == y)
        model.learn_one({"a": a, "b": b}, y)
    return float(np.mean(right[:half])), float(np.mean(right[half:]))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--quick", action="store_true", help="two seeds, short")
    options = parser.parse_args(arguments)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that models fall is what the second table is about
        _print(options.quick, options.seeds)


def _print(quick: bool, n_seeds: int) -> None:
    seeds, most = (range(2), 100) if quick else (range(n_seeds), MOST)
    others = CONTENDERS[1:]
    print("| stream | " + " | ".join(CONTENDERS) + " | " + " | ".join(f"over {other}" for other in others) + " |")
    print("| --- |" + " ---: |" * (len(CONTENDERS) + len(others)))
    gains, alarms = [], 0
    for stream in STREAMS:
        found = np.array([[play(stream, contender, seed, most) for contender in CONTENDERS] for seed in seeds])
        shares, alarms = found[:, :, 0], alarms + int(found[:, 0, 1].sum())
        gain = [Paired.of(shares[:, 0] - shares[:, i]) for i in range(1, len(CONTENDERS))]
        gains.append([each.mean for each in gain])
        cells = [f"{mean:.3f}" for mean in shares.mean(axis=0)]
        cells += [f"{each.mean:+.3f} ± {each.half_width:.3f}" for each in gain]
        print(f"| {stream} | {' | '.join(cells)} |", flush=True)
    for other, over in zip(others, np.transpose(gains), strict=True):
        ahead, behind = int((over > 0).sum()), int((over < 0).sum())
        print(f"Over {other}: {over.mean():+.4f} on average, ahead on {ahead}, behind on {behind} of {len(over)}.")
    print(f"A model was said to have got worse in {alarms} of {len(STREAMS) * len(seeds)} runs of {OURS}.")
    print("\n| change | policy | before the change | after it |\n| --- | --- | ---: | ---: |")
    for change, policy, anew in itertools.product(CHANGES, POLICIES, (False, True)):
        half = 300 if quick else HALF
        shares = np.array([play_change(change, policy, anew, seed, half) for seed in seeds])
        cells = [f"{each.mean:.3f} ± {each.half_width:.3f}" for each in (Paired.of(shares[:, i]) for i in (0, 1))]
        print(f"| {change} | {policy}{', models restart' if anew else ''} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
