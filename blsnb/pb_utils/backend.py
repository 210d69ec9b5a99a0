"""The interfaces between model code and the engine."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, ClassVar, NoReturn, Protocol

from blsnb.pb_utils.compiled.errors import TritonModelException
from blsnb.pb_utils.message import RequestMessage, ResponseMessage
from blsnb.runtimes.host import NumpyRuntime
from blsnb.runtimes.runtime import Runtime

BLS_OUTSIDE_EXECUTE = "BLS is only supported during the 'execute' function."


class Refusal(Exception):
    """The server refuses a model's call; the text is the server's."""


class MetricSample(Protocol):
    """A metric of the server; an operation that its kind lacks raises `Refusal`."""

    def increment(self, value: float) -> None:
        """Add to the value."""

    def set(self, value: float) -> None:
        """Replace the value."""

    def observe(self, value: float) -> None:
        """Count a value in its bucket."""

    def value(self) -> float:
        """Return the value."""


class SampleFamily(Protocol):
    """All metrics of one name."""

    def sample(self, labels: dict[str, Any], bounds: tuple[float, ...]) -> MetricSample:
        """Return the metric with these labels; it exists while it is referenced."""


class Responses(Protocol):
    """The responses of a decoupled request, by index."""

    def get(self, number: int) -> ResponseMessage | None:
        """Return a response, waiting for it; None after the last."""

    def cancel(self) -> None:
        """Cancel the request."""


class EngineCalls(Protocol):
    """Calls of an instance's own ``triton_python_backend_utils`` to the engine."""

    @property
    def runtime(self) -> Runtime:
        """The runtime that imports device memory."""

    def exec(self, message: RequestMessage) -> ResponseMessage:
        """Run a request and return its response."""

    def exec_decoupled(self, message: RequestMessage) -> Responses:
        """Run a request with any number of responses; return after the first."""

    def async_exec(
        self, message: RequestMessage, convert: Any, decoupled: bool
    ) -> asyncio.Future[Any]:
        """Run a request; the future holds ``convert`` of the result."""

    def note_error(self, response: Any, model_name: str) -> None:
        """Record an error response; a note follows if the model never checks it."""

    def note(self, text: str) -> None:
        """Add a note to the current call, or to the next one."""

    def log(self, level: str, text: str, place: tuple[str, int] | None = None) -> None:
        """Write a line of the model's log."""

    def is_model_ready(self, name: str, version: str) -> bool:
        """Whether a model, or one version of it, is ready."""

    def load_model(self, name: str, config: str, files: dict[str, bytes]) -> None:
        """Load or reload a model."""

    def unload_model(self, name: str, unload_dependents: bool) -> None:
        """Unload a model."""

    def metric_family(self, name: str, description: str, kind: str) -> SampleFamily:
        """Return the server's metric family of this name."""

    def refusal_text(self, text: str) -> str:
        """Return the text of a refusal as the model receives it."""

    def model_dir(self) -> str:
        """Return the folder of the model's version."""


class Reply(Protocol):
    """Sends the responses of one received request."""

    decoupled: bool
    """Whether any number of responses may be sent."""

    def send(self, response: ResponseMessage | None, final: bool) -> None:
        """Send a response, the final flag, or both."""

    def sent(self) -> tuple[int, bool]:
        """Return the number of responses sent, and whether the final flag was sent."""

    def is_cancelled(self) -> bool:
        """Whether the client has cancelled the request."""

    def trace(self) -> Any:
        """Return the value that makes a BLS request a child of this request."""


def _refused(text: str) -> Callable[..., Any]:
    """Return a method that refuses every call."""

    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise TritonModelException(text)

    return refuse


class UnboundBackend:
    """The backend of code without an instance: a notebook, a script, a test."""

    runtime: Runtime = NumpyRuntime()
    exec = exec_decoupled = async_exec = _refused(BLS_OUTSIDE_EXECUTE)
    is_model_ready = _refused("is_model_ready() is for models only")
    load_model = _refused("load_model() is for models only")
    unload_model = _refused("unload_model() is for models only")
    metric_family = _refused("MetricFamily() is for models only")
    model_dir = _refused("get_model_dir() is for models only")

    def note(self, *_: Any, **__: Any) -> None:
        """Do nothing: no model has a call or a log."""

    note_error = log = note

    def refusal_text(self, text: str) -> str:
        """Return the text unchanged."""
        return text


class CurrentBackend:
    """Forward backend calls to the instance whose code is running.

    Instances share installed packages, and with them the module that such a package
    has imported. Without a running instance this is an `UnboundBackend`.
    """

    _lookup: ClassVar[Callable[[], EngineCalls | None] | None] = None

    @classmethod
    def set_lookup(cls, lookup: Callable[[], EngineCalls | None] | None) -> None:
        """Set the function that returns the running instance's backend."""
        cls._lookup = lookup

    def __getattr__(self, name: str) -> Any:
        lookup = type(self)._lookup
        return getattr((lookup and lookup()) or UnboundBackend(), name)


def refusal_error(
    backend: EngineCalls, failure: str, refusal: Refusal
) -> TritonModelException:
    """Return the exception that a model receives for a refusal, and note it."""
    backend.note(
        f"{failure.rstrip(': ')}: on Triton 24.10 the server may end here or at the "
        "next such call, also if this exception is caught. Make no call that is "
        "refused."
    )
    return TritonModelException(failure + backend.refusal_text(str(refusal)))
