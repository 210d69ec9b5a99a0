"""Run: the result of a client request, with its trace."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from blsnb.arguments import check_flags, check_path, check_text, check_type, refuse
from blsnb.errors import MissingOutputError, TraceError
from blsnb.options import options
from blsnb.printable import counted, printable
from blsnb.results.response import Response, recorded_responses
from blsnb.trace.capture import clock_of, known_clock, trace_so_far
from blsnb.trace.profiles.lines import LineProfile, lines_of
from blsnb.trace.profiles.run_profile import RunProfile, profile_of
from blsnb.trace.run_record import RunRecord
from blsnb.trace.spans import Span, Trace

if TYPE_CHECKING:
    from blsnb.pb_utils.message import RequestMessage
    from blsnb.results.comparison import Comparison
    from blsnb.results.replay import Replayer, ReplayingServer


def _stopping(request: RequestMessage) -> contextlib.AbstractContextManager[None]:
    # Deferred: a run without a debugger does not import what steps through models.
    from blsnb.debugger.replays import stopping

    return stopping(request)


def take_trace(record: RunRecord) -> Trace:
    """Return the trace of a record so far, with notes if `options.notes` is set."""
    return trace_so_far(record, options.notes)


def source_of(run: Run) -> RunRecord | Trace:
    """Return the record of a run, or its trace if it was read from a file."""
    return run.trace if isinstance(run, ImportedRun) else run._record


def replayer_in(run: Run) -> Replayer | None:
    """Return what executes the calls of a run again; None if it has no server."""
    return run._replayer


class Run:
    """The result of a client request, successful or failed, with its trace.

    Two runs are equal if they are the same execution.

    Parameters
    ----------
    model_name
        The requested model.
    record
        The recorded calls.
    responses
        The responses of the client request, in order, or a function that returns
        them when they are read; None to take them, and the error, from the record.
    error
        The failure's text; None if it succeeded.
    replayer
        Executes recorded calls again; None if `replay` needs a ``server``.
    """

    def __init__(
        self,
        model_name: str,
        record: RunRecord,
        responses: list[Response] | Callable[[], list[Response]] | None = None,
        error: str | None = None,
        replayer: Replayer | None = None,
    ) -> None:
        self._replayer = replayer
        self.model_name = model_name
        self._responses = responses
        self._error = error
        self._record = record

    @classmethod
    def of(cls, record: RunRecord, replayer: Replayer | None) -> Run:
        """Return the run of a record that a server keeps.

        Parameters
        ----------
        record
            The recorded calls.
        replayer
            Executes recorded calls again; None if its server is unknown.
        """
        calls = record.calls[:1]
        return cls(calls[0].model.name if calls else "", record, replayer=replayer)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Run) and self._record is other._record

    def __hash__(self) -> int:
        return hash(self.id)

    @property
    def responses(self) -> list[Response]:
        """The responses of the client request, in order."""
        return self._answer()[0]

    @property
    def error(self) -> str | None:
        """The failure's text; None if the client request succeeded."""
        return self._answer()[1]

    def _answer(self) -> tuple[list[Response], str | None]:
        if callable(self._responses):
            self._responses = self._responses()
        if self._responses is not None:
            return self._responses, self._error
        answer = recorded_responses(self.trace)
        if self._record.ended:
            self._responses, self._error = answer
        return answer

    @property
    def id(self) -> str:
        """Identifier of the run in its server, such as ``"00a3"``."""
        return self._record.id

    def __repr__(self) -> str:
        from blsnb.views.format import time as spelled

        trace = self.trace
        wall = spelled((trace.end_ns - trace.start_ns) / 1000)
        failed = f", {trace.error_count} failed" if trace.error_count else ""
        return (
            f"<{type(self).__name__} {printable(self.model_name)}: {wall}, "
            f"{counted(trace.call_count, 'call')}, "
            f"{counted(len(trace.models), 'model')}{failed}>"
        )

    def __getitem__(self, name: str) -> np.ndarray[Any, Any]:
        """Return an output of the first response, of shape ``[batch, *dims]``.

        Raises
        ------
        MissingOutputError
            There is no such output; it is a `KeyError`, too.
        TraceError
            Its value is no longer kept.
        """
        if not self.responses:
            reason = self.error or self._why_none()
            raise MissingOutputError(f"no output {name!r}: {reason}")
        return self.responses[0][name]

    def _why_none(self) -> str:
        spans = self.trace.spans[:1]
        if spans and not spans[0].has_tensors and not spans[0].running:
            return "it was not recorded; at trace_level='tensors' it is"
        return "no response came"

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the outputs of the first response."""
        return iter(self.responses[0] if self.responses else ())

    def keys(self) -> list[str]:
        """Return the names of the outputs, for ``dict(run)``."""
        return list(self)

    def __reduce__(self) -> Any:
        if self._replayer is None:
            return super().__reduce__()
        raise TypeError(
            "a run is neither pickled nor copied: it belongs to its server. "
            "run.outputs can be, and run.save('x.blsrun') keeps all of it for "
            "blsnb.load_run('x.blsrun')"
        )

    @property
    def outputs(self) -> dict[str, np.ndarray[Any, Any]]:
        """The outputs of the first response, by name."""
        return self.responses[0].outputs if self.responses else {}

    @property
    def notes(self) -> list[str]:
        """Notes on probable mistakes that Triton accepts."""
        return [note for span in self.trace.spans for note in span.notes]

    @property
    def trace(self) -> Trace:
        """The calls of this run, as values."""
        return take_trace(self._record)

    @property
    def profile(self) -> RunProfile | None:
        """Where the time goes inside the models; None without ``profile=True``.

        Its text lists the lines with most samples; ``profile.save(path)`` writes a
        file for speedscope.
        """
        return profile_of(self.trace)

    @property
    def lines(self) -> LineProfile | None:
        """The source of the call with time and hits of each line.

        None unless the run is that of ``replay(call, lines=True)``.
        """
        return lines_of(self.trace)

    @property
    def duration_ms(self) -> float:
        """Milliseconds from the start of the client request to the end of the run."""
        trace = self.trace
        return (trace.end_ns - trace.start_ns) / 1e6

    @property
    def started_at(self) -> datetime | None:
        """Time of day of the start, in the local time zone; None if it is unknown."""
        trace = self.trace
        clock = known_clock(trace)
        if clock is None or not trace.spans:
            return None
        since_ns = trace.start_ns - clock.monotonic_ns
        return datetime.fromtimestamp((clock.unix_ns + since_ns) / 1e9).astimezone()

    @property
    def cell(self) -> str:
        """The cell that started the run, such as ``"In[3]"``; empty if none did."""
        return self._record.cell

    @property
    def pinned(self) -> bool:
        """Whether `keep` pinned the run."""
        return self._record.pinned

    def to_pandas(self) -> Any:
        """Return the calls as a pandas DataFrame, a row for each call.

        Its index is the id of the call; times are milliseconds since the start. A
        missing ``caller``, ``line`` or time is `pandas.NA` or NaN.

        Returns
        -------
        pandas.DataFrame
            Columns ``caller``, ``model``, ``version``, ``instance``, ``line``,
            ``start_ms``, ``duration_ms``, ``queue_ms``, ``compute_ms``, ``batch``,
            ``responses``, ``input_bytes``, ``output_bytes``, ``request_id``,
            ``error_code`` and ``error``.

        Raises
        ------
        ImportError
            pandas is not installed.
        """
        __tracebackhide__ = True
        from blsnb.views.call_frame import call_frame

        return call_frame(self.trace)

    def keep(self) -> Run:
        """Pin the run: from now on it loses neither calls nor values.

        The limits ``trace_budget_bytes``, ``keep_calls`` and ``keep_runs`` of `Server`
        no longer apply to it.

        Returns
        -------
        Run
            This run.
        """
        self._record.pinned = True
        return self

    def widget(self) -> Any:
        """Return the connected widget, which reads tensors from the kernel."""
        from blsnb.views.live import trace_view

        return trace_view.TraceView(lambda: self.trace)

    def save(self, path: str | Path, *, budget_bytes: int | None = None) -> Path:
        """Write the run to a file, completely or not at all.

        Parameters
        ----------
        path
            ``run.html``: a web page that needs neither kernel nor network.
            ``run.blsrun``: the run itself, for `load_run`.
        budget_bytes
            Maximum number of bytes of tensor values in a ``.blsrun``; None for
            256 MiB. Values of the response have priority, then those of failed calls.
            A warning and the file name values that are left out.

        Returns
        -------
        Path
            The written file.

        Raises
        ------
        TypeError
            An argument has the wrong type.
        ValueError
            The suffix is unknown, or the budget is negative.
        OSError
            The file cannot be written; an existing one is unchanged.
        """
        check_path(path=path)
        check_type("budget_bytes", budget_bytes, int | None, "a number, or None")
        path = Path(path).expanduser()
        match path.suffix.lower():
            case ".html":
                self._save_page(path)
            case ".blsrun":
                self._save_run(path, budget_bytes)
            case suffix:
                raise ValueError(
                    "run.save() writes .html (a page to look at) and .blsrun (a run "
                    f"that blsnb.load_run() reads), not {suffix or 'no suffix at all'}"
                )
        return path

    def _save_page(self, path: Path) -> None:
        from blsnb.files.whole import whole_file
        from blsnb.views.documents import document

        with whole_file(path) as partial:
            partial.write_text(document.page(self.trace), encoding="utf-8")

    def _save_run(self, path: Path, budget_bytes: int | None) -> None:
        from blsnb.trace.files.run_file import save_run

        responses = tuple(response.saved() for response in self.responses)
        left_out = save_run(
            self.trace,
            responses,
            self.error,
            path,
            budget_bytes,
            self.model_name,
            clock_of(self.trace),
        )
        if left_out:
            warnings.warn(f"{path.name}: {left_out}", stacklevel=3)

    def export_trace(self, path: str | Path, format: str = "triton") -> Path:
        """Write the trace of the run for other programs.

        Parameters
        ----------
        path
            The file to write.
        format
            ``"triton"``: the JSON of a Triton server, for `load_trace`;
            ``"perfetto"``: the JSON that ui.perfetto.dev opens.

        Returns
        -------
        Path
            The written file.

        Raises
        ------
        TypeError
            An argument has the wrong type.
        ValueError
            The format is unknown.
        OSError
            The file cannot be written.
        """
        from blsnb.trace.files import export

        check_path(path=path)
        check_text(format=format)
        return export.write_traces([self.trace], path, format)

    def export_otlp(
        self, url: str, *, tensors: bool = False, format: str = "json"
    ) -> int:
        """Send the run to an OpenTelemetry Collector, as spans with Triton's names.

        Each call is a span with a child ``compute``; the request has a span
        ``InferRequest`` above them. Exporting again sends the same ids.

        Parameters
        ----------
        url
            Where the Collector receives spans over HTTP, such as
            ``"http://127.0.0.1:4318"``; without a path, ``/v1/traces`` is added.
        tensors
            Whether the tensors are sent, too, with their values.
        format
            ``"json"``, as a Triton server sends; ``"protobuf"`` needs the package
            opentelemetry-proto: ``pip install 'blsnb[otlp]'``.

        Returns
        -------
        int
            Number of sent spans. Calls that still run are left out.

        Raises
        ------
        CollectorError
            Nothing answers at the URL within ten seconds, or the spans are refused.
        ImportError
            The package is not installed.
        TraceError
            The run was read from a file without the time of day.
        TypeError
            An argument has the wrong type.
        ValueError
            The URL or the format is invalid.
        """
        from blsnb.otlp.sending import export

        check_text(url=url, format=format)
        check_flags(tensors=tensors)
        trace = self.trace
        return export(trace, known_clock(trace), url, tensors=tensors, format=format)

    def plot(self) -> Any:
        """Return a matplotlib figure of the timeline."""
        from blsnb.views.figures import figure

        return figure.plot(self.trace)

    def compare(self, other: Run) -> Comparison:
        """Compare with an earlier run, such as one before an edit.

        Calls correspond to each other if the same caller made them of the same model
        in the same order.

        Parameters
        ----------
        other
            The baseline.

        Returns
        -------
        Comparison
            Of this run with the baseline.

        Raises
        ------
        TypeError
            ``other`` is not a run.
        """
        from blsnb.results.comparison import Comparison

        if not isinstance(other, Run):
            refuse("other", other, "a blsnb.Run")
        return Comparison(self, other)

    def replay(
        self,
        call: int | str | Span | None = None,
        *,
        server: ReplayingServer | None = None,
        client_timeout_s: float | None = None,
        debug: bool = False,
        lines: bool = False,
    ) -> Comparison:
        """Execute a recorded call again, on its model as it is now.

        The request has the recorded inputs, requested outputs, parameters, priority,
        timeout and sequence fields. It is a client request, even if a model made the
        recorded call.

        Parameters
        ----------
        call
            Id of the call, as the view shows it, such as ``run.widget().selected``; its
            span, such as ``run.trace.spans[3]``; or the name of a model that was called
            once. None for the client request.
        server
            The server that executes it; None for the server of this run.
        client_timeout_s
            Maximum seconds to wait for an answer; None to wait indefinitely.
        debug
            Whether the notebook's debugger stops at the first line of the ``execute``
            that serves the request.
        lines
            Whether the lines of its model are timed: see ``comparison.this.lines``.
            The execution is slower; compare lines with each other.

        Returns
        -------
        Comparison
            ``this`` is the new run, even if it failed; ``baseline`` is the recording.

        Raises
        ------
        ServerClosedError
            The server was closed.
        TraceError
            There is no such call; the call, or the value of an input, is no longer
            kept. Or the run was read from a file, and ``server`` is missing.
        TypeError
            ``call`` does not identify a call, or ``server`` is not a server.
        BlsnbError
            ``debug`` is true, and no debugger is attached; or ``lines`` is true, and
            the model has no Python code, or another tool traces it.
        """
        from blsnb.results.comparison import Comparison
        from blsnb.results.replay import replayer_of, request_of, span_of
        from blsnb.trace.excerpt import part_of

        trace = self.trace
        span = span_of(trace, _first(trace) if call is None else call)
        request = request_of(trace, span)
        replayer = self._replayer if server is None else replayer_of(server)
        if replayer is None:
            raise TraceError(
                "this run does not belong to a server: pass one that executes the "
                "call, such as run.replay(0, server=blsnb.server())"
            )
        with _stopping(request) if debug else contextlib.nullcontext():
            replay = replayer.replay_lines if lines else replayer.replay
            run = replay(request, client_timeout_s)
        recorded = ImportedRun(part_of(trace, span.index), replayer=replayer)
        return Comparison(run, recorded)


class ImportedRun(Run):
    """A run that consists of a trace, such as one that was read from a file.

    Parameters
    ----------
    trace
        The calls.
    responses
        The responses to the client; None for those of the first request.
    error
        The failure's text; None if it succeeded.
    replayer
        Executes recorded calls again; None if `replay` needs a ``server``.
    """

    def __init__(
        self,
        trace: Trace,
        responses: list[Response] | Callable[[], list[Response]] | None = None,
        error: str | None = None,
        replayer: Replayer | None = None,
    ) -> None:
        record = RunRecord(trace.run_id)
        record.ended = True
        super().__init__(trace.title, record, responses, error, replayer)
        self._trace = trace

    @property
    def trace(self) -> Trace:
        """The calls of this run, as values."""
        return self._trace


def _first(trace: Trace) -> int:
    """Return the id of the client request."""
    return trace.spans[0].id if trace.spans else 0
