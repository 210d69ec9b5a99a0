"""Sends the requests of a comparison to the server of this process."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

from blsnb.engine.request.validation import RequestError
from blsnb.errors import InferenceError, WouldHang
from blsnb.parity.triton.outcome import (
    WOULD_HANG,
    ClientFailure,
    ClientOutcome,
    ClientResponse,
)
from blsnb.parts.requests import ClientRequest
from blsnb.parts.server_parts import ServerParts
from blsnb.pb_utils.message import RequestMessage
from blsnb.results.response import Response
from blsnb.results.run import Run
from blsnb.trace.events import TraceLevel

_now = time.monotonic_ns


class BlsnbClient:
    """A client of the server in this process, which also knows its models."""

    def __init__(self, parts: ServerParts) -> None:
        self._parts = parts
        self._catalog = parts.engine.catalog
        self.settings = parts.engine.settings
        self.export = parts.folders.export_as_served

    @property
    def folders(self) -> tuple[Path, ...]:
        """The folders of the repository; error texts contain their paths."""
        repository = self._parts.repository
        return (repository.private_root, *repository.roots)

    def ready(self) -> frozenset[str]:
        """Return the names of the ready models."""
        return frozenset(self._catalog.names())

    def standins(self) -> Mapping[str, str]:
        """Return, by model name, the kinds of the stand-ins in use."""
        models = self._parts.reports.statuses()
        return {each.name: each.standin for each in models if each.standin}

    def message(self, request: ClientRequest) -> RequestMessage:
        """Return a request as both servers receive it."""
        return self._parts.requests.message(request)

    def is_decoupled(self, request: ClientRequest) -> bool:
        """Whether the requested model is decoupled."""
        try:
            version = request.fields.version
            return self._catalog.find(request.model_name, version).decoupled
        except RequestError:
            # The request fails, and its error says why.
            return False

    def send(self, request: ClientRequest) -> ClientOutcome:
        """Run a request with all values recorded, without keeping the run."""
        record = self._parts.recorder.unkept(TraceLevel.TENSORS)
        responses: list[ClientResponse] = []
        run: Run | None = None
        start_ns = _now()
        try:
            if self.is_decoupled(request):
                stream = self._parts.requests.stream(request, record)
                for response in stream:
                    responses.append(_response(response, _now() - start_ns))
                run, ended_ns = stream.run, _now()
            else:
                run = self._parts.requests.run(request, None, record)
                ended_ns = _now()
                [response] = run.responses
                responses.append(_response(response, ended_ns - start_ns))
        except InferenceError as error:
            ended_ns = _now()
            code = WOULD_HANG if isinstance(error, WouldHang) else error.code
            failure = ClientFailure(code, error.message)
            responses.append(ClientResponse(failure=failure, at_ns=ended_ns - start_ns))
            run = error.run if isinstance(error.run, Run) else None
        return ClientOutcome(tuple(responses), ended_ns - start_ns, start_ns, run)


def _response(response: Response, at_ns: int) -> ClientResponse:
    # A stream transports the text of an error and no status code.
    failure = None if response.error is None else ClientFailure("", response.error)
    outputs = response.saved().outputs
    return ClientResponse(outputs, failure, response.final, at_ns, response.parameters)
