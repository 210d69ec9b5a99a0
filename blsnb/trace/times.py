"""Durations as text."""

from __future__ import annotations

import math

UNITS = (("µs", 1.0), ("ms", 1e3), ("s", 1e6))
_DASH = "\N{EN DASH}"


def time(us: float) -> str:
    """Return microseconds in the unit that keeps three digits; a dash for NaN."""
    if not math.isfinite(us):
        return _DASH
    size = abs(us)
    if 0 < size < 0.9995:
        return f"{round(us * 1000)} ns"
    unit, scale = next((u for u in UNITS if size < 999.5 * u[1]), UNITS[-1])
    return f"{_three_digits(us / scale)} {unit}"


def _three_digits(number: float) -> str:
    if number == int(number):
        return str(int(number))
    size = abs(number)
    return f"{number:.{2 if size < 9.995 else 1 if size < 99.95 else 0}f}"
