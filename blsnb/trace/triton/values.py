"""Convert tensor elements to the text of Triton's trace files, and back."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from blsnb.tensors import byte_strings
from blsnb.tensors.dtypes import BF16, BY_DATATYPE, BYTES, DType, Shape
from blsnb.tensors.ref import TensorRef

_MAX_DIMS = 32
_CHARACTERS = ("UINT8", "INT8")
"""Types whose elements are written as characters."""
_DIGITS = {"FP32": 9, "FP64": 17}
"""Maximum number of digits of types for which Triton's six are too few."""
_BETWEEN = r"\",\""


def written(ref: TensorRef) -> tuple[str, bool]:
    """Return the elements as a JSON string, and whether they are escaped in it.

    A float has six digits, as on Triton, unless it needs more. Elements of BYTES have
    escaped quotes; if one contains a quote, a backslash, a control character or
    invalid UTF-8, which Triton copies verbatim, each is written as a JSON string.

    References
    ----------
    server: src/tracer.cc, TraceManager::Trace::CaptureTensor
    """
    if ref.data is None:
        return '""', False
    if ref.dtype is BYTES:
        elements = byte_strings.unpack(bytes(ref.data))
        texts = [element.decode("utf-8", "surrogateescape") for element in elements]
        if all(map(_is_plain, texts)):
            return _quoted(f'\\"{text}\\"' for text in texts), False
        return json.dumps(",".join(map(json.dumps, texts))), True
    if ref.dtype.datatype in _CHARACTERS:
        return json.dumps(",".join(bytes(ref.data).decode("latin-1"))), False
    array = ref.view().ravel()
    if ref.dtype.datatype == "BOOL":
        return _quoted("01"[value] for value in array.tolist()), False
    if array.dtype.kind == "f":
        return _quoted(_floats(array, ref.dtype)), False
    return _quoted(map(str, array.tolist())), False


def _quoted(words: Iterable[str]) -> str:
    return f'"{",".join(words)}"'


def _is_plain(text: str) -> bool:
    unsafe = '"' in text or "\\" in text or "\x7f" in text
    return not unsafe and all(c >= " " and not "\ud800" <= c <= "\udfff" for c in text)


def _floats(array: np.ndarray[Any, Any], dtype: DType) -> list[str]:
    numbers = array.tolist()
    texts = [f"{number:.6g}" for number in numbers]
    digits = _DIGITS.get(dtype.datatype)
    if digits is not None:
        again = np.array(list(map(float, texts)), np.float64).astype(array.dtype)
        for at in np.flatnonzero((again != array) & ~np.isnan(array)).tolist():
            texts[at] = f"{numbers[at]:.{digits}g}"
    return texts


def read(
    name: str, datatype: str, shape: Shape, text: str, verbatim: str | None = None
) -> TensorRef:
    """Return the tensor of a text in a trace file.

    It has no value if the text does not contain it: Triton writes no elements of FP16
    and BF16, and some texts are ambiguous.

    Parameters
    ----------
    text
        Contents of the JSON string.
    verbatim
        The same without JSON decoding, for files of Triton, which does not escape
        backslashes; None for escaped text.
    """
    dtype = BY_DATATYPE.get(datatype) or DType("", datatype, 0, None, 0)
    count = math.prod(shape)
    data: bytes | None
    try:
        data = _elements(dtype, count, text, verbatim)
        size = None if dtype is BYTES else count * dtype.byte_size
        ref = TensorRef(name, dtype, shape, data, "", size)
        if len(shape) <= _MAX_DIMS:
            ref.view()
            return ref
    except (ValueError, OverflowError):
        pass
    return TensorRef(name, dtype, shape, None, "", count * dtype.byte_size)


def _elements(dtype: DType, count: int, text: str, verbatim: str | None) -> bytes:
    """Return the elements' bytes.

    Raises
    ------
    ValueError
        The text does not contain elements of the type.
    """
    if dtype is BYTES:
        return byte_strings.pack(_strings(count, text, verbatim))
    if dtype.datatype in _CHARACTERS:
        return _characters(count, text, verbatim)
    words = text.split(",") if text else []
    if dtype.datatype == "BOOL":
        return bytes([("0", "1").index(word) for word in words])
    if dtype is BF16:
        wide = np.array(list(map(float, words)), np.float64).astype(np.float32)
        # To the nearest: six digits are a little beside the number.
        return ((wide.view(np.uint32) + 0x8000) >> 16).astype(np.uint16).tobytes()
    if dtype.dtype is None:
        raise ValueError
    if dtype.dtype.kind == "f":
        with np.errstate(over="ignore"):
            return np.array(list(map(float, words))).astype(dtype.dtype).tobytes()
    return _integers(list(map(int, words)), dtype.dtype)


def _integers(values: list[int], dtype: np.dtype[Any]) -> bytes:
    # NumPy 1 would cut a number that is too large.
    limits = np.iinfo(dtype)
    if any(not limits.min <= value <= limits.max for value in values):
        raise ValueError
    return np.array(values, dtype).tobytes()


def _strings(count: int, text: str, verbatim: str | None) -> list[bytes]:
    if count == 0:
        texts = [text] if text else []
    elif verbatim is not None:
        texts = _between(verbatim, r"\"", _BETWEEN)
    else:
        texts = (
            json.loads(f"[{text}]") if _is_list(text) else _between(text, '"', '","')
        )
    return [text.encode("utf-8", "surrogateescape") for text in texts]


def _is_list(text: str) -> bool:
    try:
        found = json.loads(f"[{text}]")
    except (ValueError, RecursionError):
        return False
    return all(isinstance(each, str) for each in found)


def _between(text: str, quote: str, between: str) -> list[str]:
    quoted = text.startswith(quote) and text.endswith(quote)
    if len(text) < 2 * len(quote) or not quoted:
        raise ValueError
    return text[len(quote) : -len(quote)].split(between)


def _characters(count: int, text: str, verbatim: str | None) -> bytes:
    for each in (text, verbatim):
        if each is not None and len(each) == max(0, 2 * count - 1):
            return bytes(map(_byte, each[::2]))
    raise ValueError


def _byte(character: str) -> int:
    """Return a byte that stands as a character, or that is no UTF-8 in the file."""
    code = ord(character)
    return code - 0xDC00 if 0xDC80 <= code <= 0xDCFF else code
