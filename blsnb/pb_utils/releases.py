"""What Triton's Python backend got after the oldest release that is imitated."""

from __future__ import annotations

from blsnb.release import parse_release

Release = tuple[int, int]

NEWEST: Release = parse_release(None)

SINCE: dict[str, Release] = {
    # InferenceResponse(parameters=…) and .parameters(); towards BLS callers, too.
    "response_parameters": (25, 2),
    # ResponseIterator.cancel().
    "iterator_cancel": (25, 4),
    # A failed BLS call keeps its code; before, all are INTERNAL.
    "bls_error_codes": (25, 4),
    # A name with a character that a shell would act on does not load.
    "checked_stub_names": (25, 9),
    # BYTES that are cut short are refused in other words.
    "native_byte_strings": (25, 10),
    # A model's own is_ready().
    "is_ready": (26, 3),
}
"""Since when Triton has a feature; the oldest release that is imitated has none.

What only ended a crash or a hang has no row: blsnb has those in no release.
"""


def has(feature: str, release: Release) -> bool:
    """Return whether a release has a feature of the table.

    Raises
    ------
    KeyError
        The table has no such feature.
    """
    return release >= SINCE[feature]
