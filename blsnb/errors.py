"""What blsnb itself raises; what model code sees has Triton's classes instead.

::

    BlsnbError
    ├── InferenceError        a request failed: Triton's text and code
    │   ├── WouldHang         Triton would wait for ever here
    │   └── OutOfResourcesError   no thread, descriptor or memory is left for it
    ├── InputError            a value given to infer() is none that Triton has
    ├── ModelLoadError        a model could not be loaded: Triton's text
    ├── ModelConfigError      a configuration is invalid
    ├── ModelSourceError      a cell is no model
    ├── BackendError          a backend cannot load a model, or answer requests
    ├── ServerClosedError     the server was closed
    ├── RepositoryError       a folder or file of a model repository cannot be used
    ├── TritonServerError     a real Triton server cannot be started, reached or asked
    ├── TraceError            a recorded value is asked for that is not there
    └── TraceFileError        a file is neither a Triton trace nor a saved run
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

OUT_OF_RESOURCES = "RESOURCE_EXHAUSTED"
"""Code of a request for which no thread, descriptor or memory is left: gRPC's name."""


class BlsnbError(Exception):
    """Root of everything that blsnb raises to its user."""


class InferenceError(BlsnbError):
    """A request failed, as Triton's gRPC client would report it.

    Parameters
    ----------
    message
        The status details, exactly as Triton words them.
    code
        Triton's name of the code, such as ``"INVALID_ARG"``.
    run
        The run of the failed request, so that it can be looked at.
    advice
        What to do about it; shown after the message, never part of it.
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
        """Leave the run out: it belongs to a server of this process."""
        return type(self), self.args, {**self.__dict__, "run": None}

    def __str__(self) -> str:
        text = f"[{self.code}] {self.message}"
        return f"{text}\n\n{self.advice}" if self.advice else text


class WouldHang(InferenceError):
    """Triton would wait here for ever; the message says why and how to mend it."""


class OutOfResourcesError(InferenceError):
    """No thread, descriptor or memory is left for a request, which was not run."""

    def __init__(
        self,
        message: str,
        code: str = OUT_OF_RESOURCES,
        run: Any = None,
        advice: str = "",
    ) -> None:
        super().__init__(message, code, run, advice)


class InputError(BlsnbError, TypeError):
    """A value given to ``infer`` is of no type that Triton has, or does not convert."""


class ModelLoadError(BlsnbError):
    """A model could not be loaded.

    Parameters
    ----------
    message
        What Triton's load call answers, to the letter.
    code
        Triton's name of the code.
    reason
        The cause, which Triton may show in its log only.
    advice
        What to do about it.
    reasons
        What became of each version that was to be loaded, as the index tells it;
        None where the model was not taken up.
    stage
        Where it failed: ``"poll"`` before the model was taken up, ``"dependency"``
        before it was made, else ``"create"``.
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

    def __str__(self) -> str:
        parts = [self.message]
        if self.reason and self.reason not in self.message:
            parts.append(self.reason)
        if self.advice:
            parts.append(self.advice)
        return "\n\n".join(parts)


class ModelConfigError(BlsnbError):
    """A model configuration is invalid.

    Parameters
    ----------
    message
        Triton's text, to the letter.
    stage
        Where Triton finds it: ``"poll"``, ``"create"`` or ``"dependency"``.
    code
        Triton's name of the code.
    advice
        What to do about it.
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

    def __str__(self) -> str:
        return f"{self.message}\n\n{self.advice}" if self.advice else self.message


class ModelSourceError(BlsnbError):
    """A cell is not the source of a model."""


class BackendError(BlsnbError):
    """Why a backend cannot load a model or execute requests; it reaches no user.

    Parameters
    ----------
    text
        As Triton's backend words it.
    code
        Triton's name of the code.
    advice
        What to do about it; never part of the text.
    """

    def __init__(self, text: str, code: str = "INTERNAL", advice: str = "") -> None:
        super().__init__(text)
        self.text = text
        self.code = code
        self.advice = advice


class ServerClosedError(BlsnbError):
    """The server was closed and takes no more requests."""

    def __init__(
        self, message: str = "the server was closed; make a new blsnb.Server()"
    ) -> None:
        super().__init__(message)


class RepositoryError(BlsnbError):
    """A folder or a file of a model repository cannot be used."""


class TritonServerError(BlsnbError):
    """A real Triton server cannot be installed, started, reached or asked.

    Parameters
    ----------
    message
        What went wrong, with its reason.
    log
        The last lines that the server wrote.
    advice
        What to do about it.
    """

    def __init__(self, message: str, log: str = "", advice: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.log = log
        self.advice = advice

    def __str__(self) -> str:
        return "\n\n".join(filter(None, (self.message, self.log, self.advice)))


class TraceError(BlsnbError):
    """A recorded value is asked for that the trace does not hold (any more)."""


class TraceFileError(BlsnbError):
    """A file holds no trace of a Triton server and no saved run, or too much."""
