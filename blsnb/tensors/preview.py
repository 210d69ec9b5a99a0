"""One slice of a tensor, small enough to send and to draw."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from blsnb.errors import TraceError
from blsnb.tensors import byte_strings
from blsnb.tensors.dtypes import BYTES, Shape
from blsnb.tensors.ref import TensorRef
from blsnb.tensors.summary import unit

SIDE = 128
"""Maximum rows or columns of a preview."""
_MIN_SIDE = 8
"""Minimum rows and columns of a picture; smaller arrays are treated as tables."""
MAX_VALUES = 48
"""Maximum number of cells whose values are included as text."""
MAX_COLUMNS = 6
"""Maximum number of columns of such a slice, unless it has a single row."""
MAX_STRINGS = 200
MAX_STRING_BYTES = 4096
NAN_LEVEL = 255
"""The level that represents NaN."""
_LEVELS = 254
_SEARCHED = 1 << 24
"""Maximum number of elements searched for extremes; larger slices are sampled."""

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Grid:
    """A slice over a tensor's last two axes, quantised to 255 levels."""

    index: Shape
    """Position on the leading axes."""
    rows: int
    columns: int
    of: tuple[int, int]
    """Rows and columns before the reduction."""
    low: float
    high: float
    reduced: str
    """``""``, ``"stride"`` or ``"max-abs"``."""
    data: bytes
    """A level per cell: 0 is low, 254 is high, 255 is NaN."""
    values: tuple[str, ...] = ()
    """The values as text, if the cells are few."""


@dataclass(frozen=True, slots=True)
class Image:
    """A slice over the three axes of a picture, as RGB."""

    index: Shape
    rows: int
    columns: int
    of: tuple[int, int]
    layout: str
    """``"HWC"`` or ``"CHW"``."""
    data: bytes


@dataclass(frozen=True, slots=True)
class Text:
    r"""The first strings of a BYTES tensor; undecodable bytes as ``\xNN``."""

    strings: tuple[str, ...]
    count: int
    """Number of strings in the tensor."""


Preview = Grid | Image | Text


def image_layout(shape: Shape) -> str:
    """Return a shape's layout as a picture: HWC, CHW, or empty for none."""
    if len(shape) < 3 or 0 in shape:
        return ""
    first, middle, last = shape[-3:]
    if last in (1, 3, 4) and min(first, middle) >= _MIN_SIDE:
        return "HWC"
    return "CHW" if first == 3 and min(middle, last) >= _MIN_SIDE else ""


def default(ref: TensorRef) -> Preview | None:
    """Return the preview to show first; None for an evicted or empty tensor."""
    if ref.evicted:
        return None
    if ref.dtype is BYTES:
        return text(ref)
    if 0 in ref.shape:
        return None
    return image(ref) if _looks_like_picture(ref) else grid(ref)


def text(ref: TensorRef) -> Text:
    """Return the first strings of a BYTES tensor."""
    _check_present(ref)
    elements = byte_strings.unpack(bytes(ref.data or b""))
    shown = itertools.islice(elements, MAX_STRINGS)
    return Text(tuple(map(_string, shown)), len(elements))


def grid(ref: TensorRef, index: Sequence[int] | None = None) -> Grid:
    """Return one slice as a heatmap of at most 128 by 128 cells.

    Parameters
    ----------
    index
        Position on the leading axes, all but the last two; the first slice if None.
        In a picture of layout HWC the channels lead: ``(batch, 3, height, width)``.

    Raises
    ------
    TraceError
        The value was evicted, is of BYTES or empty, or the index is out of range.
    """
    array, position = _slice(ref, index, axes=2)
    table = array.reshape(1, -1) if array.ndim < 2 else array
    if not table.size:
        raise TraceError(f"tensor {ref.name!r} has no elements to show")
    with np.errstate(all="ignore"):
        cells, reduced = _reduce(table)
        values = cells.astype(np.float64)
        low, high = _range(values)
        if low == high and table.dtype == np.uint8:
            # A blank page is drawn with its brightness.
            low, high = 0.0, 255.0
        if low < 0 < high and np.isinf(values).any():
            # Views colour both signs alike: the ends of their scale are infinities.
            high = max(-low, high)
            low = -high
        data = _quantise(values, low, high)
    rows, columns = cells.shape
    few = cells.size <= MAX_VALUES and (rows == 1 or columns <= MAX_COLUMNS)
    exact = tuple(map(str, cells.flat)) if few else ()
    of = table.shape[0], table.shape[1]
    return Grid(position, rows, columns, of, low, high, reduced, data, exact)


def image(ref: TensorRef, index: Sequence[int] | None = None) -> Image:
    """Return one slice as an RGB picture of at most 128 by 128 pixels.

    UINT8 is shown unchanged, values in [0, 1] are scaled by 255, others are
    stretched from the slice's minimum to its maximum. A fourth channel is omitted.

    Parameters
    ----------
    index
        Position on the leading axes, all but the last three; the first if None.

    Raises
    ------
    TraceError
        The tensor does not have the shape of a picture, or as for `grid`.
    """
    layout = image_layout(ref.shape)
    if not layout:
        raise TraceError(
            f"tensor {ref.name!r} of shape {ref.shape} is not a picture; a picture "
            "ends in (height, width, 1, 3 or 4) or (3, height, width)"
        )
    array, position = _slice(ref, index, axes=3)
    picture = np.moveaxis(array, 0, -1) if layout == "CHW" else array
    picture = picture[:, :, : 1 if picture.shape[-1] == 1 else 3]
    with np.errstate(all="ignore"):
        pixels = _rgb(_shrink(picture), ref)
    rows, columns = pixels.shape[:2]
    of = picture.shape[0], picture.shape[1]
    return Image(position, rows, columns, of, layout, pixels.tobytes())


