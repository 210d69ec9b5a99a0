"""Hints for the probable fix of an invalid configuration."""

from __future__ import annotations

import pytest

from blsnb.errors import ModelConfigError
from blsnb.model.config import parse_pbtxt
from blsnb.model.text.text_hints import data_type_meant, hint

MESSAGE = (
    "Expected a message: name { … }. A list of messages has no comma after the last "
    "one."
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "input { data_type: FP32 }",
            "Did you mean TYPE_FP32? Known values: TYPE_BOOL",
        ),
        ("input { data_type: float32 }", "Did you mean TYPE_FP32?"),
        ("input { data_type: TYPE_BYTES }", "Did you mean TYPE_STRING?"),
        ("input { data_type: complex64 }", "Known values: TYPE_BOOL"),
        ('input { data_type: "TYPE_FP32" }', "Write TYPE_FP32 without quotes."),
        (
            "instance_group { kind: GPU }",
            "Did you mean KIND_GPU? Known values: KIND_AUTO",
        ),
        ("instance_group { kind: KIND_CUP }", "Did you mean KIND_CPU?"),
        ("maxBatchSize: 4", "Did you mean max_batch_size?"),
        ("input { dim: [1] }", "Did you mean dims?"),
        ("dims: [1]", "dims is a field of input { } and output { }."),
        ("nonsense: 1", ""),
        ("input { dims: 1, 2 }", "Write a list in brackets: dims: [ 1, 2 ]."),
        ('parameters { a: "b" }', 'Write parameters { key: "NAME" value {'),
        ("// no comment", "Begin a comment with #."),
        ('{"name": "x"}', "This looks like JSON;"),
        ("dynamic_batching: true", MESSAGE),
        ('input [ { name: "X" }, ]', MESSAGE),
        ("backend: python", "Write the text in quotes."),
        ("max_batch_size: 4 max_batch_size: 8", "Write it once."),
        (
            "model_transaction_policy { decoupled: yes }",
            "Write true or false.",
        ),
        ("max_batch_size: 8.5", ""),
    ],
)
def test_a_typical_mistake_has_a_hint(text, expected):
    """It is the last line of the advice; unknown mistakes have none."""
    with pytest.raises(ModelConfigError) as caught:
        parse_pbtxt(text)

    last = caught.value.advice.splitlines()[-1]
    assert last.startswith(expected) if expected else last.endswith("^")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("FP32", "TYPE_FP32"),
        ("type_fp32", "TYPE_FP32"),
        ("TYPE_FLOAT64", "TYPE_FP64"),
        ("float16", "TYPE_FP16"),
        ("np.int8", "TYPE_INT8"),
        ("half", "TYPE_FP16"),
        ("float", "TYPE_FP32"),
        ("double", "TYPE_FP64"),
        ("bool", "TYPE_BOOL"),
        ("str", "TYPE_STRING"),
        ("object", "TYPE_STRING"),
        ("bf16", "TYPE_BF16"),
        ("complex64", ""),
        (",", ""),
        ("3f4,", ""),
        ("", ""),
        ("a", ""),
    ],
)
def test_type_names_of_other_libraries_are_known(written, meant):
    """Names of NumPy, C, PyTorch and KServe; deprecated aliases are unknown."""
    assert meant == data_type_meant(written)


def test_an_unknown_error_has_no_hint():
    """A wrong hint would mislead."""
    assert "" == hint("something else altogether")


def test_a_template_that_was_never_filled_comes_with_its_placeholders():
    """A number is expected where the template has a name."""
    with pytest.raises(ModelConfigError) as caught:
        parse_pbtxt("max_batch_size: ${size} instance_group { count: ${count} }")

    assert "template: replace ${size}, ${count} by values" in caught.value.advice
