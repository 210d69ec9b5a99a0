"""The room as a whole."""

import subprocess
import sys

import pytest

FIGURES = "blsnb.views.figures.figure"


@pytest.mark.parametrize(
    "module", ["blsnb.views", "blsnb.views.documents.document", FIGURES]
)
def test_only_live_views_load_anywidget_and_only_figures_matplotlib(module):
    """Loading a document or a drawing function stays cheap."""
    heavy = "{'anywidget', 'matplotlib'}"
    script = f"import sys, {module}; print(*{heavy} & {{*sys.modules}})"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )

    assert "" == done.stdout.strip()
