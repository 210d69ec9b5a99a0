"""What a reviewer would ask about a configuration that Triton accepts."""

from __future__ import annotations

import pytest

from blsnb.model.config import parse_pbtxt
from blsnb.model.rules.lint import advised, findings


def tensors(*dims, size=8):
    """A configuration with an input and an output of these dims."""
    rows = (
        f"input {{ name: 'X{n}' data_type: TYPE_FP32 dims: {list(each)} }} "
        f"output {{ name: 'Y{n}' data_type: TYPE_FP32 dims: {list(each)} }} "
        for n, each in enumerate(dims)
    )
    return f"max_batch_size: {size} {' '.join(rows)}"


BATCH = "if that is the batch, leave it out of dims"


@pytest.mark.parametrize(
    "text",
    [tensors((-1, 3)), tensors((-1, 3, 4), (-1, 7)), tensors((8, 3), (8, -1))],
)
def test_a_batch_in_dims_is_found(text):
    """If every tensor has it, together with max_batch_size; the cure is shown."""
    (found,) = findings(parse_pbtxt(text))

    assert BATCH in found
    assert found.startswith("max_batch_size is 8 and dims of every tensor begin with")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "max_batch_size: 8",
        tensors((-1, 3), size=0),
        tensors((-1,)),
        tensors((-1, -1, 3)),
        tensors((-1, 3), (4, 3)),
        tensors((-1, 3), (-1,)),
        tensors((3, 224, 224)),
        "dynamic_batching {} max_batch_size: 4",
        "instance_group { kind: KIND_AUTO }",
        'parameters { key: "a" value { string_value: "b" } }',
    ],
)
def test_what_may_be_meant_is_not_found(text):
    """Tokens and pictures have axes of any size, too."""
    assert [] == findings(parse_pbtxt(text))


def test_the_cure_names_a_tensor():
    """And the dims that it should have."""
    (found,) = findings(parse_pbtxt(tensors((-1, 3, 4))))
    assert "for 'X0' write dims: [ 3, 4 ]" in found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("dynamic_batching {}", "dynamic_batching does nothing"),
        ("instance_group { kind: KIND_GPU }", "there is none here"),
        (f"{tensors((3,))} input {{ name: 'X0' }}", "'X0' is declared 2 times"),
        ('parameters { key: "a" value {} }', "'a' has no string_value"),
    ],
)
def test_other_slips_are_found(text, found):
    """One sentence each."""
    (said,) = findings(parse_pbtxt(text))
    assert found in said


def test_a_gpu_that_is_there_is_no_finding():
    """It is wanted, after all."""
    config = parse_pbtxt("instance_group { kind: KIND_GPU }")
    assert [] == findings(config, gpu_count=1)


def test_findings_are_advice_a_line_each():
    """As sentences."""
    text = "dynamic_batching {} instance_group { kind: KIND_GPU }"
    first, second = advised(parse_pbtxt(text)).splitlines()

    assert first.startswith("Dynamic_batching does nothing")
    assert second.startswith("KIND_GPU needs a GPU")
    assert second.endswith(".")
