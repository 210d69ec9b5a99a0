"""Runs that are read from files: traces of Triton servers, and saved runs."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from blsnb.arguments import check_path, check_type
from blsnb.response import Response
from blsnb.run import ImportedRun, Run
from blsnb.trace.dropped import missing_values


def load_run(path: str | Path, *, limit_bytes: int | None = None) -> Run:
    """Read a run that `Run.save` wrote as ``.blsrun``.

    Nothing in the file is executed. A file that was not completed, or is damaged, is
    read up to its last whole part. The run's view says so, and names values that the
    file does not hold.

    Parameters
    ----------
    limit_bytes
        Maximum number of bytes of memory that reading uses beside the tensor values;
        if None, `blsnb.options.read_limit_bytes`, which is 64 times the size of the
        file by default, and at most 256 MiB.

    Raises
    ------
    TraceFileError
        It is not such a file, or takes more memory.
    OSError
        It cannot be opened.
    """
    from blsnb.trace.files import run_file

    check_path(path=path)
    check_type("limit_bytes", limit_bytes, int | None, "a number, or None")
    saved = run_file.read_run(path, limit_bytes)
    if saved.responses is None:
        return ImportedRun(saved.trace)
    missing = partial(missing_values, saved.trace)
    responses = [
        Response(each.outputs, each.error, each.final, each.parameters, missing)
        for each in saved.responses
    ]
    return ImportedRun(saved.trace, responses, saved.error)


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
        Nothing in it is an event of a Triton trace, or reading it would take more
        memory than `blsnb.options.read_limit_bytes` allows.
    OSError
        It cannot be opened.
    """
    from blsnb.trace.triton import trace_file as triton_import

    check_path(path=path)
    return [ImportedRun(trace) for trace in triton_import.read_traces(path)]
