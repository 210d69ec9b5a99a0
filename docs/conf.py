"""How the documentation is built: ``make docs``."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from blsnb.release import TRITON_RELEASE

project = "blsnb"
author = "the blsnb developers"
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "magics_reference",
]
# "gallery" and "README" are for those who work on the project.
exclude_patterns = ["_build", "gallery"]
html_theme = "furo"
html_title = "blsnb"
html_static_path = ["static"]
html_css_files = ["docs.css"]
myst_enable_extensions = ["substitution", "colon_fence"]
myst_heading_anchors = 3
myst_substitutions = {"triton_release": TRITON_RELEASE}

# A link inside that leads nowhere is a warning, and a warning fails the build.
nitpicky = True
nitpick_ignore_regex = [("py:.*", r".*")]

# Each tutorial is executed in a fresh kernel; one that fails fails the build.
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 120
nb_merge_streams = True
# The lexer of tracebacks refuses some error texts, which are shown as plain text.
suppress_warnings = ["misc.highlighting_failure"]
# What a page writes does not stay among the sources.
nb_execution_in_temp = True

autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
napoleon_google_docstring = False
