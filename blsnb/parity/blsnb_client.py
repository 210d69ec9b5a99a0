"""Ours: asks the server of this process, and says which of its models it takes."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path

from blsnb.engine.catalog import Catalog
from blsnb.engine.request.client_request import ClientRequest
from blsnb.engine.request.validation import RequestError
from blsnb.engine.settings import Settings
from blsnb.errors import InferenceError, WouldHang
from blsnb.parity.triton.answers import WOULD_HANG, Answer, Answers, Failure
from blsnb.parts.folders import Exchange
from blsnb.parts.requests import ClientRequests
from blsnb.pb_utils.message import RequestMessage
from blsnb.repository.export import Exported
from blsnb.response import Response
from blsnb.run import Run
from blsnb.trace.recorder import TraceLevel

_now = time.monotonic_ns


class Ours:
    """The live server's side of a comparison.

    Parameters
    ----------
    server
        What has the models.
    requests
        What runs requests on them.
    catalog
        Which of them serve.
    settings
        What the server was told when it was made.
    export
        Writes all models that can be, as they serve, as a repository that Triton
        loads.
    """

    def __init__(
        self,
        server: Exchange,
        requests: ClientRequests,
        catalog: Catalog,
        settings: Settings,
        export: Callable[[Path], Exported],
    ) -> None:
        self._server = server
        self._requests = requests
        self._catalog = catalog
        self.settings = settings
        self.release = settings.release
        self.export = export

    @property
    def folders(self) -> tuple[Path, ...]:
        """Where the models' folders are; their paths stand in texts."""
        repository = self._server.repository
        return (repository.private_root, *repository.roots)

    def ready(self) -> frozenset[str]:
        """Return names of the models that serve."""
        return frozenset(self._catalog.names())

    def standins(self) -> Mapping[str, str]:
        """Return how stand-ins answer, by the models for which they do."""
        return {
            each.name: each.standin for each in self._server.models() if each.standin
        }

    def message(self, request: ClientRequest) -> RequestMessage:
        """Return a request as it is made here, and elsewhere.

        Raises
        ------
        InputError
            An input is of a type that Triton has not.
        """
        request.check()
        version = -1 if request.version is None else request.version
        return request.message(self._catalog.config(request.model_name, version))

    def is_decoupled(self, request: ClientRequest) -> bool:
        """Whether a request has any number of responses."""
        version = -1 if request.version is None else request.version
        try:
            return self._catalog.find(request.model_name, version).decoupled
        except RequestError:
            # It is refused, and the answer says why.
            return False

    def ask(self, request: ClientRequest) -> Answers:
        """Make a request; its run has all values, and is not kept by the server.

        Raises
        ------
        InputError
            An input is of a type that Triton has not.
        """
        ask = self._stream if self.is_decoupled(request) else self._infer
        return ask(request)

    def _infer(self, request: ClientRequest) -> Answers:
        record = self._server.recorder.unkept(TraceLevel.TENSORS)
        began_ns = _now()
        try:
            run = self._requests.run(request, None, record)
        except InferenceError as error:
            took_ns = _now() - began_ns
            answer = Answer(failure=_failure(error), at_ns=took_ns)
            return Answers((answer,), took_ns, began_ns, _run(error))
        took_ns = _now() - began_ns
        [response] = run.responses
        return Answers((_answer(response, took_ns),), took_ns, began_ns, run)

    def _stream(self, request: ClientRequest) -> Answers:
        record = self._server.recorder.unkept(TraceLevel.TENSORS)
        answers: list[Answer] = []
        run: Run | None = None
        began_ns = _now()
        try:
            stream = self._requests.stream(request, record)
            for response in stream:
                answers.append(_answer(response, _now() - began_ns))
            run = stream.run
        except InferenceError as error:
            failure = _failure(error)
            answers.append(Answer(failure=failure, at_ns=_now() - began_ns))
            run = _run(error)
        return Answers(tuple(answers), _now() - began_ns, began_ns, run)


def _answer(response: Response, at_ns: int) -> Answer:
    # A stream carries the text of an error and no status code.
    failure = None if response.error is None else Failure("", response.error)
    outputs = response.saved().outputs
    return Answer(outputs, failure, response.final, at_ns, response.parameters)


def _failure(error: InferenceError) -> Failure:
    code = WOULD_HANG if isinstance(error, WouldHang) else error.code
    return Failure(code, error.message)


def _run(error: InferenceError) -> Run | None:
    return error.run if isinstance(error.run, Run) else None
