"""Writer of run files, version 2."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib import metadata
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

from blsnb.files.whole import output_file
from blsnb.printable import counted
from blsnb.tensors.ref import TensorRef
from blsnb.trace.excerpt import by_importance
from blsnb.trace.files.saved_run import SavedRun
from blsnb.trace.files.v2.call_columns import write_calls
from blsnb.trace.files.v2.chunks import FORMAT, MAGIC, LargeChunk, framed, packed
from blsnb.trace.files.v2.model_rows import (
    model_row,
    write_drops,
    write_folded,
    write_gaps,
)
from blsnb.trace.files.v2.response_columns import write_answer, write_responses
from blsnb.trace.files.v2.tensor_columns import Bytes, TensorWriter
from blsnb.trace.spans import Trace

BUDGET_BYTES = 256 << 20
"""Default maximum number of bytes of tensor values in a file."""
_BLOCK = 4096
"""Maximum number of calls, responses or tensors of a chunk."""
_BODY = 1 << 20
"""Number of bytes of values from which a chunk is written."""


def write_run(
    run: SavedRun, path: str | os.PathLike[str], budget_bytes: int = BUDGET_BYTES
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
    with output_file(Path(path)) as partial, partial.open("wb") as file:
        return _RunWriter(run, file, budget_bytes).write()


class _RunWriter:
    """Writes the chunks of a run, each after the tensors that it names."""

    def __init__(self, run: SavedRun, file: BinaryIO, budget_bytes: int) -> None:
        self._run = run
        self._trace = run.trace
        self._file = file
        self._budget_bytes = budget_bytes
        self._chunks = 0
        counted_calls = ((each.caller, each.model) for each in run.trace.folded)
        models = [*run.trace.models, *filter(None, chain.from_iterable(counted_calls))]
        self._models = {each: n for n, each in enumerate(dict.fromkeys(models))}
        self._tensors = TensorWriter(budget_bytes)

    def write(self) -> str:
        """Write all chunks, and return the remark about missing values."""
        trace = self._trace
        self._file.write(MAGIC)
        self._append("HEAD", _head(trace))
        if self._models:
            self._append("MODL", {"models": list(map(model_row, self._models))})
        # The most important values first: they get the budget.
        for ref in _tensors(self._run):
            self._take([ref])
        self._append_parts("CALL", range(len(trace.spans)), self._calls)
        events = [(s.id, event) for s in trace.spans for event in s.responses]
        self._append_parts(
            "RESP", events, lambda each: write_responses(each, self._take)
        )
        if trace.folded or trace.gaps or trace.drops:
            self._append_folded()
        self._append_answer()
        if trace.pauses:
            self._append("PAUS", {"paused": [list(pause) for pause in trace.pauses]})
        for profile in trace.profiles:
            facts = {"kind": profile.kind, "call": profile.call}
            self._append("prof", {**profile.data, **facts}, [profile.body])
        for type, flags, text, body in trace.unread:
            self._put(framed(type, self._chunks, flags, text, [body]))
        left_out = self._left_out()
        if remarks := [*trace.remarks, *filter(None, [left_out])]:
            self._append("rmrk", {"remarks": remarks})
        done = {"taken_ns": trace.taken_ns, "left_out": self._tensors.left_out}
        self._append("DONE", done)
        return left_out

    def _calls(self, rows: Sequence[int]) -> dict[str, Any]:
        spans, models = self._trace.spans, self._trace.models
        callers = [spans[row].parent for row in rows]
        return write_calls(
            [spans[row] for row in rows],
            [-1 if caller < 0 else spans[caller].id for caller in callers],
            [self._models[models[spans[row].model]] for row in rows],
            self._take,
        )

    def _append_folded(self) -> None:
        trace = self._trace
        value = {
            "folded": write_folded(trace.folded, self._models),
            "gaps": write_gaps(trace, self._models),
            "drops": write_drops(trace.drops),
        }
        self._append("FOLD", value)

    def _append_answer(self) -> None:
        """Append what the client received, if it is known."""
        responses, error = self._run.responses, self._run.error
        if responses is not None:
            value = {"responses": write_answer(responses, self._take), "error": error}
            self._flush_tensors()
            self._append("ANSW", value)

    def _left_out(self) -> str:
        count, size = self._tensors.left_out
        if not count:
            return ""
        return (
            f"The values of {counted(count, 'tensor')} ({size:,} bytes) "
            f"did not fit in the {self._budget_bytes:,} bytes of the file's budget."
        )

    def _take(self, refs: Sequence[TensorRef]) -> list[int]:
        numbers = list(map(self._tensors.number, refs))
        if self._tensors.pending_bytes >= _BODY or self._tensors.pending >= _BLOCK:
            self._flush_tensors()
        return numbers

    def _flush_tensors(self) -> None:
        """Append the tensors that the next chunk refers to."""
        if self._tensors.pending:
            value, body = self._tensors.chunk()
            self._append("TENS", value, body)

    def _append_parts(
        self, type: str, rows: Sequence[Any], chunk: Callable[[Any], Any]
    ) -> None:
        for start in range(0, len(rows), _BLOCK):
            part = rows[start : start + _BLOCK]
            value = chunk(part)
            self._flush_tensors()
            try:
                self._append(type, value)
            except LargeChunk:
                if len(part) == 1:
                    raise
                middle = len(part) // 2
                self._append_parts(type, part[:middle], chunk)
                self._append_parts(type, part[middle:], chunk)

    def _append(self, type: str, value: Any, body: Sequence[Bytes] = ()) -> None:
        self._put(packed(type, self._chunks, value, body))

    def _put(self, parts: Sequence[Bytes]) -> None:
        self._file.writelines(parts)
        self._chunks += 1


@cache
def _release() -> str:
    return f"blsnb {metadata.version('blsnb')}"


def _head(trace: Trace) -> dict[str, Any]:
    recording = trace.recording
    return {
        "format": FORMAT,
        "written_by": _release(),
        "kind": "run" if recording is None else "recording",
        "run": trace.run_id,
        "title": trace.title,
        "request_id": trace.request_id,
        "clock": None if trace.clock is None else trace.clock._asdict(),
        **({} if recording is None else recording._asdict()),
    }


def _tensors(run: SavedRun) -> Iterator[TensorRef]:
    """Yield all tensors, the most important ones first: those of the client."""
    for response in run.responses or ():
        yield from response.outputs
    for row in by_importance(run.trace):
        yield from run.trace.spans[row].tensors
