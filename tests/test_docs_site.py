"""The documentation site builds without a warning, its tutorials run, and its pages ask nothing of other hosts."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from risingbandits.policies import policy_class, policy_names

ROOT = Path(__file__).parents[1]
TUTORIALS = sorted(path.stem for path in (ROOT / "docs" / "tutorials").glob("*.py"))
ON_A_CLUSTER = "6_cluster"
# What a browser fetches by itself; links that a reader may follow are not among them.
FETCHED = re.compile(
    r"""<(?:script|img|iframe|source)[^>]*\ssrc=["']?(?:https?:)?//|<link[^>]*href=["']?(?:https?:)?//"""
)
FETCHED_BY_STYLE = re.compile(r"""@import\s+["']?(?:https?:)?//|url\(\s*["']?(?:https?:)?//""")

pytest.importorskip("sphinx", reason="the site needs Sphinx: pip install 'risingbandits[docs]'")
sphinx_gallery = pytest.importorskip("sphinx_gallery", reason="the site needs it: pip install 'risingbandits[docs]'")


@pytest.fixture(scope="module", params=["quick", pytest.param("whole", marks=pytest.mark.slow)])
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built from a copy of the sources, warnings being errors; the quick one starts no cluster."""
    folder = tmp_path_factory.mktemp("site")
    unwanted = shutil.ignore_patterns("gallery", "policy", "__pycache__")
    shutil.copytree(ROOT / "docs", folder / "docs", ignore=unwanted)
    for name in ("CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"):
        shutil.copy(ROOT / name, folder)
    shutil.copytree(ROOT / "examples", folder / "examples")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", "docs", "built"]
    if request.param == "quick":
        command += ["-D", rf"sphinx_gallery_conf.filename_pattern=(?<!{ON_A_CLUSTER})\.py$"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "built"


def run_tutorials(request: pytest.FixtureRequest) -> list[str]:
    """Those that were run for this site."""
    whole = request.node.get_closest_marker("slow") is not None
    return [name for name in TUTORIALS if whole or name != ON_A_CLUSTER]


def test_every_policy_has_a_page(site: Path) -> None:
    for name in policy_names():
        text = (site / "policy" / f"{name}.html").read_text()
        assert f"{policy_class(name).__name__}</span>" in text, name


def test_tutorials_show_what_they_print(site: Path, request: pytest.FixtureRequest) -> None:
    for tutorial in run_tutorials(request):
        assert "sphx-glr-script-out" in (site / "gallery" / f"{tutorial}.html").read_text(), tutorial


def test_every_tutorial_has_a_thumbnail_of_its_own(site: Path, request: pytest.FixtureRequest) -> None:
    """One without a figure would have the placeholder of the gallery."""
    folder, run = site / "_images", run_tutorials(request)
    thumbnails = {name: (folder / f"sphx_glr_{name}_thumb.png").read_bytes() for name in run}
    placeholder = (Path(sphinx_gallery.__file__).parent / "_static" / "no_image.png").read_bytes()
    assert placeholder not in thumbnails.values()
    assert len(set(thumbnails.values())) == len(run)
    for name in run:
        assert f"sphx_glr_{name}_001.png" in (site / "gallery" / f"{name}.html").read_text()  # and it is a figure


def test_docstrings_link_to_pages(site: Path) -> None:
    """Which name the files, for readers of the source."""
    text = (site / "policy" / "commit-ucb.html").read_text()
    assert 'href="../commit-ucb.html"' in text.partition("<article")[2]
    assert "docs/commit-ucb.md" not in text


def test_formulas_are_part_of_the_page(site: Path) -> None:
    text = (site / "theory.html").read_text()
    assert text.count("<math") > 15
    assert "MathJax" not in text


def test_no_page_fetches_from_another_host(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 40
    for page in pages:
        assert not FETCHED.search(page.read_text()), page
    for style in site.rglob("*.css"):
        assert not FETCHED_BY_STYLE.search(style.read_text()), style
