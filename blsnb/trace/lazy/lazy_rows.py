"""Values made from columns when they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any, Generic, TypeAlias, TypeVar, overload

T = TypeVar("T")
MakeColumn: TypeAlias = Callable[[], Sequence[Any]]


class LazyRows(Sequence[T], Generic[T]):
    """A sequence of values with equal fields, each made when it is first read.

    Thread-safe. Equal to any sequence of the same values.

    Parameters
    ----------
    make
        Makes a value of its fields, in the order of the columns.
    columns
        One list per field, all of one length.
    later
        Functions that return further lists for fields, called when they are first
        read.
    """

    __slots__ = ("_columns", "_later", "_length", "_made", "_make")

    def __init__(
        self,
        make: Callable[..., T],
        columns: Mapping[str, Sequence[Any]],
        later: Mapping[str, MakeColumn] | None = None,
    ) -> None:
        self._make = make
        self._columns = dict(columns)
        self._later = dict(later or {})
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
            fields = [column[row] for column in self._all().values()]
            known = self._made.setdefault(row, self._make(*fields))
        return known

    def __iter__(self) -> Iterator[T]:
        if len(self._made) < self._length:
            self._make_all()
        return map(self._made.__getitem__, range(self._length))

    def _make_all(self) -> None:
        made, make = self._made, self._make
        for row, fields in enumerate(zip(*self._all().values(), strict=True)):
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
        make = self._later.get(name)
        if make is not None:
            self._columns[name] = make()
            # Another thread may have made the same.
            self._later.pop(name, None)
        return self._columns[name]

    def _all(self) -> Mapping[str, Sequence[Any]]:
        for name in tuple(self._later):
            self.column(name)
        return self._columns

    def with_column(self, name: str, make: MakeColumn) -> LazyRows[T]:
        """Return the rows with another column for a field, made when it is read."""
        return LazyRows(self._make, self._columns, {**self._later, name: make})


def column_of(values: Sequence[Any], name: str) -> Sequence[Any]:
    """Return a field of all values, which may be lazy rows."""
    if isinstance(values, LazyRows):
        return values.column(name)
    return list(map(attrgetter(name), values))
