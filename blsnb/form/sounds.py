"""A sound in the shape that an input declares."""

from __future__ import annotations

import io
import wave
from typing import NamedTuple

import numpy as np

from blsnb.form.inputs import InputSpec
from blsnb.form.value import FieldError, Value, ValueSteps
from blsnb.printable import counted, printable
from blsnb.tensors.dtypes import BY_DATATYPE

_WIDTHS = {2: "int16", 4: "int32"}
"""NumPy types by the number of bytes of a sample."""


class _Sound(NamedTuple):
    rate: int
    channels: int
    dtype: str
    frames: bytes


def sound_value(name: str, content: bytes, spec: InputSpec) -> Value:
    """Return a WAV file as an array of the input's shape and datatype.

    Channels are averaged for an input of one dimension; a fixed length cuts the sound
    or adds silence; floats are between -1 and 1.

    Raises
    ------
    FieldError
        The file is damaged or has another sample format, or the input takes no sound.
    """
    sound = _read(name, content)
    code = f'np.frombuffer(wave.open({name!r}).readframes(-1), "{sound.dtype}")'
    samples = np.frombuffer(sound.frames, sound.dtype)
    steps = ValueSteps(samples, code, ["import wave"])
    shape = (-1, sound.channels)
    steps.then(lambda array: array.reshape(shape), f"{{}}.reshape({shape})")
    seconds = len(steps.result) / sound.rate
    channels = counted(sound.channels, "channel")
    done = [f"{seconds:.2f} s at {sound.rate:,} Hz, {channels}"]
    _scale(steps, spec, sound.dtype, done)
    length = _arrange(steps, spec, sound.channels, done)
    _fit(steps, length, done)
    if spec.is_batched:
        steps.then(lambda array: array[None], "{}[None]")
    return steps.value(f"{printable(name)}: {', '.join(done)}.")


def _read(name: str, content: bytes) -> _Sound:
    try:
        with wave.open(io.BytesIO(content)) as file:
            width = file.getsampwidth()
            rate, channels = file.getframerate(), file.getnchannels()
            frames = file.readframes(-1)
    # The library has no error of its own for some damages.
    except Exception as error:
        why = str(error) or "the file is damaged"
        raise FieldError(
            f"{printable(name)} is not a readable WAV file: {why}"
        ) from error
    if width not in _WIDTHS:
        raise FieldError(
            f"{printable(name)} has samples of {8 * width} bits, expected 16 or 32; "
            "convert it, or read it in a cell and use a variable"
        )
    whole = len(frames) - len(frames) % (width * channels)
    return _Sound(rate or 1, channels, _WIDTHS[width], frames[:whole])


def _scale(steps: ValueSteps, spec: InputSpec, sampled: str, done: list[str]) -> None:
    row = BY_DATATYPE.get(spec.datatype)
    name = "float32" if row is None or row.dtype is None else row.dtype.name
    if name == sampled:
        return
    if not name.startswith("float"):
        raise FieldError(f"samples of type {sampled} do not fit {spec}")
    top = 1 << (15 if sampled == "int16" else 31)
    steps.then(
        lambda array: (array / top).astype(name), f'({{}} / {top}).astype("{name}")'
    )
    done.append("scaled to -1…1")


def _arrange(steps: ValueSteps, spec: InputSpec, channels: int, done: list[str]) -> int:
    """Arrange the channels; return the wanted number of samples, or -1."""
    dims = spec.dims
    if len(dims) == 1:
        if channels > 1:
            name = steps.result.dtype.name
            steps.then(
                lambda array: array.mean(1).astype(name),
                f'{{}}.mean(1).astype("{name}")',
            )
            done.append("channels averaged")
        else:
            steps.then(lambda array: array[:, 0], "{}[:, 0]")
        return dims[0]
    if len(dims) == 2 and dims[1] == channels:
        steps.then(lambda array: array.T, "{}.T")
        _fit(steps, dims[0], done)
        steps.then(lambda array: array.T, "{}.T")
        return -1
    if len(dims) == 2 and dims[0] in (-1, channels):
        steps.then(lambda array: array.T, "{}.T")
        done.append("channels first")
        return dims[1]
    raise FieldError(
        f"a sound of {counted(channels, 'channel')} does not fit {spec}; expected dims "
        f"such as [-1], [{channels}, -1] or [-1, {channels}]"
    )


def _fit(steps: ValueSteps, length: int, done: list[str]) -> None:
    """Cut the last axis, or append silence."""
    given = steps.result.shape[-1]
    if length in (-1, given):
        return
    if length < given:
        steps.then(lambda array: array[..., :length], f"{{}}[..., :{length}]")
        done.append(f"cut to {counted(length, 'sample')}")
        return
    pads = [(0, 0)] * (steps.result.ndim - 1) + [(0, length - given)]
    steps.then(lambda array: np.pad(array, pads), f"np.pad({{}}, {pads})")
    done.append(f"silence added to {counted(length, 'sample')}")
