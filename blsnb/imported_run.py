"""Runs that are read from files: traces of Triton servers, and saved runs."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from blsnb.response import Response
from blsnb.run import ImportedRun, Run
from blsnb.trace.dropped import missing_values


def load_run(path: str | Path) -> Run:
    """Read a run that `Run.save` wrote as ``.blsrun``.

    Nothing in the file is executed. Values that it does not hold are told by the
    run's view.

    Raises
    ------
    TraceFileError
        It is no such file, or reading it would take more memory than
        `blsnb.options.read_limit_bytes` allows.
    OSError
        It cannot be opened.
    """
    from blsnb.trace import run_file

    saved = run_file.read_run(path)
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
    from blsnb.trace import triton_import

    return [ImportedRun(trace) for trace in triton_import.read_traces(path)]
