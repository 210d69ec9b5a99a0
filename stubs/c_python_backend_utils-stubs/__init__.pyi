"""The compiled half of Triton's Python backend, of its newest release.

It is there while a server runs the model. Except where said otherwise a name is
also one of ``triton_python_backend_utils``, and is best imported from there.
"""

import asyncio
from collections.abc import Mapping
from typing import (
    Any,
    ClassVar,
    Final,
    Literal,
    Never,
    NoReturn,
    Self,
    TypeAlias,
    overload,
)

from numpy.typing import NDArray
from typing_extensions import CapsuleType

# Compiled code takes lists and tuples only: no set, array, generator or text.
_Names: TypeAlias = list[str] | tuple[str, ...]
_Parameters: TypeAlias = Mapping[str, bool | int | str]

class _Enum:
    # A compiled enumeration is none of Python's: it equals its number.
    __members__: ClassVar[dict[str, Any]]
    def __init__(self, value: int) -> None: ...
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...
    def __int__(self) -> int: ...
    def __index__(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def value(self) -> int: ...

class MemoryType(_Enum):
    """Kind of memory; only in ``c_python_backend_utils``."""

    TRITONSERVER_MEMORY_GPU: ClassVar[MemoryType]
    TRITONSERVER_MEMORY_CPU: ClassVar[MemoryType]

class MetricKind(_Enum):
    """Kind of a metric family; only in ``c_python_backend_utils``."""

    COUNTER: ClassVar[MetricKind]
    GAUGE: ClassVar[MetricKind]
    HISTOGRAM: ClassVar[MetricKind]

TRITONSERVER_MEMORY_GPU: MemoryType
TRITONSERVER_MEMORY_CPU: MemoryType
COUNTER: MetricKind
GAUGE: MetricKind
HISTOGRAM: MetricKind

class TritonModelException(Exception):
    """What the backend raises for its own errors, and a model may raise."""

class TritonError:
    """Error of a response: a message and a code. It is no exception."""

    class __ErrorCode(_Enum):
        UNKNOWN: ClassVar[TritonError.__ErrorCode]
        INTERNAL: ClassVar[TritonError.__ErrorCode]
        NOT_FOUND: ClassVar[TritonError.__ErrorCode]
        INVALID_ARG: ClassVar[TritonError.__ErrorCode]
        UNAVAILABLE: ClassVar[TritonError.__ErrorCode]
        UNSUPPORTED: ClassVar[TritonError.__ErrorCode]
        ALREADY_EXISTS: ClassVar[TritonError.__ErrorCode]
        CANCELLED: ClassVar[TritonError.__ErrorCode]

    UNKNOWN: Final[__ErrorCode]
    INTERNAL: Final[__ErrorCode]
    NOT_FOUND: Final[__ErrorCode]
    INVALID_ARG: Final[__ErrorCode]
    UNAVAILABLE: Final[__ErrorCode]
    UNSUPPORTED: Final[__ErrorCode]
    ALREADY_EXISTS: Final[__ErrorCode]
    CANCELLED: Final[__ErrorCode]
    def __init__(self, message: str, code: __ErrorCode = ...) -> None: ...
    def message(self) -> str:
        """Return the message."""

    def code(self) -> __ErrorCode:
        """Return the code."""

class Tensor:
    """Named tensor; the array is kept as it is if C-contiguous and numeric."""

    def __init__(self, name: str, array: NDArray[Any], /) -> None: ...
    @staticmethod
    def from_dlpack(name: str, tensor: object, /) -> Tensor:
        """Make a tensor of another library's memory; call it on the class."""

    def name(self) -> str:
        """Return the name."""

    def shape(self) -> list[int]:
        """Return the shape, as a new list."""

    def as_numpy(self) -> NDArray[Any]:
        """Return the elements; those of BYTES are ``bytes`` where received."""

    def is_cpu(self) -> bool:
        """Whether the elements are in host memory."""

    def triton_dtype(self) -> NoReturn:
        """Raise TypeError: Triton does not register the type of the result."""

    def to_dlpack(self) -> CapsuleType:
        """Return the elements as a DLPack capsule; not for BYTES."""

    def __dlpack__(self, stream: object = None) -> CapsuleType: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...

_Tensors: TypeAlias = list[Tensor] | tuple[Tensor, ...]

class PreferredMemory:
    """Where the outputs of a BLS request are wanted."""

    def __init__(
        self, preferred_memory_type: MemoryType, preferred_device_id: int = 0
    ) -> None: ...

class InferenceTrace:
    """Mark of a request; only in ``c_python_backend_utils``."""

    def __init__(self, no_constructor: Never, /) -> None: ...
    def get_context(self) -> str | None:
        """Return the OpenTelemetry context as JSON, or None."""

class InferenceRequest:
    """Request: received in ``execute``, or constructed to ask another model."""

    @overload
    def __init__(
        self,
        request_id: str = "",
        correlation_id: int | str = 0,
        *,
        inputs: _Tensors,
        requested_output_names: _Names,
        model_name: str,
        model_version: int = -1,
        flags: int = 0,
        timeout: int = 0,
        preferred_memory: PreferredMemory = ...,
        trace: InferenceTrace = ...,
        parameters: _Parameters | None = None,
    ) -> None: ...
    @overload
    def __init__(
        self,
        request_id: str,
        correlation_id: int | str,
        inputs: _Tensors,
        requested_output_names: _Names,
        model_name: str,
        model_version: int = -1,
        flags: int = 0,
        timeout: int = 0,
        preferred_memory: PreferredMemory = ...,
        trace: InferenceTrace = ...,
        parameters: _Parameters | None = None,
    ) -> None: ...
    def inputs(self) -> list[Tensor]:
        """Return the inputs that were supplied, as a new list."""

    def request_id(self) -> str:
        """Return the identifier; empty if there is none."""

    def correlation_id(self) -> int | str:
        """Return the sequence's identifier; 0 if there is none."""

    def flags(self) -> int:
        """Return the sequence flags."""

    def set_flags(self, flags: int, /) -> None:
        """Set the sequence flags."""

    def timeout(self) -> int:
        """Return the timeout in microseconds; 0 for none."""

    def parameters(self) -> str:
        """Return the parameters as JSON text."""

    def requested_output_names(self) -> set[str]:
        """Return the names of the outputs to send."""

    def trace(self) -> InferenceTrace:
        """Return the mark to give to the BLS requests that serve this one."""

    @overload
    def exec(self, decoupled: Literal[False] = False) -> InferenceResponse:
        """Run the request and wait; look at ``has_error()`` of the response."""

    @overload
    def exec(self, decoupled: Literal[True]) -> ResponseIterator: ...
    @overload
    def exec(self, decoupled: bool) -> InferenceResponse | ResponseIterator: ...
    @overload
    def async_exec(
        self, decoupled: Literal[False] = False
    ) -> asyncio.Future[InferenceResponse]:
        """Run the request in the background; await the result."""

    @overload
    def async_exec(
        self, decoupled: Literal[True]
    ) -> asyncio.Future[ResponseIterator]: ...
    @overload
    def async_exec(
        self, decoupled: bool
    ) -> asyncio.Future[InferenceResponse] | asyncio.Future[ResponseIterator]: ...
    def get_response_sender(self) -> InferenceResponseSender:
        """Return the sender of this request's responses."""

    def is_cancelled(self) -> bool:
        """Whether the caller no longer wants the answer."""

    def set_release_flags(self, flags: int, /) -> None:
        """Set what becomes of the request when ``execute`` returns."""

class InferenceResponse:
    """Answer to a request; if there is an error, it alone is seen."""

    def __init__(
        self,
        output_tensors: _Tensors = ...,
        error: TritonError | None = None,
        parameters: _Parameters | None = None,
    ) -> None: ...
    def output_tensors(self) -> list[Tensor]:
        """Return the outputs, as a new list."""

    def has_error(self) -> bool:
        """Whether the request failed."""

    # Annotated as if it were never None: who asks has looked at has_error().
    def error(self) -> TritonError | Any:
        """Return the error, or None."""

    def parameters(self) -> str:
        """Return the parameters as JSON text; from Triton 25.02 on."""

class InferenceResponseSender:
    """Sends responses; only in ``c_python_backend_utils``."""

    def __init__(self, no_constructor: Never, /) -> None: ...
    def send(self, response: InferenceResponse | None = None, flags: int = 0) -> None:
        """Send a response, ``TRITONSERVER_RESPONSE_COMPLETE_FINAL``, or both."""

    def is_cancelled(self) -> bool:
        """Whether the caller no longer wants the answer."""

class ResponseIterator:
    """Responses of a decoupled BLS request; only in ``c_python_backend_utils``."""

    def __init__(self, response: InferenceResponse, /) -> None: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> InferenceResponse: ...
    def cancel(self) -> None:
        """Ask the model to stop; from Triton 25.04 on."""

class Logger:
    """Lines of the model's log: static methods, called on the class."""

    class LogLevel(_Enum):
        INFO: ClassVar[Logger.LogLevel]
        WARNING: ClassVar[Logger.LogLevel]
        ERROR: ClassVar[Logger.LogLevel]
        VERBOSE: ClassVar[Logger.LogLevel]

    INFO: ClassVar[LogLevel]
    WARNING: ClassVar[LogLevel]
    ERROR: ClassVar[LogLevel]
    VERBOSE: ClassVar[LogLevel]
    def __init__(self, no_constructor: Never, /) -> None: ...
    @staticmethod
    def log(message: str, level: LogLevel = ...) -> None:
        """Write a line; at ``Logger.INFO`` if no level is given."""

    @staticmethod
    def log_info(message: str) -> None:
        """Write an informative line."""

    @staticmethod
    def log_warn(message: str) -> None:
        """Write a warning."""

    @staticmethod
    def log_error(message: str) -> None:
        """Write an error."""

    @staticmethod
    def log_verbose(message: str) -> None:
        """Write a line that is shown only to who asks for more."""

class Metric:
    """One metric of a family; only in ``c_python_backend_utils``."""

    def __init__(self, no_constructor: Never, /) -> None: ...
    def increment(self, value: float, /) -> None:
        """Add to a counter (never less than 0) or to a gauge."""

    def set(self, value: float, /) -> None:
        """Set a gauge."""

    def observe(self, value: float, /) -> None:
        """Count a value in a histogram."""

    def value(self) -> float:
        """Return the value of a counter or a gauge."""

class MetricFamily:
    """Metrics of one name, on the server's metrics page while it lives."""

    COUNTER: ClassVar[MetricKind]
    GAUGE: ClassVar[MetricKind]
    HISTOGRAM: ClassVar[MetricKind]
    def __init__(self, name: str, description: str, kind: MetricKind) -> None: ...
    def Metric(
        self,
        labels: dict[str, str] | None = None,
        buckets: list[float] | list[int] | None = None,
    ) -> Metric:
        """Return the metric of these labels; a histogram needs buckets."""

def load_model(
    model_name: str, config: str = "", files: dict[str, bytes] | None = None
) -> None:
    """Load a model, if wanted with another configuration (JSON) and other files."""

def unload_model(model_name: str, unload_dependents: bool = False) -> None:
    """Begin to unload a model; one that is not loaded is no error."""

def is_model_ready(model_name: str, model_version: str = "") -> bool:
    """Whether a model, or a version of it, can serve."""
