"""Instances of models whose backend is not Python."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from blsnb.backends.backend import BackendInstance, Responses
from blsnb.engine.instance.inputs import Reshapes
from blsnb.engine.instance.instance import HookFailed, ModelInstance
from blsnb.engine.request.interrupts import boundary
from blsnb.engine.request.lifetime import RootRequest
from blsnb.errors import BackendError
from blsnb.pb_utils.backend import EngineCalls
from blsnb.pb_utils.compiled.releases import Release
from blsnb.pb_utils.message import RequestMessage, ResponseMessage
from blsnb.pb_utils.request import InferenceRequest, message_of
from blsnb.pb_utils.response import InferenceResponse, receive_response
from blsnb.pb_utils.sender import FINAL


class BackendModelInstance(ModelInstance):
    """One instance of a model without Python code, which makes no BLS calls.

    The pool, the schedulers and the executor use it like a Python model's instance.

    Parameters
    ----------
    name
        Triton's name of the instance.
    model_file
        The model's file.
    bind
        Returns the writer of its log.
    make
        Creates the backend's instance.
    decoupled
        Whether a request may have any number of responses.
    reshapes
        Converts to the shapes that clients see, if the backend works with those; else
        None.
    load_root
        The load that creates it, which Ctrl-C ends.
    """

    def __init__(
        self,
        name: str,
        model_file: Path,
        bind: Callable[[ModelInstance], EngineCalls],
        release: Release,
        make: Callable[[], BackendInstance],
        decoupled: bool,
        reshapes: Reshapes | None,
        load_root: RootRequest | None,
    ) -> None:
        super().__init__(name, model_file, bind, release, load_root=load_root)
        self._make = make
        self._decoupled = decoupled
        self._reshapes = reshapes
        # No user code is bound to the thread of `initialize`.
        self.notes.thread_noted = True

    def load(self) -> None:
        """Do nothing: there is no source to import."""

    def initialize(self, args: dict[str, str]) -> None:
        """Create the backend's instance.

        Raises
        ------
        BackendError
            It cannot be created.
        HookFailed
            The backend raised an unexpected exception.
        """
        try:
            super().initialize(args)
        except HookFailed as failure:
            if isinstance(failure.cause, BackendError):
                raise failure.cause from None
            raise

    def _initialize(self, args: dict[str, str]) -> None:
        self.notes.thread_id = threading.get_ident()
        self.model = _BackendModel(self._make(), self._decoupled, self._reshapes)


class _BackendModel:
    """A backend's instance with the methods of a Python model."""

    def __init__(
        self, backend: BackendInstance, decoupled: bool, reshapes: Reshapes | None
    ) -> None:
        self._backend = backend
        self._decoupled = decoupled
        self._reshapes = reshapes
        self.finalize = backend.finalize

    def execute(
        self, requests: list[InferenceRequest]
    ) -> list[InferenceResponse] | None:
        """Execute the requests with the backend."""
        __tracebackhide__ = True
        messages = list(map(self._message, requests))
        answers: Responses
        try:
            answers = _execute(self._backend, messages)
        except BackendError as error:
            answers = [[_failed(error)] for _ in messages]
        if self._decoupled:
            for request, responses in zip(requests, answers, strict=True):
                self._send(request, responses)
            return None
        return [self._response(self._only(responses)) for responses in answers]

    def _only(self, responses: Iterable[ResponseMessage]) -> ResponseMessage:
        message = _next(iter(responses))
        if message is None:
            raise ValueError(
                "the backend sent no response, but the model is not decoupled"
            )
        return message

    def _message(self, request: InferenceRequest) -> RequestMessage:
        message = message_of(request)
        if self._reshapes is not None:
            message.inputs = self._reshapes.to_model(message.inputs)
        return message

    def _response(self, message: ResponseMessage) -> InferenceResponse:
        if self._reshapes is not None:
            message.outputs = self._reshapes.to_client(message.outputs)
        return receive_response(InferenceResponse, message)

    def _send(
        self, request: InferenceRequest, responses: Iterable[ResponseMessage]
    ) -> None:
        """Send each response at once; send the final flag last, or with an error."""
        sender = request.get_response_sender()
        waiting = iter(responses)
        try:
            while (message := _next(waiting)) is not None:
                if message.error is not None:
                    sender.send(self._response(message), FINAL)
                    return
                sender.send(self._response(message))
                if request.is_cancelled():
                    break
        except BackendError as error:
            sender.send(self._response(_failed(error)), FINAL)
            return
        sender.send(flags=FINAL)


@boundary
def _execute(backend: BackendInstance, messages: list[RequestMessage]) -> Responses:
    """Execute the requests; Ctrl-C may interrupt this like a model."""
    __tracebackhide__ = True
    return backend.execute(messages)


@boundary
def _next(responses: Iterator[ResponseMessage]) -> ResponseMessage | None:
    """Return the next response; None after the last one."""
    __tracebackhide__ = True
    return next(responses, None)


def _failed(error: BackendError) -> ResponseMessage:
    return ResponseMessage(error=error.text, code=error.code, cause=error)
