"""Read what the recorder wrote beside a production server."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from pathlib import Path

from blsnb.arguments import bytes_of, path_of
from blsnb.errors import TraceFileError
from blsnb.recorder.recording import Recording, wall_start_ns
from blsnb.results.run import ImportedRun, Run
from blsnb.trace.excerpt import client_requests
from blsnb.trace.files import run_file
from blsnb.trace.spans import Trace

_REDACTIONS = {
    "redact_tensors": "values of tensors",
    "redact_parameters": "values of parameters",
    "redact_ids": "ids",
    "redact_errors": "error texts of models",
}


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
    limit_bytes = bytes_of(limit_bytes=limit_bytes)
    place = path_of(path=path)
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
        [run for run in runs if not run.trace.is_unattributed],
        [run for run in runs if run.trace.is_unattributed],
        dict.fromkeys(remark for trace in traces for remark in _remarks(trace)),
    )


def _runs(traces: Iterable[Trace]) -> Iterator[Run]:
    for trace in traces:
        for part in client_requests(trace):
            root = part.spans[0]
            run_id = f"{trace.run_id}-{root.id}"
            yield ImportedRun(dataclasses.replace(part, run_id=run_id))


def _remarks(trace: Trace) -> Iterator[str]:
    for remark in trace.remarks:
        yield f"{trace.file}: {remark}"
    settings = trace.recording.settings if trace.recording else None
    for name, what in _REDACTIONS.items():
        patterns = settings.get(name) if isinstance(settings, dict) else None
        if isinstance(patterns, list) and patterns:
            yield f"The recorder left out {what}: {', '.join(map(str, patterns))}."
