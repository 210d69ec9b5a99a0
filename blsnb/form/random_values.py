"""Random arrays for an input."""

from __future__ import annotations

import math
import re

import numpy as np

from blsnb.form.inputs import InputSpec
from blsnb.form.value import FieldError, Value, ValueSteps
from blsnb.tensors.dtypes import BY_DATATYPE, Shape

MAX_BYTES = 32 << 20
"""Maximum size of a random array or an uploaded file, in bytes."""
_WORDS = ["alpha", "beta", "gamma", "delta"]


def default_shape(spec: InputSpec) -> str:
    """Return the shape that a new form has: 1 for each free size."""
    return ", ".join([str(max(1, size)) for size in spec.shape])


def parse_dims(text: str) -> Shape:
    """Return the shape in a text such as ``1, 3, 224, 224``.

    Raises
    ------
    FieldError
        The text has another form.
    """
    words = [word for word in re.split(r"[\s,x()\[\]]+", text) if word]
    if not all([word.isdecimal() and len(word) < 12 for word in words]):
        raise FieldError(f"{text[:40]!r} is not a shape such as 1, 3, 224, 224")
    return tuple([int(word) for word in words])


def random_value(spec: InputSpec, shape: Shape, seed: int) -> Value:
    """Return random values: 0 to 1 for floats, 0 to 99 for integers.

    UINT8 has all its values, as in a picture; BYTES has words.

    Raises
    ------
    FieldError
        The array would be too large, or the datatype is unknown.
    """
    dtype = BY_DATATYPE.get(spec.datatype)
    if dtype is None:
        raise FieldError("the input's datatype is unknown; use a variable")
    size = math.prod(shape) * (dtype.byte_size or 8)
    if size > MAX_BYTES:
        raise FieldError(
            f"shape {list(shape)} takes {size / 2**20:,.0f} MB, maximum "
            f"{MAX_BYTES >> 20} MB; use a variable"
        )
    code = f"np.random.default_rng({seed})"
    made = np.random.default_rng(seed)
    if spec.datatype == "BYTES":
        steps = ValueSteps(
            made.choice(_WORDS, shape), f"{code}.choice({_WORDS}, {shape})"
        )
        steps.then(lambda array: array.astype(object), "{}.astype(object)")
        return steps.value()
    # NumPy has no BF16: float32 values are sent in it.
    name = "float32" if dtype.dtype is None else dtype.dtype.name
    if name.startswith("float"):
        steps = ValueSteps(made.random(shape), f"{code}.random({shape})")
    else:
        top = {"bool": 2, "uint8": 256}.get(name, 100)
        drawn = made.integers(top, size=shape)
        steps = ValueSteps(drawn, f"{code}.integers({top}, size={shape})")
    steps.then(lambda array: array.astype(name), f'{{}}.astype("{name}")')
    return steps.value()
