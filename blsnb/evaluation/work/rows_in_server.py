"""Rows executed on the server of this process."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, cast

from blsnb.engine.request.validation import RequestError
from blsnb.errors import BlsnbError, InferenceError, ServerClosedError
from blsnb.evaluation.plain import Chunk, EvaluationSettings, Row, RowResult
from blsnb.evaluation.work.row_shapes import RowRequest, RowShapes
from blsnb.parts.model_reports import inference_error
from blsnb.parts.requests import ClientRequest, client_request
from blsnb.parts.server_parts import ServerParts
from blsnb.request_fields import (
    SEQUENCE_END,
    SEQUENCE_START,
    RequestFields,
    RequestOptions,
)
from blsnb.results.run import Run
from blsnb.trace.events import Call
from blsnb.trace.run_record import RunRecord

_now = time.perf_counter_ns
INPUT_CODE = "INVALID_ARG"
"""Code of a row whose inputs do not become tensors, so that Triton never sees it."""


class RowsInServer:
    """Executes rows one after the other, or stacked, on a server of this process.

    The runs are recorded at the server's trace level; the server does not keep them.

    Parameters
    ----------
    parts
        The parts of the server.
    settings
        The model, and the options of each request.

    Raises
    ------
    InferenceError
        The model is not ready; the text is Triton's.
    InputError
        An option has a wrong type or is out of range.
    """

    def __init__(self, parts: ServerParts, settings: EvaluationSettings) -> None:
        parts.lifetime.check_open()
        options = cast(RequestOptions, dict(settings.options))
        self._template = client_request(settings.model_name, {}, options, "evaluate")
        self._requests = parts.requests
        self._recorder = parts.recorder
        name, version = settings.model_name, self._template.fields.version
        try:
            self._decoupled = parts.engine.catalog.find(name, version).decoupled
        except RequestError as error:
            raise inference_error(error) from None
        config = parts.engine.catalog.config(name, version)
        self._shapes = RowShapes(config, 1 if self._decoupled else settings.batch)

    def results(self, chunks: Iterable[Chunk]) -> Iterator[list[RowResult]]:
        """Yield the result of each row at once: no run waits for its chunk's end.

        Rows are executed on the thread that takes the results, which have their `Run`.

        Raises
        ------
        ServerClosedError
            The server was closed.
        KeyboardInterrupt
            Ctrl-C ended the request in flight.
        """
        for chunk in chunks:
            for result in executed(self._shapes, chunk.rows, self._execute):
                yield [result]

    def close(self) -> None:
        """Do nothing: the server belongs to the caller."""

    def _execute(self, request: RowRequest) -> list[RowResult]:
        result = RowResult(request.rows[0].number)
        record = self._recorder.unkept(self._recorder.level)
        outputs: list[dict[str, Any]] = []
        run: Any = None
        began_ns = _now()
        try:
            sent = self._client_request(request)
            if self._decoupled:
                run, found = self._stream(sent, record)
            else:
                run = self._requests.run(sent, None, record)
                found = run.outputs
            outputs = request.row_outputs(found)
        except ServerClosedError:
            raise
        except InferenceError as error:
            run = error.run
            result.error, result.code = error.message, error.code
        except (BlsnbError, ValueError) as error:
            result.error, result.code = str(error), INPUT_CODE
        result.latency_us = (_now() - began_ns) / 1e3
        if isinstance(run, Run):
            result.run = run
            _add_times(result, record)
        return of_each_row(request, result, outputs)

    def _client_request(self, request: RowRequest) -> ClientRequest:
        fields = row_fields(self._template.fields, request.rows[0])
        return self._template._replace(inputs=request.inputs, fields=fields)

    def _stream(self, request: ClientRequest, record: RunRecord) -> tuple[Run, Any]:
        """Run a decoupled model; each output is a list with an item per response."""
        outputs: dict[str, list[Any]] = {}
        stream = self._requests.stream(request, record)
        for response in stream:
            if response.error:
                # A stream transports the text of an error and no code.
                raise InferenceError(response.error, "", stream.run)
            for name, array in response.outputs.items():
                outputs.setdefault(name, []).append(array)
        return stream.run, outputs


def executed(
    shapes: RowShapes,
    rows: Iterable[Row],
    execute: Callable[[RowRequest], list[RowResult]],
) -> Iterator[RowResult]:
    """Execute the requests of rows, and yield the results of the rows one by one.

    Parameters
    ----------
    execute
        Sends one request, and returns a result for each of its rows.
    """
    for request in shapes.requests(rows):
        results = execute(request)
        if len(results) > 1 and results[0].error:
            # Repeated one by one, so that an error belongs to its row.
            for row in request.rows:
                yield from execute(shapes.request(row))
        else:
            yield from results


def row_fields(fields: RequestFields, row: Row) -> RequestFields:
    """Return the fields of a request with the sequence of its row."""
    if row.sequence is None:
        return fields
    start = SEQUENCE_START * row.sequence_start
    end = SEQUENCE_END * row.sequence_end
    return fields._replace(correlation_id=row.sequence, flags=start | end)


def of_each_row(
    request: RowRequest, result: RowResult, outputs: list[dict[str, Any]]
) -> list[RowResult]:
    """Return the results of the rows of one request.

    Calls belong to the first row: sums over all rows count each call once.
    """
    if outputs:
        result.outputs = outputs[0]
    rest = [
        RowResult(
            row.number,
            outputs[at] if outputs else {},
            result.error,
            result.code,
            result.latency_us,
            result.queue_us,
            run=result.run,
        )
        for at, row in enumerate(request.rows[1:], 1)
    ]
    return [result, *rest]


def _add_times(result: RowResult, record: RunRecord) -> None:
    """Add the time in queues, and the time and number of calls of each model."""
    calls = record.calls
    covered = _covered_ns(calls)
    times, counts, queued = result.model_us, result.model_calls, 0
    for call in calls:
        name = call.model.name
        own = call.request_end_ns - call.request_start_ns - covered.get(call.id, 0)
        if call.request_end_ns:
            times[name] = times.get(name, 0.0) + own / 1e3
        counts[name] = counts.get(name, 0) + 1
        if call.queue_start_ns and call.compute_start_ns:
            queued += call.compute_start_ns - call.queue_start_ns
    result.queue_us = queued / 1e3
    if record.gaps is not None:
        _add_folded(result, record)


def _covered_ns(calls: Sequence[Call]) -> dict[int, int]:
    """Return the time of each call during which a child call was running, by id."""
    covered: dict[int, int] = {}
    reached: dict[int, int] = {}
    for call in calls:
        parent = call.parent
        if parent is None or not call.request_end_ns:
            continue
        end = min(call.request_end_ns, parent.request_end_ns or call.request_end_ns)
        start = max(call.request_start_ns, reached.get(parent.id, 0))
        if end > start:
            covered[parent.id] = covered.get(parent.id, 0) + end - start
            reached[parent.id] = end
    return covered


def _add_folded(result: RowResult, record: RunRecord) -> None:
    """Add the calls of a long run that are only counted."""
    times, counts = result.model_us, result.model_calls
    for folded in record.folded.listed():
        name, us = folded.model.name, folded.duration_ns / 1e3
        counts[name] = counts.get(name, 0) + folded.calls
        times[name] = times.get(name, 0.0) + us
        if folded.caller is not None:
            caller = folded.caller.name
            times[caller] = max(0.0, times.get(caller, 0.0) - us)
