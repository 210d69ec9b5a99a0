"""The contents of a run file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from blsnb.tensors.ref import TensorRef
from blsnb.trace.spans import Trace


@dataclass(frozen=True, slots=True)
class SavedResponse:
    """A response as its client received it."""

    outputs: tuple[TensorRef, ...]
    error: str | None
    final: bool
    parameters: dict[str, Any]


@dataclass(frozen=True, slots=True)
class SavedRun:
    """A run with the responses that its client received."""

    trace: Trace
    responses: tuple[SavedResponse, ...] | None
    """None if the file does not contain them."""
    error: str | None
