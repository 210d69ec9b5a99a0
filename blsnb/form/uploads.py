"""Uploaded files: pictures, sound and NumPy arrays as the value of an input."""

from __future__ import annotations

import io
from pathlib import PurePath
from typing import NamedTuple

import numpy as np

from blsnb.form.inputs import InputSpec
from blsnb.form.pictures import picture_value
from blsnb.form.random_values import MAX_BYTES
from blsnb.form.sounds import sound_value
from blsnb.form.value import FieldError, Value, ValueSteps
from blsnb.printable import printable

ACCEPTED = "image/*,audio/*,.npy"
"""Files that the page offers for upload."""


class Upload(NamedTuple):
    """A file as the page sends it."""

    name: str
    content: bytes


def uploaded_value(upload: Upload | None, spec: InputSpec) -> Value:
    """Return the content of a file in the shape of an input.

    An input of type BYTES, or of UINT8 in one dimension of any size, receives the
    bytes of the file itself.

    Raises
    ------
    FieldError
        No file is chosen, it is too large or not readable, or it does not fit.
    """
    if upload is None:
        raise FieldError("choose a file, or wait until it has arrived")
    if too_large := size_text(upload.name, len(upload.content)):
        raise FieldError(too_large)
    # A name that a browser sends is never a path.
    name = PurePath(upload.name.replace("\\", "/")).name or "file"
    if name.lower().endswith(".npy"):
        return _array(name, upload.content)
    if spec.datatype == "BYTES" or (spec.datatype, spec.dims) == ("UINT8", (-1,)):
        return _bytes(name, upload.content, spec)
    if upload.content[:4] == b"RIFF" and upload.content[8:12] == b"WAVE":
        return sound_value(name, upload.content, spec)
    return picture_value(name, upload.content, spec)


def size_text(name: str, size: int) -> str:
    """Return the sentence for a file that is too large; empty for others."""
    if size <= MAX_BYTES:
        return ""
    return (
        f"{printable(name)} has {size / 2**20:,.1f} MB, maximum {MAX_BYTES >> 20} MB; "
        "read it in a cell and use a variable"
    )


def _array(name: str, content: bytes) -> Value:
    try:
        array = np.load(io.BytesIO(content), allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise FieldError(f"{printable(name)} is not a NumPy array: {error}") from error
    note = f"{printable(name)}: {array.dtype} {list(array.shape)}, unchanged."
    return Value(array, f"np.load({name!r})", note, ("import numpy as np",))


def _bytes(name: str, content: bytes, spec: InputSpec) -> Value:
    steps = ValueSteps(
        content, f"Path({name!r}).read_bytes()", ["from pathlib import Path"]
    )
    if spec.datatype == "BYTES":
        shape = (1,) * len(spec.shape)
        steps.then(
            lambda data: np.array([data], dtype=object).reshape(shape),
            f"np.array([{{}}], dtype=object).reshape({shape})",
        )
    else:
        steps.then(
            lambda data: np.frombuffer(data, np.uint8), "np.frombuffer({}, np.uint8)"
        )
        if spec.is_batched:
            steps.then(lambda array: array[None], "{}[None]")
    return steps.value(f"{printable(name)}: the {len(content):,} bytes of the file.")
