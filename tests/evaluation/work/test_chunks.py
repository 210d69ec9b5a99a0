"""Chunks of a data set: their sizes, and whole sequences."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from blsnb.evaluation.plain import Row, RowResult
from blsnb.evaluation.work.chunks import CHUNK_US, MAX_ROWS, Chunks, whole_sequences

ROWS = [Row(number, {}) for number in range(1000)]


def results(count: int, latency_us: float) -> list[RowResult]:
    """Return results of rows that took the same time."""
    return [RowResult(number, latency_us=latency_us) for number in range(count)]


def grown(chunks: Chunks, latency_us: float, times: int = 20) -> int:
    """Return the size of chunks once they follow a row's duration."""
    for _ in range(times):
        chunks.note(results(chunks.size, latency_us))
    return chunks.size


def test_chunks_of_a_fixed_size_end_with_a_smaller_one() -> None:
    """Rows keep their order, and the last chunk has the rest."""
    chunks = list(Chunks(ROWS[:5], size=2))
    assert [0, 1, 2] == [chunk.number for chunk in chunks]
    assert [[0, 1], [2, 3], [4]] == [[r.number for r in c.rows] for c in chunks]


def test_no_rows_are_no_chunks() -> None:
    """An empty data set has no chunk."""
    assert [] == list(Chunks([]))


def test_the_first_chunk_is_one_row() -> None:
    """Before a duration is known, a chunk is as small as possible."""
    assert [ROWS[0]] == list(next(Chunks(ROWS)).rows)


def test_rows_are_read_when_a_chunk_is_taken() -> None:
    """The data set is never read ahead."""
    read = []

    def rows() -> Iterator[Row]:
        for row in ROWS:
            read.append(row.number)
            yield row

    chunks = Chunks(rows(), size=3)
    assert [] == read
    next(chunks)
    assert [0, 1, 2] == read


def test_chunks_grow_to_their_duration() -> None:
    """Rows of 5 ms are executed ten at a time; fast rows in large chunks."""
    assert int(CHUNK_US / 5000) == grown(Chunks(ROWS), 5000.0)
    assert MAX_ROWS == grown(Chunks(ROWS), 0.0)
    assert 1 == grown(Chunks(ROWS), 1e9)


def test_chunks_hold_whole_batches() -> None:
    """The number of rows is a multiple of the batch, and at least one batch."""
    assert 0 == grown(Chunks(ROWS, batch=8), 1500.0) % 8
    assert 8 == grown(Chunks(ROWS, batch=8), 1e9)
    assert 1000 == grown(Chunks(ROWS, batch=1000), 0.0)


def test_chunks_of_large_inputs_are_small() -> None:
    """Images of 10 MB are not gathered by the hundred, however fast their model is."""
    large = [Row(number, {"X": np.empty(10 << 20, np.uint8)}) for number in range(8)]
    assert [4, 4] == [len(chunk.rows) for chunk in Chunks(large, size=256)]


def test_results_of_no_row_teach_nothing() -> None:
    """An empty list of results leaves the size."""
    chunks = Chunks(ROWS)
    chunks.note([])
    assert 1 == chunks.size


@st.composite
def sequences(draw: st.DrawFn) -> list[Row]:
    """Rows without a sequence, and rows of several sequences, one after the other."""
    keys: list[int | None] = draw(st.lists(st.sampled_from([None, 1, 2, 3])))
    keys.sort(key=str)
    rows = []
    for number, key in enumerate(keys):
        start = key is not None and key not in keys[:number]
        end = key is not None and key not in keys[number + 1 :]
        rows.append(Row(number, {}, {}, key, start, end))
    return rows


@given(sequences(), st.integers(1, 5))
def test_a_sequence_is_whole_in_one_chunk_in_order(rows: list[Row], size: int) -> None:
    """Each row is in one chunk, and all rows of a sequence are units of one."""
    chunks = list(Chunks(rows, size=size))
    found = [row for chunk in chunks for row in chunk.rows]
    assert rows == found
    whole = [unit for chunk in chunks for unit in whole_sequences(chunk.rows)]
    for key in (1, 2, 3):
        expected = [row for row in rows if row.sequence == key]
        own = [unit for unit in whole if unit[0].sequence == key]
        assert own == ([expected] if expected else [])


def test_two_sequences_with_the_same_id_are_two_units() -> None:
    """An id may be used again once its sequence has ended."""
    first = Row(0, {}, {}, 7, True, True)
    second = Row(1, {}, {}, 7, True, True)
    assert [[first], [second]] == list(whole_sequences([first, second]))


def test_a_sequence_without_its_end_ends_before_the_next_one() -> None:
    """Its last row was left out, since it cannot be sent."""
    cut = [Row(0, {}, {}, 7, True), Row(1, {}, {}, 7)]
    others = [Row(3, {}, {}, 8, True), Row(4, {}, {}, 8)]
    assert [cut, others] == list(whole_sequences([*cut, *others]))
