"""Chunks of rows: whole sequences, and as many rows as take a certain time."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

from blsnb.evaluation.plain import Chunk, Row, RowResult

CHUNK_US = 50_000.0
"""Duration of a chunk, in microseconds; its transport takes about one percent."""
MAX_ROWS = 256
MAX_BYTES = 32 << 20
"""Size of the inputs from which a chunk has no further row."""
_MAX_GROWTH = 4
"""Maximum ratio of the sizes of two chunks: the first rows may be the fastest."""
_WEIGHT = 0.3
"""Weight of a chunk in the running mean of a row's duration."""


class Chunks:
    """An iterator of the chunks of a data set, which reads rows when it is asked to.

    Rows of a sequence are always in the same chunk, in order: a sequence is executed at
    one place, and repeated from its start if its worker is killed.

    Parameters
    ----------
    rows
        The rows; those of a sequence follow each other.
    batch
        Maximum number of rows stacked into one request; chunks have multiples of it.
    size
        Number of rows of each chunk; None to follow the durations that `note` receives.
    """

    def __init__(
        self, rows: Iterable[Row], batch: int = 1, size: int | None = None
    ) -> None:
        self._batch = batch
        self._fixed = size
        self._size = batch
        self._row_us: float | None = None
        self._chunks = self._made(rows)

    def __iter__(self) -> Iterator[Chunk]:
        return self

    def __next__(self) -> Chunk:
        return next(self._chunks)

    @property
    def size(self) -> int:
        """Number of rows of the next chunk, unless a sequence needs more."""
        return self._size if self._fixed is None else self._fixed

    def note(self, results: list[RowResult]) -> None:
        """Learn the duration of a row from the results of a chunk."""
        if not results:
            return
        mean_us = sum(each.latency_us for each in results) / len(results)
        before = mean_us if self._row_us is None else self._row_us
        self._row_us = before + _WEIGHT * (mean_us - before)
        most = min(MAX_ROWS, self._size * _MAX_GROWTH)
        wanted = int(CHUNK_US / self._row_us) if self._row_us > 0 else most
        batches = max(1, min(wanted, most) // self._batch)
        self._size = batches * self._batch

    def _made(self, rows: Iterable[Row]) -> Iterator[Chunk]:
        numbers = itertools.count()
        gathered: list[Row] = []
        byte_size = 0
        for unit in whole_sequences(rows):
            gathered += unit
            byte_size += sum(map(_byte_size, unit))
            if len(gathered) >= self.size or byte_size >= MAX_BYTES:
                yield Chunk(next(numbers), tuple(gathered))
                gathered, byte_size = [], 0
        if gathered:
            yield Chunk(next(numbers), tuple(gathered))


def _byte_size(row: Row) -> int:
    """Return the size of a row's arrays; other values are small."""
    return sum(getattr(value, "nbytes", 0) for value in row.inputs.values())


def whole_sequences(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Yield the parts that must stay together: a row alone, and a whole sequence."""
    together: list[Row] = []
    for row in rows:
        if together and together[-1].sequence != row.sequence:
            yield together
            together = []
        together.append(row)
        if row.sequence is None or row.sequence_end:
            yield together
            together = []
    if together:
        yield together
