"""A tutorial that hangs ends the build of the site with its name; a Ray that is too slow leaves a page that says so."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"

pytest.importorskip("sphinx_gallery", reason="the site needs Sphinx-Gallery: pip install 'risingbandits[docs]'")

CONF = f"""
import runpy, sys, types

settings = runpy.run_path({str(DOCS / "conf.py")!r})
import tutorial_limits

tutorial_limits.LIMIT = 2
ray = types.ModuleType("ray")
tries = []


def init(*arguments, **settings):
    tries.append(settings)
    if len(tries) <= FAILS:
        raise Exception("The current node timed out during startup. This could happen ...")
    print("started after", len(tries))


ray.init = init
sys.modules["ray"] = ray
extensions = ["sphinx_gallery.gen_gallery"]
suppress_warnings = settings["suppress_warnings"]
exclude_patterns = settings["exclude_patterns"]
sphinx_gallery_conf = settings["sphinx_gallery_conf"]
"""
QUICK = '"""\nQuick\n=====\n\nPrints.\n"""\n\nprint("what is printed")\n'
HANGS = '"""\nHangs\n=====\n\nNever ends.\n"""\n\nimport time\n\ntime.sleep(600)\n'
ON_RAY = '"""\nRay\n===\n\nStarts Ray.\n"""\n\nimport ray\n\nray.init(num_cpus=2)\n'


def built(folder: Path, tutorials: dict[str, str], fails: int = 0) -> subprocess.CompletedProcess[str]:
    """Build a small site with the settings of ours, in which Ray fails to start so many times."""
    source = folder / "source"
    (source / "tutorials").mkdir(parents=True)
    (source / "conf.py").write_text(CONF.replace("FAILS", str(fails)))
    (source / "index.rst").write_text("Site\n====\n\n.. toctree::\n\n   gallery/index\n")
    (source / "tutorials" / "GALLERY_HEADER.rst").write_text("Tutorials\n=========\n\nSome.\n")
    for name, text in tutorials.items():
        (source / "tutorials" / name).write_text(text)
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", "source", "built"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=500)


def test_a_tutorial_that_hangs_fails_with_its_name_and_the_others_are_tried(tmp_path: Path) -> None:
    done = built(tmp_path, {"1_hangs.py": HANGS, "2_quick.py": QUICK})
    assert done.returncode != 0
    assert "TooSlow: 1_hangs.py took longer than 2 s." in done.stderr
    assert "what is printed" in (tmp_path / "source" / "gallery" / "2_quick.rst").read_text()


@pytest.mark.parametrize(("fails", "shown"), [(2, "started after 3"), (99, "did not start on this machine in 4 tries")])
def test_a_slow_ray_does_not_end_the_build(fails: int, shown: str, tmp_path: Path) -> None:
    done = built(tmp_path, {"1_quick.py": QUICK, "6_cluster.py": ON_RAY}, fails)
    assert done.returncode == 0, done.stdout + done.stderr
    page = (tmp_path / "built" / "gallery" / "6_cluster.html").read_text()
    assert shown in page
    assert ("6_cluster.py is shown without its output" in done.stderr) == (fails == 99)


def test_a_hanging_cluster_does_not_end_the_build_either(tmp_path: Path) -> None:
    done = built(tmp_path, {"6_cluster.py": ON_RAY + "import time\n\ntime.sleep(600)\n"})
    assert done.returncode == 0, done.stdout + done.stderr
    assert "6_cluster.py took longer than 2 s." in (tmp_path / "built" / "gallery" / "6_cluster.html").read_text()
