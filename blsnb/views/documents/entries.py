"""Entries of tensors for the page: facts, statistics, and previews as bytes."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any, NamedTuple, assert_never

from blsnb.tensors import preview
from blsnb.tensors.preview import Grid, Image, Preview, Text
from blsnb.tensors.ref import TensorRef
from blsnb.tensors.summary import TensorSummary
from blsnb.trace.spans import Span
from blsnb.views.documents.buffer import Buffer
from blsnb.views.format import sendable

_MAX_NAME = 4096
_MAX_TENSORS = 200
"""Maximum number of tensors of a call: a stream may have thousands."""

Entry = dict[str, Any]


class TensorUse(NamedTuple):
    """A tensor as the input or the output of a call."""

    ref: TensorRef
    role: str
    """``"input"`` or ``"output"``."""
    response: int
    """Number of the response, counted from 0."""


def tensors_of(span: Span) -> list[TensorUse]:
    """Return the tensors of a call in the order of the page."""
    uses = [TensorUse(ref, "input", 0) for ref in span.inputs]
    uses += [TensorUse(ref, "output", 0) for ref in span.outputs]
    for response in span.responses:
        number = response.number
        uses += [TensorUse(ref, "output", number) for ref in response.outputs]
    return uses[:_MAX_TENSORS]


def description(use: TensorUse) -> Entry:
    """Return the facts of a tensor that do not need its values."""
    ref = use.ref
    return {
        "name": sendable(ref.name, _MAX_NAME),
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
    """Return statistics and histogram of a tensor."""
    summarised = TensorSummary(ref)
    stats = summarised.stats and asdict(summarised.stats)
    histogram = summarised.histogram
    return {
        "stats": stats and {name: _number(stats[name]) for name in stats},
        "histogram": histogram
        and {
            "low": _number(histogram.low),
            "high": _number(histogram.high),
            "counts": list(histogram.counts),
        },
    }


def previews(ref: TensorRef) -> dict[str, Preview]:
    """Return the preview of a tensor; of an image also the heatmap."""
    shown = preview.default(ref)
    if shown is None:
        return {}
    if isinstance(shown, Image):
        return {"preview": shown, "grid": preview.grid(ref)}
    if isinstance(shown, Grid) and preview.image_layout(ref.shape):
        return {"preview": shown, "image": preview.image(ref)}
    return {"preview": shown}


def entry(use: TensorUse, buffer: Buffer) -> Entry:
    """Return the whole entry of a tensor; bytes of previews go to the buffer."""
    drawn = {name: placed(shown, buffer) for name, shown in previews(use.ref).items()}
    return description(use) | summary(use.ref) | drawn


def placed(shown: Preview, buffer: Buffer) -> Entry:
    """Put the bytes of a preview into a buffer and return its description."""
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
        case _:
            assert_never(shown)
    return own | {
        "index": list(shown.index),
        "rows": shown.rows,
        "columns": shown.columns,
        "of": list(shown.of),
        "data": buffer.add(shown.data),
    }


def _number(value: float | bool | None) -> float | None:
    """Return a number with eight digits; true is 1, and None is not finite."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, float):
        return float(f"{value:.8g}") if math.isfinite(value) else None
    return value
