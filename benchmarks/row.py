"""Row: one measured number, beside what it is compared with."""

from __future__ import annotations

from typing import Any, NamedTuple

from benchmarks.goal import Goal, of

TRITON = "Triton"


class Row(NamedTuple):
    """A number of blsnb's; smaller is better."""

    what: str
    value: float
    unit: str
    other: float | None = None
    """The same of what it is compared with; None where that is not here."""
    beside: str = TRITON
    goal: Goal | None = None

    @property
    def ratio(self) -> float | None:
        """The number in parts of the other."""
        return self.value / self.other if self.other else None

    @property
    def verdict(self) -> str:
        """Whether the goal is reached, where that can be said."""
        if self.goal is None or (self.ratio is None and not self.goal.unit):
            return ""
        return "reached" if self.goal.reached(self.value, self.ratio) else "missed"

    def cells(self) -> tuple[str, ...]:
        """Return the row as texts of a table."""
        other = "" if self.other is None else f"{number(self.other)} {self.unit}"
        return (
            self.what,
            f"{number(self.value)} {self.unit}",
            f"{other} {self.beside}" if other else "",
            "" if self.ratio is None else of(self.ratio),
            "" if self.goal is None else self.goal.text,
            self.verdict,
        )

    def plain(self) -> dict[str, Any]:
        """Return the row as JSON keeps it."""
        return {
            "what": self.what,
            "unit": self.unit,
            "blsnb": self.value,
            "beside": self.beside,
            "other": self.other,
            "ratio": self.ratio,
            "goal": None if self.goal is None else self.goal.text,
            "verdict": self.verdict,
        }


def number(value: float) -> str:
    """Write a number with three digits that count."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
