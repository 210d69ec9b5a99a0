"""Tensors that a document embeds, within a budget: those of important calls first."""

from __future__ import annotations

import json
import math
from collections.abc import Callable

from blsnb.tensors.dtypes import BYTES
from blsnb.tensors.preview import MAX_VALUES, Grid, Preview, Text
from blsnb.tensors.ref import TensorRef
from blsnb.trace.spans import Trace
from blsnb.views.documents.buffer import Buffer
from blsnb.views.documents.entries import (
    Entry,
    description,
    placed,
    previews,
    summary,
    tensors_of,
)

BUDGET = 256 << 10
"""Maximum size of all entries and previews of a document in bytes."""
_MAX_PREVIEWS = 144 << 10
"""Maximum size of the previews, which compress badly."""
_SUMMARISED = 64 << 20
"""Maximum number of bytes of values that are summarised, to limit the time."""
_SHARES = 4
"""Divisor: this part of the preview budget is reserved for tensors of few values."""


def embed(
    trace: Trace, order: list[int], buffer: Buffer, with_previews: bool = True
) -> dict[str, list[Entry]]:
    """Return the tensor entries of as many calls as fit in the budget, by call id.

    Parameters
    ----------
    order
        Positions of all calls, the most important first.
    buffer
        Receives the bytes of previews.
    with_previews
        Whether to embed previews, or statistics only.
    """
    embedder = _Embedder(trace, buffer)
    embedder.describe(order)
    if with_previews:
        embedder.show()
    return {str(trace.spans[row].id): found for row, found in embedder.rows.items()}


class _Embedder:
    """Fills header and buffer until the budget is spent.

    A tensor that is passed on keeps its value, which is summarised and embedded once.
    """

    def __init__(self, trace: Trace, buffer: Buffer) -> None:
        self._trace = trace
        self._buffer = buffer
        self._left = BUDGET
        self._to_summarise = _SUMMARISED
        self._summaries: dict[_Value, Entry] = {}
        self._previews: dict[_Value, Entry] = {}
        self.rows: dict[int, list[Entry]] = {}

    def describe(self, order: list[int]) -> None:
        """Embed statistics, for at most half of the budget."""
        for row in order:
            span = self._trace.spans[row]
            uses = tensors_of(span)
            entries = [description(use) | self._summary(use.ref) for use in uses]
            self._left -= len(json.dumps(entries)) + len(str(span.id)) + 4
            if self._left < BUDGET // 2:
                return
            # An empty list, too: a call without tensors is not left out.
            self.rows[row] = entries

    def show(self) -> None:
        """Embed previews of the described tensors while they fit.

        Tensors of few values come first, because they are small.
        """
        self._left = min(self._left, _MAX_PREVIEWS)
        kept = self._left * (_SHARES - 1) // _SHARES
        self._show(_has_few_values, kept)
        self._show(lambda ref: True)

    def _show(self, wanted: Callable[[TensorRef], bool], kept: int = 0) -> None:
        for row, entries in self.rows.items():
            uses = tensors_of(self._trace.spans[row])
            for use, described in zip(uses, entries, strict=True):
                if self._left < kept:
                    return
                if wanted(use.ref):
                    described.update(self._preview(use.ref))

    def _summary(self, ref: TensorRef) -> Entry:
        known = self._summaries.get(_value(ref))
        if known is not None:
            return known
        size = 0 if ref.evicted else ref.byte_size
        found = summary(ref) if size <= self._to_summarise else {}
        self._to_summarise -= size if found else 0
        self._summaries[_value(ref)] = found
        return found

    def _preview(self, ref: TensorRef) -> Entry:
        known = self._previews.get(_value(ref))
        if known is not None:
            return known
        found: Entry = {}
        shown = previews(ref) if self._summaries[_value(ref)] else {}
        for name, each in shown.items():
            size = _size(each)
            if size <= self._left:
                self._left -= size
                # The heatmap replaces an image that is too large.
                found[name if found else "preview"] = placed(each, self._buffer)
        self._previews[_value(ref)] = found
        return found


def _has_few_values(ref: TensorRef) -> bool:
    return ref.dtype is not BYTES and math.prod(ref.shape) <= MAX_VALUES


_Value = tuple[int, str, tuple[int, ...]]


def _value(ref: TensorRef) -> _Value:
    return ref.value_id, ref.dtype.datatype, ref.shape


def _size(shown: Preview) -> int:
    if isinstance(shown, Text):
        return len(json.dumps(shown.strings))
    exact = len(json.dumps(shown.values)) if isinstance(shown, Grid) else 0
    return len(shown.data) + exact
