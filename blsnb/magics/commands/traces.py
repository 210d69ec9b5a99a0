"""``%triton trace``: lists, shows, reads and writes runs."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

from IPython.core.error import UsageError
from IPython.display import display

from blsnb.magics import card
from blsnb.magics import default_server as default
from blsnb.magics.commands import trace_files
from blsnb.magics.commands.usages import SUMMARIES
from blsnb.magics.flags import Flags
from blsnb.magics.frontend import bundle, collapsed, note_run
from blsnb.magics.line import Line
from blsnb.parts.server_parts import parts_of
from blsnb.results.run import Run
from blsnb.trace.dropped import because

_HEAD = (
    "run",
    "at",
    "ms",
    "cell",
    "model",
    "request",
    "calls",
    "errors",
    "size",
    "pinned",
)
_MAX_SHOWN = 12
"""Maximum number of runs shown."""


def trace_flags() -> Flags:
    """Return the parser of ``%triton trace``."""
    flags = Flags("%triton trace", SUMMARIES["trace"])
    flags.add_argument(
        "what",
        nargs="?",
        metavar="RUN | FILE",
        help="a variable that holds a run, or a list of them; the name that a run has "
        "in the list; a trace file of a Triton server; or a .blsrun that run.save() "
        "wrote; without it, the list is shown",
    )
    trace_files.add_options(flags)
    return flags


def trace(line: Line) -> Run | None:
    """List, show or write runs; return the run if a single one is to be shown."""
    given = trace_flags().parse(line.words)
    if given.what is None:
        _list(given, line.live)
        return None
    found = _found(given.what, line.namespace)
    try:
        runs = trace_files.chosen(found, given.run)
        traces = [run.trace for run in runs]
        lines = trace_files.write(traces, given, given.what)
    except trace_files.TraceFilesError as error:
        raise UsageError(f"%triton trace: {error}") from error
    if lines:
        print("\n".join(lines))
    elif len(runs) == 1:
        return runs[0]
    else:
        _show(runs)
    return None


def _list(given: argparse.Namespace, live: bool) -> None:
    for option in ("run", "output", "html", "svg", "perfetto"):
        if getattr(given, option) is not None:
            raise UsageError(f"%triton trace: which run? Name one before --{option}")
    runs = [run for run in _recorded() if run.trace.spans]
    if not runs:
        print("No run has been recorded.")
        return
    rows = [_row(run) for run in runs]
    shown = card.grid(_HEAD, rows)
    if live:
        print(shown["text/plain"])
        display(_rows_that_open(runs, rows))
    else:
        display(shown, raw=True)


def _rows_that_open(runs: Sequence[Run], rows: Sequence[tuple[str, ...]]) -> Any:
    """Return a widget with a row for each run, newest first; a row opens its view."""
    import ipywidgets

    newest = list(reversed(list(zip(runs, rows, strict=True))))
    outputs = [ipywidgets.Output() for _ in newest]
    titles = [_title(row) for _, row in newest]
    opened: set[int] = set()

    def show(change: Mapping[str, Any]) -> None:
        number = change["new"]
        if number is None or number in opened:
            return
        opened.add(number)
        with outputs[number]:
            note_run(newest[number][0])
            display(bundle(newest[number][0].trace), raw=True)

    listed = ipywidgets.Accordion(children=outputs, titles=titles, selected_index=None)
    listed.observe(show, "selected_index")
    return listed


def _title(row: Sequence[str]) -> str:
    """Return the title of a row: its texts with their units, without empty ones."""
    run, at, ms, cell, model, request, calls, errors, size, pinned = row
    parts = (
        run,
        at,
        f"{ms} ms",
        cell,
        model,
        request,
        _counted(calls, "call"),
        "" if errors == "0" else _counted(errors, "error"),
        size,
        pinned,
    )
    return " · ".join(filter(None, parts))


def _counted(count: str, noun: str) -> str:
    return f"{count} {noun}{'' if count == '1' else 's'}"


def _recorded() -> list[Run]:
    server = default.started()
    return [] if server is None else list(server.runs)


def _row(run: Run) -> tuple[str, ...]:
    trace, began = run.trace, run.started_at
    return (
        run.id,
        "" if began is None else began.strftime("%H:%M:%S"),
        f"{run.duration_ms:,.3f}",
        run.cell,
        run.model_name,
        trace.request_id,
        f"{trace.call_count:,}",
        f"{trace.error_count:,}",
        _size(sum(ref.byte_size for span in trace.spans for ref in span.tensors)),
        "pinned" if run.pinned else "",
    )


def _size(count: int) -> str:
    """Return a number of bytes in the unit that keeps it short."""
    number = float(count)
    for unit in ("B", "kB", "MB"):
        if number < 1000:
            return f"{number:.3g} {unit}"
        number /= 1000
    return f"{number:.3g} GB"


def _found(what: str, namespace: Mapping[str, Any]) -> list[Run]:
    """Return the runs of a variable, of the list, or of a file."""
    value = namespace.get(what)
    runs = value if isinstance(value, list | tuple) else [value]
    if runs and all(isinstance(run, Run) for run in runs):
        return list(runs)
    recorded = [run for run in _recorded() if run.id == what]
    if recorded:
        return recorded
    try:
        return trace_files.read(what)
    except OSError as error:
        raise UsageError(_missing(what, error)) from error


def _missing(what: str, error: OSError) -> str:
    server = default.started()
    recorder = None if server is None else parts_of(server).recorder
    if recorder is not None and recorder.has_forgotten(what):
        reason = because("keep_runs", recorder.keep_runs)
        return f"run {what} is no longer kept: {reason}"
    return (
        f"{what!r} is not a variable that holds a run, a run of the list that "
        f"%triton trace shows, or a file that can be read: {error.strerror}"
    )


def _show(runs: Sequence[Run]) -> None:
    for run in runs[:_MAX_SHOWN]:
        note_run(run)
        display(collapsed(run.trace), raw=True)
    left_out = len(runs) - _MAX_SHOWN
    if left_out > 0:
        print(f"… {left_out:,} more; blsnb.load_trace() returns them all.")
