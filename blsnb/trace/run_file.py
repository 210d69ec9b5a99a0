"""Runs on disk: ``.blsrun``, a zip file of JSON and of the tensors' bytes."""

from __future__ import annotations

import json
import os
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Any

from blsnb.errors import TraceFileError
from blsnb.files.read_budget import ReadBudget, ReadLimitError
from blsnb.files.whole import whole_file
from blsnb.tensors.ref import TensorRef
from blsnb.trace import checked
from blsnb.trace.checked import NS, Malformed
from blsnb.trace.events import ModelInfo, Origin
from blsnb.trace.folding import FoldedCalls
from blsnb.trace.gaps import Gap
from blsnb.trace.refusal import damage, newer, refusal
from blsnb.trace.span_columns import (
    numbers,
    read_parameter,
    read_spans,
    write_parameter,
    write_spans,
)
from blsnb.trace.spans import Trace
from blsnb.trace.values import ValueWriter, read_tensors

FORMAT = 1
SUFFIX = ".blsrun"
BUDGET_BYTES = 256 << 20
_JSON = "run.json"
_VALUES = "values.bin"
_COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_MOST_MODELS = 60_000
# Of latencies: eight for each doubling, up to the 63rd.
_CLASSES = 8 * 63
# So that the same run gives the same file.
_DATE = (1980, 1, 1, 0, 0, 0)
_HEAD = 16
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError)
"""What cannot be unpacked: bytes were lost or changed."""
_DAMAGED = (
    *_BROKEN,
    ValueError,
    NotImplementedError,
    RuntimeError,
    OverflowError,
    RecursionError,
    OSError,
)
"""What the standard library makes of a damaged file: it seeks before the beginning,
for one. `Malformed` is a ValueError."""


@dataclass(frozen=True, slots=True)
class SavedResponse:
    """A response as its client read it."""

    outputs: tuple[TensorRef, ...]
    error: str | None
    final: bool
    parameters: dict[str, Any]


@dataclass(frozen=True, slots=True)
class SavedRun:
    """What a file keeps of a run."""

    trace: Trace
    responses: tuple[SavedResponse, ...]
    error: str | None


def write_run(
    run: SavedRun,
    path: str | os.PathLike[str],
    order: Sequence[int],
    budget_bytes: int = BUDGET_BYTES,
) -> str:
    """Write a run to a file, which is there only once it is whole.

    Parameters
    ----------
    order
        All rows, those first whose tensors' values matter most; the run's own
        responses come before them.
    budget_bytes
        Bytes of tensor values written at most.

    Returns
    -------
    str
        What did not fit, in words; empty if all did.

    Raises
    ------
    OSError
        The file cannot be written; what stood there before still does.
    """
    values = ValueWriter(budget_bytes)
    written = _written(run, order, values)
    left_out = _left_out(values, budget_bytes)
    if left_out:
        written["remarks"].append(left_out)
    text = json.dumps(written, separators=(",", ":"), allow_nan=False).encode()
    with whole_file(Path(path)) as partial, zipfile.ZipFile(partial, "w") as file:
        file.writestr(_member(_JSON), text, zipfile.ZIP_DEFLATED, 6)
        # Stored: floats do not shrink, and a reader need not fear for its memory.
        with file.open(_member(_VALUES), "w", force_zip64=True) as member:
            for value in values.values:
                member.write(value)
    return left_out


def _member(name: str) -> zipfile.ZipInfo:
    return zipfile.ZipInfo(name, _DATE)


def _left_out(values: ValueWriter, budget_bytes: int) -> str:
    count, size = values.left_out
    if not count:
        return ""
    return (
        f"The values of {count:,} tensor{'' if count == 1 else 's'} ({size:,} bytes) "
        f"did not fit in the {budget_bytes:,} bytes that the file was given."
    )


def _written(
    run: SavedRun, order: Sequence[int], values: ValueWriter
) -> dict[str, Any]:
    trace = run.trace
    responses = [_write_response(each, values) for each in run.responses]
    calls = write_spans(trace.spans, order, values)
    models = _models(trace)
    return {
        "format": FORMAT,
        "written_by": f"blsnb {metadata.version('blsnb')}",
        "id": trace.run_id,
        "title": trace.title,
        "request_id": trace.request_id,
        "taken_ns": trace.taken_ns,
        "error": run.error,
        "models": list(map(_write_model, models)),
        "called_models": len(trace.models),
        "calls": calls,
        "folded": _write_folded(trace.folded, models),
        "gaps": [list(gap) for gap in trace.gaps],
        "responses": responses,
        "remarks": list(trace.remarks),
        "tensors": values.described(),
        "values": [len(value) for value in values.values],
    }


