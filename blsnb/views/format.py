"""Times, counts and names as text; the counterpart of js/src/page/format.ts."""

from __future__ import annotations

import math
import unicodedata

from blsnb.printable import printable
from blsnb.trace.facts import UNITS
from blsnb.trace.facts import time as time

# By name, because in a source file they look like a letter and a hyphen.
TIMES = "\N{MULTIPLICATION SIGN}"

_NARROW = frozenset("iIjlftr.,:;|!'()[]{}-/ \"`")
_WIDE = frozenset(f"mwMW@%…⟨⟩<>=+~#{TIMES}")


def cut(text: str, limit: int) -> str:
    """Return text with at most `limit` characters, without its middle.

    Long names differ at their ends.
    """
    if len(text) <= limit:
        return text
    return f"{text[: limit // 2]}…{text[len(text) - (limit - 1) // 2 :]}"


def sendable(text: str, limit: int) -> str:
    """Return text that UTF-8 can encode, with at most `limit` bytes."""
    data = text.encode("utf-8", "backslashreplace")
    if len(data) <= limit:
        return data.decode("utf-8")
    return data[: limit - 3].decode("utf-8", "ignore") + "…"


def width(text: str, size: float, bold: bool = False) -> float:
    """Return an upper estimate of the width of sans-serif text in pixels."""
    return sum(map(_em, text)) * size * (1.1 if bold else 1.0)


def _em(character: str) -> float:
    if character in _NARROW:
        return 0.38
    if character in _WIDE:
        return 0.98
    if unicodedata.east_asian_width(character) in "WF":
        return 1.0
    return 0.72 if character.isupper() else 0.62


def clip(text: str, size: float, limit: float, bold: bool = False) -> str:
    """Return visible text at most `limit` pixels wide, without its middle."""
    # Longer text never fits, and measuring it takes time.
    text = cut(printable(cut(text, 300)), 300)
    if width(text, size, bold) <= limit:
        return text
    keep = len(text) - 1
    while keep > 1:
        tail = min(4, keep // 3)
        clipped = f"{text[: keep - tail]}…{text[len(text) - tail :]}"
        if width(clipped, size, bold) <= limit:
            return clipped
        keep -= 1
    return "…"


def tick(us: float, end: float) -> str:
    """Return a time on an axis, in the unit of the end of the axis."""
    unit, scale = next(u for u in reversed(UNITS) if end >= u[1] or u[1] == 1.0)
    return f"{us / scale:g} {unit}" if us else "0"


def ticks(end: float, limit: int) -> list[float]:
    """Return at most `limit` round numbers from 0 up to the end."""
    if end <= 0:
        return [0.0]
    raw = end / limit
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= raw * (1 - 1e-9))
    return [k * step for k in range(math.floor(end / step * (1 + 1e-9)) + 1)][:limit]
