"""The runs of a failed test, as text and as pages."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from blsnb.printable import counted

if TYPE_CHECKING:
    from blsnb.results.run import Run

SECTION = "blsnb runs"
_MAX_RUNS = 5
"""Maximum number of runs shown of one test."""
_NO_NAME = re.compile(r"[^\w.-]+")
_MAX_NAME = 120


def trees(runs: Sequence[Run], are_all: bool) -> str:
    """Return the newest runs as trees of calls, with their notes.

    Parameters
    ----------
    are_all
        Whether they are all runs of the test; else the server has dropped some.
    """
    from blsnb.views.tree import tree

    left_out = len(runs) - _MAX_RUNS
    others = "" if are_all else ", and others that the server no longer keeps"
    earlier = f"… {counted(left_out, 'earlier run')}{others}\n"
    before = [earlier] if left_out > 0 else []
    return "\n".join([*before, *(f"{tree(run.trace)}\n" for run in runs[-_MAX_RUNS:])])


class Artefacts:
    """A folder with pages of runs, named after their failed tests.

    Parameters
    ----------
    folder
        The folder, made with the first page.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._names: set[str] = set()

    def keep(
        self, test: str, runs: Sequence[Run], error: BaseException | None
    ) -> list[Path]:
        """Write pages of the newest runs, and of the comparison if a replay failed.

        Raises
        ------
        OSError
            A file cannot be written.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        base = _file_name(test)
        name, number = base, 1
        while name in self._names:
            number += 1
            name = f"{base}-{number}"
        self._names.add(name)
        kept = runs[-_MAX_RUNS:]
        paths = []
        for count, run in enumerate(kept, 1):
            suffix = f".{count}" if len(kept) > 1 else ""
            paths.append(run.save(self._folder / f"{name}{suffix}.html"))
        comparison = getattr(error, "comparison", None)
        if comparison is not None:
            path = self._folder / f"{name}.compared.html"
            paths.append(comparison.save(path))
        return paths


def _file_name(test: str) -> str:
    """Return a name that processes which share the folder give to one test only."""
    name = _NO_NAME.sub("-", test).strip("-")
    parameters = test.partition("[")[2].removesuffix("]")
    if len(name) <= _MAX_NAME and not _NO_NAME.search(parameters):
        return name
    return f"{name[-_MAX_NAME:]}-{zlib.crc32(test.encode()):08x}"