def _check_present(ref: TensorRef) -> None:
    if ref.evicted:
        raise TraceError(f"the value of tensor {ref.name!r} {ref.fate}")


def _slice(
    ref: TensorRef, index: Sequence[int] | None, axes: int
) -> tuple[Array, Shape]:
    _check_present(ref)
    if ref.dtype is BYTES:
        raise TraceError(
            f"tensor {ref.name!r} holds strings, which have no {axes}-D slice"
        )
    shape = ref.shape
    # A heatmap shows one channel, and the channels are an axis to move along.
    channels_first = axes == 2 and image_layout(shape) == "HWC"
    if channels_first:
        shape = (*shape[:-3], shape[-1], *shape[-3:-1])
    leading = shape[: max(0, len(shape) - axes)]
    position = (0,) * len(leading) if index is None else tuple(index)
    if 0 in leading:
        raise TraceError(f"tensor {ref.name!r} has no elements to show")
    if len(position) != len(leading) or not all(
        0 <= at < size for at, size in zip(position, leading, strict=True)
    ):
        raise TraceError(
            f"index {list(position)} lies outside the leading axes {list(leading)} "
            f"of tensor {ref.name!r}"
        )

    def part(_: Any, array: Any) -> Any:
        return (np.moveaxis(array, -1, -3) if channels_first else array)[position]

    return np.asarray(ref.compute(part)), position


def _looks_like_picture(ref: TensorRef) -> bool:
    layout = image_layout(ref.shape)
    if not layout:
        return False
    if ref.dtype.datatype == "UINT8":
        return layout == "HWC"
    if ref.dtype.datatype not in ("FP16", "FP32", "FP64", "BF16"):
        return False
    array, _ = _slice(ref, None, axes=3)
    return bool(array.min() >= 0 and array.max() <= 1)


def _starts(size: int, cells: int) -> np.ndarray[Any, np.dtype[np.intp]]:
    """Return the first index of each cell on an axis of a size."""
    return np.arange(cells, dtype=np.intp) * size // cells


def _reduce(table: Array) -> tuple[Array, str]:
    rows, columns = min(table.shape[0], SIDE), min(table.shape[1], SIDE)
    if (rows, columns) == table.shape:
        return table, ""
    at_rows = _starts(table.shape[0], rows)
    at_columns = _starts(table.shape[1], columns)
    # Show single spikes of activations; in counts, labels and pixels the largest of
    # many neighbours would distort the picture.
    if table.dtype.kind not in "fb" or table.size > _SEARCHED:
        return table[np.ix_(at_rows, at_columns)], "stride"
    high = np.maximum.reduceat(table, at_rows, axis=0)
    high = np.maximum.reduceat(high, at_columns, axis=1)
    if table.dtype.kind == "b":
        return high, "max-abs"
    low = np.minimum.reduceat(table, at_rows, axis=0)
    low = np.minimum.reduceat(low, at_columns, axis=1)
    return np.where(high >= -low, high, low), "max-abs"


def _range(values: Array) -> tuple[float, float]:
    finite = values[np.isfinite(values)]
    if not finite.size:
        return math.nan, math.nan
    return float(finite.min()), float(finite.max())


def _quantise(values: Array, low: float, high: float) -> bytes:
    # Infinities are at the ends of the scale.
    levels = np.rint(unit(values.clip(low, high), low, high) * _LEVELS)
    levels[np.isnan(levels)] = NAN_LEVEL
    return bytes(levels.astype(np.uint8))


def _shrink(picture: Array) -> Array:
    """Average the pixels of each cell, keeping the picture's proportions."""
    height, width, _ = picture.shape
    scale = max(height, width) / SIDE
    if scale <= 1:
        return picture
    rows, columns = math.ceil(height / scale), math.ceil(width / scale)
    at_rows, at_columns = _starts(height, rows), _starts(width, columns)
    total = np.add.reduceat(picture, at_rows, axis=0, dtype=np.float64)
    total = np.add.reduceat(total, at_columns, axis=1)
    heights = np.diff(at_rows, append=height)[:, None, None]
    widths = np.diff(at_columns, append=width)[None, :, None]
    return np.asarray(total / (heights * widths))


def _rgb(picture: Array, ref: TensorRef) -> Array:
    values = picture.astype(np.float64)
    if ref.dtype.datatype != "UINT8":
        low, high = _range(values)
        if low < 0 or high > 1:
            values = unit(values.clip(low, high), low, high)
        values = values * 255
    pixels = np.nan_to_num(np.rint(values)).clip(0, 255).astype(np.uint8)
    return np.broadcast_to(pixels, (*pixels.shape[:2], 3)).copy()


def _string(element: bytes) -> str:
    if len(element) <= MAX_STRING_BYTES:
        return element.decode("utf-8", "backslashreplace")
    cut = MAX_STRING_BYTES
    # Do not cut within a character.
    while cut > MAX_STRING_BYTES - 4 and element[cut] & 0xC0 == 0x80:
        cut -= 1
    return element[:cut].decode("utf-8", "backslashreplace") + "…"
