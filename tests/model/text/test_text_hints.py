"""What was probably meant where a configuration cannot be read."""

from __future__ import annotations

import pytest

from blsnb.errors import ModelConfigError
from blsnb.model.config import parse_pbtxt
from blsnb.model.text.text_hints import data_type_meant, hint

MESSAGE = "Here stands a message: name { … }."


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("input { data_type: FP32 }", "Is TYPE_FP32 meant? There are: TYPE_BOOL"),
        ("input { data_type: float32 }", "Is TYPE_FP32 meant?"),
        ("input { data_type: TYPE_BYTES }", "Is TYPE_STRING meant?"),
        ("input { data_type: complex64 }", "There are: TYPE_BOOL"),
        ('input { data_type: "TYPE_FP32" }', "Write TYPE_FP32 without quotes."),
        ("instance_group { kind: GPU }", "Is KIND_GPU meant? There are: KIND_AUTO"),
        ("instance_group { kind: KIND_CUP }", "Is KIND_CPU meant?"),
        ("maxBatchSize: 4", "Is max_batch_size meant?"),
        ("input { dim: [1] }", "Is dims meant?"),
        ("dims: [1]", "dims belongs into input { } or output { }."),
        ("nonsense: 1", ""),
        ("input { dims: 1, 2 }", "A list stands in brackets: dims: [ 1, 2 ]."),
        ('parameters { a: "b" }', 'Write parameters { key: "NAME" value {'),
        ("// no comment", "A comment begins with #."),
        ('{"name": "x"}', "This looks like JSON;"),
        ("dynamic_batching: true", MESSAGE),
        ('input [ { name: "X" }, ]', MESSAGE),
        ("backend: python", "Put the text in quotes."),
        ("max_batch_size: 4 max_batch_size: 8", "Write it once."),
        (
            "model_transaction_policy { decoupled: yes }",
            "Write true or false.",
        ),
        ("max_batch_size: 8.5", ""),
    ],
)
def test_a_slip_has_a_hint(text, said):
    """Below the place that the error shows; nothing where nothing is known."""
    with pytest.raises(ModelConfigError) as caught:
        parse_pbtxt(text)

    last = caught.value.advice.splitlines()[-1]
    assert last.startswith(said) if said else last.endswith("^")


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
    ],
)
def test_a_type_is_known_by_what_others_call_it(written, meant):
    """NumPy, C, PyTorch and the wire."""
    assert meant == data_type_meant(written)


def test_an_unknown_complaint_has_no_hint():
    """Rather none than a wrong one."""
    assert "" == hint("something else altogether")
