"""Flags of rows that form sequences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from blsnb.evaluation.plain import Row


def with_flags(rows: Iterable[Row]) -> Iterator[Row]:
    """Yield rows with the flags of the start and the end of their sequences.

    Raises
    ------
    ValueError
        A sequence continues after rows of another one.
    """
    ended: set[int | str | None] = set()
    last: Row | None = None
    for row in rows:
        starts = last is None or last.sequence != row.sequence
        if last is not None:
            yield last._replace(sequence_end=starts)
        if starts and last is not None:
            ended.add(last.sequence)
        if starts and row.sequence in ended:
            raise ValueError(
                f"row {row.number}: sequence {row.sequence!r} continues after rows of "
                "another one; sort the rows by sequence"
            )
        last = row._replace(sequence_start=starts)
    if last is not None:
        yield last._replace(sequence_end=True)
