"""Tensor specifications such as ``NAME:FP32[3,-1]``."""

from __future__ import annotations

import re
from typing import NoReturn

from blsnb.errors import ModelConfigError
from blsnb.model.config import TensorSpec
from blsnb.printable import shape_text
from blsnb.tensors.dtypes import BY_DATATYPE, DType

# Consecutive parts of a specification, and how an error calls a missing one.
_PARTS = (
    (r"\s*(?P<name>[^\s:?\[\]]+)\s*", "a tensor name"),
    (r"(?P<optional>\??)\s*:\s*", "':' between name and type"),
    (r"(?P<type>[A-Za-z0-9_]+)\s*", "a type"),
    (r"\[\s*", "'[' before the dimensions"),
    (r"(?P<dims>[+-]?\d+(?:\s*,\s*[+-]?\d+)*)\s*", "a dimension"),
    (r"\]\s*\Z", "']' at the end"),
)
_NO_COLON = (
    r"\s*(?P<name>[^\s:\[\]]+)\s+(?P<type>[A-Za-z0-9_]+)\s*(?P<dims>\[[^\[\]]*\])\s*"
)
_DIMENSION = r"[+-]?\d+"
_EXAMPLE = (
    "Write for example NAME:FP32[3,-1], or NAME?:BYTES[1] for an optional input; -1 "
    "is any size, and the batch dimension is omitted."
)


def parse_tensor_spec(spec: str) -> TensorSpec:
    """Parse a specification such as ``NAME:FP32[3,-1]``.

    Parameters
    ----------
    spec
        Name, type and dimensions without the batch dimension; a ``?`` after the
        name makes an input optional. Types are Triton's, with or without
        ``TYPE_``; ``STRING`` and ``BYTES`` are the same.

    Raises
    ------
    ModelConfigError
        The specification is invalid; the advice marks the position.
    """
    found: dict[str, re.Match[str]] = {}
    offset = 0
    for pattern, expected in _PARTS:
        match = re.compile(pattern).match(spec, offset)
        if match is None:
            _refuse(spec, offset, f"expected {expected}", _meant(spec))
        found |= dict.fromkeys(match.groupdict(), match)
        offset = match.end()
    row = _data_type(spec, found["type"])
    return TensorSpec(
        name=found["name"]["name"],
        data_type=row.data_type,
        datatype=row.datatype,
        dims=_dims(spec, found["dims"]),
        optional=bool(found["optional"]["optional"]),
    )


def _meant(spec: str) -> str:
    """Return the specification that one without its colon probably means."""
    found = re.fullmatch(_NO_COLON, spec)
    if found is None or _known(found["type"]) is None:
        return ""
    return f"Did you mean '{found['name']}:{found['type']}{found['dims']}'?"


def format_tensor_spec(tensor: TensorSpec) -> str:
    """Return a tensor's specification, which `parse_tensor_spec` parses."""
    mark = "?" if tensor.optional else ""
    datatype = tensor.datatype or tensor.data_type
    return f"{tensor.name}{mark}:{datatype}{shape_text(tensor.dims)}"


def _data_type(spec: str, match: re.Match[str]) -> DType:
    row = _known(match["type"])
    if row is None:
        known = " ".join(BY_DATATYPE)
        _refuse(
            spec,
            match.start("type"),
            f"{match['type']!r} is not a type of Triton",
            f"Expected one of {known}.",
        )
    return row


def _known(written: str) -> DType | None:
    name = written.removeprefix("TYPE_")
    return BY_DATATYPE.get("BYTES" if name == "STRING" else name)


def _dims(spec: str, match: re.Match[str]) -> tuple[int, ...]:
    for dimension in re.finditer(_DIMENSION, match["dims"]):
        size = dimension.group()
        if size.startswith("+") or (int(size) < 1 and int(size) != -1):
            _refuse(
                spec,
                match.start("dims") + dimension.start(),
                f"dimension {size} is not valid; expected at least 1, or -1",
            )
    return tuple(map(int, re.findall(_DIMENSION, match["dims"])))


def _refuse(spec: str, offset: int, reason: str, hint: str = "") -> NoReturn:
    marked = f"    {spec}\n    {' ' * offset}^"
    raise ModelConfigError(
        f"tensor specification {spec!r}: {reason}",
        advice="\n".join(filter(None, (marked, hint, _EXAMPLE))),
    )
