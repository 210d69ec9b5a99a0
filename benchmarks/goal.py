"""Goal: what a number wants to be, and whether it is."""

from __future__ import annotations

import math
from typing import NamedTuple


class Goal(NamedTuple):
    """Limits of a ratio, or of the number itself where it has a unit."""

    most: float = math.inf
    least: float = 0.0
    unit: str = ""
    """Of the number; empty where the ratio is meant."""

    @property
    def text(self) -> str:
        """How a table says it."""
        limit, sign = (self.least, "≥") if self.least else (self.most, "≤")
        return f"{sign} {limit:g} {self.unit}" if self.unit else f"{sign} {of(limit)}"

    def reached(self, value: float, ratio: float | None) -> bool:
        """Whether a number with that ratio is what it wants to be."""
        seen = value if self.unit else ratio
        return seen is not None and self.least <= seen <= self.most


def of(ratio: float) -> str:
    """Write a ratio as a reader thinks of it: a twentieth is ``1/20``."""
    return f"1/{1 / ratio:.3g}" if 0 < ratio <= 0.5 else f"{ratio:.3g}"
