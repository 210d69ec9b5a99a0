"""Gaps: where between the calls that are kept are those that are only counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from blsnb.trace.events import Call, ModelInfo

Name = tuple[bool, str]
"""Whether it is a user's span, and its name: versions and stand-ins come and go."""
_Place = tuple[Call | None, Name]


class Gap(NamedTuple):
    """Calls of one model by one caller that are only counted, and stood together."""

    caller: int
    """The caller's row; -1 for requests from outside."""
    model: int
    """Index in ``Trace.models``; of several versions the first one's."""
    after: int
    """How many calls of that model by that caller are kept before them."""
    calls: int


class Numbered(NamedTuple):
    """The calls of one model by one caller, kept or only counted."""

    rows: Mapping[int, int]
    """The row of each call that is kept, by its number among all, from 0."""
    total: int
    """How many calls there were."""


def name_of(model: ModelInfo) -> Name:
    """Return by what calls of a model are told apart from those of another."""
    return model.kind == "span", model.name


def first_of_name(models: Iterable[ModelInfo]) -> dict[Name, int]:
    """Return the first model of each name."""
    found: dict[Name, int] = {}
    for number, model in enumerate(models):
        found.setdefault(name_of(model), number)
    return found


def numbered(rows: Sequence[int], gaps: Mapping[int, int]) -> Numbered:
    """Return the calls of one model by one caller by their numbers.

    Parameters
    ----------
    rows
        Those that are kept, in order.
    gaps
        How many are only counted behind so many of them.
    """
    if not gaps:
        return Numbered(dict(enumerate(rows)), len(rows))
    number = gaps.get(0, 0)
    found = {}
    for place, row in enumerate(rows, 1):
        found[number] = row
        number += 1 + gaps.get(place, 0)
    return Numbered(found, number)


def between(numbers: Sequence[int], total: int) -> Iterator[tuple[int, int]]:
    """Yield behind how many calls of a model how many are left out.

    Parameters
    ----------
    numbers
        Those of the calls that are kept, in order.
    total
        How many calls there were.
    """
    last = -1
    for place, number in enumerate([*numbers, total]):
        if number > last + 1:
            yield place, number - last - 1
        last = number


class Gaps:
    """The gaps of a run that is recorded.

    Each is known by the call that stands before it, so that it stays true whatever
    is recorded, and whatever leaves, later.
    """

    __slots__ = ("_behind",)

    def __init__(self) -> None:
        self._behind: dict[Call | _Place, int] = {}

    def open(self, calls: Iterable[Call], leaving: AbstractSet[Call]) -> None:
        """Note where calls leave.

        Parameters
        ----------
        calls
            In the order in which they started, those that leave among them.
        """
        behind = self._behind
        kept: dict[_Place, Call] = {}
        for call in calls:
            place = _place(call)
            if call not in leaving:
                kept[place] = call
                continue
            gone = 1 + behind.pop(call, 0)
            # Below a caller that leaves nothing has a place any more.
            if call.parent not in leaving:
                before = kept.get(place, place)
                behind[before] = behind.get(before, 0) + gone
        for key in [key for key in behind if _place(key)[0] in leaving]:
            del behind[key]

    def listed(
        self,
        calls: Sequence[Call],
        rows: Mapping[int, int],
        models: Sequence[ModelInfo],
    ) -> tuple[Gap, ...]:
        """Return the gaps between calls, which are kept, in order.

        Parameters
        ----------
        rows
            The row of each call, by its ``id``.
        models
            Of the calls, as a trace numbers them.
        """
        # A copy: another thread may take out calls meanwhile.
        behind = dict(self._behind)
        if not behind:
            return ()
        kept: Counter[_Place] = Counter()
        after: dict[Call | _Place, int] = {}
        for call in calls:
            place = _place(call)
            kept[place] += 1
            after[call] = kept[place]
        number = first_of_name(models)
        found = []
        for key, count in behind.items():
            caller, name = _place(key)
            row = -1 if caller is None else rows.get(id(caller))
            if row is not None and name in number:
                found.append(Gap(row, number[name], after.get(key, 0), count))
        return tuple(sorted(found))


def _place(key: Call | _Place) -> _Place:
    return key if isinstance(key, tuple) else (key.parent, name_of(key.model))
