"""Commands of the documentation made short, and the files that they take for granted."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

from code_blocks import ROOT

# How long ones are made short: words that are added at the end; an option that is given twice counts as given last.
SHORTER = {
    "risingbandits demo": "--runs 1 --horizon 500",
    "risingbandits lab benchmark": "--quick --benchmarks stationary --policies kl-ucb,ucb1 --jobs 1",
    "risingbandits simulate": "--runs 2 --horizon 400",
    "risingbandits lab paper reproduce": "--quick",
    "risingbandits lab paper imdb curves": "--quick --horizon 400 --runs 2",
    "risingbandits lab paper imdb run --dataset": (
        "--quick --arms 2 --horizon 400 --runs 1 --curve-runs 2 --policies kl-ucb,round-robin"
    ),
    "risingbandits lab paper imdb run": "--quick --horizon 400 --runs 1 --curve-runs 2",
    "risingbandits lab paper lower-bounds": "--runs 2 --horizon 500 --policies red-ucb,commit-ucb,kl-ucb",
    "risingbandits logs replay": "--orders 2",
    "python benchmarks/learners.py": "--steps 20",
    "python benchmarks/best_arm.py": "--runs 2",
    "python benchmarks/costs.py": "--orders 1 --every 20 --budget 2",
    "python benchmarks/checkpoints.py": "--tasks 1 --budget 2 --objective best-arm",
    "python benchmarks/workers.py": "--tasks 1 --orders 1 --budget 5",
    "python benchmarks/allocator.py": "--seconds 0.2 --events 2000",
    "python": "--quick",
}
# Places of names that a reader fills in.
FILLED = {"NAME": "commit-ucb", "STORE": "run.db", "path": "my.csv"}


def short(command: str) -> list[str]:
    """The words of a command, with names filled in and those that make it short."""
    added = next((more for start, more in SHORTER.items() if f"{command} ".startswith(f"{start} ")), "")
    return [FILLED.get(word, word) for word in [*shlex.split(command), *added.split()]]


def write_inputs(folder: Path) -> None:
    """Curves, logs and a plan."""
    rises = [(0.4 * (1 - 0.9**n), min(0.9, 0.05 * n)) for n in range(1, 31)]
    for name, sign in (("my.csv", 1), ("curves.csv", 1), ("losses.csv", -1)):
        rows = [",".join(f"{value if sign > 0 else 1 - value:.3f}" for value in row) for row in rises]
        (folder / name).write_text("\n".join(["small net,large net", *rows]) + "\n")
    (folder / "logs").mkdir()
    for width in range(1, 5):
        lines = [
            f"{n},{2 - 0.2 * width * (1 - 0.9**n):.4f},{0.2 * width * (1 - 0.9**n):.4f},{1_700_000_000 + 900 * n}"
            for n in range(1, 21)
        ]
        log = "\n".join(["epoch,val_loss,val_accuracy,timestamp", *lines])
        (folder / "logs" / f"width {width}.csv").write_text(log + "\n")
    for file in (ROOT / "examples" / "shell").iterdir():
        shutil.copy(file, folder)
