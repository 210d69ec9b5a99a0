"""Writer of run files, version 2: chunks that are appended during a run."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Self

from blsnb.clock.pausing_clock import Pause
from blsnb.tensors.ref import TensorRef
from blsnb.trace.events import ModelInfo
from blsnb.trace.facts import ClockReading, Profile, RecordingFacts, UnreadChunk
from blsnb.trace.files.saved_run import SavedResponse
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
from blsnb.trace.responses import ResponseEvent
from blsnb.trace.spans import Trace

BUDGET_BYTES = 256 << 20
"""Default maximum number of bytes of tensor values in a file."""
_BLOCK = 4096
"""Maximum number of calls, responses or tensors of a chunk."""
_BODY = 1 << 20
"""Number of bytes of values from which a chunk is written."""


class RunHead(NamedTuple):
    """The first chunk of a run file."""

    run: str
    title: str | None = None
    """None: the name of the first call's model."""
    request_id: str = ""
    clock: ClockReading | None = None
    recording: RecordingFacts | None = None


@functools.cache
def _release() -> str:
    return f"blsnb {metadata.version('blsnb')}"


def _head_value(head: RunHead) -> dict[str, Any]:
    recording = head.recording
    return {
        "format": FORMAT,
        "written_by": _release(),
        "kind": "run" if recording is None else "recording",
        "run": head.run,
        "title": head.title,
        "request_id": head.request_id,
        "clock": None if head.clock is None else head.clock._asdict(),
        **({} if recording is None else recording._asdict()),
    }


class RunWriter:
    """Appends the parts of a run to a file.

    Each chunk is handed to the operating system before its method returns, so that
    it survives if the process is killed. Not thread-safe.

    Parameters
    ----------
    file
        A binary file at its beginning; the writer closes it.
    budget_bytes
        Maximum number of bytes of tensor values.
    """

    def __init__(
        self, file: BinaryIO, head: RunHead, budget_bytes: int = BUDGET_BYTES
    ) -> None:
        self._file = file
        self._chunks = 0
        self._models: dict[ModelInfo, int] = {}
        self._tensors = TensorWriter(budget_bytes)
        try:
            self._write([MAGIC, *self._packed("HEAD", _head_value(head))])
        except BaseException:
            self.close()
            raise

    @classmethod
    def create(
        cls, path: Path, head: RunHead, budget_bytes: int = BUDGET_BYTES
    ) -> Self:
        """Create a file; raise OSError if it exists or cannot be written."""
        return cls(path.open("xb"), head, budget_bytes)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; without `finish` it is incomplete."""
        self._file.close()

    @property
    def left_out(self) -> tuple[int, int]:
        """Number of values that did not fit in the budget, and their bytes."""
        return self._tensors.left_out

    def models(self, models: Iterable[ModelInfo]) -> None:
        """Append the models that are new."""
        new = [model for model in dict.fromkeys(models) if model not in self._models]
        for model in new:
            self._models[model] = len(self._models)
        if new:
            self._append("MODL", {"models": list(map(model_row, new))})

    def tensors(self, refs: Iterable[TensorRef]) -> None:
        """Append tensors before their calls; earlier ones get the budget first."""
        written = self._tensors
        for ref in refs:
            written.number(ref)
            if written.pending_bytes >= _BODY or written.pending >= _BLOCK:
                self._flush_tensors()

    def calls(self, trace: Trace, rows: Sequence[int]) -> None:
        """Append calls of a trace; a call replaces its earlier version.

        Their responses are appended by `responses`.
        """
        spans, models = trace.spans, trace.models
        self.models(dict.fromkeys(models[spans[row].model] for row in rows))

        def chunk(part: Sequence[int]) -> Any:
            callers = [spans[row].parent for row in part]
            return write_calls(
                [spans[row] for row in part],
                [-1 if caller < 0 else spans[caller].id for caller in callers],
                [self._models[models[spans[row].model]] for row in part],
                self._take,
            )

        self._append_parts("CALL", rows, chunk)

    def responses(self, events: Sequence[tuple[int, ResponseEvent]]) -> None:
        """Append responses of decoupled calls, each with the id of its call."""

        def chunk(part: Sequence[tuple[int, ResponseEvent]]) -> Any:
            return write_responses(part, self._take)

        self._append_parts("RESP", events, chunk)

    def folded(self, trace: Trace) -> None:
        """Append all counted and dropped calls; they replace those before."""
        ends = (model for each in trace.folded for model in (each.caller, each.model))
        self.models(filter(None, ends))
        value = {
            "folded": write_folded(trace.folded, self._models),
            "gaps": write_gaps(trace, self._models),
            "drops": write_drops(trace.drops),
        }
        self._append("FOLD", value)

    def answer(self, responses: Sequence[SavedResponse], error: str | None) -> None:
        """Append the client's responses."""
        value = {"responses": write_answer(responses, self._take), "error": error}
        self._flush_tensors()
        self._append("ANSW", value)

    def pauses(self, pauses: Sequence[Pause]) -> None:
        """Append all pauses; they replace those before."""
        self._append("PAUS", {"paused": [list(pause) for pause in pauses]})

    def profile(self, profile: Profile) -> None:
        """Append a profile."""
        facts = {"kind": profile.kind, "call": profile.call}
        self._append("prof", {**profile.data, **facts}, [profile.body])

    def unread(self, chunk: UnreadChunk) -> None:
        """Append an optional chunk of another file unchanged."""
        type, flags, text, body = chunk
        self._write(framed(type, self._chunks, flags, text, [body]))
        self._chunks += 1

    def remarks(self, remarks: Sequence[str]) -> None:
        """Append sentences about the file."""
        self._append("rmrk", {"remarks": list(remarks)})

    def finish(self, taken_ns: int) -> None:
        """Append the last chunk, with the time at which the trace was taken."""
        self._append("DONE", {"taken_ns": taken_ns, "left_out": self.left_out})

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
        for part in _blocks(rows):
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
        self._write(self._packed(type, value, body))

    def _packed(self, type: str, value: Any, body: Sequence[Bytes] = ()) -> list[Bytes]:
        parts = packed(type, self._chunks, value, body)
        self._chunks += 1
        return parts

    def _write(self, parts: Sequence[Bytes]) -> None:
        try:
            for part in parts:
                self._file.write(part)
            self._file.flush()
        except BaseException:
            # Readers stop at a partial chunk, so nothing may follow it.
            self.close()
            raise


def _blocks(rows: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for start in range(0, len(rows), _BLOCK):
        yield rows[start : start + _BLOCK]
