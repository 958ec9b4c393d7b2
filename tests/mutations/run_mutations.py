"""Whether the tests notice mistakes: each mutation is put into a copy of the source, where a test must fail.

A process that has loaded what is large (NumPy, Numba, pytest, not this package) forks for each mutation. The child
finds the copy first on its path, and so do the programs that tests start. All tests run once without a mutation, where
they must pass; what Numba has compiled for them is there for all copies, so that only changed kernels are compiled.

    python tests/mutations/run_mutations.py [part of a name, a file or a list ...]
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from mutation import ROOT, SOURCE, Mutation, meant

BAR = 0.95  # of the mutations that can be noticed
_SECONDS = 120  # for the tests of one mutation; a mistake that makes them hang is noticed, too
_PASSED, _FAILED, _NONE = 0, 1, 5  # of pytest; other codes say that the tests could not be run
_HUNG = -1
_WORDS = {_PASSED: "SURVIVED ", _FAILED: "noticed  ", _HUNG: "hung     "}


def main(words: Sequence[str] | None = None) -> int:
    """Run them; 0 if enough of them are noticed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("names", nargs="*", help="parts of names, files or lists (classic); all where none is given")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time (2)")
    given = parser.parse_args(words)
    chosen = meant(given.names)
    possible = [each for each in chosen if not each.equivalent]
    for each in chosen:
        each.apply((SOURCE / each.path).read_text())  # complains of a list that no longer fits
    _load_what_is_large()
    with tempfile.TemporaryDirectory(prefix="rb-mutations-") as folder:
        copies = [_Copy(Path(folder) / str(number)) for number in range(max(1, given.jobs))]
        if not _pass_unchanged(possible, copies):
            print("The tests do not pass without a mutation, so nothing can be said.")
            return 1
        outcomes = {each.name: (code, log) for each, code, log in _all(possible, copies)}
    return _report(chosen, outcomes)


def _pass_unchanged(possible: Sequence[Mutation], copies: Sequence[_Copy]) -> bool:
    """Whether all tests pass without a mutation; each copy tries some of their files, and gets what others compiled."""
    tests = sorted({test for each in possible for test in each.killed_by})
    files = sorted({test.partition("::")[0] for test in tests})
    busy = copies[: len(files)]  # without a test, pytest would take all
    for number, copy in enumerate(busy):
        own = set(files[number :: len(busy)])
        copy.start([test for test in tests if test.partition("::")[0] in own])
    codes = [copy.wait() for copy in busy]
    for copy, code in zip(busy, codes, strict=True):
        if code not in (_PASSED, _NONE):
            print(copy.log.read_text())
        for other in copies:
            copy.take_compiled(other)
    return set(codes) <= {_PASSED, _NONE}


def _load_what_is_large() -> None:
    import hypothesis  # noqa: F401
    import matplotlib  # noqa: F401
    import numba  # noqa: F401
    import pytest  # noqa: F401
    import rich.table  # noqa: F401
    import scipy.stats  # noqa: F401
    import typer  # noqa: F401

    assert not any(name.split(".")[0] == "risingbandits" for name in sys.modules)


