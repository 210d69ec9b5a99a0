"""LazyRows: values made from columns when they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class LazyRows(Sequence[T], Generic[T]):
    """A sequence of values with equal fields, each made when it is first read.

    Thread-safe. Equal to any sequence of the same values.

    Parameters
    ----------
    make
        Makes a value of its fields, in the order of the columns.
    columns
        One list per field, all of one length.
    """

    __slots__ = ("_columns", "_length", "_made", "_make")

    def __init__(
        self, make: Callable[..., T], columns: Mapping[str, Sequence[Any]]
    ) -> None:
        self._make = make
        self._columns = columns
        self._made: dict[int, T] = {}
        self._length = len(next(iter(columns.values())))

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, row: int) -> T: ...

    @overload
    def __getitem__(self, row: slice) -> tuple[T, ...]: ...

    def __getitem__(self, row: int | slice) -> T | tuple[T, ...]:
        if isinstance(row, slice):
            return tuple(self[each] for each in range(self._length)[row])
        row = range(self._length)[row]
        known = self._made.get(row)
        if known is None:
            fields = [column[row] for column in self._columns.values()]
            known = self._made.setdefault(row, self._make(*fields))
        return known

    def __iter__(self) -> Iterator[T]:
        if len(self._made) < self._length:
            self._make_all()
        return map(self._made.__getitem__, range(self._length))

    def _make_all(self) -> None:
        made, make = self._made, self._make
        for row, fields in enumerate(zip(*self._columns.values(), strict=True)):
            if row not in made:
                made.setdefault(row, make(*fields))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))

    def column(self, name: str) -> Sequence[Any]:
        """Return a field of all values; no value is made for it."""
        return self._columns[name]

    def with_column(self, name: str, changed: Mapping[int, Any]) -> LazyRows[T]:
        """Return the rows with other values of a field, by row."""
        column = list(self._columns[name])
        for row, value in changed.items():
            column[row] = value
        return LazyRows(self._make, {**self._columns, name: column})


def column_of(values: Sequence[Any], name: str) -> Sequence[Any]:
    """Return a field of all values, which may be lazy rows."""
    if isinstance(values, LazyRows):
        return values.column(name)
    return list(map(attrgetter(name), values))
