"""Six networks on digits: how good is the one that is kept, with a share of the steps that training all of them takes?

    python benchmarks/digits_networks.py               # ten seeds, 30 epochs, a few minutes
    python benchmarks/digits_networks.py --quick       # two seeds, 6 epochs, to see that it works

A seed splits scikit-learn's digits into 1,000 images to learn from, 397 to choose by and 400 to test on, and starts the
networks. "all" trains every network for all epochs and keeps the one that is best on those to choose by; "equal shares"
does the same with as many epochs for each as the share allows; the allocator has its defaults, an epoch is a pull, and
no network gets more epochs than in "all". All are tested at the end on images that nobody has seen; differences are
taken seed by seed. Needs PyTorch: run it with .venv-frameworks/bin/python (make test-frameworks makes it).
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # small matrices: more threads are slower

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn

from risingbandits import Allocator
from risingbandits._core.stats import half_width
from risingbandits.allocation import Pull
from risingbandits.integrations import TorchArm

__all__ = ["NETWORKS", "main", "networks", "split"]

EPOCHS, SEEDS, SHARES = 30, 10, (0.2, 0.3, 0.4)
NETWORKS: dict[str, Any] = {
    "linear": (lambda: nn.Linear(64, 10), 0.01),
    "8 units": (lambda: _dense(8), 0.01),
    "64 units": (lambda: _dense(64), 0.003),
    "64 units, slow": (lambda: _dense(64), 0.0003),
    "256 + 256 units, dropout": (lambda: _dense(256, 256, dropout=0.5), 0.001),
    "convolutional": (lambda: _convolutional(), 0.002),
}


def _dense(*widths: int, dropout: float = 0.0) -> Any:
    layers: list[Any] = []
    before = 64
    for width in widths:
        layers += [nn.Linear(before, width), nn.ReLU(), nn.Dropout(dropout)]
        before = width
    return nn.Sequential(*layers, nn.Linear(before, 10))


def _convolutional() -> Any:
    return nn.Sequential(
        nn.Unflatten(1, (1, 8, 8)),
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Dropout(0.3),
        nn.Linear(128, 10),
    )


def split(seed: int) -> list[Any]:
    """Images and labels to learn from, to choose by and to test on."""
    images, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(labels))
    parts = np.split(order, [1000, 1397])
    return [(torch.tensor(images[part] / 16, dtype=torch.float32), torch.tensor(labels[part])) for part in parts]


class Batches:
    """Batches of 32 in a new order in each pass; for data in memory many times as fast as a DataLoader."""

    def __init__(self, images: Any, labels: Any) -> None:
        self.images, self.labels = images, labels

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        for rows in torch.randperm(len(self.labels)).split(32):
            yield self.images[rows], self.labels[rows]


def accuracy(model: Any, images: Any, labels: Any) -> float:
    return float((model(images).argmax(1) == labels).float().mean())


def tested(model: Any, part: Any) -> float:
    model.eval()
    with torch.no_grad():
        return accuracy(model, *part)


def networks(seed: int, data: list[Any]) -> dict[str, TorchArm]:
    """The six networks as arms, in an order that the seed decides."""
    names = [list(NETWORKS)[i] for i in np.random.default_rng([seed, 1]).permutation(len(NETWORKS))]
    return {name: _arm(NETWORKS[name], seed, data) for name in names}


def _arm(network: tuple[Any, float], seed: int, data: list[Any]) -> TorchArm:
    build, rate = network
    torch.manual_seed(seed)
    model = build()
    return TorchArm(
        model,
        torch.optim.Adam(model.parameters(), lr=rate),
        lambda: Batches(*data[0]),
        train_step=lambda model, batch: nn.functional.cross_entropy(model(batch[0]), batch[1]),
        evaluate=lambda model: accuracy(model, *data[1]),
        seed=seed,
    )


def all_trained(seed: int, epochs: int, shares: Sequence[float]) -> dict[str, tuple[float, str]]:
    """The accuracy and the name of what is kept when all are trained alike, for all epochs and for shares of them."""
    data = split(seed)
    arms = networks(seed, data)
    stops = {f"equal shares, {share:.0%}": max(1, round(share * epochs)) for share in shares} | {"all": epochs}
    found: dict[str, tuple[float, str]] = {}
    for n in range(1, epochs + 1):
        valid: dict[str, Any] = {name: arm.pull(Pull(n, name, n)).reward for name, arm in arms.items()}
        kept = max(valid, key=lambda name: valid[name])
        found |= {row: (tested(arms[kept].model, data[2]), kept) for row, stop in stops.items() if n == stop}
    return found


def allocated(seed: int, epochs: int, share: float) -> tuple[float, str]:
    """The accuracy and the name of what the allocator keeps."""
    data = split(seed)
    arms = networks(seed, data)
    allocator = Allocator(arms, round(share * epochs * len(arms)), max_pulls=epochs, seed=seed)
    allocator.run(progress=False)
    kept = allocator.recommend()
    return tested(arms[kept].model, data[2]), kept


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--quick", action="store_true", help="two seeds and 6 epochs")
    chosen = parser.parse_args(arguments)
    seeds, epochs = (2, 6) if chosen.quick else (chosen.seeds, chosen.epochs)
    rows: dict[str, list[tuple[float, str]]] = {}
    for seed in range(seeds):
        for row, outcome in all_trained(seed, epochs, SHARES).items():
            rows.setdefault(row, []).append(outcome)
        for share in SHARES:
            rows.setdefault(f"allocator, {share:.0%}", []).append(allocated(seed, epochs, share))
    full = np.array([accuracy for accuracy, _ in rows["all"]])
    print(f"{seeds} seeds, {epochs} epochs of {1000 // 32 + 1} steps, six networks; 95 % intervals over seeds.\n")
    print("| steps | accuracy on the test images, % | beside all, points | same network as all |")
    print("| --- | --- | --- | --- |")
    for row in ["all", *sorted((row for row in rows if row != "all"), key=lambda row: (row.split(", ")[1], row))]:
        values = np.array([accuracy for accuracy, _ in rows[row]])
        gaps = 100 * (values - full)
        same = sum(kept == best for (_, kept), (_, best) in zip(rows[row], rows["all"], strict=True))
        beside = "" if row == "all" else f"{gaps.mean():+.2f} ± {float(half_width(gaps)):.2f}"
        mean, width = 100 * values.mean(), 100 * float(half_width(values))
        print(f"| {row} | {mean:.2f} ± {width:.2f} | {beside} | {same} of {seeds} |")


if __name__ == "__main__":
    main()
