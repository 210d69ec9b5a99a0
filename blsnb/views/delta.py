"""Delta: a time beside that of the baseline; twin of js/src/delta.ts."""

from __future__ import annotations

from typing import NamedTuple

from blsnb.views.format import time

# What runs twice never takes the same time twice: by a share of it, and by what a
# busy processor gives to another.
_ALIKE = 0.05
_ALIKE_US = 20.0
MINUS = "\N{MINUS SIGN}"


class Delta(NamedTuple):
    """A duration now and before."""

    this_us: float
    baseline_us: float

    @property
    def sign(self) -> str:
        """``▲`` for slower, ``▼`` for faster, ``≈`` within 5 % or 20 µs."""
        change = self.this_us - self.baseline_us
        if abs(change) <= max(_ALIKE * self.baseline_us, _ALIKE_US):
            return "≈"
        return "▲" if change > 0 else "▼"

    @property
    def words(self) -> str:
        """The sign, and by how much."""
        if self.sign == "≈":
            return self.sign
        return f"{self.sign} {'+' if self.sign == '▲' else MINUS}{self._amount}"

    @property
    def short(self) -> str:
        """The same without plus and minus, which the sign says already."""
        return self.sign if self.sign == "≈" else f"{self.sign} {self._amount}"

    @property
    def _amount(self) -> str:
        return time(abs(self.this_us - self.baseline_us))
