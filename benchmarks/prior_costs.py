"""What a folder of earlier runs costs when a run begins: seconds of the processor to read it.

    python benchmarks/prior_costs.py

10,000 runs of 10 arms with three hyperparameters and 100 pulls are remembered in one folder. Another run reads them:
the first time, when their index is made, and again, with the same 10 arms and with 1,000 new ones.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from risingbandits import Allocator
from risingbandits._core.tables import TextTable

RUNS = 10_000
Config = dict[str, float | str]


def configs(prefix: str, count: int) -> dict[str, Config]:
    """Arms with three hyperparameters each."""
    return {
        f"{prefix} {i}": {"lr": 10.0 ** -(3 * i / count), "decay": i * 7 % count / count, "opt": ["sgd", "adam"][i % 2]}
        for i in range(count)
    }


def fill(folder: Path) -> None:
    """Remember one run, and the same 10,000 times under other names."""
    arms = configs("arm", 10)
    allocator = Allocator(list(arms), 100, objective="best-arm", configs=arms, remember=folder)
    for pull in allocator:
        allocator.tell(pull, int(pull.arm.split()[1]) / 12 * pull.n / (pull.n + 2))
    [path] = folder.iterdir()
    entry = json.loads(gzip.decompress(path.read_bytes()))
    for number in range(1, RUNS):
        text = json.dumps({**entry, "name": f"run {number}", "identity": f"{number:016x}"})
        (folder / f"run {number}.run.json.gz").write_bytes(gzip.compress(text.encode()))


def seconds(folder: Path, arms: dict[str, Config]) -> float:
    """To create an allocator that knows what the folder says."""
    before = time.process_time()
    allocator = Allocator(list(arms), 10 * len(arms), prior=folder, configs=arms)
    found = time.process_time() - before
    assert allocator.settings.prior is not None
    assert allocator.settings.prior.tasks == RUNS
    return found


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    with TemporaryDirectory() as name:
        folder = Path(name)
        fill(folder)
        rows = [
            ("the first time", f"{seconds(folder, configs('arm', 10)):.1f}"),
            ("again, with the same 10 arms", f"{seconds(folder, configs('arm', 10)):.1f}"),
            ("again, with 1,000 new arms", f"{seconds(folder, configs('new', 1_000)):.1f}"),
        ]
    print(TextTable(("10,000 runs in a folder", "CPU s"), rows, frozenset({1})).markdown())


if __name__ == "__main__":
    main()
