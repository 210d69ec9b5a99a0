"""The one door from model code to the engine: two protocols and what stands outside."""

from __future__ import annotations

import asyncio
from typing import Any, Protocol

from blsnb.pb_utils.compiled.errors import TritonModelException
from blsnb.pb_utils.message import RequestMessage, ResponseMessage
from blsnb.runtimes.host import NumpyRuntime
from blsnb.runtimes.runtime import Runtime

BLS_OUTSIDE_EXECUTE = "BLS is only supported during the 'execute' function."


class Refusal(Exception):
    """The server refuses what a model asks of it; the text is the server's."""


class Sample(Protocol):
    """A metric of the server; it raises `Refusal` for what its kind does not allow."""

    def increment(self, value: float) -> None:
        """Add a number."""

    def set(self, value: float) -> None:
        """Set the number."""

    def observe(self, value: float) -> None:
        """Count a number in its bucket."""

    def value(self) -> float:
        """Return the number."""


class SampleFamily(Protocol):
    """All metrics of one name."""

    def sample(self, labels: dict[str, Any], bounds: tuple[float, ...]) -> Sample:
        """Return the metric with these labels, which lives while it is held."""


class Responses(Protocol):
    """The responses of a decoupled request, by number."""

    def get(self, number: int) -> ResponseMessage | None:
        """Return a response, waiting for it; None if there are not so many."""

    def cancel(self) -> None:
        """Say that no more are wanted."""


class Backend(Protocol):
    """What an instance's own ``triton_python_backend_utils`` asks of the engine."""

    @property
    def runtime(self) -> Runtime:
        """What takes memory of a device."""

    def exec(self, message: RequestMessage) -> ResponseMessage:
        """Run a request on its model and wait for the answer."""

    def exec_decoupled(self, message: RequestMessage) -> Responses:
        """Run a request with any number of responses, and wait for the first."""

    def async_exec(
        self, message: RequestMessage, answer: Any, decoupled: bool
    ) -> asyncio.Future[Any]:
        """Run a request; the future holds what ``answer`` makes of the outcome."""

    def watch(self, response: Any, model_name: str) -> None:
        """See whether the model asks if a response is an error: this one is."""

    def log(self, level: str, text: str) -> None:
        """Write a line of the model's log."""

    def is_model_ready(self, name: str, version: str) -> bool:
        """Whether a model, or a version of it, can serve."""

    def load_model(self, name: str, config: str, files: dict[str, bytes]) -> None:
        """Load a model, or load it anew."""

    def unload_model(self, name: str, unload_dependents: bool) -> None:
        """Stop serving a model."""

    def metric_family(self, name: str, description: str, kind: str) -> SampleFamily:
        """Return the server's family of metrics of a name."""

    def refused(self, text: str) -> str:
        """Return a refusal of the server in the words that reach the model."""

    def model_dir(self) -> str:
        """Return the folder of the model's version."""


class Reply(Protocol):
    """The way back to the caller of one received request."""

    decoupled: bool
    """Whether any number of responses may be sent."""

    def send(self, response: ResponseMessage | None, final: bool) -> None:
        """Send a response, the final flag, or both."""

    def sent(self) -> tuple[int, bool]:
        """Return how many responses were sent, and whether the final flag was."""

    def is_cancelled(self) -> bool:
        """Whether the caller no longer wants the answer."""

    def trace(self) -> Any:
        """Return the mark by which a BLS request names this one as its caller."""


class Outside:
    """The backend of code that is no instance's: a notebook, a script, a test."""

    runtime: Runtime = NumpyRuntime()

    def exec(self, message: RequestMessage) -> ResponseMessage:
        """Refuse: no model is executing."""
        raise TritonModelException(BLS_OUTSIDE_EXECUTE)

    def exec_decoupled(self, message: RequestMessage) -> Responses:
        """Refuse: no model is executing."""
        raise TritonModelException(BLS_OUTSIDE_EXECUTE)

    def async_exec(
        self, message: RequestMessage, answer: Any, decoupled: bool
    ) -> asyncio.Future[Any]:
        """Refuse: no model is executing."""
        raise TritonModelException(BLS_OUTSIDE_EXECUTE)

    def watch(self, response: Any, model_name: str) -> None:
        """See nothing: no model is executing."""

    def log(self, level: str, text: str) -> None:
        """Say nothing: no model is there whose log it were."""

    def is_model_ready(self, name: str, version: str) -> bool:
        """Refuse: no server is there."""
        raise TritonModelException("is_model_ready() is for models only")

    def load_model(self, name: str, config: str, files: dict[str, bytes]) -> None:
        """Refuse: no server is there."""
        raise TritonModelException("load_model() is for models only")

    def unload_model(self, name: str, unload_dependents: bool) -> None:
        """Refuse: no server is there."""
        raise TritonModelException("unload_model() is for models only")

    def metric_family(self, name: str, description: str, kind: str) -> SampleFamily:
        """Refuse: no server is there."""
        raise TritonModelException("MetricFamily() is for models only")

    def refused(self, text: str) -> str:
        """Return a refusal as it is: no instance is there to be named."""
        return text

    def model_dir(self) -> str:
        """Refuse: no model is loading."""
        raise TritonModelException("get_model_dir() is for models only")


def told(backend: Backend, failure: str, refusal: Refusal) -> TritonModelException:
    """Return the exception by which a model learns of a refusal."""
    return TritonModelException(failure + backend.refused(str(refusal)))
