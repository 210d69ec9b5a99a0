"""A log of judged edits, from which a later call continues."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from .sampling import Mutant
from .selection import Stage


class Log:
    """Judged edits, one line of JSON each; without a file, only those of this call."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        lines = path.read_text().splitlines() if path and path.exists() else []
        rows = map(json.loads, lines)
        self._rows = {(row["edit"], row["stage"]): row["noticed"] for row in rows}

    def remaining(self, mutant: Mutant, stages: Iterable[Stage]) -> list[Stage]:
        """Return the stages that are not judged; none if an edit was noticed."""
        if self.noticed(mutant):
            return []
        edit = str(mutant)
        return [stage for stage in stages if (edit, stage.name) not in self._rows]

    def noticed(self, mutant: Mutant) -> str:
        """Return what noticed an edit, or an empty text."""
        edit = str(mutant)
        return next(
            (by for (key, _), by in self._rows.items() if key == edit and by), ""
        )

    def add(self, mutant: Mutant, stage: Stage, noticed: str) -> None:
        """Keep the verdict of one stage."""
        row = {"edit": str(mutant), "stage": stage.name, "noticed": noticed}
        self._rows[row["edit"], row["stage"]] = noticed
        if self._path:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
