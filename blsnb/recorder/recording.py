"""The runs of a recording, and its requests as rows of a data set."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Any, overload

from blsnb.arguments import check_type, warn_user
from blsnb.errors import TraceError
from blsnb.printable import counted, printable
from blsnb.results.run import Run
from blsnb.tensors.ref import TensorRef
from blsnb.trace.spans import Span

Row = dict[str, Any]


class Recording(Sequence[Run]):
    """The runs of a recording, in the order of their starts.

    Each request that a model received is a run, with the BLS calls that it made. The
    requests of a model that was called by another one are runs as well.

    Parameters
    ----------
    runs
        Runs of received requests.
    unattributed
        Runs of BLS calls whose request is not known.
    remarks
        Remarks about the files.
    """

    def __init__(
        self,
        runs: Iterable[Run],
        unattributed: Iterable[Run] = (),
        remarks: Iterable[str] = (),
    ) -> None:
        self._runs = tuple(runs)
        self.unattributed = tuple(unattributed)
        """BLS calls whose request is not known, such as those of a batch."""
        self.remarks = tuple(remarks)
        """What the files lack, and what was redacted."""

    def __repr__(self) -> str:
        counts = [counted(len(self), "run")]
        failed = sum(run.trace.error_count > 0 for run in self)
        counts += [f"{failed:,} failed"] * bool(failed)
        calls = len(self.unattributed)
        counts += [counted(calls, "unattributed BLS call")] * bool(calls)
        models = ", ".join(dict.fromkeys(run.model_name for run in self))
        return printable(f"<Recording of {models or 'no model'}: {', '.join(counts)}>")

    def __len__(self) -> int:
        """Return the number of runs."""
        return len(self._runs)

    @overload
    def __getitem__(self, index: int) -> Run: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Run]: ...
    def __getitem__(self, index: int | slice) -> Run | Sequence[Run]:
        """Return a run by its position, or several."""
        return self._runs[index]

    def filter(
        self,
        model: str = "*",
        *,
        request_id: str | None = None,
        failed: bool | None = None,
        slower_than_ms: float = 0,
    ) -> Recording:
        """Return the recording with some of its runs.

        Of the unattributed BLS calls those remain that such a model made: whether their
        request has the other properties is not known.

        Parameters
        ----------
        model
            Name of the model that received the request, or a pattern such as ``pre*``.
        request_id
            Id of the request; None for all.
        failed
            Whether the request, or a BLS call of it, failed; None for all.
        slower_than_ms
            Minimum duration in milliseconds.

        Raises
        ------
        TypeError
            An argument has the wrong type.
        """
        check_type("model", model, str, "a name or a pattern")
        check_type("request_id", request_id, str | None, "a string, or None")
        check_type("failed", failed, bool | None, "True, False or None")
        check_type("slower_than_ms", slower_than_ms, int | float, "milliseconds")
        runs = [
            run
            for run in self
            if fnmatchcase(run.model_name, model)
            and request_id in (None, run.trace.request_id)
            and failed in (None, run.trace.error_count > 0)
            and run.duration_ms >= slower_than_ms
        ]
        calls = [run for run in self.unattributed if fnmatchcase(_caller(run), model)]
        return Recording(runs, calls, self.remarks)

    def rows(self, model: str) -> list[Row]:
        """Return the requests of a model as rows of a data set.

        Each row is a dictionary. It has the inputs by name, as arrays that `infer`
        takes, and what was recorded about the request: each output by name, unless an
        input has the same name; ``request_id``, ``correlation_id``, ``parameters``;
        ``error``, an empty text if the request succeeded; and ``arrival_s``, the
        seconds since the first request of the model.

        An output of a decoupled model is a list with the array of each response. An
        output whose value was not recorded is None.

        Parameters
        ----------
        model
            Name of the model that received the requests.

        Returns
        -------
        list of dict
            One row for each request, in the order of the starts. Requests that lack
            the value of an input are left out, with a warning that counts them.

        Raises
        ------
        TypeError
            ``model`` is not a string.
        TraceError
            The model received no request in this recording.
        """
        check_type("model", model, str, "a name")
        runs = [run for run in self if run.model_name == model]
        if not runs:
            known = ", ".join(sorted({run.model_name for run in self})) or "none"
            raise TraceError(
                f"the recording has no request of model {model!r}; it has those of: "
                f"{known}"
            )
        first_ns = wall_start_ns(runs[0])
        rows = [
            _row(run, (wall_start_ns(run) - first_ns) / 1e9)
            for run in runs
            if not any(ref.evicted for ref in run.trace.spans[0].inputs)
        ]
        if missing := len(runs) - len(rows):
            warn_user(
                f"{missing:,} of {len(runs):,} requests of {model!r} left out: the "
                "value of an input was not recorded"
            )
        return rows


def wall_start_ns(run: Run) -> int:
    """Return the time of day at which a run started, in nanoseconds."""
    trace = run.trace
    clock = trace.clock
    return trace.start_ns + (clock.unix_ns - clock.monotonic_ns if clock else 0)


def _caller(call: Run) -> str:
    """Return the model that made a BLS call; an empty string if it is unknown."""
    origin = call.trace.spans[0].origin
    return str(origin.get("by", "")) if isinstance(origin, dict) else ""


def _row(run: Run, arrival_s: float) -> Row:
    span = run.trace.spans[0]
    fields = span.request_fields
    return {
        "request_id": fields.request_id,
        "correlation_id": fields.correlation_id,
        "parameters": dict(fields.parameters),
        "arrival_s": arrival_s,
        "error": run.error or "",
        **_outputs(span),
        # The inputs are last: the model gets them, whatever else has their names.
        **{ref.name: ref.view() for ref in span.inputs},
    }


def _outputs(span: Span) -> Row:
    if not span.response_count:
        return {ref.name: _value(ref) for ref in span.outputs}
    found: Row = {}
    for response in span.responses:
        for ref in response.outputs:
            found.setdefault(ref.name, []).append(_value(ref))
    return found


def _value(ref: TensorRef) -> Any:
    return None if ref.evicted else ref.view()
