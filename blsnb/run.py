"""Run and Response: what one request gave, and all that can be seen of it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from blsnb.errors import NotYetError, TraceError
from blsnb.options import options
from blsnb.tensors.ref import TensorRef
from blsnb.trace.recorder import RunRecord
from blsnb.trace.review import reviewed
from blsnb.trace.spans import Trace, trace_of


class Response:
    """One response of a request.

    Parameters
    ----------
    refs
        Its outputs, frozen.
    error
        The error's text; None for none.
    final
        Whether it is the last one.
    parameters
        What the model sent along.
    """

    def __init__(
        self,
        refs: tuple[TensorRef, ...],
        error: str | None,
        final: bool,
        parameters: Mapping[str, Any],
    ) -> None:
        self._refs = {ref.name: ref for ref in refs}
        self._arrays: dict[str, np.ndarray[Any, Any]] = {}
        self.error = error
        self.final = final
        self.parameters = dict(parameters)

    def __repr__(self) -> str:
        outputs = ", ".join(repr(ref)[11:-1] for ref in self._refs.values())
        return f"<Response: {self.error or outputs or 'empty'}>"

    def __getitem__(self, name: str) -> np.ndarray[Any, Any]:
        """Return an output as a writable array of the caller's own.

        Raises
        ------
        KeyError
            The response has no such output; the text names those it has.
        TraceError
            It was read from a file that does not hold its value.
        """
        if name not in self._refs:
            known = ", ".join(self._refs) or "no outputs"
            raise KeyError(f"no output {name!r}; the response has {known}")
        if self._refs[name].evicted:
            raise TraceError(f"the trace file does not hold the value of {name!r}")
        if name not in self._arrays:
            self._arrays[name] = self._refs[name].view().copy()
        return self._arrays[name]

    @property
    def outputs(self) -> dict[str, np.ndarray[Any, Any]]:
        """The outputs by name, in the order the model gave them."""
        return {name: self[name] for name in self._refs}


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def take_trace(record: RunRecord) -> Trace:
    """Return what is recorded of a run so far, with notes if they are wanted."""
    calls = list(record.calls)
    folded = record.folded.listed()
    trace = trace_of(
        record.id, calls, time.monotonic_ns(), notes=options.notes, folded=folded
    )
    return reviewed(trace) if options.notes else trace


class Run:
    """One request from outside, answered or failed, with its trace.

    Parameters
    ----------
    model_name
        The model that was asked.
    record
        What was recorded of it.
    responses
        In the order they came.
    error
        The failure's text; None if it succeeded.
    """

    def __init__(
        self,
        model_name: str,
        record: RunRecord,
        responses: list[Response],
        error: str | None = None,
    ) -> None:
        self.model_name = model_name
        self.responses = responses
        self.error = error
        self._record = record
        self._with_notes = options.notes

    @property
    def id(self) -> str:
        """The run's identifier in this server."""
        return self._record.id

    def __repr__(self) -> str:
        trace = self.trace
        wall = (trace.end_ns - trace.start_ns) / 1e6
        failed = f", {trace.error_count} failed" if trace.error_count else ""
        return (
            f"<{type(self).__name__} {self.model_name}: {wall:.3g} ms, "
            f"{_counted(trace.call_count, 'call')}, "
            f"{_counted(len(trace.models), 'model')}{failed}>"
        )

    def __getitem__(self, name: str) -> np.ndarray[Any, Any]:
        """Return an output of the first response.

        Raises
        ------
        KeyError
            There is no such output.
        """
        if not self.responses:
            raise KeyError(f"no output {name!r}: {self.error or 'no response came'}")
        return self.responses[0][name]

    @property
    def outputs(self) -> dict[str, np.ndarray[Any, Any]]:
        """The outputs of the first response, by name."""
        return self.responses[0].outputs if self.responses else {}

    @property
    def notes(self) -> list[str]:
        """What Triton lets pass and a reviewer would not."""
        return [note for span in self.trace.spans for note in span.notes]

    @property
    def trace(self) -> Trace:
        """The calls of this run, as values."""
        record = self._record
        if record.taken is None or self._with_notes is not options.notes:
            self._with_notes = options.notes
            trace = take_trace(record)
            # What still changes is not kept; what is kept goes with its values.
            if not record.ended or trace.running:
                return trace
            record.taken = trace
        return record.taken

    def keep(self) -> Run:
        """Pin the run: its values stay, whatever the budget."""
        self._record.pinned = True
        return self

    def widget(self) -> Any:
        """Return the connected widget: slices of tensors come from the kernel."""
        from blsnb.views import trace_view

        return trace_view.TraceView(lambda: self.trace)

    def save(self, path: str | Path) -> Path:
        """Write the run as a web page that needs no kernel and no network.

        Raises
        ------
        NotYetError
            The suffix is not ``.html``.
        """
        from blsnb.views import document

        path = Path(path)
        if path.suffix != ".html":
            raise NotYetError("run.save() writes .html files only, so far")
        path.write_text(document.page(self.trace), encoding="utf-8")
        return path

    def export_trace(self, path: str | Path, format: str = "triton") -> Path:
        """Write the run's trace for other programs.

        Parameters
        ----------
        format
            ``"triton"``: the JSON that a Triton server writes, which `load_trace`
            reads; ``"perfetto"``: the JSON that ui.perfetto.dev opens.

        Raises
        ------
        ValueError
            There is no such format.
        OSError
            The file cannot be written.
        """
        from blsnb.trace import export

        return export.write_traces([self.trace], path, format)

    def plot(self) -> Any:
        """Return a matplotlib figure of the timeline."""
        from blsnb.views import figure

        return figure.plot(self.trace)

    def compare(self, other: Run) -> Any:
        """Compare with another run.

        Raises
        ------
        NotYetError
            Always, in this release.
        """
        raise NotYetError("comparing two runs comes with a later release")

    def replay(self, call: int) -> Any:
        """Execute a recorded call again.

        Raises
        ------
        NotYetError
            Always, in this release.
        """
        raise NotYetError("replaying a call comes with a later release")


class ImportedRun(Run):
    """A run that another server traced: read from a file, and looked at as any other.

    Parameters
    ----------
    trace
        What the file says of it.
    """

    def __init__(self, trace: Trace) -> None:
        record = RunRecord(trace.run_id)
        record.ended = True
        root = trace.spans[trace.roots[0]]
        answers = [response.outputs for response in root.responses]
        answers = answers or ([root.outputs] if root.outputs else [])
        responses = [
            Response(outputs, None, number == len(answers), {})
            for number, outputs in enumerate(answers, 1)
        ]
        super().__init__(trace.title, record, responses, root.error or None)
        self._trace = trace

    @property
    def trace(self) -> Trace:
        """The calls of this run, as values."""
        return self._trace


def load_trace(path: str | Path) -> list[Run]:
    """Read a trace file that a Triton server wrote with ``--trace-config``.

    Parameters
    ----------
    path
        The file; or, of ``trace.json.0``, ``trace.json.1`` and so on, the name
        without the number.

    Returns
    -------
    list of Run
        One for each request from outside, in the order in which they started. What
        could not be read is left out, and each run says so.

    Raises
    ------
    TraceFileError
        Nothing in it is an event of a Triton trace, or it is larger than a gibibyte.
    OSError
        It cannot be opened.
    """
    from blsnb.trace import triton_import

    return [ImportedRun(trace) for trace in triton_import.read_traces(path)]
