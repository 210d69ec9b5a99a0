"""Small packages for tests of the structure."""

from __future__ import annotations

import textwrap

from benchmarks.structure.imports import Imports, read_imports
from benchmarks.structure.source import SourceFile

PACKAGE = "house"


def tree(texts: dict[str, str]) -> dict[str, SourceFile]:
    """Return the files of a package."""
    return {
        path: SourceFile(path, textwrap.dedent(text).lstrip())
        for path, text in texts.items()
    }


def imports(texts: dict[str, str]) -> Imports:
    """Return the imports of a package."""
    return read_imports(PACKAGE, tree(texts))
