"""Uploaded files: pictures, sound and NumPy arrays as the value of an input."""

from __future__ import annotations

import io
import warnings
from pathlib import PurePath
from typing import Any, NamedTuple

import numpy as np
from PIL import Image, UnidentifiedImageError

from blsnb.form.inputs import InputSpec
from blsnb.form.random_values import MAX_BYTES
from blsnb.form.sounds import sound_value
from blsnb.form.value import FieldError, Value, ValueSteps
from blsnb.printable import counted, printable
from blsnb.tensors.dtypes import BY_DATATYPE

_MODES = {1: "L", 3: "RGB", 4: "RGBA"}
_MODE_NAMES = {"L": "grey", "RGB": "RGB", "RGBA": "RGB with transparency"}


class _Layout(NamedTuple):
    """How an input arranges a picture; a size of -1 is free."""

    mode: str
    height: int
    width: int
    axes: str
    """``HW``, ``HWC`` or ``CHW``."""


def picture_value(name: str, content: bytes, spec: InputSpec) -> Value:
    """Return a picture as an array of the input's shape and datatype.

    It is resized to the declared size; floats are divided by 255.

    Raises
    ------
    FieldError
        The file is not a picture, has too many pixels, or the input takes none.
    """
    layout, outer = _layout(spec)
    image = _open(name, content)
    steps = ValueSteps(image, f"Image.open({name!r})", ["from PIL import Image"])
    done = [f"{image.width} x {image.height} {image.mode}"]
    if image.mode != layout.mode:
        mode = layout.mode
        steps.then(lambda image: image.convert(mode), f'{{}}.convert("{mode}")')
        done.append(f"converted to {_MODE_NAMES[mode]}")
    _resize(steps, layout, done)
    steps.then(np.asarray, "np.asarray({})")
    _arrange(steps, layout, done)
    _scale(steps, spec, done)
    for _ in range(outer):
        steps.then(lambda array: array[None], "{}[None]")
    return steps.value(f"{printable(name)}: {', '.join(done)}.")


def _open(name: str, content: bytes) -> Image.Image:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            image = Image.open(io.BytesIO(content))
            image.load()
    except (Image.DecompressionBombWarning, Image.DecompressionBombError) as error:
        raise FieldError(f"{printable(name)} has too many pixels: {error}") from error
    except UnidentifiedImageError as error:
        raise FieldError(
            f"{printable(name)} is not a picture, a WAV file or a NumPy array"
        ) from error
    # A decoder of a damaged file raises errors of any class.
    except Exception as error:
        raise FieldError(f"{printable(name)} cannot be read: {error}") from error
    return image


def _layout(spec: InputSpec) -> tuple[_Layout, int]:
    """Return the layout, and the number of axes of length 1 before it."""
    dims, outer = spec.dims, int(spec.is_batched)
    if len(dims) == 4 and dims[0] in (-1, 1):
        dims, outer = dims[1:], outer + 1
    if len(dims) == 2:
        return _Layout("L", *dims, "HW"), outer
    if len(dims) == 3 and dims[0] in _MODES:
        return _Layout(_MODES[dims[0]], dims[1], dims[2], "CHW"), outer
    if len(dims) == 3 and (dims[2] in _MODES or dims[2] == -1):
        return _Layout(_MODES.get(dims[2], "RGB"), dims[0], dims[1], "HWC"), outer
    raise FieldError(
        f"a picture does not fit {spec}; expected dims such as [3, 224, 224], "
        "[224, 224, 3] or [224, 224]"
    )


def _resize(steps: ValueSteps, layout: _Layout, done: list[str]) -> None:
    image = steps.result
    size = (
        layout.width if layout.width > 0 else image.width,
        layout.height if layout.height > 0 else image.height,
    )
    if size != image.size:
        steps.then(lambda image: image.resize(size), f"{{}}.resize({size})")
        done.append(f"resized to {size[0]} x {size[1]}")


def _arrange(steps: ValueSteps, layout: _Layout, done: list[str]) -> None:
    if layout.axes == "CHW" and layout.mode == "L":
        steps.then(lambda array: array[None], "{}[None]")
    elif layout.axes == "HWC" and layout.mode == "L":
        steps.then(lambda array: array[..., None], "{}[..., None]")
    elif layout.axes == "CHW":
        steps.then(lambda array: array.transpose(2, 0, 1), "{}.transpose(2, 0, 1)")
        done.append("channels first")


def _scale(steps: ValueSteps, spec: InputSpec, done: list[str]) -> None:
    if spec.datatype == "UINT8":
        return
    dtype: Any = BY_DATATYPE[spec.datatype].dtype if spec.datatype else None
    name = "float32" if dtype is None else dtype.name
    steps.then(lambda array: array.astype(name), f'{{}}.astype("{name}")')
    if name.startswith("float"):
        steps.then(
            lambda array: array / array.dtype.type(255), f"({{}} / np.{name}(255))"
        )
        done.append("divided by 255")


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
    # Also a syntax error of the header, or its shape without memory.
    except Exception as error:
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
    return steps.value(
        f"{printable(name)}: the {counted(len(content), 'byte')} of the file."
    )
