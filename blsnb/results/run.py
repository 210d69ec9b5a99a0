"""The result of a client request, with its trace."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from blsnb.arguments import bytes_of, check_type, path_of
from blsnb.errors import MissingOutputError
from blsnb.printable import printable
from blsnb.results.response import Response, is_unrecorded, recorded_responses
from blsnb.results.traced import Traced, take_trace
from blsnb.trace.run_record import RunRecord

if TYPE_CHECKING:
    from blsnb.results.comparison import Comparison
    from blsnb.results.replay import Replayer, ReplayingServer
    from blsnb.trace.spans import Span, Trace


def source_of(run: Run) -> RunRecord | Trace:
    """Return the record of a run, or its trace if it was read from a file."""
    return run.trace if isinstance(run, ImportedRun) else run._record


def replayer_in(run: Run) -> Replayer | None:
    """Return what executes the calls of a run again; None if it has no server."""
    return run._replayer


class Run(Traced):
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
        self._is_of_record = responses is None
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
        from blsnb.views.summary import in_short

        kind, short = type(self).__name__, in_short(self.model_name, self.trace)
        return printable(f"<{kind} {short}>")

    def __getitem__(self, name: str) -> np.ndarray[Any, Any]:
        """Return an output of the first response, of shape ``[batch, *dims]``.

        Raises
        ------
        MissingOutputError
            There is no such output; it is a `KeyError`, too.
        TraceError
            Its value is no longer kept.
        """
        __tracebackhide__ = True
        responses, reason = self._answer()
        if self._is_of_record and not reason and is_unrecorded(self.trace):
            reason = "it was not recorded; at trace_level='tensors' it is"
        elif responses:
            return responses[0][name]
        reason = reason or f"no response {'came' if self._is_of_record else 'was read'}"
        raise MissingOutputError(f"no output {name!r}: {reason}")

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
    def trace(self) -> Trace:
        """The calls of this run, as values."""
        return take_trace(self._record)

    @property
    def cell(self) -> str:
        """The cell that started the run, such as ``"In[3]"``; empty if none did."""
        return self._record.cell

    @property
    def pinned(self) -> bool:
        """Whether `keep` pinned the run."""
        return self._record.pinned

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
        from blsnb.results.saving import save_page, save_run

        budget_bytes = bytes_of(budget_bytes=budget_bytes)
        path, trace = path_of(path=path), self.trace
        match path.suffix.lower():
            case ".html":
                save_page(path, trace)
            case ".blsrun":
                save_run(path, self.model_name, trace, *self._answer(), budget_bytes)
            case suffix:
                raise ValueError(
                    f"{str(path)!r} ends in {suffix or 'no suffix'}; expected .html (a "
                    "page to look at) or .blsrun (a run that blsnb.load_run() reads)"
                )
        return path

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

        check_type("other", other, Run, "a blsnb.Run")
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
        from blsnb.results.replay import execute_again, replayer_of

        replayer = self._replayer if server is None else replayer_of(server)
        run, recorded = execute_again(
            self.trace, call, replayer, client_timeout_s, debug=debug, lines=lines
        )
        return Comparison(run, ImportedRun(recorded, replayer=replayer))


class ImportedRun(Run):
    """A run that consists of a trace, such as one that was read from a file.

    Parameters
    ----------
    trace
        The calls.
    responses, error, replayer
        As for `Run`; None for the responses of the first request.
    """

    def __init__(
        self,
        trace: Trace,
        responses: list[Response] | Callable[[], list[Response]] | None = None,
        error: str | None = None,
        replayer: Replayer | None = None,
    ) -> None:
        # It makes no calls; counters of itertools cannot be pickled from Python 3.14.
        record = RunRecord(trace.run_id, ended=True, call_ids=iter(()))
        super().__init__(trace.title, record, responses, error, replayer)
        self._trace = trace

    @property
    def trace(self) -> Trace:
        """The calls of this run, as values."""
        return self._trace
