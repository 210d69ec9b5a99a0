"""Client requests: from Python values to messages, and from responses to runs."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from blsnb.arguments import check_flags
from blsnb.engine.engine import Engine
from blsnb.engine.instance.instance import ModelInstance
from blsnb.engine.request.failure import note_lost, notes_of
from blsnb.engine.request.inflight import Caller
from blsnb.engine.request.lifetime import RootRequest, deadline_ns
from blsnb.engine.request.open_requests import Begun, interruptible
from blsnb.engine.request.validation import RequestError
from blsnb.engine.version import ServedVersion
from blsnb.errors import BlsnbError, InferenceError, InputError
from blsnb.model.config import ModelConfig
from blsnb.parts.readers import Readers
from blsnb.pb_utils.compiled.releases import has
from blsnb.pb_utils.message import RequestMessage, ResponseMessage
from blsnb.request_fields import (
    PLAIN,
    RequestFields,
    RequestOptions,
    check_request,
    fields_of,
    plain_options,
)
from blsnb.results.response import Response
from blsnb.results.response_stream import Stream
from blsnb.results.run import Run, source_of
from blsnb.runtimes.client_inputs import freeze_on_device, reachable
from blsnb.runtimes.runtime import Runtime
from blsnb.tensors.convert import to_ref
from blsnb.tensors.dtypes import BY_DATATYPE, BY_NUMPY
from blsnb.tensors.memory import HOST
from blsnb.tensors.ref import freeze
from blsnb.trace.run_record import RunRecord


class Answer(NamedTuple):
    """The response to a client request, or its refusal."""

    response: ResponseMessage
    advice: str = ""
    refused: bool = False
    """Whether no scheduler accepted the request."""


class ClientRequest(NamedTuple):
    """The arguments of `blsnb.Server.infer` as a value."""

    model_name: str
    inputs: Mapping[str, Any]
    fields: RequestFields = PLAIN
    outputs: Sequence[str] | None = None
    client_timeout_s: float | None = None
    show: bool = True
    """Whether a notebook displays the run."""

    def message(self, config: ModelConfig | None, runtime: Runtime) -> RequestMessage:
        """Return the request with its inputs frozen.

        Parameters
        ----------
        config
            The model's configuration; None if the model does not serve.
        runtime
            Has the devices.

        Raises
        ------
        InputError
            An input is of a type that Triton lacks, or on an unknown device.
        """
        __tracebackhide__ = True
        specs = {} if config is None else {spec.name: spec for spec in config.inputs}
        batch_axes = 1 if config is not None and config.max_batch_size else 0
        refs = []
        for name, value in freeze_on_device(self.inputs, runtime).items():
            spec = specs.get(name)
            dtype = None if spec is None else BY_DATATYPE.get(spec.datatype)
            if type(value) is np.ndarray and BY_NUMPY.get(value.dtype, 0) is dtype:
                # The array already has the configured type.
                refs.append(freeze(name, value, dtype))
                continue
            rank = 0 if spec is None else len(spec.dims) + batch_axes
            refs.append(to_ref(name, value, dtype, rank))
        return RequestMessage(
            self.model_name,
            reachable(tuple(refs), runtime),
            tuple(self.outputs or ()),
            self.fields,
        )


def client_request(
    model_name: str,
    inputs: Mapping[str, Any],
    options: RequestOptions,
    method: str = "infer",
) -> ClientRequest:
    """Return the request for the arguments of ``infer``, ``stream`` or ``async_infer``.

    Parameters
    ----------
    method
        Name of the called method, for errors.

    Raises
    ------
    InputError
        An argument has another type or is out of range, or an option is unknown.
    """
    __tracebackhide__ = True
    is_named = isinstance(model_name, str) and isinstance(inputs, Mapping)
    if options or not is_named or not all([isinstance(name, str) for name in inputs]):
        options = plain_options(options)
        check_request(model_name, inputs, options)
    return ClientRequest(
        model_name,
        inputs,
        fields_of(options, method) if options else PLAIN,
        options.get("outputs"),
        options.get("client_timeout_s"),
        options.get("show", True),
    )


class ClientRequests:
    """Runs client requests, with the responses of Triton's gRPC endpoint."""

    def __init__(self, engine: Engine, readers: Readers) -> None:
        self._engine = engine
        self._readers = readers
        self._router = engine.router
        self._open_requests = engine.open_requests

    def run(
        self,
        request: ClientRequest,
        begun: Begun | None = None,
        record: RunRecord | None = None,
        *,
        profile: bool = False,
    ) -> Run:
        """Run a request on this thread.

        Parameters
        ----------
        begun
            Receives the request's lifetime, so that another thread can cancel it.
        record
            Record of the run; None creates one that the server keeps.
        profile
            Whether the models' Python code is sampled.

        Raises
        ------
        InferenceError
            The request failed.
        """
        __tracebackhide__ = True
        if profile is not False:
            check_flags(InputError, profile=profile)
        message = self.message(request)
        timeout_s = request.client_timeout_s
        deadline = 0 if timeout_s is None else deadline_ns(timeout_s)
        root = self._open_requests.open(deadline, record, begun)
        root.record.is_hidden = not request.show
        if profile:
            from blsnb.engine.profiling.sampler import Sampler

            with Sampler(root.record):
                return self._run(message, root)
        return self._run(message, root)

    def _run(self, message: RequestMessage, root: RootRequest) -> Run:
        __tracebackhide__ = True
        try:
            answer = self._answer(message, root)
            response = answer.response
            if response.error is not None:
                advice = answer.advice or "\n".join(notes_of(response.cause))
                raise InferenceError(
                    response.error, response.code, advice=advice
                ) from response.take_cause()
        except InferenceError as error:
            # The run of a request that would hang shows what happened before.
            error.run = Run(message.model_name, root.record, [], error.message, self)
            raise
        responses = functools.partial(_responses_of, response)
        return Run(message.model_name, root.record, responses, None, self)

    def answer(
        self, message: RequestMessage, begun: Begun | None = None, deadline_ns: int = 0
    ) -> Answer:
        """Run a network client's request on this thread; a refusal is returned, too.

        Parameters
        ----------
        begun
            As of `run`.
        deadline_ns
            Monotonic time at which the client leaves; 0 for no deadline.

        Raises
        ------
        WouldHang
            Triton would never respond.
        """
        self._readers.prepare()
        root = self._open_requests.open(deadline_ns, None, begun)
        root.record.of_client = True
        answer = self._answer(message, root)
        answer.response.take_cause()
        return answer

    def _answer(self, message: RequestMessage, root: RootRequest) -> Answer:
        __tracebackhide__ = True
        message.memory = HOST
        caller = Caller(root, None, None, 0, is_client=True)
        response, advice, refused = None, "", False
        try:
            with interruptible(root, self._open_requests.close):
                self._readers.refuse_if_stopping(message)
                if root.deadline_ns:
                    deferred = self._router.defer(message, caller)
                    response = deferred.within(root.deadline_ns)
                else:
                    response = self._router.route(message, caller)
        except RequestError as error:
            response = ResponseMessage(error=error.message, code=error.code)
            advice, refused = error.advice, True
        finally:
            # A request on a worker thread ends its record itself, perhaps later.
            if root.ended is not None or not root.deadline_ns:
                self._open_requests.close(root)
        if root.ended is not None:
            root.raise_ended()
        assert response is not None
        if response.error is not None and not (response.final or advice):
            # An error that was sent before the final flag never reaches Triton's
            # client.
            note_lost(root.record.calls[:1], response.error)
            response = ResponseMessage()
        return Answer(response, advice, refused)

    def message(self, request: ClientRequest) -> RequestMessage:
        """Return a request as its model sees it, with frozen inputs.

        Raises
        ------
        InputError
            An input is of a type that Triton lacks.
        """
        __tracebackhide__ = True
        self._readers.prepare()
        engine = self._engine
        config = engine.catalog.config(request.model_name, request.fields.version)
        message = request.message(config, engine.placements.runtime)
        if request.outputs and not has("unique_outputs", engine.release):
            message.requested_outputs = tuple(dict.fromkeys(request.outputs))
        return message

    def replay(
        self, message: RequestMessage, client_timeout_s: float | None = None
    ) -> Run:
        """Run a recorded request on the current model; a failed run is returned, too.

        Raises
        ------
        TraceError
            The inputs of the call were not recorded.
        """
        self._readers.prepare()
        decoupled = self._readers.check_recorded(message)
        message.inputs = reachable(message.inputs, self._engine.placements.runtime)
        root = self._open_requests.open(deadline_ns(client_timeout_s))
        try:
            if not decoupled:
                return self._run(message, root)
            stream = self._stream(message, root)
            for _ in stream:
                pass
            return stream.run
        except InferenceError as error:
            if not isinstance(error.run, Run):
                raise
            return error.run

    def replay_lines(
        self, message: RequestMessage, client_timeout_s: float | None = None
    ) -> Run:
        """Run a recorded request, and time the lines of its model; see `replay`.

        Raises
        ------
        BlsnbError
            The model has no Python code, or another tool traces it.
        """
        from blsnb.engine.profiling.line_timer import LineTimer

        timer = LineTimer(message, self._python_instances(message))
        with timer:
            run = self.replay(message, client_timeout_s)
        record = source_of(run)
        assert isinstance(record, RunRecord)
        if record.calls:
            timed = timer.profile(record.calls[0].id)
            record.profiles = (*record.profiles, timed)
            record.changed()
        return run

    def _python_instances(self, message: RequestMessage) -> list[ModelInstance]:
        """Return the instances of a request's model, whose lines can be timed."""
        name, version = message.model_name, message.fields.version
        served = None
        with contextlib.suppress(RequestError):
            served = self._engine.catalog.find(name, version)
        found = served.pool.instances if isinstance(served, ServedVersion) else []
        python = [each for each in found if type(each) is ModelInstance]
        if not python:
            raise BlsnbError(
                f"lines=True needs Python code: {name!r} is not a loaded "
                "model with a model.py"
            )
        return python

    def stream(
        self,
        request: ClientRequest,
        record: RunRecord | None = None,
        *,
        profile: bool = False,
    ) -> Stream:
        """Start a request that may have any number of responses.

        Parameters
        ----------
        record
            Record of the run; None creates one that the server keeps.
        profile
            Whether the models' Python code is sampled until the run ends.

        Raises
        ------
        InferenceError
            The request was refused.
        """
        __tracebackhide__ = True
        if profile is not False:
            check_flags(InputError, profile=profile)
        message = self.message(request)
        deadline = deadline_ns(request.client_timeout_s)
        root = self._open_requests.open(deadline, record)
        root.record.is_hidden = not request.show
        if profile:
            from blsnb.engine.profiling.sampler import Sampler

            Sampler(root.record).start()
        return self._stream(message, root)

    def _stream(self, message: RequestMessage, root: RootRequest) -> Stream:
        __tracebackhide__ = True
        try:
            reader = self._readers.reader(message, root)
        except (RequestError, InferenceError) as error:
            run = Run(message.model_name, root.record, [], error.message, self)
            if isinstance(error, InferenceError):
                error.run = run
                raise
            raise InferenceError(error.message, error.code, run, error.advice) from None
        return Stream(message.model_name, reader, self)


def _responses_of(final: ResponseMessage) -> list[Response]:
    return [Response(final.outputs, None, True, final.parameters)]
