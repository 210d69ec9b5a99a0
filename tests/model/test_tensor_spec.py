"""Tensor specifications such as NAME:FP32[3,-1] are parsed."""

import pytest

from blsnb.errors import ModelConfigError
from blsnb.model.config import TensorSpec
from blsnb.model.tensor_spec import format_tensor_spec, parse_tensor_spec
from blsnb.tensors.dtypes import BY_DATATYPE

EXAMPLE = (
    "Write for example NAME:FP32[3,-1], or NAME?:BYTES[1] for an optional input; -1 "
    "is any size, and the batch dimension is omitted."
)


@pytest.mark.parametrize(
    ("spec", "tensor"),
    [
        ("X:FP32[3,-1]", TensorSpec("X", "TYPE_FP32", "FP32", (3, -1))),
        ("X:TYPE_FP32[1]", TensorSpec("X", "TYPE_FP32", "FP32", (1,))),
        ("X:BYTES[1]", TensorSpec("X", "TYPE_STRING", "BYTES", (1,))),
        ("X:STRING[1]", TensorSpec("X", "TYPE_STRING", "BYTES", (1,))),
        ("X:TYPE_STRING[1]", TensorSpec("X", "TYPE_STRING", "BYTES", (1,))),
        ("X?:BF16[1]", TensorSpec("X", "TYPE_BF16", "BF16", (1,), optional=True)),
        (
            "  a.b/c-0 ? : INT64 [ 3 , -1 ] ",
            TensorSpec("a.b/c-0", "TYPE_INT64", "INT64", (3, -1), optional=True),
        ),
    ],
)
def test_specifications_are_parsed(spec: str, tensor: TensorSpec) -> None:
    """Both names of a type, optional inputs and spaces are accepted."""
    assert tensor == parse_tensor_spec(spec)
    assert tensor == parse_tensor_spec(format_tensor_spec(tensor))


@pytest.mark.parametrize(
    ("spec", "offset", "reason"),
    [
        ("", 0, "expected a tensor name"),
        (":FP32[1]", 0, "expected a tensor name"),
        ("X FP32[1]", 2, "expected ':' between name and type"),
        ("X:", 2, "expected a type"),
        ("X:FP32", 6, "expected '[' before the dimensions"),
        ("X:FP32[]", 7, "expected a dimension"),
        ("X:FP32[3,]", 8, "expected ']' at the end"),
        ("X:FP32[3] Y", 8, "expected ']' at the end"),
        ("X:FLOAT[1]", 2, "'FLOAT' is not a type of Triton"),
        ("X:fp32[1]", 2, "'fp32' is not a type of Triton"),
        (
            "X:FP32[3,0]",
            9,
            "dimension 0 is not valid; expected at least 1, or -1",
        ),
        (
            "X:FP32[-2]",
            7,
            "dimension -2 is not valid; expected at least 1, or -1",
        ),
        (
            "X:FP32[+2]",
            7,
            "dimension +2 is not valid; expected at least 1, or -1",
        ),
    ],
)
def test_invalid_specifications_are_refused(
    spec: str, offset: int, reason: str
) -> None:
    """The error contains the specification; the advice marks the position."""
    with pytest.raises(ModelConfigError) as caught:
        parse_tensor_spec(spec)
    error = caught.value

    assert f"tensor specification {spec!r}: {reason}" == error.message
    marked, caret, *hint, example = error.advice.splitlines()
    assert (f"    {spec}", "    " + " " * offset + "^") == (marked, caret)
    if "not a type" in reason:
        assert [f"Expected one of {' '.join(BY_DATATYPE)}."] == hint
    assert EXAMPLE == example


@pytest.mark.parametrize("written", ["X FP32[-1]", " X  TYPE_FP32 [-1]"])
def test_a_forgotten_colon_is_suggested(written: str) -> None:
    """Name and type have a space between them."""
    with pytest.raises(ModelConfigError) as refused:
        parse_tensor_spec(written)

    meant = written.split()[0] + ":" + "".join(written.split()[1:])
    assert (
        f"    {written}\n    {' ' * written.index(written.split()[1])}^\n"
        f"Did you mean '{meant}'?\n{EXAMPLE}" == refused.value.advice
    )


def test_an_unknown_type_has_no_suggestion() -> None:
    """Two words need not be a name and a type."""
    with pytest.raises(ModelConfigError) as refused:
        parse_tensor_spec("X FP33[-1]")

    assert "Did you mean" not in refused.value.advice
