"""Reader of run files, version 1: a zip file of JSON and of the tensors' bytes."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

from blsnb.files.read_budget import ReadBudget
from blsnb.tensors.ref import TensorRef
from blsnb.trace.events import ModelInfo
from blsnb.trace.files import checked
from blsnb.trace.files.checked import NS, Malformed
from blsnb.trace.files.refusal import newer
from blsnb.trace.files.saved_run import SavedResponse, SavedRun
from blsnb.trace.files.v1.span_columns import numbers, read_spans
from blsnb.trace.files.v2.call_values import latency, read_parameter
from blsnb.trace.files.v2.model_rows import read_origin
from blsnb.trace.files.v2.tensor_columns import new_tensor
from blsnb.trace.folding import FoldedCalls
from blsnb.trace.gaps import Gap
from blsnb.trace.spans import Trace

FORMAT = 1
_NEWEST = 2
"""The newest format that this release reads, in whichever kind of file."""
_JSON = "run.json"
_VALUES = "values.bin"
_COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_MOST_MODELS = 60_000


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
        _check_format(known, path)
        return _read(known, _values(archive), path.name)


def _known(archive: zipfile.ZipFile, budget: ReadBudget) -> dict[str, Any]:
    names = archive.namelist()
    if _JSON not in names:
        raise Malformed(f"it should hold {_JSON} and {_VALUES}, not {names[:4]}"[:200])
    if archive.getinfo(_JSON).compress_type not in _COMPRESSIONS:
        # zipfile inflates those of other methods without a limit.
        raise Malformed(f"{_JSON} is compressed with another method than deflate")
    with archive.open(_JSON) as member:
        inflated = budget.read(member)
    size, text = len(inflated), inflated.decode()
    del inflated
    budget.release(size)
    budget.spend_json(text)
    return checked.table(json.loads(text))


def _check_format(known: dict[str, Any], path: Path) -> None:
    version = known.get("format")
    if isinstance(version, int) and version > _NEWEST:
        raise newer(path, known.get("written_by"), version, _NEWEST)
    if version != FORMAT or version is True:
        raise Malformed(f"its format is {version!r}, and a zip file has format 1")


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

    described, sizes = get("tensors"), get("values")
    values = list(_split(checked.listed(sizes, _size), data))
    tensors = checked.listed(described, lambda row: _tensor(row, values))
    models = checked.listed(get("models"), _model)
    called = checked.integer(get("called_models"), 0, min(len(models), _MOST_MODELS))
    trace = Trace(
        checked.text(get("id")),
        checked.text(get("title")),
        checked.text(get("request_id")),
        models,
        read_spans(get("calls"), called, tensors),
        checked.integer(get("taken_ns"), 0, NS),
        checked.listed(get("folded"), lambda row: _folded(row, models)),
        name,
        checked.listed(get("remarks"), checked.text),
    )
    # Older files do not say where calls were that are only counted.
    gaps = checked.listed(known.get("gaps", []), lambda row: _gap(row, trace))
    trace = replace(trace, gaps=gaps)
    outputs_of = numbers(tensors)
    responses = checked.listed(get("responses"), lambda row: _response(row, outputs_of))
    return SavedRun(trace, responses, checked.optional_text(get("error")))


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


def _model(value: Any) -> ModelInfo:
    *texts, version, origin, unbatched = checked.row(value, 8)
    name, backend, device, kind, source = map(checked.text, texts)
    number = checked.integer(version, -1, NS)
    size = checked.integer(unbatched, 0, NS)
    cell = read_origin(origin)
    return ModelInfo(name, number, backend, device, kind, source, cell, size)


def _folded(value: Any, models: Sequence[ModelInfo]) -> FoldedCalls:
    *numbers, latencies = checked.row(value, 8)
    caller, model = (checked.integer(at, -1, len(models) - 1) for at in numbers[:2])
    counts = [checked.integer(each, 0, NS) for each in numbers[2:]]
    if model < 0:
        raise Malformed("counted calls of no model")
    by = None if caller < 0 else models[caller]
    took = checked.listed(latencies, latency)
    calls, errors, duration_ns, first_ns, last_ns = counts
    return FoldedCalls(
        by, models[model], calls, errors, duration_ns, first_ns, last_ns, took
    )


def _gap(value: Any, trace: Trace) -> Gap:
    caller, model, after, calls = checked.row(value, 4)
    return Gap(
        checked.integer(caller, -1, len(trace.spans) - 1),
        checked.integer(model, 0, len(trace.models) - 1),
        checked.integer(after, 0, len(trace.spans)),
        checked.integer(calls, 1, NS),
    )


def _response(value: Any, outputs_of: Any) -> SavedResponse:
    outputs, error, final, parameters = checked.row(value, 4)
    given = {n: read_parameter(v) for n, v in checked.table(parameters).items()}
    return SavedResponse(
        outputs_of(outputs), checked.optional_text(error), checked.flag(final), given
    )
