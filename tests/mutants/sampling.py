"""Random samples of the edits of all sources."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .edits import Edit, is_valid, of_python, of_typescript

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Mutant:
    """One edit of a file."""

    path: str
    edit: Edit

    def __str__(self) -> str:
        source = (ROOT / self.path).read_text(encoding="utf-8")
        return f"{self.path}:{self.edit.shown(source)}"


def sample(folder: str, ending: str, count: int, seed: int) -> list[Mutant]:
    """Return a random sample of all edits, repeatable for a seed and sources."""
    edits: Callable[[str], list[Edit]] = of_python if ending == "py" else of_typescript
    found = []
    for path in sorted((ROOT / folder).rglob(f"*.{ending}")):
        source = path.read_text(encoding="utf-8")
        name = path.relative_to(ROOT).as_posix()
        found += [Mutant(name, edit) for edit in edits(source)]
    random.Random(seed).shuffle(found)
    return list(itertools.islice(filter(_is_valid, found), count))


def _is_valid(mutant: Mutant) -> bool:
    source = (ROOT / mutant.path).read_text(encoding="utf-8")
    return mutant.path.endswith(".ts") or is_valid(mutant.edit, source)
