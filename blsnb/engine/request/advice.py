"""Advice for clients whose requests do not fit a model's configuration."""

from __future__ import annotations

from blsnb.arguments import did_you_mean
from blsnb.model.config import TensorSpec
from blsnb.tensors.dtypes import BY_DATATYPE, Shape
from blsnb.tensors.ref import TensorRef

_NO_INPUTS = (
    "The model's configuration has no inputs at all: give --input and --output to "
    "%%triton_model, write them in %%triton_config, or add auto_complete_config."
)


def input_advice(given: list[str], missing: list[str], known: list[str]) -> str:
    """Return advice on a wrong number of inputs: what is not an input."""
    if not known:
        return _NO_INPUTS
    unknown = [name for name in given if name not in known]
    pairs = ((name, did_you_mean(name, missing)) for name in unknown)
    meant = [
        f"{name!r} is not an input. {similar}" for name, similar in pairs if similar
    ]
    if unknown and not meant:
        return f"Its inputs are: {', '.join(known)}."
    return "\n".join(meant)


def shape_advice(shape: Shape, expected: Shape, batched: bool) -> str:
    """Return advice on a wrong shape: both shapes, and what to change."""
    marked = f"  expected {_marked(expected, batched)}"
    has_batch = batched and len(shape) >= len(expected)
    actual = f"  actual   {_marked(shape, has_batch)}"
    if batched and len(shape) == len(expected) - 1:
        hint = "The batch axis is missing: add it with array[np.newaxis]."
    elif not batched and len(shape) == len(expected) + 1:
        index = "..., 0" if shape[-1] == 1 < shape[0] else "0"
        hint = (
            f"There is one axis too many: index it away (array[{index}]), or give the "
            "model a max_batch_size."
        )
    else:
        hint = "Reshape the array, or change dims in the model's configuration."
    return f"{marked}\n{actual}\n{hint}"


def _marked(shape: Shape, batched: bool) -> str:
    """Return a shape as text, with the batch axis marked."""
    parts = [str(length) for length in shape]
    if batched and parts:
        parts[0] = f"batch={parts[0]}"
    return f"[{', '.join(parts)}]"


def datatype_advice(ref: TensorRef, spec: TensorSpec) -> str:
    """Return advice on an array of another datatype."""
    row = BY_DATATYPE.get(spec.datatype)
    wanted = "ml_dtypes.bfloat16"
    if row is not None and row.dtype is not None:
        wanted = f"np.{row.dtype.name}{'_' if row.dtype.name == 'object' else ''}"
    return (
        f"Convert the array, for example with array.astype({wanted}), or change the "
        f"data type of input {ref.name!r} in the model's configuration."
    )
