"""Reader of run files, version 2: all chunks before the first damaged one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from blsnb.errors import TraceFileError
from blsnb.files.read_budget import ReadBudget
from blsnb.printable import counted
from blsnb.trace.facts import UnreadChunk
from blsnb.trace.files import checked
from blsnb.trace.files.checked import Malformed
from blsnb.trace.files.saved_run import SavedRun
from blsnb.trace.files.v2.chunks import (
    FORMAT,
    MAGIC,
    ChunkReader,
    CutOffChunk,
    DamagedChunk,
    FileChunk,
    json_pieces,
    parsed,
)
from blsnb.trace.files.v2.contents import RunContents

_Take = Callable[[RunContents, dict[str, Any], bytes], None]
_TAKE: dict[str, _Take] = {
    "MODL": RunContents.take_models,
    "TENS": RunContents.take_tensors,
    "CALL": RunContents.take_calls,
    "RESP": RunContents.take_responses,
    "FOLD": RunContents.take_folded,
    "ANSW": RunContents.take_answer,
    "PAUS": RunContents.take_pauses,
    "prof": RunContents.take_profile,
    "rmrk": RunContents.take_remarks,
    "DONE": RunContents.take_end,
}
_ROWS: dict[str, tuple[tuple[str, ...], ...]] = {
    "CALL": (("ids",),),
    "RESP": (("call",),),
    "TENS": (("name",),),
    "FOLD": (("folded", "model"), ("gaps", "model")),
    "ANSW": (("responses", "final"),),
}
"""Paths of the columns whose lengths are the number of rows of a chunk."""
_ROW_BYTES = {"CALL": 400}
"""Bytes of the Python objects of a row, without its values."""
_FEW_BYTES = 250
"""The same for chunks of other types."""
_CUT_OFF = "it ends before the first chunk does"
_NOT_COMPLETED = "The file was not completed: what was written until then is shown."


def read_chunks(file: BinaryIO, size: int, path: Path, budget: ReadBudget) -> SavedRun:
    """Read a run of version 2, up to its last whole chunk.

    Raises
    ------
    TraceFileError
        A later release wrote it.
    ReadLimitError
        It takes more memory than the budget allows.
    DamagedChunk
        Its first chunk is damaged.
    ValueError
        A whole chunk is not valid.
    """
    file.seek(len(MAGIC))
    reader = ChunkReader(file, size)
    contents = RunContents()
    written_by = _read_head(reader.read(), contents, path, budget)
    while contents.taken_ns is None:
        try:
            chunk = reader.read()
        except DamagedChunk as error:
            remark = _unfinished(reader.offset, size, isinstance(error, CutOffChunk))
            contents.remarks.append(remark)
            break
        if chunk is None:
            contents.remarks.append(_NOT_COMPLETED)
            break
        _take(chunk, contents, budget, path, written_by)
    else:
        if reader.offset < size:
            contents.remarks.append(
                f"Ignored after the end of the run: "
                f"{counted(size - reader.offset, 'byte')}."
            )
    return contents.saved(path.name)


def _read_head(
    chunk: FileChunk | None, contents: RunContents, path: Path, budget: ReadBudget
) -> object:
    if chunk is None:
        raise CutOffChunk(_CUT_OFF)
    if chunk.type != "HEAD":
        raise Malformed(
            f"it begins with a chunk of the type {chunk.type!r}, not 'HEAD'"
        )
    value = _value(chunk, budget)
    version = value.get("format")
    if type(version) is int and version > FORMAT:
        raise TraceFileError(
            f"{path} was saved by {_release(value.get('written_by'))} in format "
            f"{version}; this blsnb reads format {FORMAT}: a newer blsnb is needed"
        )
    if version != FORMAT:
        raise Malformed(
            f"its format is {version!r}, and this file should have {FORMAT}"
        )
    contents.take_head(value, chunk.body)
    return value.get("written_by")


def _take(
    chunk: FileChunk,
    contents: RunContents,
    budget: ReadBudget,
    path: Path,
    written_by: object,
) -> None:
    take = _TAKE.get(chunk.type)
    if take is not None:
        take(contents, _value(chunk, budget), chunk.body)
    elif chunk.type == "HEAD":
        raise Malformed("it has two chunks of the type 'HEAD'")
    elif chunk.type[0].isupper():
        raise TraceFileError(
            f"{path} was saved by {_release(written_by)} and contains a chunk of the "
            f"type {chunk.type!r}, which this blsnb does not know: a newer blsnb is "
            "needed"
        )
    else:
        contents.unread.append(UnreadChunk(*chunk))


def _release(written_by: object) -> str:
    return written_by[:40] if isinstance(written_by, str) else "another blsnb"


def _unfinished(read: int, size: int, cut_off: bool) -> str:
    """Return the remark about a file whose end is missing, or which is damaged."""
    fault = (
        "ends in the middle of a chunk" if cut_off else f"is damaged at byte {read:,}"
    )
    return f"The file {fault}: its first {read:,} of {size:,} bytes are shown."


def _value(chunk: FileChunk, budget: ReadBudget) -> dict[str, Any]:
    pieces = []
    for piece in json_pieces(chunk):
        # Once for the piece, once for the whole.
        budget.spend(2 * len(piece))
        pieces.append(piece)
    text = b"".join(pieces)
    budget.release(len(text))
    budget.spend_json(text)
    value = checked.table(parsed(text))
    budget.release(len(text))
    rows = sum(_length(value, path) for path in _ROWS.get(chunk.type, ()))
    budget.spend(rows * _ROW_BYTES.get(chunk.type, _FEW_BYTES))
    return value


def _length(value: Any, path: Sequence[str]) -> int:
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return len(value) if isinstance(value, list) else 0
