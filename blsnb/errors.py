"""Errors that blsnb raises to its users. Model code sees Triton's classes instead.

::

    BlsnbError
    ├── InferenceError        a request failed: Triton's text and code
    │   ├── WouldHang         Triton would never respond
    │   └── OutOfResourcesError   no thread, descriptor or memory was left
    ├── InputError            an argument of a request has a wrong type
    ├── MissingOutputError    a response has no output of this name
    ├── ModelLoadError        a model could not be loaded: Triton's text
    ├── ModelConfigError      a configuration is invalid
    ├── ModelSourceError      a cell is not the source of a model
    ├── BackendError          a backend cannot load a model, or execute requests
    ├── ServerClosedError     the server was closed
    ├── RepositoryError       a folder or file of a model repository cannot be used
    ├── TritonServerError     a real Triton server cannot be installed, started, reached
    ├── TraceError            a recorded call or value is not available
    └── TraceFileError        a file is neither a Triton trace nor a saved run

    KeyboardInterrupt
    └── RequestInterrupted    Ctrl-C ended a request or a load
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from blsnb.printable import printable_lines

OUT_OF_RESOURCES = "RESOURCE_EXHAUSTED"
"""gRPC's name of the code for a lack of threads, descriptors or memory."""


class BlsnbError(Exception):
    """Base of the errors that blsnb raises to its users."""

    def __str__(self) -> str:
        # A terminal shows it, and its text may come from a model or a file.
        return printable_lines(self._text())

    def _text(self) -> str:
        return super().__str__()


class InferenceError(BlsnbError):
    """A request failed, as Triton's gRPC client would report it.

    Parameters
    ----------
    message
        Triton's text, unchanged.
    code
        Triton's name of the code, such as ``"INVALID_ARG"``.
    run
        The `Run` of the failed request, if there is one.
    advice
        How to fix it; shown after the message.
    """

    def __init__(
        self, message: str, code: str = "INTERNAL", run: Any = None, advice: str = ""
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.run = run
        self.advice = advice

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without the run, which belongs to a server of this process."""
        return type(self), self.args, {**self.__dict__, "run": None}

    def _text(self) -> str:
        text = f"[{self.code}] {self.message}"
        return f"{text}\n\n{self.advice}" if self.advice else text


class WouldHang(InferenceError):
    """Triton would never respond; the message says why, and how to fix it."""


class OutOfResourcesError(InferenceError):
    """A request was not run: no thread, descriptor or memory was left.

    Parameters
    ----------
    message, advice
        As of `InferenceError`.
    """

    def __init__(self, message: str, advice: str = "") -> None:
        super().__init__(message, OUT_OF_RESOURCES, advice=advice)


class InputError(BlsnbError, TypeError):
    """An argument of a request has a wrong type, or an input does not convert."""


class MissingOutputError(BlsnbError, KeyError):
    """A response has no output of this name.

    Parameters
    ----------
    message
        The name, and the outputs of the response.
    """

    def _text(self) -> str:
        # Python's own KeyError shows its text in quotes.
        return str(self.args[0])


class ModelLoadError(BlsnbError):
    """A model could not be loaded.

    Parameters
    ----------
    message
        Text of Triton's load call, unchanged.
    code
        Name of Triton's error code.
    reason
        The cause, which Triton may show in its log only.
    advice
        How to fix it.
    reasons
        Reason of each version, as in the repository index; None if the load failed
        before any version was made.
    stage
        Step that failed: ``"poll"`` reads the folder, ``"dependency"`` resolves the
        steps of an ensemble, ``"create"`` makes the model.
    """

    def __init__(
        self,
        message: str,
        code: str = "INVALID_ARG",
        reason: str = "",
        advice: str = "",
        stage: str = "create",
        reasons: Mapping[int, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.reason = reason
        self.advice = advice
        self.stage = stage
        self.reasons = reasons

    def _text(self) -> str:
        reason = "" if self.reason in self.message else self.reason
        return "\n\n".join(filter(None, (self.message, reason, self.advice)))


class ModelConfigError(BlsnbError):
    """A model configuration is invalid.

    Parameters
    ----------
    message
        Triton's text, unchanged.
    stage
        Step of Triton that fails: ``"poll"``, ``"create"`` or ``"dependency"``.
    code
        Name of Triton's error code.
    advice
        How to fix it.
    """

    def __init__(
        self,
        message: str,
        stage: str = "poll",
        code: str = "INVALID_ARG",
        advice: str = "",
    ) -> None:
        super().__init__(message)
        self.message = message
        self.stage = stage
        self.code = code
        self.advice = advice

    def _text(self) -> str:
        return f"{self.message}\n\n{self.advice}" if self.advice else self.message


class ModelSourceError(BlsnbError):
    """A cell is not the source of a model."""


class BackendError(BlsnbError):
    """A backend cannot load a model or execute requests.

    Backends raise it. Users receive a `ModelLoadError` or an `InferenceError` with its
    text.

    Parameters
    ----------
    text
        Text of Triton's backend.
    code
        Name of Triton's error code.
    advice
        How to fix it; not part of the text.
    """

    def __init__(self, text: str, code: str = "INTERNAL", advice: str = "") -> None:
        super().__init__(text)
        self.text = text
        self.code = code
        self.advice = advice


class ServerClosedError(BlsnbError):
    """The server was closed, or made before a fork, and accepts no more requests.

    Parameters
    ----------
    message
        What was closed, and what to do.
    """

    def __init__(
        self, message: str = "the server was closed; make a new blsnb.Server()"
    ) -> None:
        super().__init__(message)


class RepositoryError(BlsnbError):
    """A folder or a file of a model repository cannot be used."""


class TritonServerError(BlsnbError):
    """A real Triton server cannot be installed, started or reached.

    Parameters
    ----------
    message
        What failed, and why.
    log
        Last lines of the server's log.
    advice
        How to fix it.
    """

    def __init__(self, message: str, log: str = "", advice: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.log = log
        self.advice = advice

    def _text(self) -> str:
        return "\n\n".join(filter(None, (self.message, self.log, self.advice)))


class TraceError(BlsnbError):
    """A recorded call or value is not available: never recorded, or no longer kept."""


class TraceFileError(BlsnbError):
    """A file is neither a Triton trace nor a saved run, or needs too much memory."""


class CollectorError(BlsnbError):
    """OpenTelemetry spans cannot be sent: no Collector answers, or it refuses them."""


class RequestInterrupted(KeyboardInterrupt):
    """Ctrl-C ended a request or a load; the traceback ends in the model's line."""


# Jupyter's clients recognise an interrupt by this name.
RequestInterrupted.__name__ = KeyboardInterrupt.__name__
