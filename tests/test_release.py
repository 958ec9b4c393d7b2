"""Versions and bounds agree wherever they are written, and what makes and tests a release does what it says."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import environments
import lowest_versions
import matrix
import readme_on_index
import release
import risingbandits

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
WORKFLOW = (ROOT / ".github" / "workflows" / "ci.yml").read_text()


def test_the_version_is_the_same_everywhere() -> None:
    assert release.version() == risingbandits.__version__


def test_the_page_on_citing_says_what_the_file_for_programs_says() -> None:
    """Titles, years and family names."""
    said, page = (ROOT / "CITATION.cff").read_text(), (ROOT / "docs" / "cite.md").read_text()
    for title in re.findall(r'^ *title: "(.+)"$', said, re.MULTILINE):
        assert f"= {{{title}}}" in page
    assert re.findall(r"^ *year: (\d+)$", said, re.MULTILINE) == re.findall(r"^ *year *= \{(\d+)\}", page, re.MULTILINE)
    for family in re.findall(r"family-names: (.+)$", said, re.MULTILINE):
        assert family.replace("ò", r"{\`o}") + ", " in page


def test_constraints_of_the_lowest_versions_are_current() -> None:
    assert (ROOT / "constraints-lowest.txt").read_text() == lowest_versions.text(), (
        "run python tools/lowest_versions.py"
    )


def test_a_requirement_without_a_lower_bound_is_refused() -> None:
    with pytest.raises(ValueError, match=r"must be a name and one lower bound, such as .*, got 'numpy'"):
        lowest_versions.lowest_versions({"dependencies": ["numpy"], "optional-dependencies": {}})


def test_the_readme_on_an_index_has_no_relative_link() -> None:
    text = (ROOT / "README.md").read_text()
    assert len(readme_on_index.relative_links(text)) > 3
    for source in (None, "https://example.org/risingbandits"):
        shown = readme_on_index.on_index(text, source, "0.2.0")
        assert readme_on_index.relative_links(shown) == []
        assert re.findall(r"^```.*?^```", shown, re.DOTALL | re.MULTILINE) == re.findall(
            r"^```.*?^```", text, re.DOTALL | re.MULTILINE
        )
    assert shown.count("https://example.org/risingbandits/") == len(readme_on_index.relative_links(text))


def test_a_wheel_with_another_version_or_other_files_is_unfit(tmp_path: Path) -> None:
    inside = release.package_files()
    assert "risingbandits/reports/pages/assets/page.js" in inside

    def wheel(names: set[str], version: str, description: str) -> Path:
        with zipfile.ZipFile(tmp_path / "a.whl", "w") as file:
            for name in names:
                file.writestr(name, "")
            file.writestr("a.dist-info/METADATA", f"Version: {version}\n\n{description}\n")
        return tmp_path / "a.whl"

    release.check_wheel(wheel(inside, "1.0", "[a](https://example.org)"), "1.0")
    with pytest.raises(release.Unfit, match=r"must have version 1\.0, got 0\.9"):
        release.check_wheel(wheel(inside, "0.9", ""), "1.0")
    with pytest.raises(release.Unfit, match=r"these differ: \['risingbandits/py.typed'\]"):
        release.check_wheel(wheel(inside - {"risingbandits/py.typed"}, "1.0", ""), "1.0")
    with pytest.raises(release.Unfit, match=r"cannot follow these links of the README: docs/a\.md"):
        release.check_wheel(wheel(inside, "1.0", "[a](docs/a.md)"), "1.0")


def test_commands_of_the_readme_are_found() -> None:
    assert len(release.readme_commands(ROOT / "README.md")) >= release._LEAST


def test_the_matrix_has_every_python_of_the_package_and_its_tests_exist() -> None:
    cells = {cell.name: cell for cell in matrix.cells()}
    assert list(cells) == ["python3.11", "python3.12", "python3.13", "lowest", "core"]
    for test in (*matrix._TESTS, *matrix._TESTS_OF_EXTRAS):
        assert (ROOT / test.partition("::")[0]).exists(), test
    extras = PROJECT["optional-dependencies"]
    assert [name for name in matrix._EXTRAS.split(",") if name not in extras] == []
    assert len(matrix._pinned(matrix._TOOLS)) == len(matrix._TOOLS)


def test_an_interpreter_is_known_by_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert environments.find_interpreter(own) == Path(sys.executable)
    shim = tmp_path / "python3.99"  # as pyenv has them: there, but not active
    shim.write_text("#!/bin/sh\necho 'python3.99: command not found' >&2\nexit 127\n")
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    assert environments.find_interpreter("3.99") is None
    there = tmp_path / "versions" / "3.99.10" / "bin" / "python"
    there.parent.mkdir(parents=True)
    there.write_text("#!/bin/sh\necho 3.99\n")
    there.chmod(0o755)
    assert environments.find_interpreter("3.99") == there


@pytest.mark.parametrize(("named", "code", "said"), [([], 0, "passed over"), (["lowest"], 1, "FAILED")])
def test_a_python_that_is_not_there_is_passed_over_unless_it_is_named(
    named: list[str],
    code: int,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(matrix, "_FOLDER", tmp_path)  # or it would remove environments that are in use
    monkeypatch.setattr(matrix, "find_interpreter", lambda version: None)
    monkeypatch.setattr(matrix, "_play", lambda cell, interpreter: "passed")
    assert matrix.main(named) == code
    assert f"lowest     {said}: no Python 3.11 on PATH or in pyenv" in capsys.readouterr().out


def test_a_command_that_fails_says_what_it_printed() -> None:
    with pytest.raises(environments.CommandFailed, match=r"ended with exit code 3\nwhy"):
        environments.run([sys.executable, "-c", "print('why'); raise SystemExit(3)"])


def test_the_workflow_calls_targets_that_exist_and_every_cell() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    called = re.findall(r"run: make ([a-z-]+)", WORKFLOW)
    assert {"test", "test-matrix", "docs", "release"} <= set(called) <= targets
    runs = re.findall(r"- run: (.+)", WORKFLOW)
    elsewhere = ['python -m pip install ".[fast]" psutil', "python tools/any_system.py"]  # not every system has make
    assert [line for line in runs if not line.startswith("make ")] == elsewhere
    assert re.findall(r"cell: ([\w.]+),", WORKFLOW) == [cell.name for cell in matrix.cells()]
    given = dict(re.findall(r'cell: ([\w.]+), python: "([\d.]+)"', WORKFLOW))
    assert given == {cell.name: cell.python for cell in matrix.cells()}


def test_files_of_a_source_distribution_exist() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    listed = settings["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    assert [name for name in listed if not (ROOT / name).exists()] == []
    kept = subprocess.run(["git", "ls-files", "--", *listed], cwd=ROOT, capture_output=True, text=True)
    if kept.returncode == 0 and kept.stdout:
        assert {name.partition("/")[0] for name in kept.stdout.splitlines()} == set(listed)
