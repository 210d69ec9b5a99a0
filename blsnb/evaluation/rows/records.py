"""Rows as dicts, before inputs and labels are separated."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

BLOCK_ROWS = 1024
"""Maximum number of rows of a table that are converted at once."""
BLOCK_BYTES = 16 << 20
"""Maximum number of bytes of values that are converted at once, as far as known."""


@dataclass(frozen=True)
class Records:
    """Rows as dicts.

    Parameters
    ----------
    read
        Returns an iterator over the rows; each call starts from the first one.
    total
        Number of rows; None if it is unknown.
    digest
        Returns a digest of the contents; an empty string if it is unknown.
    """

    read: Callable[[], Iterator[Mapping[str, Any]]]
    total: int | None
    digest: Callable[[], str] = lambda: ""


def check_column_names(names: Sequence[str], table: str) -> None:
    """Refuse a table with several columns of one name: a row would lose a value.

    Raises
    ------
    ValueError
        Two columns have the same name.
    """
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{table} has several columns {twice!r}; expected one")


def by_rows(columns: Mapping[str, Iterable[Any]]) -> Iterator[dict[str, Any]]:
    """Yield the rows of columns of equal lengths."""
    names = tuple(columns)
    for values in zip(*columns.values(), strict=True):
        yield dict(zip(names, values, strict=True))


def rows_at_once(row_bytes: float) -> int:
    """Return the number of rows of a block, from the size of a row in bytes."""
    return max(1, min(BLOCK_ROWS, int(BLOCK_BYTES / max(row_bytes, 1))))
