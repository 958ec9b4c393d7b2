"""How much regret: every policy over presets, learning-curve families, random and real problems, and hard cases.

    python -m risingbandits.arena.regret  # everything; about half a minute a policy on two cores
    python -m risingbandits.arena.regret --quick                  # tiny sizes, to see that it works
    python -m risingbandits.arena.regret --policies "kl-ucb,red-ucb(eps=0.1)" --groups random,pairs --seed 7
    python -m risingbandits.arena.regret --groups misjudged-sigma --runs 400    # more runs where tails are heavy

Prints a table and writes results.csv, summary.md and summary.json to --out. Finished cells (one policy on one task) are
kept there: a second call continues, and takes nothing that was made with other code, settings or seeds.
Real curves are read from the folder curves/ of RISINGBANDITS_DATA.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from risingbandits import Policy, policy_names
from risingbandits._core.errors import RisingBanditsError, check_positive_int
from risingbandits._version import __version__
from risingbandits.arena.cells import Cell, Cells
from risingbandits.arena.scores import Outcome, Report
from risingbandits.arena.synthetic import GROUPS, Sizes, suite
from risingbandits.arena.tables import overall_table, paired_table, save
from risingbandits.arena.yardstick import FewArmsGaussianUCB
from risingbandits.policies.parsing import parse_policies

__all__ = ["main"]

_FULL, _QUICK = (50, 100), (4, 6)  # runs and instances


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; 0 if all went well, 1 if a policy failed on a task, 2 for arguments that cannot be used."""
    options = _parser().parse_args(arguments)
    try:
        return _run(options)
    except RisingBanditsError as error:
        print(f"regret.py: {error}", file=sys.stderr)
    except OSError as error:
        print(f"regret.py: {error.filename or 'a file'} cannot be used: {error.strerror or error}.", file=sys.stderr)
    except KeyboardInterrupt:
        print("regret.py: interrupted; the same command continues.", file=sys.stderr)
        return 130
    return 2


def _run(options: argparse.Namespace) -> int:
    start = time.perf_counter()
    policies = _policies(options.policies)
    seed = check_positive_int("seed", options.seed, minimum=0)
    jobs = check_positive_int("jobs", (os.cpu_count() or 1) if options.jobs is None else options.jobs)
    runs, instances = _QUICK if options.quick else _FULL
    sizes = Sizes(
        runs if options.runs is None else options.runs,
        instances if options.instances is None else options.instances,
        options.runs_per_instance,
        options.quick,
    )
    groups = GROUPS if options.groups is None else [part.strip() for part in options.groups.split(",")]
    tasks, left_out = suite(groups, seed, sizes, os.environ.get("RISINGBANDITS_DATA"))
    for sentence in left_out:
        print(sentence, file=sys.stderr)
    if not tasks:
        raise RisingBanditsError(f"groups must leave at least one task, got {', '.join(groups)}.")
    cells: dict[str, dict[str, Cell]] = {}
    store = Cells(options.out, jobs)
    store.prepare(policies)
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as bar:
        shown = bar.add_task("", total=len(policies) * sum(task.rounds for task in tasks))
        for task in tasks:
            bar.update(shown, description=task.name)
            store.advance = lambda _label, rounds: bar.advance(shown, rounds)
            cells[task.name] = store.of(task, policies)
    parameters = {
        "version": __version__,
        "seed": seed,
        "runs": sizes.runs,
        "instances": sizes.instances,
        "runs_per_instance": sizes.runs_per_instance,
        "quick": sizes.quick,
    }
    settings = {label: repr(policy) for label, policy in policies.items()}
    report = Report(Outcome(tasks, settings, cells, left_out, parameters))
    save(report, options.out)
    _print(report)
    print(f"{store.played:,} runs played now, {time.perf_counter() - start:.0f} s. Files: {options.out}/summary.md")
    return 1 if report.failures else 0


def _policies(text: str | None) -> dict[str, Policy]:
    """The policies named, or all, with the noise level estimated where that matters most, and the yardstick."""
    if text is not None:
        return parse_policies(text)
    smooth = [f"{name}(sigma='smooth')" for name in ("commit-ucb", "gaussian-ucb")]
    yardstick = FewArmsGaussianUCB()
    return parse_policies(",".join([*policy_names(), *smooth])) | {yardstick.name: yardstick}


def _print(report: Report) -> None:
    console = Console() if sys.stdout.isatty() else Console(width=240)
    console.print(overall_table(report).rich())
    if report.paired:
        console.print(paired_table(report).rich())
    for sentence in report.notes():
        console.print(sentence, markup=False, highlight=False)


def _parser() -> argparse.ArgumentParser:
    described = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        prog="regret.py",
        description=described[0],
        epilog=described[2],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--policies", help="names, with settings in parentheses; all by default")
    parser.add_argument("--groups", help=f"some of {','.join(GROUPS)}; all by default")
    parser.add_argument("--seed", type=int, default=0, help="decides instances and noise (0)")
    parser.add_argument("--runs", type=int, help="runs of a problem at its own horizon (50)")
    parser.add_argument("--instances", type=int, help="fresh random instances (100)")
    parser.add_argument("--runs-per-instance", type=int, default=1, help="runs of each random instance (1)")
    parser.add_argument("--out", type=Path, default=Path("regret-benchmark"), help="folder for cells and tables")
    parser.add_argument("--quick", action="store_true", help="tiny horizons, few problems")
    parser.add_argument("--jobs", type=int, help="threads; one per core by default, no influence on results")
    return parser


if __name__ == "__main__":
    sys.exit(main())
