"""Positions of calls that are only counted between the kept ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from blsnb.trace.events import Call, ModelInfo

if TYPE_CHECKING:
    from blsnb.trace.lazy.lazy_rows import LazyRows

Name = tuple[bool, str]
"""Whether it is a span of model code, and the model's name."""
_Place = tuple[Call | None, Name]


class Gap(NamedTuple):
    """Successive calls of one model by one caller that are only counted."""

    caller: int
    """The caller's row; -1 for client requests."""
    model: int
    """Index in ``Trace.models``; the first one of several versions."""
    after: int
    """Number of kept calls of that model by that caller before them."""
    calls: int


class Numbered(NamedTuple):
    """The calls of one model by one caller, kept or only counted."""

    rows: Mapping[int, int]
    """Rows of the kept calls, by their numbers among all calls, from 0."""
    total: int
    """Number of all calls."""


def name_of(model: ModelInfo) -> Name:
    """Return the name that identifies a model in alignments and gaps."""
    return model.kind == "span", model.name


def first_of_name(models: Iterable[ModelInfo]) -> dict[Name, int]:
    """Return the first model of each name."""
    found: dict[Name, int] = {}
    for number, model in enumerate(models):
        found.setdefault(name_of(model), number)
    return found


def numbered(rows: Sequence[int], gaps: Mapping[int, int]) -> Numbered:
    """Return the calls of one model by one caller, numbered.

    Parameters
    ----------
    rows
        The kept calls in order.
    gaps
        Numbers of counted calls, by the number of kept calls before them.
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
    """Yield gaps as numbers of kept calls before them and of calls within them.

    Parameters
    ----------
    numbers
        Numbers of the kept calls, in order.
    total
        Number of all calls.
    """
    last = -1
    for place, number in enumerate([*numbers, total]):
        if number > last + 1:
            yield place, number - last - 1
        last = number


class Gaps:
    """The gaps of a run that is being recorded.

    Each gap is stored by the call before it, so that it stays valid when further
    calls are recorded or removed.
    """

    __slots__ = ("_behind",)

    def __init__(self) -> None:
        self._behind: dict[Call | _Place, int] = {}

    def open(self, calls: Sequence[Call], leaving: AbstractSet[Call]) -> None:
        """Note removals from all calls, which are in order of their starts."""
        behind, left = self._behind, len(leaving)
        gone: dict[_Place, int] = {}
        # Backwards, and no further than needed: the first calls of a run always stay.
        for call in reversed(calls):
            if call in leaving:
                left -= 1
                count = 1 + behind.pop(call, 0)
                # Gaps below a removed caller have no place in the trace.
                if call.parent not in leaving:
                    place = _place(call)
                    gone[place] = gone.get(place, 0) + count
            elif gone:
                if (count := gone.pop(_place(call), 0)) > 0:
                    behind[call] = behind.get(call, 0) + count
            elif not left:
                break
        for place, count in gone.items():
            behind[place] = behind.get(place, 0) + count
        for key in [key for key in behind if _place(key)[0] in leaving]:
            del behind[key]

    def listed(
        self, calls: Sequence[Call], spans: LazyRows[Any], models: Sequence[ModelInfo]
    ) -> tuple[Gap, ...]:
        """Return the gaps between the kept calls of a trace.

        Parameters
        ----------
        calls, spans
            The calls of the trace, in order of their ids, and their spans.
        models
            The models of the trace.
        """
        # A copy, because another thread may remove calls concurrently.
        behind = dict(self._behind)
        if not behind:
            return ()
        rows, number = _rows(calls, behind), first_of_name(models)
        counted = _counted(spans, [number[name_of(model)] for model in models])
        found = []
        for key, count in behind.items():
            caller, name = _place(key)
            row = -1 if caller is None else rows.get(caller)
            if row is not None and name in number:
                at = rows.get(key) if isinstance(key, Call) else None
                after = 0 if at is None else counted[at]
                found.append(Gap(row, number[name], after, count))
        return tuple(sorted(found))


def _rows(calls: Sequence[Call], keys: Iterable[Call | _Place]) -> dict[Call, int]:
    """Return the rows of the calls of gaps, and of their callers."""
    wanted: set[Any] = {_place(key)[0] for key in keys}.union(keys)
    return {call: row for row, call in enumerate(calls) if call in wanted}


def _counted(spans: LazyRows[Any], number: Sequence[int]) -> list[int]:
    """Return how many calls of its caller and model each call ends, with itself.

    Parameters
    ----------
    number
        The first model with the name of each model.
    """
    caller, model = (
        np.fromiter(spans.column(name), np.int64, len(spans))
        for name in ("parent", "model")
    )
    place = caller * len(number) + np.array(number, np.int64)[model]
    order = np.argsort(place, kind="stable")
    grouped, counts = place[order], np.empty_like(place)
    counts[order] = np.arange(1, len(place) + 1) - np.searchsorted(grouped, grouped)
    found: list[int] = counts.tolist()
    return found


def _place(key: Call | _Place) -> _Place:
    return key if isinstance(key, tuple) else (key.parent, name_of(key.model))
