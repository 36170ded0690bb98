"""Settings of the docs site, which `make docs` builds with Sphinx.

The source folder is the repository, so that README.md and the pages in docs link to each other, and to files of the
code, by the same paths here and on a code host.
"""

from lra import __version__

project = "lra"
author = "The lra authors"
release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "docs/index"
include_patterns = [
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "data_prep/README.md",
    "docs/*.md",
    "docs/examples/**/README.md",
]
exclude_patterns = [".*", "runs", "build", "dist", "data", "local", "wandb", "docs/_build"]

html_theme = "furo"
html_title = "lra"
html_additional_pages = {"index": "to_docs.html"}
templates_path = ["_templates"]
html_copy_source = False
html_show_copyright = False

default_role = "code"  # docstrings mark code by single backticks

myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
