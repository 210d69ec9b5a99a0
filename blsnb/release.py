"""The releases of Triton that blsnb can follow."""

from __future__ import annotations

TRITON_RELEASE = "26.07"
"""The newest release that blsnb follows."""

OLDEST = (24, 10)
"""The oldest release that blsnb follows, with which conformance is tested."""


def parse_release(text: str | None) -> tuple[int, int]:
    """Return a release as comparable numbers; the newest one for None.

    Raises
    ------
    ValueError
        The text is not ``yy.mm``, or the release is too old or too new.
    """
    newest = _numbers(TRITON_RELEASE)
    if text is None:
        return newest
    release = _numbers(text)
    if not OLDEST <= release <= newest:
        raise ValueError(
            f"triton_release={text!r} is not valid; expected a release from "
            f"'{OLDEST[0]}.{OLDEST[1]}' to {TRITON_RELEASE!r}"
        )
    return release


def _numbers(text: str) -> tuple[int, int]:
    year, _, month = text.partition(".")
    if not (year.isdecimal() and month.isdecimal()):
        raise ValueError(
            f"triton_release={text!r} is not valid; expected a release such as '24.10'"
        )
    return int(year), int(month)
