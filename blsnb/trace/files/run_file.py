"""Read and write ``.blsrun`` files; docs/reference/contracts.md has their format."""

from __future__ import annotations

import os
import zipfile
import zlib
from dataclasses import replace
from pathlib import Path

from blsnb.arguments import path_of
from blsnb.errors import TraceFileError
from blsnb.files.read_budget import ReadBudget, ReadLimitError, limit_of
from blsnb.options import options
from blsnb.trace.facts import ClockReading
from blsnb.trace.files.refusal import damage, refusal
from blsnb.trace.files.saved_run import SavedResponse, SavedRun
from blsnb.trace.files.v1 import read_zip
from blsnb.trace.files.v2.chunks import MAGIC, DamagedChunk
from blsnb.trace.files.v2.reader import read_chunks
from blsnb.trace.files.v2.writer import BUDGET_BYTES, write_run
from blsnb.trace.spans import Trace

SUFFIX = ".blsrun"
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
    with path_of(path=path).open("rb") as file:
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
