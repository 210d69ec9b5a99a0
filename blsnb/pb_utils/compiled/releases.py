"""Features of Triton that the oldest supported release lacks."""

from __future__ import annotations

from typing import NamedTuple

from blsnb.release import parse_release

Release = tuple[int, int]

NEWEST: Release = parse_release(None)


DOORS = ("python", "model", "http", "grpc")
"""Ways to make requests: `blsnb.Server`, a model, and the two protocols."""
_NETWORK = ("http", "grpc")


class Feature(NamedTuple):
    """A feature and its first release."""

    since: Release
    name: str = ""
    """Its name in a model's source; empty if the source does not name it."""
    doors: tuple[str, ...] = DOORS
    """The doors at which it holds."""


FEATURES: dict[str, Feature] = {
    "model_metrics": Feature((24, 11), "model_metrics in a config.pbtxt"),
    # Includes responses that BLS callers receive.
    "response_parameters": Feature((25, 2), "parameters of an InferenceResponse"),
    "iterator_cancel": Feature((25, 4), "cancel() of a ResponseIterator", ("model",)),
    # A failed BLS call keeps its code; earlier all codes are INTERNAL.
    "bls_error_codes": Feature((25, 4), doors=("model",)),
    # An input's number of elements or bytes that exceeds 63 bits is refused.
    "input_size_overflow": Feature((25, 5), doors=("http",)),
    # Elements in 100 nested lists are refused.
    "json_depth_limit": Feature((25, 5), doors=("http",)),
    # An input in JSON, or a raw body, of more than 64 MiB is refused.
    "http_input_limit": Feature((25, 5), doors=("http",)),
    # A key of shared memory that begins as those of the Python backend is refused.
    "reserved_memory_keys": Feature((25, 7), doors=_NETWORK),
    # Likewise behind any number of slashes.
    "reserved_memory_paths": Feature((25, 8), doors=_NETWORK),
    "max_inflight_requests": Feature((25, 12), "max_inflight_requests of an ensemble"),
    # An ensemble responds with an error once no step runs; earlier immediately.
    "ensemble_waits_with_errors": Feature((26, 2)),
    # A model whose name has a shell's special characters does not load.
    "checked_stub_names": Feature((25, 9)),
    # A load of an empty name or a path is refused; 25.09 or earlier.
    "checked_model_names": Feature((25, 9)),
    "is_ready": Feature((26, 3), "is_ready() of a model"),
    # A JSON text of more than 64 MiB is refused.
    "json_size_limit": Feature((25, 10), doors=("http",)),
    # Likewise what a compressed body becomes.
    "inflated_size_limit": Feature((26, 1), doors=("http",)),
    # An output that is requested twice is refused.
    "unique_outputs": Feature((26, 5), doors=("python", *_NETWORK)),
    # The index with {"ready": "x"} fails with status 400 instead of 500; its first
    # release is not known, as of the next two.
    "index_ready_type": Feature((26, 7), doors=("http",)),
    # More classes than an output has elements are refused.
    "class_count_limit": Feature((26, 7), doors=_NETWORK),
    # A key of shared memory that consists of slashes is refused.
    "named_memory_keys": Feature((26, 7), doors=_NETWORK),
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
    (year, month), name, _ = FEATURES[feature]
    since = f"{year}.{month:02}"
    return (
        f"Triton has {name} since {since}, and triton_release is older. Do without it, "
        f"or set triton_release to {since} or newer and run the model on such a server."
    )
