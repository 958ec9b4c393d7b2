"""Build what is released, and try it in an empty environment: metadata, contents, README, and commands from the wheel.

    python tools/release.py

Builds dist/ from the sources, checks both files, installs the wheel without extras into an empty environment in
.venv-release/ and runs what the README shows from an empty folder. Nothing is published or tagged: the last line says
what is left to do.
"""

from __future__ import annotations

import email
import hashlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from environments import ROOT, CommandFailed, Environment, run
from readme_on_index import relative_links

sys.path.insert(0, str(ROOT / "tests" / "helpers"))

from code_blocks import SHELL, blocks
from short_commands import short, write_inputs

_FOLDER = ROOT / ".venv-release"
_DIST = ROOT / "dist"
_LEAST = 5  # commands of the README that must work without extras
_NO_EXTRA = re.compile(r"pip install 'risingbandits\[[\w,]+\]'")


class Unfit(Exception):
    """Why this cannot be released, in one sentence."""


def version() -> str:
    """The version, on which _version.py, CITATION.cff, docs/cite.md and CHANGELOG.md must agree."""
    places = {
        "src/risingbandits/_version.py": r'^__version__ = "(.+)"$',
        "CITATION.cff": r"^version: (.+)$",
        "docs/cite.md": r"^  version = \{(.+)\}$",
        "CHANGELOG.md": r"^## (\S+), (?:unreleased|\d{4}-\d{2}-\d{2})$",
    }
    named: dict[str, str] = {}
    for place, pattern in places.items():
        found = re.search(pattern, (ROOT / place).read_text(), re.MULTILINE)
        if found is None:
            raise Unfit(f"{place} must name the version in a line like {pattern}.")
        named[place] = found[1]
    if len(set(named.values())) > 1:
        raise Unfit(f"the version must be the same everywhere, got {named}.")
    return named["CITATION.cff"]


def is_dated(of: str) -> bool:
    """Whether the changelog has a date for a version."""
    return re.search(rf"^## {re.escape(of)}, \d", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE) is not None


def build() -> tuple[Path, Path]:
    """Make the source distribution, and the wheel from that."""
    tools = Environment(_FOLDER / "tools", Path(sys.executable))
    pins = (word for name in ("constraints.txt", "constraints-release.txt") for word in ("--constraint", ROOT / name))
    tools.install(*pins, "build", "twine", "readme-renderer[md]", "hatchling")
    shutil.rmtree(_DIST, ignore_errors=True)
    tools.run(["python", "-m", "build", "--no-isolation", "--outdir", _DIST, ROOT])
    [wheel], [source] = list(_DIST.glob("*.whl")), list(_DIST.glob("*.tar.gz"))
    tools.run(["twine", "check", "--strict", wheel, source])
    return wheel, source


def package_files() -> set[str]:
    """The files of the package, as a wheel names them: those that git knows, or without git those that are there."""
    if (ROOT / ".git").exists():
        names = run(["git", "ls-files", "src"]).splitlines()
    else:
        names = [path.relative_to(ROOT).as_posix() for path in (ROOT / "src").rglob("*") if path.is_file()]
    return {name.removeprefix("src/") for name in names if "__pycache__" not in name}


def check_wheel(wheel: Path, expected: str) -> None:
    """Raise `Unfit` unless the wheel has exactly the package's files, this version, and no link that leads nowhere."""
    ours = package_files()
    with zipfile.ZipFile(wheel) as file:
        inside = {name for name in file.namelist() if ".dist-info/" not in name}
        [path] = [name for name in file.namelist() if name.endswith(".dist-info/METADATA")]
        metadata = email.message_from_bytes(file.read(path))
    if inside != ours:
        raise Unfit(f"the wheel must have the files of src and no others, but these differ: {sorted(inside ^ ours)}.")
    if metadata["Version"] != expected:
        raise Unfit(f"the wheel must have version {expected}, got {metadata['Version']}.")
    described = metadata.get_payload(decode=True)
    assert isinstance(described, bytes)
    if left := relative_links(described.decode()):
        raise Unfit(f"an index cannot follow these links of the README: {', '.join(left)}.")


def try_wheel(wheel: Path) -> list[str]:
    """Install the wheel without extras and run the README's commands, then its Python; a line for each command."""
    installed = Environment(_FOLDER / "wheel", Path(sys.executable))
    installed.install(wheel)
    readme = ROOT / "README.md"
    lines = []
    with tempfile.TemporaryDirectory(prefix="rb-release-") as place:
        folder = Path(place)
        where = installed.run(["python", "-c", "import risingbandits; print(risingbandits.__file__)"], folder).strip()
        if not where.startswith(str(installed.folder)):
            raise Unfit(f"the wheel's package must be the one that is imported, got {where}.")
        write_inputs(folder)
        worked = 0
        for command in readme_commands(readme):
            try:
                installed.run(short(command), folder)
                worked += 1
                lines.append(f"works: {command}")
            except CommandFailed as error:
                extra = _NO_EXTRA.search(" ".join(str(error).split()))
                if extra is None or "Traceback" in str(error):
                    raise
                lines.append(f"asks for {extra[0]}: {command}")
        installed.install(f"{wheel}[fast,sklearn]")  # of what the README installs, all that its Python needs
        programs = [block for block in blocks(readme) if block.language == "python" and not block.reason]
        for block in programs:
            installed.run(["python", "-c", block.text], folder)
        lines.append(f"works: {len(programs)} blocks of Python")
    if worked < _LEAST:
        raise Unfit(f"at least {_LEAST} commands of the README must work without extras, got {worked}.")
    if not programs:
        raise Unfit("the README must have blocks of Python.")
    return lines


def readme_commands(readme: Path) -> list[str]:
    """The commands ``risingbandits ...`` that a page shows in blocks, in order."""
    shown = [command for block in blocks(readme) if block.language in SHELL for command in block.commands()]
    return [command for command in shown if shlex.split(command)[0] == "risingbandits"]


def main() -> int:
    """Return the exit code."""
    try:
        number = version()
        wheel, source = build()
        check_wheel(wheel, number)
        print("\n".join(try_wheel(wheel)))
    except (Unfit, CommandFailed) as error:
        print(f"Not fit for release: {error}", file=sys.stderr)
        return 1
    for path in (wheel, source):
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        print(f"{path.relative_to(ROOT)}  {path.stat().st_size:,} bytes  SHA-256 {digest}")
    print(_next_steps(number))
    return 0


def _next_steps(number: str) -> str:
    steps = []
    if not is_dated(number):
        steps.append(f'write today\'s date instead of "unreleased" after {number} in CHANGELOG.md and commit it')
    if _has_changes():
        steps.append("commit what is changed: the files above are of a tree that no commit has")
    steps.append(f"git tag v{number}")
    return f"Version {number} is fit for release. Next: " + "; then ".join(steps)


def _has_changes() -> bool:
    try:
        done = subprocess.run(["git", "status", "--porcelain"], cwd=ROOT, capture_output=True, text=True)
    except OSError:
        return False
    return bool(done.stdout.strip())


if __name__ == "__main__":
    sys.exit(main())
