"""Recorded calls as values, figures and files."""

from __future__ import annotations

from abc import ABC, abstractmethod
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blsnb.arguments import check_flags, check_text
from blsnb.options import options

if TYPE_CHECKING:
    from blsnb.trace.profiles.lines import LineProfile
    from blsnb.trace.profiles.run_profile import RunProfile
    from blsnb.trace.run_record import RunRecord
    from blsnb.trace.spans import Trace


def take_trace(record: RunRecord) -> Trace:
    """Return the trace of a record so far, with notes if `options.notes` is set."""
    # Deferred: a request needs no trace.
    from blsnb.trace.capture import trace_so_far

    return trace_so_far(record, options.notes)


class Traced(ABC):
    """Recorded calls; each of its members is computed from `trace`."""

    @property
    @abstractmethod
    def trace(self) -> Trace:
        """The calls, as values."""

    @property
    def notes(self) -> list[str]:
        """Notes on probable mistakes that Triton accepts."""
        return [note for span in self.trace.spans for note in span.notes]

    @property
    def profile(self) -> RunProfile | None:
        """Where the time goes inside the models; None without ``profile=True``.

        Its text lists the lines with most samples; ``profile.save(path)`` writes a
        file for speedscope.
        """
        from blsnb.trace.profiles.run_profile import profile_of

        return profile_of(self.trace)

    @property
    def lines(self) -> LineProfile | None:
        """The source of the call with time and hits of each line.

        None unless the run is that of ``replay(call, lines=True)``.
        """
        from blsnb.trace.profiles.lines import lines_of

        return lines_of(self.trace)

    @property
    def duration_ms(self) -> float:
        """Milliseconds from the start of the client request to the end of the run."""
        trace = self.trace
        return (trace.end_ns - trace.start_ns) / 1e6

    @property
    def started_at(self) -> datetime | None:
        """Time of day of the start, in the local time zone; None if it is unknown."""
        from blsnb.trace.capture import known_clock

        trace = self.trace
        clock = known_clock(trace)
        if clock is None or not trace.spans:
            return None
        since_ns = trace.start_ns - clock.monotonic_ns
        return datetime.fromtimestamp((clock.unix_ns + since_ns) / 1e9).astimezone()

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

    def widget(self) -> Any:
        """Return the connected widget, which reads tensors from the kernel."""
        from blsnb.views.live import trace_view

        return trace_view.TraceView(lambda: self.trace)

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
        from blsnb.trace.capture import known_clock

        check_text(url=url, format=format)
        check_flags(tensors=tensors)
        trace = self.trace
        return export(trace, known_clock(trace), url, tensors=tensors, format=format)

    def plot(self) -> Any:
        """Return a matplotlib figure of the timeline."""
        from blsnb.views.figures import figure

        return figure.plot(self.trace)
