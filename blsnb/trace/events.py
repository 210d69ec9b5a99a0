"""The records of single requests, with Triton's activities and their times."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from blsnb.request_fields import PLAIN, RequestFields
from blsnb.tensors.ref import TensorRef
from blsnb.trace.facts import DeviceWork, ParameterPairs
from blsnb.trace.lazy.call_fields import NAMES, CallNumber, Extra
from blsnb.trace.responses import ResponseLog

if TYPE_CHECKING:
    from blsnb.trace.facts import Batching


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


class TraceLevel(enum.IntEnum):
    """How much is recorded."""

    OFF = 0
    TIMESTAMPS = 1
    TENSORS = 2


LEVELS = tuple(level.name.lower() for level in reversed(TraceLevel))
"""The names of the trace levels, the highest first."""


def parse_level(name: str) -> TraceLevel:
    """Return the level of a name.

    Raises
    ------
    ValueError
        The name is unknown.
    """
    if name.upper() not in TraceLevel.__members__:
        raise ValueError(
            f"trace_level={name!r} is not valid; expected 'tensors', 'timestamps' or "
            "'off'"
        )
    return TraceLevel[name.upper()]


class CallFlag(enum.IntFlag):
    """Facts of a call, as bits; the view's wire format has the same ones."""

    ASYNC = 1
    DECOUPLED = 2
    ERROR = 4
    RUNNING = 8
    CACHE_HIT = 16
    CANCELLED = 32
    CONCURRENT = 64
    """The model made it before its previous ``async_exec()`` had ended."""
    ASKED_CANCELLED = 128
    """The model called ``is_cancelled()``."""


SIMULATED = "simulated"
"""Kind and device of a model whose calls were simulated and never executed."""


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
    """``"cpu"`` or ``"gpu:0"``; ``"stand-in"`` for a stand-in, `SIMULATED`."""
    kind: str
    """``"model"``, ``"stand-in"``, `SIMULATED`, or ``"span"`` for a span opened by
    model code."""
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


@dataclass(slots=True, eq=False, repr=False)
class CallExtras:
    """Facts that most calls do not have."""

    response_parameters: ParameterPairs = ()
    """Parameters of the response; those of a decoupled call are in ``responses``."""
    error: str = ""
    error_code: str = ""
    device: DeviceWork | None = None
    """Copies to and from a device, and computing on it."""
    logs: list[LogLine] | None = None
    notes: list[str] | None = None


_UNSET = [0] * len(NAMES)


@dataclass(slots=True, eq=False, repr=False)
class Call:
    """The record of one request: filled in as it happens, read-only afterwards.

    It is small: what most calls lack is in ``extras``, what differs in each call in
    ``numbers``. Times are nanoseconds of the monotonic clock; 0 means that the request
    did not reach that activity.
    """

    model: ModelInfo
    parent: Call | None
    id: int
    """Number of the call in its run, in order of start; never reassigned."""
    instance: str = ""
    request_fields: RequestFields = PLAIN
    requested_outputs: tuple[str, ...] = ()
    """Names of the requested outputs; empty for all of them."""
    flags: int = 0
    """`CallFlag` bits."""
    asked_cancelled: bool = False
    """Whether the model called ``is_cancelled()``; no flag, as its thread sets it."""
    line: int = 0
    """Line of the caller's source with the call; 0 if unknown."""
    batch: int = 0
    """Number of requests of its ``execute``; 0 if it did not reach one."""
    batching: list[Batching] | None = None
    """For a batching model: why it was part of executions, or was not."""
    ended: bool = False
    """Whether the record is complete."""
    inputs: tuple[TensorRef, ...] = ()
    outputs: tuple[TensorRef, ...] = ()
    """Outputs of the only response; a decoupled call has ``responses``."""
    responses: ResponseLog | None = None
    """Responses of a decoupled call."""
    extras: CallExtras | None = None
    numbers: list[int] = field(default_factory=_UNSET.copy)
    """Its times and its execution; bytes when the record is complete."""

    request_start_ns = CallNumber()
    queue_start_ns = CallNumber()
    compute_start_ns = CallNumber()
    compute_input_end_ns = CallNumber()
    compute_output_start_ns = CallNumber()
    compute_end_ns = CallNumber()
    request_end_ns = CallNumber()
    execution = CallNumber()
    """Number of the ``execute`` that ran it; calls of a batch share it."""
    response_parameters = Extra[ParameterPairs](())
    error = Extra("")
    error_code = Extra("")
    device = Extra[DeviceWork | None](None)
    logs = Extra[list[LogLine] | None](None)
    notes = Extra[list[str] | None](None)

    @property
    def request_id(self) -> str:
        """The identifier that its client or model gave the request."""
        return self.request_fields.request_id

    def make_extras(self) -> CallExtras:
        """Return the rare facts of the call; create them if missing."""
        if self.extras is None:
            made = CallExtras()
            # No other thread runs between this comparison and the assignment.
            if self.extras is None:
                self.extras = made
        return self.extras

    def device_work(self) -> DeviceWork:
        """Return the record of the call's work on a device; create it if missing."""
        if self.device is None:
            self.device = DeviceWork()
        return self.device


def by_start(calls: Iterable[Call]) -> list[Call]:
    """Return calls in the order of their starts; callers precede their calls.

    Parameters
    ----------
    calls
        Each behind its caller.
    """
    start_ns: dict[Call, int] = {}
    for call in calls:
        above = 0 if call.parent is None else start_ns[call.parent]
        start_ns[call] = max(above, call.request_start_ns)
    return sorted(start_ns, key=start_ns.__getitem__)
