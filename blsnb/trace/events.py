"""The record of one request: Triton's activities with their times, and facts."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, NamedTuple

from blsnb.printable import printable
from blsnb.request_fields import PLAIN
from blsnb.tensors.ref import TensorRef
from blsnb.trace.facts import DeviceWork
from blsnb.trace.responses import ResponseLog

if TYPE_CHECKING:
    from blsnb.trace.facts import Batching, ParameterPairs


class Activity(enum.StrEnum):
    """Points in a request's life, with the names of Triton's trace.

    References
    ----------
    core: include/triton/core/tritonserver.h, TRITONSERVER_InferenceTraceActivity
    """

    REQUEST_START = "REQUEST_START"
    QUEUE_START = "QUEUE_START"
    COMPUTE_START = "COMPUTE_START"
    COMPUTE_INPUT_END = "COMPUTE_INPUT_END"
    COMPUTE_OUTPUT_START = "COMPUTE_OUTPUT_START"
    COMPUTE_END = "COMPUTE_END"
    REQUEST_END = "REQUEST_END"


class CallFlag(enum.IntFlag):
    """Facts of a call, as bits; the view's wire format has the same ones."""

    ASYNC = 1
    DECOUPLED = 2
    ERROR = 4
    RUNNING = 8
    CACHE_HIT = 16
    CANCELLED = 32
    AWAITED = 64
    ASKED_CANCELLED = 128
    """The model called ``is_cancelled()``."""


class LogLine(NamedTuple):
    """A line that a model logged or printed during a call."""

    ns: int
    level: str
    """``INFO``, ``WARNING``, ``ERROR``, ``VERBOSE``, or ``PRINT`` for print()."""
    text: str


class Origin(NamedTuple):
    """The cell that a model's source came from."""

    cell: str
    """Such as ``"In[12]"``."""
    offset: int
    """Number of lines of the cell above the source."""


class ModelInfo(NamedTuple):
    """The model of a call, as views need it."""

    name: str
    version: int
    backend: str
    device: str
    """``"cpu"`` or ``"gpu:0"``; ``"stand-in"`` for a stand-in."""
    kind: str
    """``"model"``, ``"stand-in"``, or ``"span"`` for a span opened by model code."""
    source: str
    """The text of its ``model.py``; empty for ensembles."""
    origin: Origin | None = None
    """The cell of its source; None if it was not defined in a cell."""
    unbatched: int = 0
    """``max_batch_size`` of a model that supports batches but has no batcher; else
    0."""

    @property
    def is_ensemble(self) -> bool:
        """Whether it is an ensemble, which does not compute itself."""
        return self.backend == "ensemble"

    def place(self, line: int) -> str:
        """Return the location of a source line, such as ``In[12] line 5``."""
        if self.origin is None:
            return f"model.py:{line}"
        return f"{self.origin.cell} line {line + self.origin.offset}"


class Call:
    """The record of one request: filled in as it happens, read-only afterwards.

    One record costs a seventh of separate event objects.
    Times are nanoseconds of the monotonic clock; 0 means that the request did
    not reach that activity.
    """

    asked_cancelled: bool
    """Whether the model called ``is_cancelled()``; not a flag, as its thread sets
    it."""

    __slots__ = (
        "asked_cancelled",
        "batch",
        "batching",
        "compute_end_ns",
        "compute_input_end_ns",
        "compute_output_start_ns",
        "compute_start_ns",
        "device",
        "ended",
        "error",
        "error_code",
        "execution",
        "flags",
        "id",
        "inputs",
        "instance",
        "line",
        "logs",
        "model",
        "notes",
        "outputs",
        "parent",
        "queue_start_ns",
        "request_end_ns",
        "request_fields",
        "request_start_ns",
        "requested_outputs",
        "response_parameters",
        "responses",
    )

    def __init__(self, model: ModelInfo, parent: Call | None, id: int) -> None:
        self.model = model
        self.parent = parent
        self.id = id
        """Number of the call in its run, in order of start; never reassigned."""
        self.instance = ""
        self.request_fields = PLAIN
        self.requested_outputs: tuple[str, ...] = ()
        """Names of the requested outputs; empty for all of them."""
        self.response_parameters: ParameterPairs = ()
        """Outputs of the response; those of a decoupled call are in ``responses``."""
        self.flags = 0
        self.line = 0
        """Line of the caller's source with the call; 0 if unknown."""
        self.execution = 0
        """Number of the ``execute`` that ran it; calls of a batch share it."""
        self.batch = 0
        """Number of requests of its ``execute``; 0 without an ``execute``."""
        self.batching: list[Batching] | None = None
        """For a batching model: why it was part of executions, or was not."""
        self.request_start_ns = 0
        self.queue_start_ns = 0
        self.compute_start_ns = 0
        self.compute_input_end_ns = 0
        self.compute_output_start_ns = 0
        self.compute_end_ns = 0
        self.request_end_ns = 0
        self.ended = False
        """Whether the record is complete."""
        self.inputs: tuple[TensorRef, ...] = ()
        self.outputs: tuple[TensorRef, ...] = ()
        self.responses: ResponseLog | None = None
        """Responses of a decoupled call; a single response is in ``outputs``."""
        self.error = ""
        self.error_code = ""
        self.device: DeviceWork | None = None
        """Copies to and from a device, and computing on it."""
        self.logs: list[LogLine] | None = None
        self.notes: list[str] | None = None

    def __repr__(self) -> str:
        return f"<Call {self.id} {printable(self.model.name)}>"

    @property
    def request_id(self) -> str:
        """The identifier that its client or model gave the request."""
        return self.request_fields.request_id

    def device_work(self) -> DeviceWork:
        """Return the record of the call's work on a device; create it if missing."""
        if self.device is None:
            self.device = DeviceWork()
        return self.device
