"""Tensor entries: what the page is told of a tensor, and its previews as bytes."""

from __future__ import annotations

from typing import Any, NamedTuple

from blsnb.tensors import preview
from blsnb.tensors.preview import Grid, Image, Preview, Text
from blsnb.tensors.ref import TensorRef
from blsnb.tensors.summary import Histogram, Stats, TensorSummary
from blsnb.trace.spans import Span
from blsnb.views.documents.buffer import Buffer
from blsnb.views.format import sendable

_NAME = 4096
# A stream of thousands of responses has as many tensors: the first ones are told.
_MOST = 200

Entry = dict[str, Any]


class TensorUse(NamedTuple):
    """A tensor where it was used: as whose input, or in which response."""

    ref: TensorRef
    role: str
    """``"input"`` or ``"output"``."""
    response: int
    """Number of the response, counted from 0."""


def tensors_of(span: Span) -> list[TensorUse]:
    """Return a call's tensors in the order in which the page numbers them."""
    uses = [TensorUse(ref, "input", 0) for ref in span.inputs]
    uses += [TensorUse(ref, "output", 0) for ref in span.outputs]
    for response in span.responses:
        number = response.number
        uses += [TensorUse(ref, "output", number) for ref in response.outputs]
    return uses[:_MOST]


def description(use: TensorUse) -> Entry:
    """Return what is known of a tensor without looking at its values."""
    ref = use.ref
    return {
        "name": sendable(ref.name, _NAME),
        "datatype": ref.dtype.datatype,
        "shape": list(ref.shape),
        "device": ref.device,
        "byte_size": ref.byte_size,
        "role": use.role,
        "response": use.response,
        "evicted": ref.evicted,
        "stats": None,
        "histogram": None,
        "preview": None,
    }


def summary(ref: TensorRef) -> Entry:
    """Return statistics and histogram of a tensor's values."""
    summarised = TensorSummary(ref)
    return {
        "stats": _stats(summarised.stats),
        "histogram": _histogram(summarised.histogram),
    }


def previews(ref: TensorRef) -> dict[str, Preview]:
    """Return a tensor's preview; of a picture the heatmap and the image both."""
    shown = preview.default(ref)
    if shown is None:
        return {}
    if isinstance(shown, Image):
        return {"preview": shown, "grid": preview.grid(ref)}
    if isinstance(shown, Grid) and preview.image_layout(ref.shape):
        return {"preview": shown, "image": preview.image(ref)}
    return {"preview": shown}


def entry(use: TensorUse, buffer: Buffer) -> Entry:
    """Return all that is said of a tensor; its previews' bytes go to the buffer."""
    drawn = {name: placed(shown, buffer) for name, shown in previews(use.ref).items()}
    return description(use) | summary(use.ref) | drawn


def placed(shown: Preview, buffer: Buffer) -> Entry:
    """Put a preview's bytes into a buffer and return its description."""
    match shown:
        case Text():
            return {
                "kind": "text",
                "strings": list(shown.strings),
                "count": shown.count,
            }
        case Grid():
            own: Entry = {
                "kind": "grid",
                "low": _number(shown.low),
                "high": _number(shown.high),
                "reduced": shown.reduced,
            }
            if shown.values:
                own["values"] = list(shown.values)
        case Image():
            own = {"kind": "image", "layout": shown.layout}
    return own | {
        "index": list(shown.index),
        "rows": shown.rows,
        "columns": shown.columns,
        "of": list(shown.of),
        "data": buffer.add(shown.data),
    }


def _stats(stats: Stats | None) -> Entry | None:
    if stats is None:
        return None
    return {
        "count": stats.count,
        "min": _number(stats.min),
        "max": _number(stats.max),
        "mean": _number(stats.mean),
        "std": _number(stats.std),
        "nan": stats.nan,
        "inf": stats.inf,
        "zeros": stats.zeros,
    }


def _histogram(histogram: Histogram | None) -> Entry | None:
    if histogram is None:
        return None
    return {
        "low": _number(histogram.low),
        "high": _number(histogram.high),
        "counts": list(histogram.counts),
    }


def _number(value: float | bool | None) -> float | None:
    """Round to eight digits, more than a reader can use; true is 1."""
    if isinstance(value, bool):
        return int(value)
    return value if value is None or isinstance(value, int) else float(f"{value:.8g}")
