"""Read what the recorder wrote beside a production server."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import overload

from blsnb.arguments import check_path, check_type
from blsnb.errors import TraceError, TraceFileError
from blsnb.printable import printable
from blsnb.recorder.recorded_rows import Row, rows_of, wall_start_ns
from blsnb.run import ImportedRun, Run
from blsnb.trace.excerpt import parts_of
from blsnb.trace.files import run_file
from blsnb.trace.spans import Span, Trace

_REDACTIONS = {
    "redact_tensors": "values of tensors",
    "redact_parameters": "values of parameters",
    "redact_ids": "ids",
    "redact_errors": "error texts of models",
}


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
        counts = [f"{len(self):,} run{'' if len(self) == 1 else 's'}"]
        failed = sum(run.trace.error_count > 0 for run in self)
        counts += [f"{failed:,} failed"] * bool(failed)
        counts += [f"{len(self.unattributed):,} unattributed BLS calls"] * bool(
            self.unattributed
        )
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
        return Recording(runs, self.unattributed, self.remarks)

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
        rows = list(rows_of(runs))
        if missing := len(runs) - len(rows):
            warnings.warn(
                f"{missing:,} of {len(runs):,} requests of {model!r} are left out: the "
                "value of an input was not recorded",
                stacklevel=2,
            )
        return rows


def load_recording(path: str | Path, *, limit_bytes: int | None = None) -> Recording:
    """Read a folder that the recorder wrote beside a production server.

    Nothing in the files is executed. A file whose process was killed is read up to its
    last complete part.

    Parameters
    ----------
    path
        The folder that ``BLSNB_RECORD`` named, or one of its files.
    limit_bytes
        Maximum number of bytes of memory for reading each file, as `load_run` takes it.

    Returns
    -------
    Recording
        A sequence of runs. `Run.replay` of one needs a ``server``;
        ``server.standin(name, replay=recording)`` answers as recorded.

    Raises
    ------
    TraceFileError
        The folder has no recording, or a file is not one.
    TypeError
        An argument has the wrong type.
    OSError
        A file cannot be opened.
    """
    check_path(path=path)
    check_type("limit_bytes", limit_bytes, int | None, "a number, or None")
    place = Path(path).expanduser()
    files = sorted(place.glob(f"*{run_file.SUFFIX}")) if place.is_dir() else [place]
    if not files:
        raise TraceFileError(
            f"{str(place)!r} has no recording; expected files ending in "
            f"{run_file.SUFFIX}, which a server writes that was started with "
            "BLSNB_RECORD"
        )
    traces = [run_file.read_run(file, limit_bytes).trace for file in files]
    runs = sorted(_runs(traces), key=wall_start_ns)
    return Recording(
        [run for run in runs if not _is_unattributed(run.trace.spans[0])],
        [run for run in runs if _is_unattributed(run.trace.spans[0])],
        dict.fromkeys(remark for trace in traces for remark in _remarks(trace)),
    )


def _runs(traces: Iterable[Trace]) -> Iterator[Run]:
    for trace in traces:
        for part in parts_of(trace):
            root = part.spans[0]
            run_id = f"{trace.run_id}-{root.id}"
            yield ImportedRun(dataclasses.replace(part, run_id=run_id))


def _is_unattributed(span: Span) -> bool:
    return isinstance(span.origin, dict) and bool(span.origin.get("bls"))


def _remarks(trace: Trace) -> Iterator[str]:
    for remark in trace.remarks:
        yield f"{trace.file}: {remark}"
    settings = trace.recording.settings if trace.recording else None
    for name, what in _REDACTIONS.items():
        patterns = settings.get(name) if isinstance(settings, dict) else None
        if isinstance(patterns, list) and patterns:
            yield f"The recorder left out {what}: {', '.join(map(str, patterns))}."
