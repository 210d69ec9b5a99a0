"""LeafInstance: an instance whose work a backend does that is not Python's."""

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
from blsnb.pb_utils.backend import Backend
from blsnb.pb_utils.compiled.releases import Release
from blsnb.pb_utils.message import RequestMessage, ResponseMessage
from blsnb.pb_utils.request import InferenceRequest, message_of
from blsnb.pb_utils.response import InferenceResponse, receive_response
from blsnb.pb_utils.sender import FINAL


class LeafInstance(ModelInstance):
    """One instance of a model that has no source: a leaf of every call graph.

    To the pool, the schedulers and the executor it is an instance as any other.

    Parameters
    ----------
    name
        Triton's name of the instance.
    model_file
        The model's file.
    bind
        Makes what writes its log.
    make
        Makes what does the work.
    decoupled
        Whether a request may have any number of responses.
    around
        Turns tensors into the shapes that clients see, where the work is done with
        those; None where it is done with the model's own.
    load_root
        The life of the load that makes it, which Ctrl-C ends.
    """

    def __init__(
        self,
        name: str,
        model_file: Path,
        bind: Callable[[ModelInstance], Backend],
        release: Release,
        make: Callable[[], BackendInstance],
        decoupled: bool,
        around: Reshapes | None,
        load_root: RootRequest | None,
    ) -> None:
        super().__init__(name, model_file, bind, release, load_root=load_root)
        self._make = make
        self._decoupled = decoupled
        self._around = around
        # No code of a user's is bound to the thread of its `initialize`.
        self.notes.thread_noted = True

    def load(self) -> None:
        """Do nothing: there is no source to import."""

    def initialize(self, args: dict[str, str]) -> None:
        """Make what does the work.

        Raises
        ------
        BackendError
            It cannot be made.
        HookFailed
            The backend has a fault.
        """
        try:
            super().initialize(args)
        except HookFailed as failure:
            if isinstance(failure.cause, BackendError):
                raise failure.cause from None
            raise

    def _initialize(self, args: dict[str, str]) -> None:
        self.notes.thread_id = threading.get_ident()
        self.model = _Leaf(self._make(), self._decoupled, self._around)


class _Leaf:
    """What the hooks of a Python model are to a backend that has others."""

    def __init__(
        self, work: BackendInstance, decoupled: bool, around: Reshapes | None
    ) -> None:
        self._work = work
        self._decoupled = decoupled
        self._around = around
        self.finalize = work.finalize

    def execute(
        self, requests: list[InferenceRequest]
    ) -> list[InferenceResponse] | None:
        """Hand the requests to the backend, and its answers back."""
        __tracebackhide__ = True
        messages = list(map(self._message, requests))
        answers: Responses
        try:
            answers = _ask(self._work, messages)
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
            raise ValueError("a request of a model that is not decoupled has no answer")
        return message

    def _message(self, request: InferenceRequest) -> RequestMessage:
        message = message_of(request)
        if self._around is not None:
            message.inputs = self._around.inward(message.inputs)
        return message

    def _response(self, message: ResponseMessage) -> InferenceResponse:
        if self._around is not None:
            message.outputs = self._around.outward(message.outputs)
        return receive_response(InferenceResponse, message)

    def _send(
        self, request: InferenceRequest, responses: Iterable[ResponseMessage]
    ) -> None:
        """Send responses as they come, the final flag with an error or after all."""
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
def _ask(work: BackendInstance, messages: list[RequestMessage]) -> Responses:
    """Let the backend work; Ctrl-C may hit it, as it may hit a model."""
    __tracebackhide__ = True
    return work.execute(messages)


@boundary
def _next(responses: Iterator[ResponseMessage]) -> ResponseMessage | None:
    """Return the next response, which may have to be made first; None after all."""
    __tracebackhide__ = True
    return next(responses, None)


def _failed(error: BackendError) -> ResponseMessage:
    return ResponseMessage(error=error.text, code=error.code, cause=error)
