"""Rows of the table: what was measured, and its limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One measurement beside its limit."""

    name: str
    today: float
    limit: float
    at_least: bool = False
    """Whether the limit is a minimum, and not a maximum."""
    structural: bool = False
    """Whether the limit must follow every improvement, so that it never rises."""
    found: Sequence[str] = ()
    """What was counted, for the reader of a violation."""

    @property
    def violation(self) -> str:
        """One sentence if the limit is broken or out of date; else empty."""
        if self._is_broken:
            bound = "at least" if self.at_least else "at most"
            found = "".join(f"\n    {each}" for each in self.found)
            return f"{self.name}: {self.today:g}; {bound} {self.limit:g}.{found}"
        if self.structural and self.today != self.limit:
            return (
                f"{self.name}: {self.today:g} is better than its limit of "
                f"{self.limit:g}; write {self.today:g} into limits.toml, so that it "
                "never rises again."
            )
        return ""

    @property
    def _is_broken(self) -> bool:
        if self.at_least:
            return self.today < self.limit
        return self.today > self.limit


def table(rows: Sequence[Row]) -> str:
    """Return the rows as text, with a column for what is and one for the limit."""
    width = max(len(row.name) for row in rows)
    lines = [f"{'':{width}}  {'today':>7}  {'limit':>7}"]
    for row in rows:
        bound = "≥" if row.at_least else ""
        limit = f"{bound}{row.limit:g}"
        lines.append(f"{row.name:{width}}  {row.today:>7g}  {limit:>7}")
    return "\n".join(lines)
