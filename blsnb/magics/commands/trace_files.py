"""Files of runs, read and written by ``%triton trace`` and ``blsnb trace``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from blsnb.arguments import path_of
from blsnb.printable import counted

if TYPE_CHECKING:
    from blsnb.results.run import Run
    from blsnb.trace.spans import Trace

FORMATS = ("triton", "perfetto")
_OPENS = {
    "triton": "blsnb.load_trace() reads it",
    "perfetto": "https://ui.perfetto.dev opens it",
    "html": "a browser opens it",
    "svg": "a browser opens it",
}


class TraceFilesError(ValueError):
    """The requested files cannot be written."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options shared by the magic and ``blsnb trace``."""
    add = parser.add_argument
    add(
        "--run",
        type=int,
        metavar="N",
        help="the N-th run of a file with several, counted from 1",
    )
    add(
        "--format",
        choices=FORMATS,
        default="triton",
        help="format of --output (triton)",
    )
    add("--output", metavar="FILE", help="file to write in that format")
    for name, what in (
        ("html", "write a web page that shows the run and needs no network"),
        ("svg", "write a picture of the run"),
        ("perfetto", "write what https://ui.perfetto.dev opens"),
    ):
        add(f"--{name}", metavar="FILE", help=what)


def read(path: str) -> list[Run]:
    """Return the runs of a ``.blsrun`` file or of a Triton server's trace file."""
    from blsnb.results.loaded_run import load_run, load_trace

    return [load_run(path)] if path.lower().endswith(".blsrun") else load_trace(path)


def chosen(found: Sequence[Run], number: int | None) -> list[Run]:
    """Return the run that ``--run`` selects; all runs without it."""
    if number is None:
        return list(found)
    if not 1 <= number <= len(found):
        known = counted(len(found), "run")
        raise TraceFilesError(f"--run {number}: there is no such run, of {known}")
    return [found[number - 1]]


def write(
    traces: Sequence[Trace], given: argparse.Namespace, source: object = None
) -> list[str]:
    """Write the requested files and return a line about each; "" for a pipe.

    Parameters
    ----------
    source
        The file that the traces are read from, which is not overwritten.
    """
    wanted = [
        (given.output, given.format),
        (given.perfetto, "perfetto"),
        (given.html, "html"),
        (given.svg, "svg"),
    ]
    wanted = [each for each in wanted if each[0] is not None]
    for name, _ in wanted:
        if _is_same(name, source):
            raise TraceFilesError(f"{name} is the file that is read; expected another")
    return [_written(traces, *each) for each in wanted]


def _is_same(name: str, source: object) -> bool:
    try:
        return isinstance(source, str) and path_of(file=name).samefile(source)
    except OSError:
        return False


def _written(traces: Sequence[Trace], given: str, form: str) -> str:
    from blsnb.files.whole import output_file
    from blsnb.trace.files.export import write_traces

    try:
        path = path_of(file=given)
        if form in FORMATS:
            write_traces(traces, path, form)
        else:
            with output_file(path) as partial:
                partial.write_text(_drawn(traces, path, form), encoding="utf-8")
    except OSError as error:
        raise TraceFilesError(f"{given} cannot be written: {error}") from error
    if not path.is_file():
        # A line about /dev/stdout would be part of what was written there.
        return ""
    return f"{path}: {path.stat().st_size:,} bytes; {_OPENS[form]}."


def _drawn(traces: Sequence[Trace], path: Path, form: str) -> str:
    from blsnb.views.documents.document import page
    from blsnb.views.pictures.snapshot import snapshot

    if len(traces) != 1:
        raise TraceFilesError(
            f"{path} can show one run, and there are {len(traces):,}: choose one with "
            "--run N"
        )
    return page(traces[0]) if form == "html" else snapshot(traces[0])
