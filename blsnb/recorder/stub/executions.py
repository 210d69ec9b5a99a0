"""Executions of a model and the BLS calls they make, as plain values."""

from __future__ import annotations

import itertools
import json
import time
from typing import TYPE_CHECKING, Any

from blsnb.recorder.stub.settings import IDS, REDACTED, matches
from blsnb.trace.files.v2.chunks import json_float

if TYPE_CHECKING:
    from blsnb.recorder.stub.settings import RecorderSettings
    from blsnb.recorder.stub.tensor_rows import TensorRow

ASYNC, DECOUPLED, ERROR, RUNNING, CANCELLED = 1, 2, 4, 8, 32
"""Flags of a call, as bits of the file's column."""
_ids = itertools.count()
_numbers = itertools.count(1)


class RecordedCall:
    """A request that the model received, or one that it made.

    Times are nanoseconds of the monotonic clock.
    """

    __slots__ = (
        "code",
        "end_ns",
        "error",
        "execution",
        "fields",
        "flags",
        "handles",
        "id",
        "inputs",
        "instance",
        "model",
        "origin",
        "outputs",
        "parent",
        "requested",
        "responses",
        "start_ns",
        "version",
    )

    def __init__(self, model: str, version: int, parent: int = -1) -> None:
        self.id = next(_ids)
        self.parent = parent
        self.model = model
        self.version = version
        self.instance = ""
        self.execution = 0
        self.flags = 0
        self.fields: dict[str, Any] = {}
        self.requested: list[str] = []
        self.inputs: list[TensorRow] = []
        self.outputs: list[TensorRow] = []
        self.responses: list[RecordedResponse] = []
        self.error = self.code = ""
        self.origin: dict[str, Any] | None = None
        self.handles = 0
        """Objects of the model that can still send a response."""
        self.start_ns = time.monotonic_ns()
        self.end_ns = 0

    def fail(self, text: str, code: str) -> None:
        """Note the error of the call."""
        self.error, self.code = text, code
        self.flags |= ERROR


class RecordedResponse:
    """A response of a decoupled call."""

    __slots__ = ("error", "ns", "number", "outputs", "parameters")

    def __init__(self, number: int, outputs: list[TensorRow], error: str) -> None:
        self.ns = time.monotonic_ns()
        self.number = number
        self.outputs = outputs
        self.error = error
        self.parameters: list[list[Any]] = []


class RecordedExecution:
    """One ``execute`` and all BLS calls that it made, or a call of unknown origin.

    It is complete when nothing of it is pending: ``execute`` itself, requests without
    a final response, and BLS calls.
    """

    __slots__ = (
        "__weakref__",
        "alone",
        "calls",
        "evicted",
        "made",
        "number",
        "pending",
        "running",
    )

    def __init__(self, calls: list[RecordedCall], alone: bool) -> None:
        self.number = next(_numbers)
        self.calls = calls
        self.made: list[RecordedCall] = []
        self.pending = 1
        self.running = True
        """Whether ``execute`` has not returned."""
        self.evicted = False
        """Whether it was written before it was complete."""
        self.alone = alone
        """Whether no other execution was open while it was."""
        for call in calls:
            call.execution = self.number

    @property
    def all_calls(self) -> list[RecordedCall]:
        """The requests, then the BLS calls."""
        return [*self.calls, *self.made]

    @property
    def failed(self) -> bool:
        """Whether a request or a BLS call failed."""
        return any(call.flags & ERROR for call in self.all_calls)

    def is_wanted(self, settings: RecorderSettings) -> bool:
        """Whether the settings keep this execution."""
        if settings.errors_only and not self.failed:
            return False
        if not settings.slower_than_ms:
            return True
        now_ns = time.monotonic_ns()
        taken = [(call.end_ns or now_ns) - call.start_ns for call in self.all_calls]
        return max(taken) >= settings.slower_than_ms * 1e6


def request_fields(request: Any, settings: RecorderSettings) -> dict[str, Any]:
    """Return the fields of a request, by column."""
    fields: dict[str, Any] = {name: getattr(request, name)() for name in IDS}
    fields.update(sequence_flags=request.flags(), timeout_us=request.timeout())
    for name in settings.redact_ids:
        fields[name] = REDACTED if fields[name] else fields[name]
    text = request.parameters()
    if text != "{}":
        fields["parameters"] = parameter_rows(text, settings)
    return fields


def parameter_rows(text: str, settings: RecorderSettings) -> list[list[Any]]:
    """Return parameters, a JSON text, as names and values."""
    rows = []
    for name, value in json.loads(text).items():
        if matches(name, settings.redact_parameters):
            value = REDACTED
        rows.append([name, json_float(value) if isinstance(value, float) else value])
    return rows


def error_text(text: str, model: str, settings: RecorderSettings) -> str:
    """Return an error text, unless it is redacted."""
    return REDACTED if matches(model, settings.redact_errors) else text or " "
