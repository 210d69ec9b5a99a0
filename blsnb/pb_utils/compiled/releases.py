"""What Triton's Python backend got after the oldest release that is imitated."""

from __future__ import annotations

from typing import NamedTuple

from blsnb.release import parse_release

Release = tuple[int, int]

NEWEST: Release = parse_release(None)


class Feature(NamedTuple):
    """What came with a release."""

    since: Release
    name: str = ""
    """How it stands in a model's source; empty where a model only meets it."""


FEATURES: dict[str, Feature] = {
    # Towards BLS callers, too.
    "response_parameters": Feature((25, 2), "parameters of an InferenceResponse"),
    "iterator_cancel": Feature((25, 4), "cancel() of a ResponseIterator"),
    # A failed BLS call keeps its code; before, all are INTERNAL.
    "bls_error_codes": Feature((25, 4)),
    "max_inflight_requests": Feature((25, 12), "max_inflight_requests of an ensemble"),
    # An ensemble answers with an error when no step runs any more; before, at once.
    "ensemble_waits_with_errors": Feature((26, 2)),
    # A name with a character that a shell would act on does not load.
    "checked_stub_names": Feature((25, 9)),
    # A load of a name that is empty or a path is refused as such; at the latest then.
    "checked_model_names": Feature((25, 9)),
    "is_ready": Feature((26, 3), "is_ready() of a model"),
}
"""Since when Triton has a feature; the oldest release that is imitated has none.

What only ended a crash or a hang has no row: blsnb has those in no release. Nor has
25.10's text for BYTES that are cut short: here they are always written whole.
"""


def has(feature: str, release: Release) -> bool:
    """Return whether a release has a feature of the table.

    Raises
    ------
    KeyError
        The table has no such feature.
    """
    return release >= FEATURES[feature].since


def too_new(feature: str) -> str:
    """Return what to tell the author of a model for a release without a feature."""
    (year, month), name = FEATURES[feature]
    since = f"{year}.{month:02}"
    return (
        f"Triton has {name} since {since}, and triton_release asks for an older one. "
        f"Do without; or run the model on {since} or newer, and set triton_release to "
        "that."
    )
