"""Settings of the docs site: `make docs` builds it in build/docs from the pages in docs/ and those beside README."""

from __future__ import annotations

import gather_infer

project = "gather-infer"
author = "The gather-infer authors"
version = release = gather_infer.__version__
root_doc = "docs/index"
include_patterns = ["docs/*.md", "docs/questions/*.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"]
extensions = ["myst_parser"]
myst_heading_anchors = 4
html_theme = "furo"
html_extra_path = ["root"]
html_title = f"{project} {release}"
html_show_copyright = False
