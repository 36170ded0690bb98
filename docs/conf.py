"""Settings of the docs site, which `make docs` builds with Sphinx.

The source folder is the repository, so that README.md and the pages in docs link to each other, and to files of the
code, by the same paths here and on a code host.
"""

from docs.notebook import as_markdown
from docs.typesetting import mark
from lra import __version__

project = "lra"
author = "The lra authors"
release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
source_suffix = {".md": "markdown", ".ipynb": "markdown"}
root_doc = "docs/index"
include_patterns = [
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "data_prep/README.md",
    "docs/*.md",
    "docs/examples/**/README.md",
    "docs/examples/*.ipynb",
]
exclude_patterns = [".*", "runs", "build", "dist", "data", "local", "wandb", "docs/_build"]

html_theme = "furo"
html_title = "lra"
html_additional_pages = {"index": "to_docs.html"}
templates_path = ["_templates"]
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_copy_source = False
html_show_copyright = False
html_use_index = html_domain_indices = False  # the search finds more

default_role = "code"  # docstrings mark code by single backticks

myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True


def setup(app):
    """Let the notebook be read as the page that it is; mark what the style sheet sets."""
    app.connect("source-read", _read_notebook)
    app.connect("doctree-resolved", lambda app, doctree, name: mark(doctree))


def _read_notebook(app, name, content):
    if str(app.env.doc2path(name)).endswith(".ipynb"):
        content[0] = as_markdown(content[0])
