"""Settings of the documentation site: `make docs` builds it into site/."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

from risingbandits import __version__

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

from tutorial_limits import watch

project = "risingbandits"
author = copyright = "the risingbandits developers"
release = version = __version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "myst_parser",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "mathml",
    "block_ends",
    "page_links",
    "policy_pages",
]
exclude_patterns = ["_build", "gallery/*.py", "gallery/*.ipynb", "reproduction/README.md", "tutorials"]

html_theme = "furo"
html_title = f"risingbandits {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_math_renderer = "mathml"  # formulas are part of the page: no script, no font, no request

myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3
suppress_warnings = ["config.cache"]  # settings below hold functions, which Sphinx cannot keep between builds

# The arms of these are described without them: `make docs` needs no framework.
_frameworks = ("torch", "lightning", "transformers", "keras", "xgboost", "lightgbm", "catboost", "mlflow", "wandb")
autodoc_mock_imports = [name for name in _frameworks if find_spec(name) is None]
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_rtype = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

sphinx_gallery_conf = {
    "examples_dirs": "tutorials",
    "gallery_dirs": "gallery",
    "filename_pattern": r".*\.py$",
    "within_subsection_order": "FileNameSortKey",
    "copyfile_regex": r".*\.toml$",
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1e9,  # pages hold no durations
    "write_computation_times": False,
    "abort_on_example_error": False,  # as warnings are errors the build fails anyway, after all have been tried
    "reset_modules": ("matplotlib", watch),  # with a time limit for each
    "reset_modules_order": "both",
    "remove_config_comments": True,
    "reference_url": {},
    "notebook_extensions": set(),
}
