"""Long texts that are compared with a file, whose diff is reviewed."""

from __future__ import annotations

import os
from pathlib import Path


def reviewed(file: Path, text: str) -> str:
    """Return the text of a file; ``BLSNB_WRITE_GOLDEN=1`` writes it anew."""
    if os.environ.get("BLSNB_WRITE_GOLDEN"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return file.read_text(encoding="utf-8")