def _models(trace: Trace) -> list[ModelInfo]:
    """Return the models of the calls, and those of calls that are only counted."""
    ends = (model for each in trace.folded for model in (each.caller, each.model))
    return list(dict.fromkeys([*trace.models, *filter(None, ends)]))


def _write_folded(
    folded: Sequence[FoldedCalls], models: Sequence[ModelInfo]
) -> list[list[Any]]:
    place: dict[ModelInfo | None, int] = {None: -1}
    place |= {model: number for number, model in enumerate(models)}
    return [[place[each.caller], place[each.model], *each[2:]] for each in folded]


def _write_model(model: ModelInfo) -> list[Any]:
    texts = [model.name, model.backend, model.device, model.kind, model.source]
    origin = model.origin and list(model.origin)
    return [*texts, model.version, origin, model.unbatched]


def _write_response(response: SavedResponse, values: ValueWriter) -> list[Any]:
    parameters = {
        name: write_parameter(value) for name, value in response.parameters.items()
    }
    outputs = values.take(response.outputs)
    return [outputs, response.error, response.final, parameters]


def read_run(path: str | os.PathLike[str]) -> SavedRun:
    """Read a run that `write_run` wrote; nothing in the file is ever executed.

    Raises
    ------
    TraceFileError
        It is no such file, a later release wrote it, or reading it would take more
        memory than `blsnb.options.read_limit_bytes` allows.
    OSError
        It cannot be opened.
    """
    given = Path(path)
    with given.expanduser().open("rb") as file:
        head = file.read(_HEAD)
        budget = ReadBudget(os.fstat(file.fileno()).st_size, str(given))
        try:
            with zipfile.ZipFile(file) as archive:
                known = _known(archive, budget)
                _check_format(known, given)
                return _read(known, _values(archive), given.name)
        except ReadLimitError as error:
            raise TraceFileError(str(error)) from None
        except _DAMAGED as error:
            reason = f"{error}" or type(error).__name__
            told = damage if isinstance(error, _BROKEN) else refusal
            raise told(given, head, reason) from error


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
    if isinstance(version, int) and version > FORMAT:
        raise newer(path, known.get("written_by"), version, FORMAT)
    if version != FORMAT or version is True:
        raise Malformed(f"its format is {version!r}, and this release reads {FORMAT}")


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

    tensors = read_tensors(get("tensors"), get("values"), data)
    models = checked.listed(get("models"), _model)
    called = checked.integer(get("called_models"), 0, min(len(models), _MOST_MODELS))
    trace = Trace(
        checked.text(get("id")),
        checked.text(get("title")),
        checked.text(get("request_id")),
        models[:called],
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
    return SavedRun(trace, responses, _optional(get("error")))


def _optional(value: Any) -> str | None:
    return None if value is None else checked.text(value)


def _model(value: Any) -> ModelInfo:
    *texts, version, origin, unbatched = checked.row(value, 8)
    name, backend, device, kind, source = map(checked.text, texts)
    number = checked.integer(version, -1, NS)
    size = checked.integer(unbatched, 0, NS)
    cell = _origin(origin)
    return ModelInfo(name, number, backend, device, kind, source, cell, size)


def _origin(value: Any) -> Origin | None:
    if value is None:
        return None
    cell, offset = checked.row(value, 2)
    return Origin(checked.text(cell), checked.integer(offset, 0, NS))


def _folded(value: Any, models: Sequence[ModelInfo]) -> FoldedCalls:
    *numbers, latencies = checked.row(value, 8)
    caller, model = (checked.integer(at, -1, len(models) - 1) for at in numbers[:2])
    counts = [checked.integer(each, 0, NS) for each in numbers[2:]]
    if model < 0:
        raise Malformed("counted calls of no model")
    by = None if caller < 0 else models[caller]
    took = checked.listed(latencies, _latency)
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


def _latency(value: Any) -> tuple[int, int]:
    number, calls = checked.row(value, 2)
    return checked.integer(number, 0, _CLASSES), checked.integer(calls, 0, NS)


def _response(value: Any, outputs_of: Any) -> SavedResponse:
    outputs, error, final, parameters = checked.row(value, 4)
    given = {n: read_parameter(v) for n, v in checked.table(parameters).items()}
    return SavedResponse(
        outputs_of(outputs), _optional(error), checked.flag(final), given
    )
