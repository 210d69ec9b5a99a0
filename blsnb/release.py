"""Which release of Triton is imitated."""

from __future__ import annotations

TRITON_RELEASE = "26.07"
"""The newest release whose behaviour is described and followed."""

OLDEST = (24, 10)
"""The release that conformance is judged by."""


def parse_release(text: str | None) -> tuple[int, int]:
    """Return a release as numbers that compare.

    Raises
    ------
    ValueError
        It is no ``yy.mm``, or one that is older or newer than those known.
    """
    newest = _numbers(TRITON_RELEASE)
    if text is None:
        return newest
    release = _numbers(text)
    if not OLDEST <= release <= newest:
        raise ValueError(
            f"Triton {text} is not known; from {OLDEST[0]}.{OLDEST[1]} to "
            f"{TRITON_RELEASE} can be imitated"
        )
    return release


def _numbers(text: str) -> tuple[int, int]:
    year, _, month = text.partition(".")
    if not (year.isdigit() and month.isdigit()):
        raise ValueError(f"{text!r} is no release of Triton; write it as '24.10'")
    return int(year), int(month)
