"""Read trace files of Triton servers."""

from __future__ import annotations

import dataclasses
import glob
import os
import sys
from pathlib import Path

from blsnb.arguments import path_of
from blsnb.errors import TraceFileError
from blsnb.files.absent import absence_noted
from blsnb.files.read_budget import ReadBudget, ReadLimitError
from blsnb.printable import counted
from blsnb.trace.files.v2.chunks import MAGIC
from blsnb.trace.spans import Trace
from blsnb.trace.triton.calls import traces_of
from blsnb.trace.triton.events import Event, EventReader, TensorEvent, UnreadRange
from blsnb.trace.triton.requests import TritonRequests

_MAX_GAPS = 3
_SMALLER = (
    "A server started with --trace-config triton,log-frequency=1000 writes smaller "
    "files, which can be read one by one."
)
_REQUEST_BYTES, _EVENT_BYTES = 2048, 128
"""Memory of a request and of an event while they are read, without tensors."""


def read_traces(path: str | os.PathLike[str]) -> list[Trace]:
    """Read a trace file that a Triton server wrote, or all its numbered pieces.

    Parameters
    ----------
    path
        The file; for the numbered pieces of ``log-frequency`` (``trace.json.0``,
        ``trace.json.1``, …) the name without the number.

    Returns
    -------
    list of Trace
        One for each client request, in the order of their starts. Their remarks
        mention parts that could not be read.

    Raises
    ------
    TraceFileError
        It contains no event of a Triton trace, or reading it needs more memory than
        `blsnb.options.read_limit_bytes`.
    OSError
        It cannot be opened.
    """
    path = path_of(path=path)
    requests = TritonRequests()
    gaps: list[str] = []
    pieces = _pieces(path)
    with absence_noted(path):
        size = sum(piece.stat().st_size for piece in pieces)
    budget = ReadBudget(size, str(path))
    try:
        for piece in pieces:
            gaps += _collect(piece, requests, budget)
    except ReadLimitError as error:
        raise TraceFileError(f"{error}. {_SMALLER}") from None
    if not requests:
        with path.open("rb") as file:
            if file.read(len(MAGIC)) == MAGIC:
                gaps = ["It may be a saved run: use blsnb.load_run()."]
        raise TraceFileError(
            " ".join([f"{path} is not a trace file of a Triton server.", *gaps])
        )
    about = (
        f"Read from {path.name}, a trace file of a Triton server. Such a file contains "
        "no errors, logs, sources or instances."
    )
    return [
        dataclasses.replace(trace, file=path.name, remarks=(about, *gaps))
        for trace in traces_of(requests)
    ]


def _pieces(path: Path) -> list[Path]:
    if path.exists():
        return [path]
    found = [
        (int(piece.suffix[1:]), piece)
        for piece in path.parent.glob(f"{glob.escape(path.name)}.*")
        if piece.suffix[1:].isdecimal()
    ]
    # Without pieces, opening the path raises the error.
    return [piece for _, piece in sorted(found)] or [path]


def _collect(path: Path, requests: TritonRequests, budget: ReadBudget) -> list[str]:
    """Add a file's events to the requests; return remarks about unreadable parts."""
    text = _text(path, budget)
    gaps: list[UnreadRange] = []
    for event in EventReader(text, budget):
        if isinstance(event, UnreadRange):
            budget.spend(_EVENT_BYTES)
            gaps.append(event)
        else:
            known = len(requests)
            requests.add(event)
            budget.spend(_size_of(event) + _REQUEST_BYTES * (len(requests) - known))
    said = [_gap(path.name, text, gap) for gap in gaps[:_MAX_GAPS]]
    if len(gaps) > _MAX_GAPS:
        more = counted(len(gaps) - _MAX_GAPS, "more such place")
        said.append(f"{path.name}: {more}.")
    budget.release(sys.getsizeof(text))
    return said


def _size_of(event: Event) -> int:
    if isinstance(event, TensorEvent):
        return 3 * _EVENT_BYTES + len(event.ref.data or b"")
    return _EVENT_BYTES


def _text(path: Path, budget: ReadBudget) -> str:
    """Return a file's text; its size stays spent."""
    with path.open("rb") as file:
        data = budget.read(file)
    # ASCII text needs one byte for each character.
    budget.check(len(data) if data.isascii() else 4 * len(data))
    text = data.decode("utf-8", "surrogateescape").removeprefix("\ufeff")
    budget.release(len(data))
    budget.spend(sys.getsizeof(text))
    return text


def _gap(name: str, text: str, gap: UnreadRange) -> str:
    start, size = _size(text[: gap.start]), _size(text[gap.start : gap.end])
    upto = ", to its end," if gap.end == len(text) else ""
    count = counted(size, "byte")
    return f"{name}: {count} from byte {start:,} on{upto} could not be read."


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogateescape"))
