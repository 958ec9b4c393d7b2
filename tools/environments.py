"""What the matrix and the release share: interpreters, throw-away environments, and commands that must work."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_ASK = "import sys; print('%d.%d' % sys.version_info[:2])"


class CommandFailed(Exception):
    """A command ended with another code than 0; what it printed is the message."""


def find_interpreter(version: str) -> Path | None:
    """Python ``version``, such as "3.12": the one that runs this, one on PATH, or one of pyenv; None if there is none.

    Each is asked for its version: pyenv puts programs on PATH that only say that they are not active.
    """
    for candidate in _candidates(version):
        try:
            said = subprocess.run([candidate, "-c", _ASK], capture_output=True, text=True, timeout=60)
        except (OSError, subprocess.TimeoutExpired):
            continue
        if said.returncode == 0 and said.stdout.strip() == version:
            return candidate
    return None


def _candidates(version: str) -> Iterator[Path]:
    yield Path(sys.executable)
    for name in (f"python{version}", "python3"):
        if (found := shutil.which(name)) is not None:
            yield Path(found)
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    there = [path for path in (root / "versions").glob(f"{version}.*") if re.fullmatch(r"[\d.]+", path.name)]
    for folder in sorted(there, key=lambda path: int(path.name.rpartition(".")[2]), reverse=True):
        yield folder / "bin" / "python"


class Environment:
    """A virtual environment in ``folder``, made anew; without ``PYTHONPATH`` and what else would reach into it."""

    def __init__(self, folder: Path, interpreter: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        self.folder = folder
        self.bin = folder / "bin"
        run([interpreter, "-m", "venv", folder])

    @property
    def variables(self) -> dict[str, str]:
        """The variables of its programs; machine code that Numba keeps is its own."""
        path = os.pathsep.join([str(self.bin), os.environ.get("PATH", os.defpath)])
        return {**outer_variables(), "PATH": path, "NUMBA_CACHE_DIR": str(self.folder / "numba-cache")}

    def install(self, *words: str | Path) -> None:
        """Install with pip."""
        run([self.bin / "python", "-m", "pip", "install", "-qq", "--disable-pip-version-check", *words])

    def run(self, words: Sequence[str | Path], folder: Path = ROOT, shown: bool = False) -> str:
        """Run one of its programs in ``folder``; what it printed, or nothing where it was ``shown`` as it came."""
        return run([self.bin / words[0], *words[1:]], folder, self.variables, shown)

    def version(self, package: str) -> str:
        """Which version of a package is installed."""
        program = "import sys; from importlib.metadata import version; print(version(sys.argv[1]))"
        return self.run(["python", "-c", program, package]).strip()


def outer_variables() -> dict[str, str]:
    """The variables of this process without those that change where Python looks for modules."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}


def run(
    words: Sequence[str | Path],
    folder: Path = ROOT,
    variables: Mapping[str, str] | None = None,
    shown: bool = False,
) -> str:
    """Run a command; what it printed. `CommandFailed` if its exit code is not 0."""
    done = subprocess.run(
        words,
        cwd=folder,
        env=outer_variables() if variables is None else variables,
        stdout=None if shown else subprocess.PIPE,
        stderr=None if shown else subprocess.STDOUT,
        text=True,
    )
    if done.returncode != 0:
        text = " ".join(str(word) for word in words)
        raise CommandFailed(f"{text}\nended with exit code {done.returncode}\n{done.stdout or ''}".rstrip())
    return done.stdout or ""
