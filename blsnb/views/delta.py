"""Differences of durations; twin of js/src/page/delta.ts."""

from __future__ import annotations

from typing import NamedTuple

from blsnb.views.format import time

_NOISE_SHARE = 0.05
_NOISE_US = 20.0
"""Differences below either limit are treated as noise."""
MINUS = "\N{MINUS SIGN}"


class Delta(NamedTuple):
    """A duration of a run beside that of its baseline."""

    this_us: float
    baseline_us: float

    @property
    def sign(self) -> str:
        """``▲`` for slower, ``▼`` for faster, ``≈`` within 5 % or 20 µs."""
        change = self.this_us - self.baseline_us
        if abs(change) <= max(_NOISE_SHARE * self.baseline_us, _NOISE_US):
            return "≈"
        return "▲" if change > 0 else "▼"

    @property
    def words(self) -> str:
        """The sign and the difference."""
        if self.sign == "≈":
            return self.sign
        return f"{self.sign} {'+' if self.sign == '▲' else MINUS}{self._amount}"

    @property
    def short(self) -> str:
        """The sign and the size of the difference, for narrow places."""
        return self.sign if self.sign == "≈" else f"{self.sign} {self._amount}"

    @property
    def _amount(self) -> str:
        return time(abs(self.this_us - self.baseline_us))
