"""Hints for the probable fix of an invalid configuration."""

from __future__ import annotations

import pytest

from blsnb.errors import ModelConfigError
from blsnb.model.config import parse_pbtxt
from blsnb.model.text.text_hints import data_type_meant, hint, placeholders

TYPES = (
    "Known values: TYPE_BOOL TYPE_UINT8 TYPE_UINT16 TYPE_UINT32 TYPE_UINT64 TYPE_INT8 "
    "TYPE_INT16 TYPE_INT32 TYPE_INT64 TYPE_FP16 TYPE_FP32 TYPE_FP64 TYPE_STRING "
    "TYPE_BF16."
)
KINDS = "Known values: KIND_AUTO KIND_GPU KIND_CPU KIND_MODEL."
MESSAGE = (
    "Expected a message: name { … }. A list of messages has no comma after the last "
    "one."
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("input { data_type: FP32 }", f"Did you mean TYPE_FP32? {TYPES}"),
        ("input { data_type: float32 }", f"Did you mean TYPE_FP32? {TYPES}"),
        ("input { data_type: TYPE_BYTES }", f"Did you mean TYPE_STRING? {TYPES}"),
        ("input { data_type: complex64 }", TYPES),
        ('input { data_type: "TYPE_FP32" }', "Write TYPE_FP32 without quotes."),
        ("instance_group { kind: GPU }", f"Did you mean KIND_GPU? {KINDS}"),
        ("instance_group { kind: KIND_CUP }", f"Did you mean KIND_CPU? {KINDS}"),
        ("instance_group { kind: nothing }", KINDS),
        ("maxBatchSize: 4", "Did you mean max_batch_size?"),
        ("input { dim: [1] }", "Did you mean dims?"),
        ("dims: [1]", "dims is a field of input { } and output { }."),
        ("nonsense: 1", ""),
        ("input { dims: 1, 2 }", "Write a list in brackets: dims: [ 1, 2 ]."),
        (
            'parameters { a: "b" }',
            'Write parameters { key: "NAME" value { string_value: "VALUE" } }.',
        ),
        ("// no comment", "Begin a comment with #."),
        (
            '{"name": "x"}',
            "This looks like JSON; write fields such as name: value instead.",
        ),
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
    assert last == expected if expected else last.endswith("^")


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
        ("text", "TYPE_STRING"),
        ("TYPE_BYTES", "TYPE_STRING"),
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

    assert (
        "The file is a template: replace ${size}, ${count} by values first, for "
        "example with fill_template.py of NVIDIA's tensorrtllm_backend, or envsubst."
    ) == caught.value.advice.splitlines()[-1]


def test_at_most_five_placeholders_of_a_template_are_named():
    """Each once."""
    names = [f"${{p{number}}}" for number in range(6)]
    text = placeholders(" ".join([*names, *names]))

    assert f" replace {', '.join(names[:5])} by values first, " in text
    assert "" == placeholders("max_batch_size: 4 # $none")
