"""What is shown and kept of a test that failed: its runs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from blsnb.run import Run

SECTION = "blsnb runs"
_MOST = 5
_NO_NAME = re.compile(r"[^\w.-]+")
_MOST_NAME = 120


def told(runs: Sequence[Run]) -> str:
    """Return the newest runs as trees, with their notes."""
    from blsnb.views.tree import tree

    left_out = len(runs) - _MOST
    before = [f"… {left_out} earlier runs\n"] if left_out > 0 else []
    return "\n".join([*before, *(f"{tree(run.trace)}\n" for run in runs[-_MOST:])])


class Artefacts:
    """A folder with the documents of runs that failed, named after their tests.

    Parameters
    ----------
    folder
        Made when there is something to keep.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._names: set[str] = set()

    def keep(
        self, test: str, runs: Sequence[Run], error: BaseException | None
    ) -> list[Path]:
        """Write the newest runs, and the comparison if a replay failed.

        Raises
        ------
        OSError
            A file cannot be written.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        name = self._name(test)
        kept = runs[-_MOST:]
        paths = [
            run.save(self._folder / f"{name}{suffix}.html")
            for run, suffix in zip(kept, _suffixes(len(kept)), strict=True)
        ]
        comparison = getattr(error, "comparison", None)
        if comparison is not None:
            path = self._folder / f"{name}.compared.html"
            paths.append(comparison.save(path))
        return paths

    def _name(self, test: str) -> str:
        base = _NO_NAME.sub("-", test).strip("-")[-_MOST_NAME:]
        name, number = base, 1
        while name in self._names:
            number += 1
            name = f"{base}-{number}"
        self._names.add(name)
        return name


def _suffixes(count: int) -> Iterator[str]:
    """Yield what ends the name of each run, of which there is usually one."""
    return iter([""] if count == 1 else [f".{n}" for n in range(1, count + 1)])
