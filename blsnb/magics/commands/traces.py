"""``%triton trace``: lists, shows, reads and writes runs."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError
from IPython.display import display

from blsnb.magics import card
from blsnb.magics import default_server as default
from blsnb.magics.commands import trace_files
from blsnb.magics.flags import Flags
from blsnb.magics.frontend import bundle, collapsed
from blsnb.parts.server_parts import parts_of
from blsnb.trace.dropped import because

if TYPE_CHECKING:
    from blsnb.run import Run
    from blsnb.trace.spans import Trace

USAGE = "[RUN | FILE] [--run N] [--html | --svg | --perfetto | --output FILE]"
SUMMARY = "list recorded runs, show one, read one from a file, or write one"
_HEAD = ("run", "model", "request", "calls", "errors", "ms")
_MOST = 12


def trace_flags() -> Flags:
    """Return the parser of ``%triton trace``."""
    flags = Flags("%triton trace", SUMMARY)
    flags.add_argument(
        "what",
        nargs="?",
        metavar="RUN | FILE",
        help="a variable that holds a run, or a list of them; the name that a run has "
        "in the list; a trace file of a Triton server; or a .blsrun that run.save() "
        "wrote. Nothing: the list",
    )
    trace_files.add_options(flags)
    return flags


def trace(words: Sequence[str], namespace: Mapping[str, Any]) -> Any:
    """List, show or write runs; return the run if the words name a single one.

    Raises
    ------
    UsageError
        The words are wrong, or name no run.
    """
    from blsnb.run import Run

    given = trace_flags().parse(words)
    if given.what is None:
        _list(given)
        return None
    found = _chosen(given, namespace)
    try:
        lines = trace_files.write(_traces(found), given)
    except trace_files.TraceFilesError as error:
        raise UsageError(f"%triton trace: {error}") from error
    if lines:
        print("\n".join(lines))
    elif len(found) == 1 and isinstance(found[0], Run):
        return found[0]
    else:
        _show(_traces(found))
    return None


def _list(given: argparse.Namespace) -> None:
    for option in ("output", "html", "svg", "perfetto"):
        if getattr(given, option) is not None:
            raise UsageError(f"%triton trace: which run? Name one before --{option}")
    server = default.started()
    runs = [] if server is None else server.runs
    rows = [_row(run) for run in runs if run.trace.spans]
    if rows:
        display(card.grid(_HEAD, rows), raw=True)
    else:
        print("No run has been recorded.")


def _row(run: Run) -> tuple[str, ...]:
    trace = run.trace
    wall_ns = trace.end_ns - trace.start_ns
    return (
        run.id,
        run.model_name,
        trace.request_id,
        f"{trace.call_count:,}",
        f"{trace.error_count:,}",
        f"{wall_ns / 1e6:,.3f}",
    )


def _chosen(given: argparse.Namespace, namespace: Mapping[str, Any]) -> list[Any]:
    found = _found(given.what, namespace)
    try:
        return trace_files.chosen(found, given.run)
    except trace_files.TraceFilesError as error:
        raise UsageError(f"%triton trace: {error}") from error


def _found(what: str, namespace: Mapping[str, Any]) -> list[Any]:
    """Return the runs that a word names, or the trace of one that is recorded."""
    from blsnb.run import Run

    value = namespace.get(what)
    runs = value if isinstance(value, list | tuple) else [value]
    if runs and all(isinstance(run, Run) for run in runs):
        return list(runs)
    server = default.started()
    for run in [] if server is None else server.runs:
        if run.id == what:
            return [run.trace]
    try:
        return list(trace_files.read(what))
    except OSError as error:
        recorder = None if server is None else parts_of(server).recorder
        if recorder is not None and recorder.has_forgotten(what):
            raise UsageError(
                f"run {what} is no longer kept: "
                f"{because('keep_runs', recorder.keep_runs)}"
            ) from error
        raise UsageError(
            f"{what!r} is no variable that holds a run, no run of the list that "
            f"%triton trace shows, and no file that can be read: {error.strerror}"
        ) from error


def _traces(found: Sequence[Any]) -> list[Trace]:
    return [getattr(each, "trace", each) for each in found]


def _show(traces: Sequence[Trace]) -> None:
    show = bundle if len(traces) == 1 else collapsed
    for each in traces[:_MOST]:
        display(show(each), raw=True)
    left_out = len(traces) - _MOST
    if left_out > 0:
        print(f"… {left_out:,} more; blsnb.load_trace() returns them all.")
