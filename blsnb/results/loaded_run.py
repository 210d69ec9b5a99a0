"""Read runs from files: saved runs, and traces of Triton servers."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from blsnb.arguments import bytes_of, check_path
from blsnb.results.response import Response
from blsnb.results.run import ImportedRun, Run
from blsnb.trace.dropped import missing_values


def load_run(path: str | Path, *, limit_bytes: int | None = None) -> Run:
    """Read a run that `Run.save` wrote as ``.blsrun``.

    Nothing in the file is executed. An incomplete or damaged file is read up to its
    last complete part; the run's view says so, and names values that are missing.

    Parameters
    ----------
    path
        The file.
    limit_bytes
        Maximum number of bytes of memory for reading, besides the tensor values; None
        for `blsnb.options.read_limit_bytes`, by default 64 times the size of the file
        and at most 256 MiB.

    Returns
    -------
    Run
        The saved run. `Run.replay` needs a ``server``.

    Raises
    ------
    TraceFileError
        The file is not a saved run, or needs more memory.
    TypeError
        An argument has the wrong type.
    OSError
        The file cannot be opened.
    """
    from blsnb.trace.files import run_file

    check_path(path=path)
    limit_bytes = bytes_of(limit_bytes=limit_bytes)
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
        The file; for ``trace.json.0``, ``trace.json.1`` and so on, the name without the
        number.

    Returns
    -------
    list of Run
        One for each client request, in the order of their starts. Unreadable events
        are left out, and each run says so.

    Raises
    ------
    TraceFileError
        The file has no event of a Triton trace, or reading it needs more memory than
        `blsnb.options.read_limit_bytes`.
    TypeError
        The path has the wrong type.
    OSError
        The file cannot be opened.
    """
    from blsnb.trace.triton import trace_file as triton_import

    check_path(path=path)
    return [ImportedRun(trace) for trace in triton_import.read_traces(path)]
