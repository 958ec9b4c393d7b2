"""Write constraints-lowest.txt, the lowest versions that pyproject.toml allows; with --check say if it is current."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).resolve().parents[1]
_FILE = _ROOT / "constraints-lowest.txt"
_HEADER = (
    "# The lowest versions that pyproject.toml allows, for `make test-matrix`; tools/lowest_versions.py writes them.\n"
)
_BOUND = re.compile(r"([\w.-]+)(?:\[[\w,-]+\])?>=([\w.]+)(?:;.*)?")
# Tools of this project, of which constraints.txt pins the versions.
_TOOLS = ("docs", "bench", "dev", "frameworks")


def lowest_versions(project: dict[str, Any]) -> dict[str, str]:
    """The lowest version of each library that a user may have, by name.

    Where two extras differ the lower bound counts: the higher one is that of the more demanding extra.

    >>> extras = {"a": ["x[y]>=1.10"], "b": ["x>=1.9"]}
    >>> lowest_versions({"dependencies": ["numpy>=2.0"], "optional-dependencies": extras})
    {'numpy': '2.0', 'x': '1.9'}
    """
    extras = project["optional-dependencies"]
    named = [*project["dependencies"], *(line for extra in extras if extra not in _TOOLS for line in extras[extra])]
    lowest: dict[str, str] = {}
    for line in named:
        if line.startswith("risingbandits["):  # extras of our own
            continue
        bound = _BOUND.fullmatch(line)
        if bound is None:
            raise ValueError(f"a requirement must be a name and one lower bound, such as 'numpy>=2.0', got {line!r}.")
        name, version = bound.group(1).lower(), bound.group(2)
        lowest[name] = min(version, lowest.get(name, version), key=_order)
    return dict(sorted(lowest.items()))


def _order(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


def text() -> str:
    """The whole file."""
    project = tomllib.loads((_ROOT / "pyproject.toml").read_text())["project"]
    return _HEADER + "".join(f"{name}=={version}\n" for name, version in lowest_versions(project).items())


def main() -> int:
    """Return the exit code."""
    if "--check" not in sys.argv[1:]:
        _FILE.write_text(text())
        return 0
    current = _FILE.is_file() and _FILE.read_text() == text()
    print(f"{_FILE.name} is {'current' if current else 'old: run python tools/lowest_versions.py'}.")
    return int(not current)


if __name__ == "__main__":
    sys.exit(main())
