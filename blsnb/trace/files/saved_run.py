"""What a file keeps of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from blsnb.tensors.ref import TensorRef
from blsnb.trace.spans import Trace


@dataclass(frozen=True, slots=True)
class SavedResponse:
    """A response as its client read it."""

    outputs: tuple[TensorRef, ...]
    error: str | None
    final: bool
    parameters: dict[str, Any]


@dataclass(frozen=True, slots=True)
class SavedRun:
    """A run and what its client received."""

    trace: Trace
    responses: tuple[SavedResponse, ...] | None
    """None if the file does not say what the client received."""
    error: str | None
