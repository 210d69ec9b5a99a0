"""Features of Triton's Python backend that the oldest supported release lacks."""

from __future__ import annotations

from typing import NamedTuple

from blsnb.release import parse_release

Release = tuple[int, int]

NEWEST: Release = parse_release(None)


class Feature(NamedTuple):
    """A feature and its first release."""

    since: Release
    name: str = ""
    """Its name in a model's source; empty if the source does not name it."""


FEATURES: dict[str, Feature] = {
    # Includes responses that BLS callers receive.
    "response_parameters": Feature((25, 2), "parameters of an InferenceResponse"),
    "iterator_cancel": Feature((25, 4), "cancel() of a ResponseIterator"),
    # A failed BLS call keeps its code; earlier all codes are INTERNAL.
    "bls_error_codes": Feature((25, 4)),
    "max_inflight_requests": Feature((25, 12), "max_inflight_requests of an ensemble"),
    # An ensemble responds with an error once no step runs; earlier immediately.
    "ensemble_waits_with_errors": Feature((26, 2)),
    # A model whose name has a shell's special characters does not load.
    "checked_stub_names": Feature((25, 9)),
    # A load of an empty name or a path is refused; 25.09 or earlier.
    "checked_model_names": Feature((25, 9)),
    "is_ready": Feature((26, 3), "is_ready() of a model"),
}
"""Features with their first release; the oldest supported release lacks them all.

Fixes of crashes and hangs are not listed, since blsnb has neither in any release, nor
is 25.10's text for truncated BYTES, which blsnb always writes completely.
"""


def has(feature: str, release: Release) -> bool:
    """Return whether a release has a feature of the table."""
    return release >= FEATURES[feature].since


def too_new(feature: str) -> str:
    """Return the note for the author of a model about a missing feature."""
    (year, month), name = FEATURES[feature]
    since = f"{year}.{month:02}"
    return (
        f"Triton has {name} since {since}, and triton_release is older. Do without it, "
        f"or set triton_release to {since} or newer and run the model on such a server."
    )
