"""Reader of run files, version 1: a zip file of JSON and of tensor values.

The JSON is converted to that of chunks of version 2.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from blsnb.files.read_budget import ReadBudget
from blsnb.tensors.ref import TensorRef
from blsnb.trace.files import checked
from blsnb.trace.files.checked import NS, Malformed
from blsnb.trace.files.refusal import newer
from blsnb.trace.files.saved_run import SavedRun
from blsnb.trace.files.v2.call_columns import LATER_TIMES, REQUEST
from blsnb.trace.files.v2.contents import RunContents
from blsnb.trace.files.v2.tensor_columns import new_tensor

FORMAT = 1
_NEWEST = 2
"""The newest format that this release reads."""
_JSON = "run.json"
_VALUES = "values.bin"
_COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_MODEL = (
    "name",
    "backend",
    "device",
    "kind",
    "source",
    "version",
    "origin",
    "unbatched",
)
_REQUEST = [name for name in REQUEST if name != "request_id"]
_RESPONSE = ("call", "ns", "outputs", "error", "number")
_FOLDED = (
    "caller",
    "model",
    "calls",
    "errors",
    "duration_ns",
    "first_ns",
    "last_ns",
    "latencies",
)
_GAP = ("caller", "model", "after", "calls")
_ANSWER = ("outputs", "error", "final", "parameters")


def read_zip(file: BinaryIO, path: Path, budget: ReadBudget) -> SavedRun:
    """Read a run of version 1.

    Raises
    ------
    TraceFileError
        A later release wrote it.
    ReadLimitError
        It takes more memory than the budget allows.
    Exception
        It is damaged: what zipfile raises, and `Malformed`.
    """
    with zipfile.ZipFile(file) as archive:
        known = _known(archive, budget)
        version = known.get("format")
        if isinstance(version, int) and version > _NEWEST:
            raise newer(path, known.get("written_by"), version, _NEWEST)
        if version != FORMAT or version is True:
            raise Malformed(f"its format is {version!r}, and a zip file has format 1")
        return _read(known, _values(archive), path.name)


def _known(archive: zipfile.ZipFile, budget: ReadBudget) -> dict[str, Any]:
    names = archive.namelist()
    if _JSON not in names:
        raise Malformed(f"it should hold {_JSON} and {_VALUES}, not {names[:4]}"[:200])
    if archive.getinfo(_JSON).compress_type not in _COMPRESSIONS:
        # zipfile inflates other methods without a limit.
        raise Malformed(f"{_JSON} is compressed with another method than deflate")
    with archive.open(_JSON) as member:
        inflated = budget.read(member)
    size, text = len(inflated), inflated.decode()
    del inflated
    budget.release(size)
    budget.spend_json(text)
    return checked.table(json.loads(text))


def _values(archive: zipfile.ZipFile) -> bytes:
    names = archive.namelist()
    if sorted(names) != [_JSON, _VALUES]:
        raise Malformed(f"it should hold {_JSON} and {_VALUES}, not {names[:4]}"[:200])
    if archive.getinfo(_VALUES).compress_type != zipfile.ZIP_STORED:
        raise Malformed(f"{_VALUES} is compressed")
    return archive.read(_VALUES)


def _read(known: dict[str, Any], data: bytes, name: str) -> SavedRun:
    def get(key: str) -> Any:
        return checked.part(known, key)

    contents = RunContents()
    head = {"run": get("id"), "title": get("title"), "request_id": get("request_id")}
    contents.take_head(head, b"")
    described, sizes = get("tensors"), get("values")
    values = list(_split(checked.listed(sizes, _size), data))
    contents.tensors = list(checked.listed(described, lambda row: _tensor(row, values)))
    models = [dict(zip(_MODEL, row, strict=True)) for row in _rows(get("models"), 8)]
    contents.take_models({"models": models}, b"")
    calls, sent = _calls(checked.table(get("calls")))
    contents.take_calls(calls, b"")
    contents.take_responses(_columns(_RESPONSE, sent), b"")
    # Older files do not contain gaps.
    folded = {
        "folded": _columns(_FOLDED, _rows(get("folded"), 8)),
        "gaps": _columns(_GAP, _rows(known.get("gaps", []), 4)),
    }
    contents.take_folded(folded, b"")
    if any(gap.caller >= len(calls["ids"]) for gap in contents.gaps):
        raise Malformed("a gap of a call that is not in the file")
    answer = _rows(get("responses"), 4)
    pairs = [list(map(list, checked.table(row[3]).items())) for row in answer]
    answer = [[*row[:3], given] for row, given in zip(answer, pairs, strict=True)]
    received = {"responses": _columns(_ANSWER, answer), "error": get("error")}
    contents.take_answer(received, b"")
    contents.take_remarks({"remarks": get("remarks")}, b"")
    contents.take_end({"taken_ns": get("taken_ns")}, b"")
    return contents.saved(name)


def _rows(value: Any, length: int) -> list[Sequence[Any]]:
    return list(checked.listed(value, lambda row: checked.row(row, length)))


def _columns(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> dict[str, Any]:
    return {name: [row[at] for row in rows] for at, name in enumerate(names)}


def _calls(columns: dict[str, Any]) -> tuple[dict[str, Any], list[list[Any]]]:
    """Return the JSON of a ``CALL`` chunk, and the rows of a ``RESP`` chunk."""
    size = len(checked.listed(columns.get("parent"), lambda each: each))

    def column(name: str) -> Sequence[Any]:
        return checked.row(checked.part(columns, name), size)

    starts = [_size(start) for start in column("request_start_ns")]
    later = {
        name: [
            _size(ns) - start if ns else None
            for ns, start in zip(column(name), starts, strict=True)
        ]
        for name in LATER_TIMES
    }
    requests = [
        [REQUEST[name].default for name in _REQUEST]
        if row is None
        else checked.row(row, len(_REQUEST))
        for row in column("request_fields")
    ]
    sent = [
        [call, *response]
        for call, responses in enumerate(column("responses"))
        for response in _rows(responses, 4)
    ]
    calls = {**columns, **later, **_columns(_REQUEST, requests)}
    return {**calls, "ids": list(range(size))}, sent


def _size(value: Any) -> int:
    return checked.integer(value, 0, NS)


def _split(sizes: Sequence[int], data: bytes) -> Iterator[bytes]:
    if sum(sizes) != len(data):
        raise Malformed(f"{sum(sizes):,} bytes of values, not {len(data):,}")
    start = 0
    for size in sizes:
        yield data[start : start + size]
        start += size


def _tensor(row: Any, values: Sequence[bytes]) -> TensorRef:
    name, datatype, sizes, device, byte_size, place = checked.row(row, 6)
    name, datatype, device = map(checked.text, (name, datatype, device))
    shape = checked.listed(sizes, _size)
    place = checked.integer(place, -1, len(values) - 1)
    data = None if place < 0 else values[place]
    return new_tensor(name, datatype, shape, data, device, _size(byte_size))
