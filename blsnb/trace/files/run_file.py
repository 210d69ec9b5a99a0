"""Read and write ``.blsrun`` files; docs/reference/contracts.md has their format."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from blsnb.arguments import path_of
from blsnb.errors import TraceFileError
from blsnb.files.absent import absence_noted
from blsnb.files.read_budget import ReadBudget, ReadLimitError, limit_of
from blsnb.options import options
from blsnb.trace.facts import ClockReading
from blsnb.trace.files.saved_run import SavedResponse, SavedRun
from blsnb.trace.files.v2.chunks import MAGIC, DamagedChunk
from blsnb.trace.files.v2.reader import read_chunks
from blsnb.trace.files.v2.writer import BUDGET_BYTES, write_run
from blsnb.trace.spans import Trace

SUFFIX = ".blsrun"
_EARLY = "It was saved while it was still running."
_HEAD = 16
_MIN_LIMIT = 16 << 20
"""Minimum of the default limit in bytes: columns of similar calls compress well."""
_INVALID = (ValueError, OverflowError, RecursionError)
"""Errors of the standard library for values that are not those of a run."""
_HINTS = {
    b"<": "an HTML page of run.save() is for viewing; save the run as .blsrun as well",
    b"[": "blsnb.load_trace() reads trace files of a Triton server",
    b"{": "blsnb.load_trace() reads trace files of a Triton server",
}
"""Advice by the first byte of a file."""
_EXPECTED = "expected a file that run.save() or the recorder wrote as .blsrun"


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
    """Read a run; nothing in the file is executed.

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
    found = path_of(path=path)
    with absence_noted(found), found.open("rb") as file:
        head = file.read(_HEAD)
        size = os.fstat(file.fileno()).st_size
        budget = ReadBudget(size, str(given), _limit(size, limit_bytes))
        if not head or not MAGIC.startswith(head[: len(MAGIC)]):
            raise TraceFileError(_refusal(given, head))
        try:
            return read_chunks(file, size, given, budget)
        except ReadLimitError as error:
            raise TraceFileError(str(error)) from None
        except DamagedChunk as error:
            raise TraceFileError(
                f"{given} is damaged, or only a part of a run: {error}"
            ) from error
        except _INVALID as error:
            raise TraceFileError(f"{given} is not a saved run: {error}") from error


def _refusal(path: Path, head: bytes) -> str:
    """Return why a file with these first bytes is not a saved run."""
    reason = "it does not begin like one" if head else "it is empty"
    hint = _HINTS.get(head.lstrip(b"\xef\xbb\xbf \r\n\t")[:1], _EXPECTED)
    return f"{path} is not a saved run: {reason}; {hint}"
