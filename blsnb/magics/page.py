"""What the page is like that shows this kernel's outputs."""

from __future__ import annotations

import os
import sys


def has_no_models() -> bool:
    """Whether a page knows of a widget only where it is displayed itself.

    Where it knows of all, an output can be a document whose place a widget takes:
    a notebook that is saved meanwhile keeps the document.
    """
    return "VSCODE_PID" in os.environ or "google.colab" in sys.modules
