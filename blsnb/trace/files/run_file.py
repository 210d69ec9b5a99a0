"""Read and write ``.blsrun`` files; docs/reference/contracts.md has their format."""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from blsnb.errors import TraceFileError
from blsnb.files.read_budget import ReadBudget, ReadLimitError, limit_of
from blsnb.files.whole import output_file
from blsnb.options import options
from blsnb.printable import counted
from blsnb.tensors.ref import TensorRef
from blsnb.trace.events import CallFlag
from blsnb.trace.facts import ClockReading
from blsnb.trace.files.refusal import damage, refusal
from blsnb.trace.files.saved_run import SavedResponse, SavedRun
from blsnb.trace.files.v1 import read_zip
from blsnb.trace.files.v2.chunks import MAGIC, DamagedChunk
from blsnb.trace.files.v2.reader import read_chunks
from blsnb.trace.files.v2.writer import BUDGET_BYTES, RunHead, RunWriter
from blsnb.trace.spans import Trace

SUFFIX = ".blsrun"
_ERROR = int(CallFlag.ERROR)
_EARLY = "It was saved while it was still running."
_HEAD = 16
_MIN_LIMIT = 16 << 20
"""Minimum of the default limit in bytes: columns of similar calls compress well."""
_BROKEN = (DamagedChunk, zipfile.BadZipFile, zlib.error, EOFError)
"""Errors raised for files with missing or changed bytes."""
_DAMAGED = (
    *_BROKEN,
    ValueError,
    NotImplementedError,
    RuntimeError,
    OverflowError,
    RecursionError,
    OSError,
)
"""Errors that the standard library raises for damaged files, and `Malformed`."""


def save_run(
    trace: Trace,
    responses: tuple[SavedResponse, ...],
    error: str | None,
    path: Path,
    budget_bytes: int | None,
    title: str,
    clock: ClockReading,
) -> str:
    """Write a run to a file; return which values were left out, or an empty string.

    Parameters
    ----------
    budget_bytes
        Maximum number of bytes of tensor values; None for the default.
    title, clock
        Title of a trace without a recorded call, and the clock of a trace that was
        recorded in this process.

    Raises
    ------
    ValueError
        The budget is negative.
    """
    trace = replace(trace, title=trace.title or title)
    if trace.running and _EARLY not in trace.remarks:
        trace = replace(trace, remarks=(*trace.remarks, _EARLY))
    if not trace.file:
        trace = replace(trace, clock=clock)
    budget = BUDGET_BYTES if budget_bytes is None else budget_bytes
    if budget < 0:
        raise ValueError(f"budget_bytes={budget} is not valid; expected 0 or more")
    return write_run(SavedRun(trace, responses, error), path, budget)


def write_run(
    run: SavedRun,
    path: str | os.PathLike[str],
    budget_bytes: int = BUDGET_BYTES,
) -> str:
    """Write a run to a file, which appears only when it is complete.

    Parameters
    ----------
    budget_bytes
        Maximum number of bytes of tensor values.

    Returns
    -------
    str
        A remark about values that did not fit; empty if all did.

    Raises
    ------
    OSError
        The file cannot be written; an existing file is unchanged.
    """
    trace = run.trace
    head = RunHead(
        trace.run_id, trace.title, trace.request_id, trace.clock, trace.recording
    )
    with (
        output_file(Path(path)) as partial,
        RunWriter(partial.open("wb"), head, budget_bytes) as writer,
    ):
        writer.models(trace.models)
        writer.tensors(_tensors(run))
        rows = range(len(trace.spans))
        writer.calls(trace, rows)
        writer.responses([(s.id, event) for s in trace.spans for event in s.responses])
        if trace.folded or trace.gaps or trace.drops:
            writer.folded(trace)
        if run.responses is not None:
            writer.answer(run.responses, run.error)
        if trace.pauses:
            writer.pauses(trace.pauses)
        for profile in trace.profiles:
            writer.profile(profile)
        for chunk in trace.unread:
            writer.unread(chunk)
        left_out = _left_out(*writer.left_out, budget_bytes)
        remarks = [*trace.remarks, *filter(None, [left_out])]
        if remarks:
            writer.remarks(remarks)
        writer.finish(trace.taken_ns)
    return left_out


def _tensors(run: SavedRun) -> Iterator[TensorRef]:
    """Yield all tensors, the most important ones first: those of the client."""
    for response in run.responses or ():
        yield from response.outputs
    for row in saving_order(run.trace):
        span = run.trace.spans[row]
        yield from span.inputs
        yield from span.outputs
        for event in span.responses:
            yield from event.outputs


def saving_order(trace: Trace) -> list[int]:
    """Return all rows, those with the most important values first.

    Failed calls, client requests, the slowest call of each model, the first call of
    each model by each caller; then the others in order of start.
    """
    failed = [span.index for span in trace.spans if int(span.flags) & _ERROR]
    slowest: dict[int, tuple[int, int]] = {}
    first: dict[tuple[int, int], int] = {}
    for span in trace.spans:
        duration = (span.duration_ns, -span.index)
        slowest[span.model] = max(slowest.get(span.model, duration), duration)
        first.setdefault((span.parent, span.model), span.index)
    slow = [-row for _, row in slowest.values()]
    rows = [*failed, *trace.roots, *slow, *first.values(), *range(len(trace.spans))]
    return list(dict.fromkeys(rows))


def _left_out(count: int, size: int, budget_bytes: int) -> str:
    if not count:
        return ""
    return (
        f"The values of {counted(count, 'tensor')} ({size:,} bytes) "
        f"did not fit in the {budget_bytes:,} bytes of the file's budget."
    )


def _limit(size: int, limit_bytes: int | None) -> int:
    if limit_bytes is None and options.read_limit_bytes is None:
        return max(_MIN_LIMIT, limit_of(size))
    return limit_of(size) if limit_bytes is None else limit_bytes


def read_run(path: str | os.PathLike[str], limit_bytes: int | None = None) -> SavedRun:
    """Read a run of version 1 or 2; nothing in the file is executed.

    Parameters
    ----------
    limit_bytes
        Maximum number of bytes of memory, without tensor values; if None,
        `blsnb.options.read_limit_bytes`.

    Raises
    ------
    TraceFileError
        The file is not a run, was written by a later release, or needs more memory.
    OSError
        It cannot be opened.
    """
    given = Path(path)
    with given.expanduser().open("rb") as file:
        head = file.read(_HEAD)
        size = os.fstat(file.fileno()).st_size
        budget = ReadBudget(size, str(given), limit_bytes)
        try:
            if head.startswith(MAGIC):
                budget = ReadBudget(size, str(given), _limit(size, limit_bytes))
                return read_chunks(file, size, given, budget)
            if head and MAGIC.startswith(head):
                raise DamagedChunk("it ends in its signature")
            return read_zip(file, given, budget)
        except ReadLimitError as error:
            raise TraceFileError(str(error)) from None
        except _DAMAGED as error:
            reason = f"{error}" or type(error).__name__
            describe = damage if isinstance(error, _BROKEN) else refusal
            raise describe(given, head, reason) from error
