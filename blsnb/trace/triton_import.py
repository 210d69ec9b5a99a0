"""Trace files of Triton servers, read from disk: one trace for each request."""

from __future__ import annotations

import dataclasses
import glob
import os
from pathlib import Path

from blsnb.errors import TraceFileError
from blsnb.trace.refusal import is_run_file
from blsnb.trace.spans import Trace
from blsnb.trace.triton_calls import traces_of
from blsnb.trace.triton_events import EventReader, Gap
from blsnb.trace.triton_requests import TritonRequests

_MOST_BYTES = 1 << 30
_MOST_GAPS = 3


def read_traces(path: str | os.PathLike[str]) -> list[Trace]:
    """Read a trace file that a Triton server wrote, or all its numbered pieces.

    Parameters
    ----------
    path
        The file; or, of ``trace.json.0``, ``trace.json.1`` and so on, which a server
        with ``log-frequency`` writes, the name without the number.

    Returns
    -------
    list of Trace
        One for each request from outside, in the order in which they started. What
        could not be read is left out, and said in their remarks.

    Raises
    ------
    TraceFileError
        Nothing in it is an event of a Triton trace, or it is larger than a gibibyte.
    OSError
        It cannot be opened.
    """
    path = Path(path).expanduser()
    requests = TritonRequests()
    gaps: list[str] = []
    for piece in _pieces(path):
        gaps += _collect(piece, requests)
    if not requests:
        with path.open("rb") as file:
            if is_run_file(file.read(8)):
                gaps = ["It may be a saved run, which blsnb.load_run() reads."]
        raise TraceFileError(
            " ".join([f"{path} is no trace of a Triton server.", *gaps])
        )
    about = (
        f"Read from {path.name}, a trace file of a Triton server. Such a file holds "
        "neither errors nor logs, sources or instances."
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
    # Where there are none, opening the path says what is wrong.
    return [piece for _, piece in sorted(found)] or [path]


def _collect(path: Path, requests: TritonRequests) -> list[str]:
    """Add a file's events to the requests; return what could not be read."""
    text = _text(path)
    gaps: list[Gap] = []
    for event in EventReader(text):
        if isinstance(event, Gap):
            gaps.append(event)
        else:
            requests.add(event)
    said = [_gap(path.name, text, gap) for gap in gaps[:_MOST_GAPS]]
    if len(gaps) > _MOST_GAPS:
        said.append(f"{path.name}: {len(gaps) - _MOST_GAPS:,} more such places.")
    return said


def _text(path: Path) -> str:
    with path.open("rb") as file:
        data = file.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise TraceFileError(
            f"{path} is larger than {_MOST_BYTES >> 20:,} MiB. A server started with "
            "--trace-config triton,log-frequency=1000 writes smaller pieces."
        )
    return data.decode("utf-8", "surrogateescape").removeprefix("\ufeff")


def _gap(name: str, text: str, gap: Gap) -> str:
    start, size = _size(text[: gap.start]), _size(text[gap.start : gap.end])
    upto = ", to its end," if gap.end == len(text) else ""
    count = f"{size:,} byte{'' if size == 1 else 's'}"
    return f"{name}: {count} from byte {start:,} on{upto} could not be read."


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogateescape"))