class _Copy:
    """A copy of the source in which one mutation at a time is tried."""

    def __init__(self, folder: Path) -> None:
        self.source, self.log = folder / "src", folder / "log"
        shutil.copytree(SOURCE, self.source)  # with time stamps, by which Python and Numba know their caches
        self.mutation: Mutation | None = None
        self._pid = self._deadline = 0
        self._began = 0.0
        self._original = ""

    def put(self, mutation: Mutation) -> None:
        """Make the mistake."""
        path = self.source / mutation.path
        self.mutation, self._original = mutation, path.read_text()
        path.write_text(mutation.apply(self._original))
        self._forget_byte_code(path)

    def take_back(self) -> None:
        """Undo it."""
        assert self.mutation is not None
        path = self.source / self.mutation.path
        path.write_text(self._original)
        shutil.copystat(SOURCE / self.mutation.path, path)
        self._forget_byte_code(path)
        self.mutation = None

    def _forget_byte_code(self, path: Path) -> None:
        """It is found by second and size, which may be equal."""
        for known in path.parent.glob(f"__pycache__/{path.stem}.*.pyc"):
            known.unlink()

    def take_compiled(self, other: _Copy) -> None:
        """What Numba has compiled for another copy and not for this one: an index and the files that it names."""
        for index in other.source.rglob("__pycache__/*.nbi"):
            here = self.source / index.relative_to(other.source)
            if not here.exists():
                here.parent.mkdir(exist_ok=True)
                for file in [*index.parent.glob(f"{index.stem}.*.nbc"), index]:
                    shutil.copy2(file, here.parent)

    @property
    def seconds(self) -> float:
        """Since the tests began."""
        return time.monotonic() - self._began

    def start(self, tests: Sequence[str]) -> None:
        """Run tests in a child."""
        self._began = time.monotonic()
        self._deadline = int(time.monotonic()) + _SECONDS * (1 if self.mutation else 20)
        self._pid = os.fork()
        if self._pid == 0:
            os.setpgid(0, 0)  # so that programs of hanging tests are ended with them
            code = 3
            try:
                code = self._run(tests)
            finally:
                os._exit(code)

    def _run(self, tests: Sequence[str]) -> int:
        with self.log.open("w") as log:
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)
        sys.path.insert(0, str(self.source))
        before = os.environ.get("PYTHONPATH")
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(self.source), before]))
        os.chdir(ROOT)
        import pytest

        options = ["-x", "-q", "-n", "0", "-p", "no:cacheprovider", "--tb=line", "-W", "default", "-m", "not slow"]
        options += ["--hypothesis-profile=unshrunk"]
        return int(pytest.main([*options, *tests]))

    def poll(self) -> int | None:
        """The exit code of the tests, None while they run."""
        pid, status = os.waitpid(self._pid, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > self._deadline:
            os.killpg(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)
            return _HUNG
        return None

    def wait(self) -> int:
        """The exit code of the tests."""
        while (code := self.poll()) is None:
            time.sleep(0.02)
        return code


def _all(waiting: Sequence[Mutation], copies: Sequence[_Copy]) -> Iterator[tuple[Mutation, int, str]]:
    """Each mutation with the exit code of its tests and what they said, as they end."""
    left = list(waiting)
    running: list[_Copy] = []
    free = list(copies)
    while left or running:
        while left and free:
            copy = free.pop()
            copy.put(left.pop(0))
            assert copy.mutation is not None
            copy.start(copy.mutation.killed_by)
            running.append(copy)
        time.sleep(0.02)
        for copy in list(running):
            code = copy.poll()
            if code is not None:
                assert copy.mutation is not None
                word = _WORDS.get(code, "crashed  " if code < 0 else "not run  ")
                print(f"{word} {copy.seconds:5.1f} s  {copy.mutation.name}", flush=True)
                yield copy.mutation, code, copy.log.read_text()
                copy.take_back()
                running.remove(copy)
                free.append(copy)


def _report(chosen: Sequence[Mutation], outcomes: dict[str, tuple[int, str]]) -> int:
    noticed = [name for name, (code, _) in outcomes.items() if code == _FAILED or code < 0]  # < 0: hung, or crashed
    survived = [name for name, (code, _) in outcomes.items() if code == _PASSED]
    broken = {name: log for name, (code, log) in outcomes.items() if code > _FAILED}
    for each in chosen:
        if each.equivalent:
            print(f"equivalent {each.name}: {each.equivalent}")
    for name, log in broken.items():
        print(f"The tests of {name} could not be run:\n{log}")
    share = len(noticed) / max(1, len(outcomes))
    print(f"{len(noticed)} of {len(outcomes)} mutations are noticed ({share:.0%}; at least {BAR:.0%} must be).")
    if survived:
        print("Not noticed:", ", ".join(sorted(survived)))
    return int(bool(broken) or share < BAR)


if __name__ == "__main__":
    raise SystemExit(main())
