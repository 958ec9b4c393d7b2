"""The house and its map agree: every package is on it, every public name is documented, files stay small."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import risingbandits as rb

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "risingbandits"
PACKAGES = ("allocation", "integrations", "logs", "policies", "problems", "simulation", "testing", "theory")
LAB = ("lab.benchmark", "lab.related")
THEORY = ("theory.complexity", "theory.estimators", "theory.lower_bounds", "theory.upper_bounds")


def test_every_package_is_on_the_map() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    packages = [path.parent.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("__init__.py")]
    assert len(packages) > 15
    assert [name for name in packages if name != "." and f"`{name}/`" not in text] == []
    named = re.findall(r"`([a-z_/]+)/`", text)
    assert [name for name in named if not (SOURCE / name).is_dir()] == [], "the map has packages that do not exist"
    files = {path.relative_to(ROOT).as_posix() for folder in (SOURCE, ROOT / "tools") for path in folder.rglob("*.py")}
    written = re.findall(r"`([\w/]+\.py)`", text)
    assert [name for name in written if not any(f"/{file}".endswith(f"/{name}") for file in files)] == []


@pytest.mark.parametrize("package", ["", *(name for name in PACKAGES if name != "theory"), *THEORY, *LAB])
def test_every_public_name_is_in_the_api_page(package: str) -> None:
    module = importlib.import_module(f"risingbandits.{package}" if package else "risingbandits")
    text = (ROOT / "docs" / "api.md").read_text()
    documented = set(re.findall(r"risingbandits\.([\w.]+)", text))
    names = [name for name in module.__all__ if name not in ("__version__", *PACKAGES, "lab", "reports")]
    assert len(names) >= 2
    missing = [name for name in names if not {name, f"{package}.{name}"} & documented]
    assert missing == []


def test_modules_that_no_list_of_public_names_knows_begin_with_an_underscore() -> None:
    lists = [path.read_text() for path in (*SOURCE.rglob("__init__.py"), SOURCE / "policies" / "_table.py")]
    listed = "\n".join(lists)
    unknown = []
    for path in SOURCE.rglob("*.py"):
        module = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
        internal = any(part.startswith("_") for part in path.relative_to(SOURCE).parts)
        if (
            not internal
            and not re.search(rf"risingbandits\.{module}\b|\"{module}\"", listed)
            and "__all__" not in path.read_text()
        ):
            unknown.append(module)
    assert unknown == []


def test_the_surface_is_small_lazy_and_complete() -> None:
    assert sorted(rb.__all__) == sorted(dir(rb))
    assert len([name for name in rb.__all__ if name not in (*PACKAGES, "lab")]) <= 18
    for name in rb.__all__:
        assert getattr(rb, name) is not None
    for name, said in (("CommitUCB", "; it is risingbandits.policies.CommitUCB"), ("nothing", "")):
        with pytest.raises(AttributeError) as error:
            getattr(rb, name)
        assert str(error.value) == f"module 'risingbandits' has no attribute {name!r}{said}"


def test_importing_the_package_loads_nothing_large() -> None:
    program = "import sys, risingbandits; print(sorted({'numpy', 'numba', 'scipy', 'rich'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_no_file_is_long() -> None:
    lengths = {path.relative_to(SOURCE).as_posix(): len(path.read_text().splitlines()) for path in SOURCE.rglob("*.py")}
    assert {name: lines for name, lines in lengths.items() if lines > 700} == {}
