"""Whether tests depend on their order: all of them once, then the quick ones many times, each time in another order.

The first run shows how long tests take. Tests that take a fifth of a second or more are left out of the others, and so
are files that take as long to set something up, so that these runs take minutes. Files, and the tests within a file,
are shuffled by the number of the order:

    python tools/orders.py --orders 20
    RISINGBANDITS_TEST_ORDER=7 pytest ...     # order 7 again
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from environments import ROOT

QUICK = 0.2  # seconds
_DURATION = re.compile(r"^(?P<seconds>[\d.]+)s (?P<when>call|setup|teardown) +(?P<test>\S.*?)\s*$", re.MULTILINE)
_SUMMARY = re.compile(r"^(?:=+ )?(?P<line>\d+ (?:failed|passed|error).* in [\d.]+s.*?)(?: =+)?$", re.MULTILINE)


def slow_tests(log: str) -> list[str]:
    """The tests that a log of pytest's ``--durations`` has as slow, and the files that have a slow set-up.

    >>> slow_tests("0.91s call     tests/a.py::test_b[x y]\\n0.02s setup    tests/a.py::test_c")
    ['tests/a.py::test_b[x y]']
    >>> slow_tests("0.91s setup    tests/a.py::test_b")
    ['tests/a.py']
    """
    slow = [each for each in _DURATION.finditer(log) if float(each["seconds"]) >= QUICK]
    return sorted({each["test"] if each["when"] == "call" else each["test"].partition("::")[0] for each in slow})


def summary(log: str) -> str:
    """Pytest's own last line.

    >>> summary("...\\n==== 3 passed, 1 skipped in 0.12s ====")
    '3 passed, 1 skipped in 0.12s'
    """
    found = _SUMMARY.findall(log)
    return found[-1] if found else "no summary"


def play(order: int, jobs: int, left_out: Iterable[str], options: Sequence[str]) -> tuple[int, str]:
    """Run the tests in an order; pytest's exit code and what it printed."""
    with tempfile.TemporaryDirectory() as folder:
        arguments = Path(folder, "arguments")
        arguments.write_text("".join(f"--deselect={test}\n" for test in left_out))
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-n",
            str(jobs),
            "--dist",
            "loadfile",
        ]
        done = subprocess.run(
            [*command, "-m", "not slow", *options, f"@{arguments}"],
            cwd=ROOT,
            env={**os.environ, "RISINGBANDITS_TEST_ORDER": str(order)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
    return done.returncode, done.stdout


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--orders", type=int, default=20, help="how many (20)")
    parser.add_argument("--first", type=int, default=1, help="number of the first one (1)")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time (2)")
    parser.add_argument("--known", type=Path, help="a log of `pytest --durations=0` instead of the run of all tests")
    given = parser.parse_args()
    failed = []
    if given.known:
        log = given.known.read_text()
    else:
        code, log = play(given.first, given.jobs, (), ("--durations=0", f"--durations-min={QUICK}"))
        print(f"all tests, order {given.first}: {summary(log)}", flush=True)
        if code:
            print(log)
            failed.append(f"{given.first} of all tests")
    slow = slow_tests(log)
    for order in range(given.first, given.first + given.orders):
        code, log = play(order, given.jobs, slow, ())
        print(f"quick tests, order {order}: {summary(log)}", flush=True)
        if code:
            print(log)
            failed.append(f"{order} of the quick tests")
    print(f"{given.orders} orders without {len(slow)} slow tests and files; failed: {', '.join(failed) or 'none'}")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
