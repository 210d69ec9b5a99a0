"""A measured value, its comparison and its goal."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

TRITON = "Triton"


class Goal(NamedTuple):
    """Limits of a ratio, or of the value if there is a unit."""

    most: float = math.inf
    least: float = 0.0
    unit: str = ""
    """Unit of the value; empty for limits of the ratio."""

    @property
    def text(self) -> str:
        """The limit, as a cell of the table."""
        limit, sign = (self.least, "≥") if self.least else (self.most, "≤")
        return (
            f"{sign} {limit:g} {self.unit}"
            if self.unit
            else f"{sign} {ratio_text(limit)}"
        )

    def reached(self, value: float, ratio: float | None) -> bool:
        """Whether a value or its ratio is within the limits."""
        measured = value if self.unit else ratio
        return measured is not None and self.least <= measured <= self.most


def ratio_text(ratio: float) -> str:
    """Return a ratio as text; a small one as a fraction such as ``1/20``."""
    return f"1/{1 / ratio:.3g}" if 0 < ratio <= 0.5 else f"{ratio:.3g}"


class Row(NamedTuple):
    """A measured value of blsnb; smaller is better."""

    what: str
    value: float
    unit: str
    other: float | None = None
    """The value of the compared subject; None if it is not available."""
    compared_with: str = TRITON
    goal: Goal | None = None
    spread: str = ""
    """Smallest and largest ratio of a round; empty if not measured."""

    @property
    def ratio(self) -> float | None:
        """The value divided by the other value."""
        return self.value / self.other if self.other else None

    @property
    def verdict(self) -> str:
        """Whether the goal is reached; empty without a goal or a ratio."""
        if self.goal is None or (self.ratio is None and not self.goal.unit):
            return ""
        return "reached" if self.goal.reached(self.value, self.ratio) else "missed"

    def cells(self) -> tuple[str, ...]:
        """Return the cells of the table."""
        other = "" if self.other is None else f"{number(self.other)} {self.unit}"
        return (
            self.what,
            f"{number(self.value)} {self.unit}",
            f"{other} {self.compared_with}" if other else "",
            self._ratio_cell(),
            "" if self.goal is None else self.goal.text,
            self.verdict,
        )

    def _ratio_cell(self) -> str:
        spread = f" ({self.spread})" if self.spread else ""
        return "" if self.ratio is None else f"{ratio_text(self.ratio)}{spread}"

    def plain(self) -> dict[str, Any]:
        """Return the row as a JSON object."""
        return {
            "what": self.what,
            "unit": self.unit,
            "blsnb": self.value,
            "compared_with": self.compared_with,
            "other": self.other,
            "ratio": self.ratio,
            "spread": self.spread,
            "goal": None if self.goal is None else self.goal.text,
            "verdict": self.verdict,
        }


def number(value: float) -> str:
    """Return a number with three significant digits."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
